//! A call that this machine checks or makes because another one, where it was asked for, wants it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_core::approval::ApprovalQuestion;
use toolcrib_core::checked_elsewhere::CheckedElsewhere;
use toolcrib_core::{Call, Cancel, ErrorKind, Outcome, Plan, ToolError, Usage};

use crate::call::isolate::WorkPlace;
use crate::call::question::Question;
use crate::runtime::Runtime;

/// The most bytes of texts, before and after, that are shown on the other machine.
const MOST_SHOWN_BYTES: usize = 256 << 10;

impl Runtime {
    /// Finds out what a call would do, and what policy decides about it. Nothing is changed or recorded.
    pub async fn check_for_another(&self, call: Call) -> Result<CheckedElsewhere, ToolError> {
        let preview = self.preview(call, Cancel::default()).await.map_err(error_of)?;
        let decision = preview.decision.told(self.judge.policy()).ok_or_else(|| {
            ToolError::new(ErrorKind::Bug, "the policy here is not one of the other machine")
        })?;
        let Question { shown, digest, root, plan, .. } = preview.question;
        let question = ApprovalQuestion { place: Some(root), ..shown };
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let sizes = plan.edits.iter().map(|edit| size(&edit.before) + size(&edit.after));
        let edits = if sizes.sum::<usize>() <= MOST_SHOWN_BYTES { plan.edits } else { Vec::new() };
        Ok(CheckedElsewhere { decision, plan: Plan { edits, ..plan }, question, digest })
    }

    /// Takes a call from asked to recorded. The catalogue of the other machine gives the reply its form, and counts what
    /// the call used against its quotas.
    pub async fn call_for_another(
        &self,
        call: Call,
        cancel: &Cancel,
    ) -> (Result<Value, ToolError>, Usage) {
        let start = self.clock.elapsed();
        let scope = match self.ask(call, cancel, start) {
            Ok(scope) => scope,
            Err(outcome) => return (Err(error_of(*outcome)), Usage::default()),
        };
        let mut waited = Duration::ZERO;
        let place = WorkPlace::EventLoop;
        let result = self.carry_out(Arc::clone(&scope), place, cancel, &mut waited).await;
        let elapsed = self.clock.elapsed().saturating_sub(start + waited);
        let outcome = self.close(&scope, result.clone(), elapsed);
        let sizes = outcome.changes.iter().filter_map(|it| Some(it.after.as_ref()?.size));
        let written_bytes = outcome.usage.written_bytes.max(sizes.sum());
        (result, Usage { written_bytes, ..outcome.usage })
    }
}

/// Returns why a call failed.
fn error_of(outcome: Outcome) -> ToolError {
    let lost = || ToolError::new(ErrorKind::Bug, "the call failed without a reason");
    outcome.error.unwrap_or_else(lost)
}
