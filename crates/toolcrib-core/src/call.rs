//! A call: who asks for which tool, with which arguments.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::caller::Caller;
use crate::canonical::{self, Digest};
use crate::limits::Limits;
use crate::tool_name::ToolName;

/// The id of a call, unique for ever. The runtime makes it; ids sort by time.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CallId(pub String);

/// The id of the session that calls belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SessionId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call as a door hands it to the runtime.
#[derive(Clone, Debug)]
pub struct Call {
    /// The id of the call.
    pub id: CallId,
    /// The session that the call belongs to.
    pub session: SessionId,
    /// Who makes the call.
    pub caller: Arc<Caller>,
    /// The caller's own name for the conversation. It only goes into the record: nothing is decided or counted by it.
    pub conversation: Option<SessionId>,
    /// Where the caller places the call in its own work. It only goes into the record, too.
    pub trace: Option<CallTrace>,
    /// The tool: `catalogue/tool`, or `tool` where that is unambiguous.
    pub tool: ToolName,
    /// The arguments, as parsed by [`crate::json::parse`].
    pub args: Value,
    /// Where a path of the arguments must lead. If it leads elsewhere when it is opened, the call fails.
    pub held_path: Option<HeldPath>,
    /// Limits of the machine that the call was asked for on. Those of the tool here hold, too.
    pub limits: Option<Limits>,
}

/// A path that was checked by whoever makes the call, and must mean the same file when the call opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPath {
    /// The path as the arguments have it.
    pub path: String,
    /// The absolute path of the file, without any link.
    pub leads_to: String,
}

/// Where a caller places a call in its own work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallTrace {
    /// The caller's own name for the trace. The call id stands for it if the caller has none.
    pub id: Option<String>,
    /// The iteration of the agent's loop.
    pub iteration: u32,
}

impl Call {
    /// Returns a call of nothing but a tool and its arguments.
    pub fn new(
        id: CallId,
        session: SessionId,
        caller: Arc<Caller>,
        tool: ToolName,
        args: Value,
    ) -> Self {
        Self {
            id,
            session,
            caller,
            conversation: None,
            trace: None,
            tool,
            args,
            held_path: None,
            limits: None,
        }
    }

    /// Returns the digest of what is asked for: the tool, its arguments, and the connection that the caller chose.
    pub fn digest(&self) -> Digest {
        self.digest_of(&self.tool, &canonical::text(&self.args))
    }

    /// Returns the digest of the call as one of `tool`, with arguments whose canonical text is `args`.
    pub fn digest_of(&self, tool: &ToolName, args: &str) -> Digest {
        match &self.caller.connection {
            None => Digest::of_text(tool.as_str(), args),
            Some(connection) => Digest::of_chosen(tool.as_str(), args, connection),
        }
    }

    /// Returns the conversation as the record names it: the caller's name, or else the session.
    pub fn conversation(&self) -> &SessionId {
        self.conversation.as_ref().unwrap_or(&self.session)
    }
}
