//! Stage one: somebody asked for a call, and its tool was found.

use std::sync::Arc;

use toolcrib_core::{Plan, ToolError};

use super::checked::Checked;
use super::scope::CallScope;
use crate::decide::proposal::Proposal;

/// A call that was asked for.
pub(crate) struct Asked(pub(crate) Arc<CallScope>);

impl Asked {
    /// Parses the arguments and runs the tool's own checks, which change nothing.
    pub(crate) fn check(self) -> Result<Checked, ToolError> {
        let Self(scope) = self;
        let prepared = scope.offer.tool.parse(&scope.call.args)?;
        let plan = prepared.check(&scope.ctx)?;
        let proposal = scope.judge.propose(plan, &scope.ctx);
        Ok(Checked { scope, prepared, proposal })
    }

    /// Returns what the call proposes to do, and why its tool would refuse it, if so. Nothing more happens to the
    /// call: this is for previews.
    pub(crate) fn preview(&self) -> Result<(Proposal, Option<ToolError>), ToolError> {
        let Self(scope) = self;
        let prepared = scope.offer.tool.parse(&scope.call.args)?;
        let (plan, trouble) = match prepared.check(&scope.ctx) {
            Ok(plan) => (plan, None),
            Err(trouble) => (Plan::default(), Some(trouble)),
        };
        Ok((scope.judge.propose(plan, &scope.ctx), trouble))
    }
}
