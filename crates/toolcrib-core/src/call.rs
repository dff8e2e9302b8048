//! A call: who asks for which tool, with which arguments.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool_name::ToolName;

/// The id of a call, unique for ever. The runtime makes it; ids sort by time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

/// The id of the session that calls belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The caller's own name for the conversation. It only goes into the record: nothing is decided or counted by it.
    pub conversation: Option<SessionId>,
    /// The tool: `catalogue/tool`, or `tool` where that is unambiguous.
    pub tool: ToolName,
    /// The arguments, as parsed by [`crate::json::parse`].
    pub args: Value,
}

impl Call {
    /// Returns the conversation as the record names it: the caller's name, or else the session.
    pub fn conversation(&self) -> &SessionId {
        self.conversation.as_ref().unwrap_or(&self.session)
    }
}
