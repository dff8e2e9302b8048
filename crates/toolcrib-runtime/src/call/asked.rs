//! Stage one: somebody asked for a call, and its tool was found.

use std::sync::Arc;

use toolcrib_core::checked_elsewhere::CheckedElsewhere;
use toolcrib_core::{ErrorKind, Plan, Prepared, ToolError, Verdict};

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
        let plan = plan_of(&scope, &*prepared)?;
        let proposal = scope.judge.propose(plan, &scope.ctx);
        Ok(Checked { scope, prepared, proposal })
    }

    /// Returns what the call proposes to do. Nothing more happens to the call: this is for previews.
    pub(crate) fn preview(&self) -> Result<PreviewedCall, ToolError> {
        let Self(scope) = self;
        let prepared = scope.offer.tool.parse(&scope.call.args)?;
        let (plan, trouble) = match plan_of(scope, &*prepared) {
            Ok(plan) => (plan, None),
            Err(trouble) => (Plan::default(), Some(trouble)),
        };
        let (proposal, elsewhere) =
            (scope.judge.propose(plan, &scope.ctx), prepared.checked_elsewhere());
        Ok(PreviewedCall { proposal, elsewhere, trouble })
    }
}

/// What a call proposes to do.
pub(crate) struct PreviewedCall {
    pub(crate) proposal: Proposal,
    /// What another machine said, if the call would run there.
    pub(crate) elsewhere: Option<CheckedElsewhere>,
    /// Why the tool would refuse the call, if so.
    pub(crate) trouble: Option<ToolError>,
}

/// Runs the tool's own checks. What a check tells about a file when it fails can be what is in the file: an edit whose
/// text is not there shows the lines that are like it. Nothing is decided yet, so a failed check is made again without
/// the files that rules deny or ask about.
fn plan_of(scope: &CallScope, prepared: &dyn Prepared) -> Result<Plan, ToolError> {
    prepared.check(&scope.ctx).or_else(|failed| {
        if prepared.runs_elsewhere() {
            // That machine has made both checks.
            return Err(failed);
        }
        let CallScope { judge, tool, ctx, .. } = scope;
        let nothing = judge.propose(Plan::default(), ctx);
        let Some(undecided) = judge.masked_paths(tool, &nothing, ctx, &[]) else {
            return Err(failed);
        };
        ctx.files.deny(undecided);
        prepared.check(ctx).or_else(|refused| {
            // A denied call is told and recorded as denied, whatever is in the file.
            let reads = refused.path.iter().cloned().collect();
            let proposal = judge.propose(Plan { reads, ..Plan::default() }, ctx);
            let decision = judge.decide(&scope.facts(), &proposal, ctx);
            let is_denied =
                refused.kind == ErrorKind::Refused && decision.verdict() == Verdict::Deny;
            if is_denied { Ok(proposal.plan) } else { Err(refused) }
        })
    })
}
