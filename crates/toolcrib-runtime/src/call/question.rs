//! The question that a person is asked about a call, as data that every door renders.

use serde_json::{Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::{CallId, Ctx, Decision, Declaration, Plan, ToolError, ToolName};

use super::scope::CallScope;
use crate::decide::judge::Choice;
use crate::decide::proposal::Proposal;

/// The largest part of a file that an answer is bound to. Of larger files, the first bytes and the size count.
const PINNED_BYTES: u64 = 8 << 20;

/// A call that waits for a person's answer.
#[derive(Clone)]
pub struct Question {
    /// The call.
    pub call: CallId,
    /// The digest of what an answer is bound to: tool, arguments, and what becomes of which files.
    pub digest: String,
    /// What an answer does not pin down, each in a sentence for people.
    pub unpinned: Vec<String>,
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
        Ok(Self {
            call: scope.call.id.clone(),
            digest: pinned_digest(scope, proposal, &places),
            unpinned: unpinned(proposal, &scope.ctx),
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

/// Returns the digest of what an answer is bound to: the tool, its arguments, what it would do to which files, and
/// the content of the files that its command names.
pub(crate) fn pinned_digest(scope: &CallScope, proposal: &Proposal, places: &[String]) -> String {
    let plan = &proposal.plan;
    let edits = plan.edits.iter().map(|edit| json!([edit.path, edit.before, edit.after]));
    let directory = plan.command.as_ref().and_then(|command| command.directory.as_ref());
    let directory = directory.and_then(|directory| proposal.paths.absolute(directory).ok());
    let named = contents(&proposal.named_files(), &scope.ctx);
    let edits: Vec<Value> = edits.collect();
    let all = json!([scope.call.args, places, edits, directory, named]);
    Digest::of(scope.tool.as_str(), &all).to_string()
}

/// Returns path, size and digest of each file that can be read.
fn contents(files: &[String], ctx: &Ctx) -> Vec<(String, u64, String)> {
    let read = |path: &String| {
        let content = ctx.files.read(path, PINNED_BYTES).ok()?;
        Some((path.clone(), content.size, Digest::of_bytes(&content.bytes).to_string()))
    };
    files.iter().filter_map(read).collect()
}

/// Returns what can be something else by the time the call runs.
fn unpinned(proposal: &Proposal, ctx: &Ctx) -> Vec<String> {
    let mut unpinned = proposal.unpinned_words();
    for path in proposal.named_files() {
        let size = ctx.files.read(&path, 0).map_or(0, |content| content.size);
        if size > PINNED_BYTES {
            let most = PINNED_BYTES >> 20;
            unpinned.push(format!("`{path}`: only its first {most} MiB are looked at"));
        }
    }
    unpinned
}
