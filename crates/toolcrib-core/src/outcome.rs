//! What came of a call.

use std::time::Duration;

use serde_json::Value;

use crate::call::CallId;
use crate::change::Change;
use crate::command::Usage;
use crate::error::ToolError;
use crate::policy::Decision;

/// What a door gets back for a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The call.
    pub call: CallId,
    /// The tool, `catalogue/name` where it was found, else as asked for.
    pub tool: String,
    /// The catalogue's reply, success or failure.
    pub reply: Value,
    /// The same as compact JSON.
    pub text: String,
    /// Why it failed, if it did.
    pub error: Option<ToolError>,
    /// What was decided, if it came to that.
    pub decision: Option<Decision>,
    /// What it changed.
    pub changes: Vec<Change>,
    /// From asked to ended.
    pub elapsed: Duration,
    /// What it used.
    pub usage: Usage,
    /// Why it is not on the record, if it is not.
    pub unrecorded: Option<String>,
}
