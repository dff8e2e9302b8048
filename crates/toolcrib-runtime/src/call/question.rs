//! The question that a person is asked about a call, as data that every door renders.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::approval::ApprovalQuestion;
use toolcrib_core::{Call, CallId, CallTrace, Caller, Decision, Plan, SessionId, Tier, ToolName};

use super::pins::Pins;
use crate::decide::judge::Choice;

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
    /// How much harm the tool could do.
    pub tier: Tier,
    /// The arguments, to the letter.
    pub args: Value,
    /// What the call would do.
    pub plan: Plan,
    /// Why it is asked.
    pub decision: Decision,
    /// What "always" could cover.
    pub choices: Vec<Choice>,
    /// What the person is shown, as data that every front end renders.
    pub shown: ApprovalQuestion,
    /// Who asks.
    pub asker: Asker,
    /// The workspace.
    pub root: String,
}

/// Who asks for a call.
#[derive(Clone)]
pub struct Asker {
    /// The session.
    pub session: String,
    /// The caller.
    pub caller: Arc<Caller>,
    /// The caller's own name for the conversation.
    pub conversation: Option<SessionId>,
    /// Where the caller places the call in its own work.
    pub trace: Option<CallTrace>,
}

impl Asker {
    /// Returns who asks for a call.
    pub(crate) fn of(call: &Call) -> Self {
        Self {
            session: call.session.0.clone(),
            caller: Arc::clone(&call.caller),
            conversation: call.conversation.clone(),
            trace: call.trace.clone(),
        }
    }
}
