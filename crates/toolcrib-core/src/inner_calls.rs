//! Calls that a tool makes while its own call runs, or a subagent that it started.

use std::sync::Arc;

use serde_json::Value;

use crate::call::{HeldPath, SessionId};
use crate::caller::Caller;
use crate::cancel::Cancel;
use crate::outcome::Outcome;
use crate::tool_name::ToolName;

/// Makes calls for a tool while its own call runs.
pub trait InnerCalls: Send + Sync {
    /// Makes a call and waits for its outcome. It is decided and recorded as any call is, and told as the tool's. If a
    /// path is held, the call opens what it leads to now, or nothing.
    fn call(&self, tool: ToolName, args: Value, held_path: Option<HeldPath>) -> Outcome;

    /// Returns who made the tool's own call.
    fn outer_caller(&self) -> &Caller;

    /// Returns the session of the tool's own call.
    fn session(&self) -> &SessionId;

    /// Returns the tools that were on offer when the tool was called.
    fn offered_tools(&self) -> Vec<CallableTool>;

    /// Makes calls that go on after the tool's own call, until `cancel` says otherwise. The settings and rules of then hold
    /// for each of them.
    fn detached(&self, cancel: &Cancel) -> Arc<dyn InnerCalls>;
}

/// A tool that can be called.
#[derive(Clone, Debug)]
pub struct CallableTool {
    /// Its name.
    pub name: ToolName,
    /// What it does.
    pub summary: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
    /// Whether it changes nothing.
    pub is_read_only: bool,
    /// Whether it is of another author.
    pub is_loaded: bool,
}
