//! Decisions that the policy in force made on another machine, where the files of the call are.

use toolcrib_core::policy::DecidedElsewhere;
use toolcrib_core::{Ctx, Decision};

use super::judge::{CallFacts, Judge};
use super::quarantine::refused_by;

impl Judge {
    /// Takes the decision that this policy made where the files of a call are. Quarantine and taint are known here.
    pub(crate) fn accept(
        &self,
        facts: &CallFacts<'_>,
        told: &DecidedElsewhere,
        ctx: &Ctx,
    ) -> Decision {
        if let Some(refused) = refused_by(&self.quarantine, facts.tool) {
            return refused;
        }
        match self.policy().accept(told) {
            Some(decision) => self.tighten(facts, decision, ctx),
            None => Decision::deny(
                "the rules changed while the call was checked".to_owned(),
                "repeat the call".to_owned(),
            ),
        }
    }
}
