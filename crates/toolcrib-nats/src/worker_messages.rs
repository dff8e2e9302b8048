//! What gateways and workers tell each other.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_core::checked_elsewhere::CheckedElsewhere;
use toolcrib_core::policy::PolicyText;
use toolcrib_core::{
    Call, CallId, CallTrace, Caller, ErrorKind, Limits, SessionId, ToolError, Usage,
};

/// A call that a worker checks, or runs at once if its tool only computes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallMessage {
    /// When it was sent.
    pub(crate) at: Timestamp,
    pub(crate) call: SentCall,
    /// Whether policy asked about the call, and the answer was yes. For a call that computes that is enough, because what
    /// it does is in its arguments. Any other one is offered to be run, and needs a permit with the answered question.
    pub(crate) is_answered: bool,
    /// The digest of the policy that decides.
    pub(crate) policy: String,
    /// The policy, if the worker did not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy_text: Option<PolicyText>,
    pub(crate) limits: SentLimits,
}

/// The limits of a call at the gateway.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SentLimits {
    deadline_ms: u64,
    output_bytes: usize,
}

impl From<Limits> for SentLimits {
    fn from(limits: Limits) -> Self {
        let Limits { deadline_ms, output_bytes } = limits;
        Self { deadline_ms, output_bytes }
    }
}

impl From<SentLimits> for Limits {
    fn from(limits: SentLimits) -> Self {
        let SentLimits { deadline_ms, output_bytes } = limits;
        Self { deadline_ms, output_bytes }
    }
}

/// A call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SentCall {
    id: String,
    session: String,
    caller: Caller,
    conversation: Option<String>,
    trace: Option<CallTrace>,
    /// The full name of the tool.
    tool: String,
    args: Value,
}

/// Has a worker run a call that it checked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunMessage {
    /// The name of the worker's offer. It holds once, and for a short time.
    pub(crate) offer: String,
    /// The digest of the question that was answered with yes. Nothing if policy allows the call.
    pub(crate) answered: Option<String>,
}

/// Asks a worker about a call, or has it end one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallName {
    pub(crate) call: String,
}

/// What a worker replies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub(crate) enum WorkerReply {
    /// The call can be run.
    Checked { worker: String, process: String, offer: String, checked: Box<CheckedElsewhere> },
    /// The call ran.
    Done { result: Value, used: Usage },
    /// The call ran, and failed.
    FailedRun { error: SentError, used: Usage },
    /// The call failed before it ran.
    Failed { error: SentError },
    /// The worker does not know the policy.
    NeedsPolicy,
    /// As many calls are running as the worker runs.
    Busy,
    /// The offer is over, or there was none.
    NoOffer,
    /// The worker does not trust the gateway, or the message is old.
    Refused { why: String },
    /// The call that was asked about is running.
    Running,
    /// The call that was asked about has not begun, and will not: its offer is withdrawn.
    Withdrawn,
    /// The worker knows no such call.
    Unknown,
}

/// An error of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SentError {
    kind: String,
    message: String,
    hint: Option<String>,
    path: Option<String>,
    context: Map<String, Value>,
}

impl SentCall {
    /// Returns a call as it is sent. What its caller chose to be connected to stays behind: the worker has connections of
    /// its own.
    pub(crate) fn of(call: &Call) -> Self {
        let Call { id, session, caller, conversation, trace, tool, args, .. } = call;
        Self {
            id: id.0.clone(),
            session: session.0.clone(),
            caller: Caller { connection: None, ..caller.as_ref().clone() },
            conversation: conversation.as_ref().map(|it| it.0.clone()),
            trace: trace.clone(),
            tool: tool.as_str().to_owned(),
            args: args.clone(),
        }
    }

    /// Returns the call, as one of this machine.
    pub(crate) fn call(self) -> Call {
        let Self { id, session, caller, conversation, trace, tool, args } = self;
        let (id, session) = (CallId(id), SessionId(session));
        let call = Call::new(id, session, caller.into(), tool.into(), args);
        Call { conversation: conversation.map(SessionId), trace, ..call }
    }
}

impl From<ToolError> for SentError {
    fn from(error: ToolError) -> Self {
        let ToolError { kind, message, hint, path, context } = error;
        Self { kind: kind.as_str().to_owned(), message, hint, path, context }
    }
}

impl From<SentError> for ToolError {
    fn from(sent: SentError) -> Self {
        let SentError { kind, message, hint, path, context } = sent;
        let kind = ErrorKind::ALL.into_iter().find(|known| known.as_str() == kind);
        Self { kind: kind.unwrap_or(ErrorKind::Failed), message, hint, path, context }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolcrib_core::{Caller, Principal};

    #[test]
    fn a_call_and_an_error_arrive_as_they_were_sent() {
        let caller = Caller {
            principal: Principal::of_nats(Some("ci")),
            connection: Some("docs".to_owned()),
            ..Caller::at_terminal("")
        };
        let args = json!({"a": 1, "b": [1.5, "x"]});
        let id = (CallId("c1".to_owned()), SessionId("s1".to_owned()));
        let call = Call::new(id.0, id.1, caller.into(), "clemini/read_file".into(), args.clone());
        let text = serde_json::to_string(&SentCall::of(&call)).unwrap();
        let received = serde_json::from_str::<SentCall>(&text).unwrap().call();
        assert_eq!((received.id.0.as_str(), received.session.0.as_str()), ("c1", "s1"));
        assert_eq!(received.args, args);
        assert_eq!(received.caller.principal.name, "nats:ci");
        assert_eq!(received.caller.connection, None);
        for kind in ErrorKind::ALL {
            let error = ToolError::new(kind, "m").hint("h").at("p").with("k", 1);
            let text = serde_json::to_string(&SentError::from(error.clone())).unwrap();
            let received: SentError = serde_json::from_str(&text).unwrap();
            assert_eq!(ToolError::from(received), error);
        }
    }
}
