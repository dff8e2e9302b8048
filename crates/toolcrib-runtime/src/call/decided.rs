//! Stage three: policy has decided. The call is permitted, refused, or waits for a person.

use std::sync::Arc;

use toolcrib_core::policy::{Answer, Confirmation};
use toolcrib_core::{
    Decision, Durability, ErrorKind, Moment, Permit, Prepared, ToolError, ToolName, Verdict,
};

use super::permitted::Permitted;
use super::question::Question;
use super::review::Review;
use super::scope::CallScope;
use crate::decide::confirm::{ConfirmationNeed, ConfirmationWeight};
use crate::decide::proposal::Proposal;

/// A call that was decided on.
pub(crate) struct Decided {
    pub(crate) scope: Arc<CallScope>,
    pub(crate) prepared: Box<dyn Prepared>,
    pub(crate) proposal: Proposal,
    pub(crate) decision: Decision,
}

/// What follows from a decision that is no refusal.
pub(crate) enum Permission {
    /// The call may run.
    Given(Permitted),
    /// A person has to be asked.
    Wanted(Decided),
}

impl Decided {
    /// Permits the call if policy, or the agent's confirmation, is enough. Fails if the call is refused.
    pub(crate) fn permit(self) -> Result<Permission, ToolError> {
        match self.decision.verdict() {
            Verdict::Allow => {
                self.scope.record_decided("allow", &self.decision.rule, None)?;
                let permit = Permit::by_policy(&self.decision, self.scope.digest);
                self.with(permit).map(Permission::Given)
            }
            Verdict::Ask if self.decision.confirmation() == Confirmation::NotNeeded => {
                Ok(Permission::Wanted(self))
            }
            Verdict::Ask => self.confirm(),
            Verdict::Deny => {
                self.scope.record_decided("deny", &self.decision.rule, None)?;
                Err(self.refused())
            }
        }
    }

    /// Permits a call that the agent confirmed if its word is enough. Fails if the agent has to confirm first.
    fn confirm(self) -> Result<Permission, ToolError> {
        let Self { scope, decision, .. } = &self;
        let need = &scope.approval.confirmation;
        if !need.is_met_by(&scope.call) {
            scope.record_decided("deny", &decision.rule, None)?;
            let message =
                format!("`{}` needs to be confirmed first: {}", scope.tool, decision.rule);
            let hint = match scope.approval.review {
                Review::Nothing => "if you mean this call, repeat it with `confirmed`: true",
                Review::Files | Review::Parked => {
                    "if you mean this call, repeat it with `confirmed`: true; Toolcrib then asks a person"
                }
            };
            return Err(ToolError::new(ErrorKind::ConfirmationNeeded, message)
                .hint(hint)
                .with("because", decision.because.as_str()));
        }
        let was_needed = !matches!(need, ConfirmationNeed::Nothing);
        let weight = scope.judge.confirmation_weight(&scope.call.session.0, &scope.ctx);
        if was_needed
            && weight == ConfirmationWeight::Model
            && let Some(permit) = Permit::by_confirmation(decision, scope.digest)
        {
            scope.record_decided("allow", &decision.rule, Some("the model"))?;
            return self.with(Some(permit)).map(Permission::Given);
        }
        Ok(Permission::Wanted(self))
    }

    /// Puts the question together. Files that a person reviews are pinned first, so that what is shown is what
    /// runs.
    pub(crate) fn question(&self) -> Result<Question, ToolError> {
        let Self { scope, prepared, proposal, decision } = self;
        if scope.approval.review == Review::Files && !prepared.runs_elsewhere() {
            let edits = proposal.plan.edits.iter();
            let paths: Vec<String> = edits.map(|edit| edit.path.clone()).collect();
            scope.ctx.files.pin(&paths)?;
            // The plan was made a moment before the files were pinned.
            if prepared.check(&scope.ctx)? != proposal.plan {
                let message = "the files changed while the question was being put together";
                return Err(ToolError::new(ErrorKind::Changed, message).hint("repeat the call"));
            }
        }
        if let Some(elsewhere) = prepared.checked_elsewhere() {
            return Ok(Question::elsewhere(scope, proposal, decision.clone(), elsewhere));
        }
        let choices = scope.judge.choices(&scope.facts(), proposal, &scope.ctx);
        Question::new(scope, proposal, decision.clone(), choices)
    }

    /// Records that a person is asked, which can take long.
    pub(crate) fn record_waits(&self) -> Result<(), ToolError> {
        self.scope.record(Moment::Waits { rule: &self.decision.rule }, Durability::Written)
    }

    /// Turns an answer into a permitted call or a refusal.
    pub(crate) fn answer(self, answer: &Answer) -> Result<Permitted, ToolError> {
        let Self { scope, proposal, decision, .. } = &self;
        let (verdict, by) = match answer {
            Answer::Yes(who) | Answer::Always(who, _) => ("allow", Some(who.as_str())),
            Answer::No(who, _) | Answer::Changed { by: who, .. } => ("deny", Some(who.as_str())),
            Answer::Nobody | Answer::Parked(_) | Answer::RanElsewhere(_) => ("deny", None),
        };
        scope.record_decided(verdict, &decision.rule, by)?;
        if let Answer::Always(who, wish) = answer {
            scope.judge.grant(&scope.tool, who, wish, proposal, &scope.ctx).map_err(|err| {
                ToolError::new(ErrorKind::Unrecorded, format!("the grant cannot be stored: {err}"))
                    .hint("check the state folder, and repeat the call")
            })?;
            scope.record_grant(who, wish);
        }
        if let Answer::Changed { by, call, args } = answer {
            scope.record_change(by, call, args);
        }
        let permit = Permit::by_answer(decision, answer, scope.digest);
        let permit = permit.ok_or_else(|| declined(&scope.tool, decision, answer))?;
        // Time has passed since the paths were resolved.
        Self { proposal: self.proposal.forget_paths(), ..self }.with(Some(permit))
    }

    fn with(self, permit: Option<Permit>) -> Result<Permitted, ToolError> {
        let Some(permit) = permit else { return Err(self.refused()) };
        let Self { scope, prepared, proposal, decision } = self;
        Ok(Permitted { scope, prepared, proposal, permit, answered: decision.asking })
    }

    fn refused(&self) -> ToolError {
        let Decision { rule, because, .. } = &self.decision;
        let message = format!("policy refuses `{}`: {rule}", self.scope.tool);
        let refused = ToolError::new(ErrorKind::Refused, message)
            .hint("the policy forbids this; use another tool, or ask the operator to change the policy")
            .with("rule", rule.as_str());
        if because.is_empty() { refused } else { refused.with("because", because.as_str()) }
    }
}

/// Words an answer that is no yes.
fn declined(tool: &ToolName, decision: &Decision, answer: &Answer) -> ToolError {
    match answer {
        Answer::Nobody => ToolError::new(
            ErrorKind::ApprovalNeeded,
            format!("`{tool}` needs a person's approval, and Toolcrib cannot ask here"),
        )
        .hint("run the call on a terminal, or approve it in advance with --yes")
        .with("rule", decision.rule.as_str()),
        Answer::Parked(id) => ToolError::new(
            ErrorKind::ApprovalNeeded,
            format!("`{tool}` needs a person's approval and is parked as {id}"),
        )
        .hint(format!("`toolcrib approvals approve {id}` runs it, once"))
        .with("rule", decision.rule.as_str())
        .with("approval_id", id.as_str()),
        Answer::No(_, words) if !words.is_empty() => {
            ToolError::new(ErrorKind::Declined, format!("`{tool}` was declined: {words}"))
                .hint("the message says why; follow it, or ask the person")
        }
        Answer::RanElsewhere(id) => ToolError::new(
            ErrorKind::Declined,
            format!("`{tool}` was approved since, and made as call {id}: it is not made a second time"),
        )
        .hint(format!(
            "`toolcrib audit show {id}` says what came of it; if the call has to run again, repeat it once more"
        ))
        .with("approval_id", id.as_str()),
        Answer::Changed { call, .. } => ToolError::new(
            ErrorKind::Declined,
            format!("a person changed this call of `{tool}`: it was made as call {call}"),
        ),
        Answer::Yes(_) | Answer::Always(..) | Answer::No(..) => {
            ToolError::new(ErrorKind::Declined, format!("`{tool}` was declined"))
                .hint("a person declined the call; try another approach, or ask the person")
        }
    }
}
