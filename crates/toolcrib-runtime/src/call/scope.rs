//! What all stages of one call share: the call, its tool, its context, and the way to the record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use toolcrib_core::canonical::{self, Digest};
use toolcrib_core::policy::grant::Wish;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{
    Call, Clock, Ctx, Decision, Durability, Effect, ErrorKind, Event, Moment, Note, Recorder, Tier,
    ToolError, ToolName,
};

use super::replacing_call::ReplacingCall;
use super::review::{Review, SessionKind};
use crate::approver::Approver;
use crate::decide::confirm::ConfirmationNeed;
use crate::decide::judge::{CallFacts, Judge};

/// One call whose tool was found.
pub(crate) struct CallScope {
    pub(crate) call: Call,
    pub(crate) offer: Offer,
    /// `catalogue/tool`.
    pub(crate) tool: ToolName,
    /// The names of the tool's arguments, in the order they are declared in.
    pub(crate) keys: Arc<[String]>,
    /// What a permit is bound to: tool and canonical arguments.
    pub(crate) digest: Digest,
    pub(crate) ctx: Ctx,
    pub(crate) judge: Arc<Judge>,
    pub(crate) approval: ApprovalTerms,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) clock: Arc<dyn Clock>,
    /// What was decided, once it is.
    pub(crate) decision: OnceLock<Decision>,
    /// Whether the end of the call is recorded, or about to be.
    pub(crate) has_end: AtomicBool,
}

/// What holds when the call has to be approved.
pub(crate) struct ApprovalTerms {
    pub(crate) confirmation: ConfirmationNeed,
    pub(crate) review: Review,
    pub(crate) session: SessionKind,
    pub(crate) approver: Arc<dyn Approver>,
    /// The call that a person wants in place of this one, if they changed it.
    pub(crate) changed: OnceLock<ReplacingCall>,
    /// The arguments that the caller sent, if a person changed them.
    pub(crate) sent_args: OnceLock<Value>,
}

impl CallScope {
    pub(crate) fn effect(&self) -> Effect {
        self.offer.tool.declaration().effect
    }

    pub(crate) fn tier(&self) -> Tier {
        self.offer.tool.declaration().tier
    }

    /// Claims the right to end the call. Only the first one gets it.
    pub(crate) fn claim_end(&self) -> bool {
        !self.has_end.swap(true, Ordering::AcqRel)
    }

    /// Returns what the judge needs to know of the call.
    pub(crate) fn facts(&self) -> CallFacts<'_> {
        CallFacts {
            call: &self.call.id.0,
            tool: &self.tool,
            tier: self.tier(),
            args: &self.call.args,
            keys: &self.keys,
            session: &self.call.session.0,
        }
    }

    /// Records that the call was decided, with the audit rules that match it. What follows is written with it: that
    /// it started, or that it ended.
    pub(crate) fn record_decided(
        &self,
        verdict: &str,
        rule: &str,
        by: Option<&str>,
    ) -> Result<(), ToolError> {
        let audited = self.decision.get().map_or(&[][..], |decision| &decision.audited);
        let noted = (!audited.is_empty())
            .then(|| format!("{rule}; audit rules: `{}`", audited.join("`, `")));
        let rule = noted.as_deref().unwrap_or(rule);
        self.record(Moment::Decided { verdict, rule, by }, Durability::Buffered)
    }

    /// Records a moment of the call. A call that would change something and cannot be recorded is refused;
    /// reading goes on.
    pub(crate) fn record(
        &self,
        moment: Moment<'_>,
        durability: Durability,
    ) -> Result<(), ToolError> {
        let event = event(&*self.clock, &self.call, &self.tool, moment);
        match self.recorder.record(&event, durability) {
            Err(reason) if self.effect() == Effect::Write => {
                let tool = &self.tool;
                let message =
                    format!("`{tool}` was not run: the record cannot be written: {reason}");
                Err(ToolError::new(ErrorKind::Unrecorded, message).hint(
                    "check the state folder: it must be writable, its disk must not be full, and no \
                     program may hold its files locked; then repeat the call",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Records that a person gave a grant while they were asked about this call.
    pub(crate) fn record_grant(&self, by: &str, wish: &Wish) {
        let note = Note {
            at: self.clock.now(),
            actor: "user",
            act: "grant",
            event: "given",
            tool: Some(&self.tool),
            call: &self.call.id.0,
            detail: json!({
                "by": by, "covers": wish.covers, "scope": wish.scope, "minutes": wish.minutes,
            }),
        };
        let _ = self.recorder.note(&note);
    }
}

/// Records that a call was asked for. It is written with what comes next.
pub(crate) fn record_asked(
    recorder: &dyn Recorder,
    clock: &dyn Clock,
    tool: &ToolName,
    call: &Call,
    effect: Effect,
) -> Digest {
    let args = canonical::text(&call.args);
    let digest = call.digest_of(tool, &args);
    let caller = &*call.caller;
    let moment = Moment::Asked { args: &args, digest: digest.to_string(), effect, caller };
    let _ = recorder.record(&event(clock, call, tool, moment), Durability::Buffered);
    digest
}

/// Returns a moment of a call as an event that happens now.
pub(crate) fn event<'a>(
    clock: &dyn Clock,
    call: &'a Call,
    tool: &'a ToolName,
    moment: Moment<'a>,
) -> Event<'a> {
    let (session, trace) = (call.conversation(), call.trace.as_ref());
    Event { at: clock.now(), call: &call.id, session, trace, tool, moment }
}
