//! The question that a person is asked about a call, as data that every door renders.

use serde_json::{Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::pin::Pin;
use toolcrib_core::{CallId, Decision, Declaration, Plan, ToolError, ToolName};

use super::pins::Pins;
use super::review::Review;
use super::scope::CallScope;
use crate::decide::judge::Choice;
use crate::decide::proposal::Proposal;

/// A call that waits for a person's answer.
#[derive(Clone)]
pub struct Question {
    /// The call.
    pub call: CallId,
    /// The digest of what an answer is bound to: tool, arguments, and what becomes of which files.
    pub digest: String,
    /// What an answer pins, and what not.
    pub pins: Pins,
    /// The full name of the tool.
    pub tool: ToolName,
    /// The tool.
    pub declaration: &'static Declaration,
    /// The arguments, to the letter.
    pub args: Value,
    /// What the call would do.
    pub plan: Plan,
    /// The absolute paths of the files that it would change, in the plan's order.
    pub places: Vec<String>,
    /// Why it is asked.
    pub decision: Decision,
    /// What "always" could cover.
    pub choices: Vec<Choice>,
    /// The session that asks.
    pub session: String,
    /// The workspace.
    pub root: String,
}

impl Question {
    /// Returns the question about a proposal, without choices for "always".
    pub(crate) fn new(
        scope: &CallScope,
        proposal: &Proposal,
        decision: Decision,
    ) -> Result<Self, ToolError> {
        let places = proposal.edited_paths()?;
        let pins = pins_of(scope, proposal);
        Ok(Self {
            call: scope.call.id.clone(),
            digest: pinned_digest(scope, proposal, &places, &pins.pinned),
            pins,
            tool: scope.tool.clone(),
            declaration: scope.offer.tool.declaration(),
            args: scope.call.args.clone(),
            plan: proposal.plan.clone(),
            places,
            decision,
            choices: Vec::new(),
            session: scope.call.session.0.clone(),
            root: proposal.paths.root(),
        })
    }
}

/// What someone was asked about: the state that the call is compared with before it runs.
pub(crate) struct AskedState {
    pub(crate) digest: String,
    pub(crate) pinned: Vec<Pin>,
}

impl From<Question> for AskedState {
    fn from(question: Question) -> Self {
        Self { digest: question.digest, pinned: question.pins.pinned }
    }
}

/// Returns what an answer to the question about a proposal pins. Nothing is pinned for an answer that was given before
/// anything was shown.
pub(crate) fn pins_of(scope: &CallScope, proposal: &Proposal) -> Pins {
    match scope.approval.review {
        Review::Files | Review::Parked => Pins::of(proposal, &scope.ctx),
        Review::Nothing => Pins::default(),
    }
}

/// Returns the digest of what an answer is bound to: the tool, its arguments, what it would do to which files, and
/// what is pinned.
pub(crate) fn pinned_digest(
    scope: &CallScope,
    proposal: &Proposal,
    places: &[String],
    pinned: &[Pin],
) -> String {
    let plan = &proposal.plan;
    let edits = plan.edits.iter().map(|edit| json!([edit.path, edit.before, edit.after]));
    let directory = plan.command.as_ref().and_then(|command| command.directory.as_ref());
    let directory = directory.and_then(|directory| proposal.paths.absolute(directory).ok());
    let edits: Vec<Value> = edits.collect();
    let all = json!([scope.call.args, places, edits, directory, pinned]);
    Digest::of(scope.tool.as_str(), &all).to_string()
}
