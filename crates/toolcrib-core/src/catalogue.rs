//! One contract's face over the shared operations: its names, its envelope, its error wording.

use std::time::Duration;

use serde_json::Value;

use crate::declaration::Declaration;
use crate::error::ToolError;
use crate::tool::AnyTool;

/// A contract's set of tools, and two pure functions that give replies their form.
pub struct Catalogue {
    /// Its name.
    pub name: &'static str,
    /// What it brings, in a sentence.
    pub about: &'static str,
    /// Its tools, in the order of the contract.
    pub tools: &'static [&'static dyn AnyTool],
    /// Arguments of every call that are about the call and not for the tool.
    pub call_keys: &'static [&'static str],
    /// Tells the code of a tool from that of its other versions.
    pub source_hash: fn(&str) -> &'static str,
    /// Wraps a tool's reply.
    pub reply: fn(&Declaration, Value, Duration) -> Value,
    /// Words a failure.
    pub error_reply: fn(&Failure<'_>) -> Value,
}

/// A failed call, for a catalogue to word.
pub struct Failure<'a> {
    /// The name the caller used.
    pub tool: &'a str,
    /// The arguments as they came.
    pub args: &'a Value,
    /// What went wrong.
    pub error: &'a ToolError,
    /// How long it took.
    pub elapsed: Duration,
}

impl Catalogue {
    /// Returns the tool of that name.
    pub fn tool(&self, name: &str) -> Option<&'static dyn AnyTool> {
        self.tools.iter().copied().find(|tool| tool.declaration().name == name)
    }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Catalogue").field(&self.name).finish()
    }
}

/// Returns a duration as contracts count it: whole milliseconds.
pub fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
