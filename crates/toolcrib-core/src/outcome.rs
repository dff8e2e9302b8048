//! The outcome of a call.

use std::time::Duration;

use serde_json::Value;

use crate::call::CallId;
use crate::change::Change;
use crate::command::{ChangedFiles, End, Usage};
use crate::error::ToolError;
use crate::event::RecordError;
use crate::policy::Decision;
use crate::tool_name::ToolName;

/// The outcome of a call, as a door gets it back.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The id of the call.
    pub call: CallId,
    /// The tool: `catalogue/name` if it was found, and otherwise as the caller wrote it.
    pub tool: ToolName,
    /// The catalogue's reply, success or failure.
    pub reply: Value,
    /// The reply as compact JSON.
    pub text: String,
    /// Why the call failed, if it did.
    pub error: Option<ToolError>,
    /// The decision, if the call got that far.
    pub decision: Option<Decision>,
    /// The changes that the call made to files.
    pub changes: Vec<Change>,
    /// The files that changed while its command ran, if any did.
    pub touched: Option<ChangedFiles>,
    /// The time from asked to ended.
    pub elapsed: Duration,
    /// The resources that the call used.
    pub usage: Usage,
    /// How its command ended, if it ran one to its end.
    pub command_end: Option<End>,
    /// Why the call is not on the record, if it is not.
    pub unrecorded: Option<RecordError>,
}

impl Outcome {
    /// Returns whether the command of the call failed, whatever its catalogue calls that.
    pub fn has_failed_command(&self) -> bool {
        self.command_end.is_some_and(End::is_failure)
    }
}
