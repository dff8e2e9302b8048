//! The question that a person is asked about a call, as data that every door renders.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::approval::{ApprovalQuestion, PendingApproval};
use toolcrib_core::policy::{Mode, by_tier};
use toolcrib_core::{Call, CallTrace, Caller, Decision, Plan, SessionId, Tier, ToolName};

use super::pins::Pins;
use crate::decide::judge::Choice;

/// A call, or a host that the command of a call wants to reach, that waits for a person's answer.
#[derive(Clone)]
pub struct Question {
    /// The id of the approval: that of the call. A question about a host has `-host1`, `-host2` and so on behind it.
    pub id: String,
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

impl Question {
    /// Returns a stored question about a host, or about a call that runs on another machine, so that it can be asked here
    /// too. Tier and decision are those of any command: nobody who is asked so is shown them.
    pub fn stored(pending: &PendingApproval) -> Self {
        Self {
            id: pending.id.clone(),
            digest: pending.digest.clone(),
            pins: Pins::default(),
            tool: pending.tool.clone(),
            tier: Tier::Restricted,
            args: pending.args.clone(),
            plan: Plan::default(),
            decision: by_tier(Tier::Restricted, Mode::Standard),
            choices: Vec::new(),
            shown: pending.question.clone(),
            asker: Asker {
                session: pending.requester.clone(),
                caller: Arc::new(pending.caller.clone()),
                conversation: pending.conversation.clone(),
                trace: pending.trace.clone(),
            },
            root: pending.workspace.clone(),
        }
    }
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
