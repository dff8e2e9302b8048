//! A dry run of a call: what would be decided and what would change. Nothing runs, and nothing is recorded.

use std::sync::Arc;

use serde::Serialize;
use toolcrib_core::approval::KeptOutcome;
use toolcrib_core::{Call, Cancel, Verdict};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::full_outcome::{DifferenceLength, OutcomeForm, PlannedCall, in_full};
use super::json_reply::{JsonReply, Reply};
use super::outcome;

/// What a call would do.
#[derive(Serialize)]
struct DryRunReply {
    ok: bool,
    dry_run: bool,
    #[serde(flatten)]
    planned: PlannedCall,
}

/// Replies with what a call would do. A call that would fail before it is decided has its usual outcome.
pub(super) async fn preview(api: &Arc<Api>, call: Call, form: OutcomeForm) -> Reply {
    let may_inspect = AccessRight::Inspect.check(&call.caller).is_ok();
    let preview = match api.runtime.current().preview(call, Cancel::default()).await {
        Ok(preview) => preview,
        Err(made) => {
            let reply = outcome::reply(&made.call.0, &made.tool, KeptOutcome::from(&made), None);
            // The id is of no call on the record.
            let reply = JsonReply { call: None, ..reply };
            if form == OutcomeForm::Contract {
                return Ok(reply);
            }
            let api = Arc::clone(api);
            let full = blocking(move || api.ports.backend.full_outcome(&made)).await;
            return Ok(in_full(reply, full));
        }
    };
    let planning = Arc::clone(api);
    let planned = blocking(move || {
        let verdict = preview.decision.verdict();
        let mut edits = planning.ports.backend.planned_edits(&preview, DifferenceLength::Usual);
        // A difference shows what a file has. If the call is denied or needs approval, an agent must not see what is in a file through a dry run.
        if verdict != Verdict::Allow && !may_inspect {
            for edit in &mut edits {
                edit.difference = None;
            }
        }
        let plan = &preview.question.plan;
        PlannedCall {
            tool: preview.tool.clone(),
            decision: verdict.as_str().to_owned(),
            rule: preview.decision.rule.clone(),
            files_affected: plan.edits.iter().map(|edit| edit.path.clone()).collect(),
            edits,
        }
    });
    let planned = planned.await?;
    JsonReply::redacted(&api.redactor, &DryRunReply { ok: true, dry_run: true, planned })
}
