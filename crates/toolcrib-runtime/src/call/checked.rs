//! Stage two: the arguments fit and the tool's own checks found nothing wrong, so the call can be decided on.

use std::sync::Arc;

use toolcrib_core::{HeldPath, Prepared, Verdict};

use super::decided::Decided;
use super::scope::CallScope;
use crate::decide::proposal::Proposal;

/// A call that would not fail by itself.
pub(crate) struct Checked {
    pub(crate) scope: Arc<CallScope>,
    pub(crate) prepared: Box<dyn Prepared>,
    pub(crate) proposal: Proposal,
}

impl Checked {
    /// Decides by policy, and then by the limits of the session and the user.
    pub(crate) fn decide(self) -> Decided {
        let Self { scope, prepared, mut proposal } = self;
        let (facts, ctx) = (scope.facts(), &scope.ctx);
        let mut decision = match prepared.checked_elsewhere() {
            None => scope.judge.decide(&facts, &proposal, ctx),
            Some(elsewhere) => scope.judge.accept(&facts, &elsewhere.decision, ctx),
        };
        proposal.decided_paths = scope.judge.decided_paths(&scope.tool, &proposal);
        if let Some(HeldPath { path, leads_to }) = scope.call.held_path.clone() {
            proposal.decided_paths.retain(|(decided, _)| *decided != path);
            proposal.decided_paths.push((path, leads_to));
        }
        if decision.verdict() != Verdict::Deny
            && let Some(refused) = scope.judge.admit(&facts, &proposal, ctx)
        {
            let audited = std::mem::take(&mut decision.audited);
            decision = refused;
            decision.audited = audited;
        }
        scope.judge.count_grant_use(&decision, ctx);
        let _ = scope.decision.set(decision.clone());
        Decided { scope, prepared, proposal, decision }
    }
}
