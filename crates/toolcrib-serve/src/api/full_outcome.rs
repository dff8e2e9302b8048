//! The whole outcome of a call, for a front end that shows it to a person: beside the catalogue's reply, what changed,
//! how long it took, and how to undo it.

use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_core::command::ChangedFiles;
use toolcrib_core::{CallId, Change, ErrorKind, ToolError, ToolName};

use super::json_reply::JsonReply;
use crate::reply::ApiError;

/// The whole outcome of a call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FullOutcome {
    /// The id of the call.
    pub call: CallId,
    /// The tool: `catalogue/name` if it was found, and otherwise as the caller wrote it.
    pub tool: ToolName,
    /// The catalogue's reply, as compact JSON.
    pub text: String,
    /// Why the call failed, if it did.
    pub error: Option<FullError>,
    /// The decision in words, if the call got that far.
    pub decision: Option<String>,
    /// The grant that allowed the call.
    pub grant: Option<String>,
    /// The changes that the call made to files.
    pub changes: Vec<ShownChange>,
    /// The files that changed while its command ran, if any did.
    pub touched: Option<ChangedFiles>,
    /// Where its command ran.
    pub place: CommandPlace,
    /// The time from asked to ended.
    pub elapsed_us: u64,
    /// Whether its command failed, whatever its catalogue calls that.
    pub has_failed_command: bool,
    /// Why the call is not on the record, if it is not.
    pub unrecorded: Option<String>,
}

/// Why a call failed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FullError {
    /// The kind of the error.
    pub kind: String,
    /// What happened, to what.
    pub message: String,
    /// Other facts.
    #[serde(default)]
    pub context: Map<String, Value>,
}

/// A change, with the difference that it made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ShownChange {
    /// The change.
    pub change: Change,
    /// The difference, if there is one to show.
    pub difference: Option<FileDifference>,
}

/// The difference that a change made to a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileDifference {
    /// Why there is no difference to show.
    Note(String),
    /// The lines that differ.
    Lines(TextDifference),
}

/// The lines in which two texts differ.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TextDifference {
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
    /// The lines that differ, and some around them.
    pub lines: Vec<DifferenceLine>,
    /// How many more lines there would be.
    pub left_out: usize,
}

/// A line of a difference.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceLine {
    /// The number of the line in its text.
    pub number: usize,
    /// What became of it.
    pub kind: LineKind,
    /// The line, with its control characters escaped.
    pub text: String,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is the same in both texts.
    Same,
    /// Lines that are the same stand here, and are not shown.
    Gap,
}

/// How many lines of a difference are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceLength {
    /// As many as a terminal shows. The others are counted.
    Usual,
    /// All of them.
    Whole,
}

/// What a call would change in a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlannedEdit {
    /// The file, as the question names it.
    pub place: String,
    /// The difference, if there is one.
    pub difference: Option<FileDifference>,
}

/// What a call would do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCall {
    /// The tool, as `catalogue/name`.
    pub tool: ToolName,
    /// What would be decided: `allow`, `ask` or `deny`.
    pub decision: String,
    /// What decides it.
    pub rule: String,
    /// The files that it would change, as the caller named them.
    pub files_affected: Vec<String>,
    /// What it would change in each of them.
    pub edits: Vec<PlannedEdit>,
}

/// Where the command of a call ran, and whether the call can be undone.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommandPlace {
    /// The absolute path of the workspace.
    pub root: String,
    /// Whether there are copies of files that it changed.
    pub has_copies: bool,
    /// The absolute paths of the files that it deleted and that there are copies of.
    pub deleted: Vec<String>,
}

impl FullError {
    /// Returns the kind of the error. One that only another version knows is a failure of the tool.
    pub fn kind(&self) -> ErrorKind {
        let known = ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind);
        known.unwrap_or(ErrorKind::Failed)
    }
}

impl From<&ToolError> for FullError {
    fn from(err: &ToolError) -> Self {
        let ToolError { kind, message, context, .. } = err;
        let kind = kind.as_str().to_owned();
        Self { kind, message: message.clone(), context: context.clone() }
    }
}

/// The form of the reply about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutcomeForm {
    /// The catalogue's reply, as the contract has it.
    Contract,
    /// The whole outcome.
    Full,
}

impl OutcomeForm {
    /// Reads `Prefer: return=representation`.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut given = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let wants_full = |value: &str| {
            value.split([',', ';']).any(|part| part.trim() == "return=representation")
        };
        if given.any(wants_full) { Self::Full } else { Self::Contract }
    }
}

/// Returns a reply with the whole outcome, if that could be gathered.
pub(super) fn in_full(reply: JsonReply, full: Result<FullOutcome, ApiError>) -> JsonReply {
    match full.map(|full| serde_json::to_string(&full)) {
        Ok(Ok(body)) => JsonReply { body, ..reply },
        Ok(Err(_)) | Err(_) => reply,
    }
}
