//! A call: who asks for which tool with what.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Names one call, for ever. Made by the runtime; sorts by time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

/// Names the conversation that calls belong to.
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

/// What a door hands to the runtime.
#[derive(Clone, Debug)]
pub struct Call {
    /// This call.
    pub id: CallId,
    /// The conversation it belongs to.
    pub session: SessionId,
    /// What its caller calls the conversation, for the record: nothing is decided or counted by it.
    pub conversation: Option<SessionId>,
    /// The tool asked for: `catalogue/tool`, or `tool` where that is enough.
    pub tool: String,
    /// The arguments, as parsed by [`crate::json::parse`].
    pub args: Value,
}

impl Call {
    /// The conversation as the record names it.
    pub fn conversation(&self) -> &SessionId {
        self.conversation.as_ref().unwrap_or(&self.session)
    }
}
