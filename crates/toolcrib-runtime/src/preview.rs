//! What would come of a call, found out without running it.

use std::sync::Arc;

use toolcrib_core::canonical;
use toolcrib_core::{Call, Cancel, Decision, Outcome, ToolError, ToolName};

use crate::call::asked::{Asked, PreviewedCall};
use crate::call::ended::Ended;
use crate::call::isolate::{WorkPlace, blocking};
use crate::call::question::Question;
use crate::runtime::{Runtime, allowance};

/// What would come of a call, without running it.
pub struct Preview {
    /// The tool.
    pub tool: ToolName,
    /// What would be decided.
    pub decision: Decision,
    /// What a person would be asked.
    pub question: Question,
    /// The words of everything that its command would run.
    pub commands: Vec<Vec<String>>,
    /// Why the call would fail before anything is decided, if it would.
    pub trouble: Option<ToolError>,
}

impl Runtime {
    /// Finds out what would come of a call, and goes no further.
    pub async fn preview(&self, call: Call, cancel: Cancel) -> Result<Preview, Outcome> {
        self.preview_with(call, cancel, |preview| match preview.trouble {
            Some(trouble) => Err(trouble),
            None => Ok(preview),
        })
        .await
    }

    /// Finds out what would be decided about a call, even if its tool would fail before that.
    pub async fn explain(&self, call: Call, cancel: Cancel) -> Result<Preview, Outcome> {
        self.preview_with(call, cancel, Ok).await
    }

    async fn preview_with(
        &self,
        call: Call,
        cancel: Cancel,
        accept: impl FnOnce(Preview) -> Result<Preview, ToolError>,
    ) -> Result<Preview, Outcome> {
        let start = self.clock.elapsed();
        let elapsed = || self.clock.elapsed().saturating_sub(start);
        let (call, found) = self.find(call);
        let (offer, tool) = match found {
            Ok(found) => found,
            Err((err, catalogue)) => {
                let (tool, elapsed) = (&call.tool, elapsed());
                let result = Err(err);
                let ended = Ended { call: &call, tool, catalogue, scope: None, result, elapsed };
                return Err(ended.outcome());
            }
        };
        let digest = call.digest_of(&tool, &canonical::text(&call.args));
        let scope = Arc::new(self.scope(call, offer, tool, digest, &cancel));
        let allowance = allowance(&scope.offer, WorkPlace::EventLoop, &cancel, &*self.recorder);
        let asked = Asked(Arc::clone(&scope));
        let preview = blocking(&allowance, move || preview(&asked)).await.and_then(accept);
        preview.map_err(|err| Ended::of(&scope, Err(err), elapsed()).outcome())
    }
}

/// Decides about a call without counting or recording it.
fn preview(asked: &Asked) -> Result<Preview, ToolError> {
    let PreviewedCall { proposal, elsewhere, trouble } = asked.preview()?;
    let Asked(scope) = asked;
    let (facts, ctx) = (scope.facts(), &scope.ctx);
    let (decision, question) = match elsewhere {
        None => {
            let decision = scope.judge.decide(&facts, &proposal, ctx);
            let question = Question::new(scope, &proposal, decision.clone(), Vec::new())?;
            (decision, question)
        }
        Some(elsewhere) => {
            let decision = scope.judge.accept(&facts, &elsewhere.decision, ctx);
            let question = Question::elsewhere(scope, &proposal, decision.clone(), elsewhere);
            (decision, question)
        }
    };
    let commands = proposal.reading.map(|reading| reading.found).unwrap_or_default();
    Ok(Preview { tool: scope.tool.clone(), decision, question, commands, trouble })
}
