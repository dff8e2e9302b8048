//! What the binary does for the API, because it needs the settings, the workspace or the sandbox.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::approval::KeptOutcome;
use toolcrib_core::command::{End, Excerpt, Lines, Stream, TaskSpent};
use toolcrib_core::{CallId, Caller, Change, Outcome, Principal, ToolError, ToolName};
use toolcrib_runtime::Preview;
use toolcrib_runtime::undo::{UndoAction, UndoScope};

use super::client_snippet::ClientSnippet;
use super::full_outcome::{DifferenceLength, FileDifference, FullOutcome, PlannedEdit};
use super::rules_replay::{RulesReplay, WantedReplay};
use super::undo_preview::UndoPreview;

/// What the binary does for the API. Everything here can block.
pub trait Backend: Send + Sync {
    /// Returns the whole outcome of a call that was made here.
    fn full_outcome(&self, outcome: &Outcome) -> FullOutcome;

    /// Returns the whole outcome of a call that waited for an answer.
    fn kept_outcome(&self, call: &str, tool: &ToolName, kept: &KeptOutcome) -> FullOutcome;

    /// Returns what a call would change in files.
    fn planned_edits(&self, preview: &Preview, length: DifferenceLength) -> Vec<PlannedEdit>;

    /// Returns the difference that each change made.
    fn differences(&self, changes: &[Change]) -> Vec<Option<FileDifference>>;

    /// Returns the difference of two texts, without what is secret in them; nothing if they are equal.
    fn text_difference(&self, before: &str, after: &str) -> Option<FileDifference>;

    /// Returns the calls that changed files, newest first.
    fn changed_calls(&self, wanted: &WantedChanges) -> Result<ChangedCallList, ToolError>;

    /// Returns what it would do to undo these calls of the workspace, one after the other.
    fn preview_undo(&self, calls: &[String]) -> Result<Vec<UndoPreview>, ToolError>;

    /// Undoes a call, as a call of `caller`.
    fn undo(
        &self,
        call: &str,
        caller: Arc<Caller>,
        scope: UndoScope,
    ) -> Result<UndoReport, ToolError>;

    /// Adds rules to the operator's file, and takes them up.
    fn add_rules(&self, text: &str, by: &Principal) -> Result<RulesChanged, ToolError>;

    /// Removes a rule from the operator's file, and takes that up.
    fn remove_rule(&self, rule: &str, by: &Principal) -> Result<RulesChanged, ToolError>;

    /// Returns the operator's own rules file, if there is a place for one.
    fn rules_file(&self) -> Option<String>;

    /// Checks rules, and decides recorded calls again as if they were in force.
    fn replay_rules(&self, wanted: &WantedReplay) -> Result<RulesReplay, ToolError>;

    /// Returns what to add to the file of each MCP client.
    fn client_snippets(&self) -> Vec<ClientSnippet>;

    /// Returns the commands of this workspace whose output is saved, newest first.
    fn tasks(&self) -> Vec<TaskSummary>;

    /// Returns what background tasks took of the quotas.
    fn spent_by_tasks(&self) -> Vec<TaskSpent>;

    /// Kills a command that runs in this process, and everything that it started. Returns whether it still ran.
    fn kill_task(&self, id: &str) -> Result<bool, ToolError>;

    /// Returns lines of the saved output of a call.
    fn output(&self, call: &str, stream: Stream, lines: Lines) -> Result<Excerpt, ToolError>;

    /// Returns what works here and what does not.
    fn diagnosis(&self) -> Value;
}

/// Which calls that changed files are listed.
#[derive(Clone, Copy, Debug)]
pub struct WantedChanges {
    /// Where they changed something.
    pub scope: ChangesScope,
    /// The most to list.
    pub limit: usize,
    /// Whether the list has the commands that they ran, which takes a while.
    pub with_commands: bool,
}

/// Where calls changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangesScope {
    /// Anywhere.
    All,
    /// In the workspace, or in a root beside it.
    Workspace,
}

/// The calls that changed files.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ChangedCallList {
    /// The newest of them.
    pub calls: Vec<ChangedCall>,
    /// How many there are in all.
    pub total: usize,
    /// How many more there are, which changed something elsewhere.
    #[serde(default)]
    pub elsewhere: usize,
    /// The beginning of the id of each call that no other call has, in the order of the calls.
    #[serde(default)]
    pub short_ids: Vec<String>,
    /// The workspace, and the roots beside it.
    #[serde(default)]
    pub roots: Vec<String>,
}

/// A call that changed files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChangedCall {
    /// The id of the call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// When it changed the first file.
    pub at: String,
    /// The command that it ran, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether it was undone.
    pub undone: bool,
    /// What it changed.
    pub changes: Vec<Change>,
}

/// What an undo did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UndoReport {
    /// The call that was undone.
    pub undone: String,
    /// The call that undid it. To undo that one is to redo.
    pub by: CallId,
    /// What was done to each path.
    pub files: Vec<RestoredFile>,
    /// Whether its command changed other files, too, which are not undone.
    #[serde(default)]
    pub has_other_changes: bool,
}

/// What an undo did to a path.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RestoredFile {
    /// The absolute path of the root.
    #[serde(default)]
    pub root: String,
    /// The path below its root.
    pub path: String,
    /// What was done to it.
    pub action: UndoAction,
}

/// Rules that were added or removed.
#[derive(Clone, Debug)]
pub struct RulesChanged {
    /// Their ids.
    pub ids: Vec<String>,
    /// What the one who changed them should know.
    pub warnings: Vec<String>,
}

/// A command that runs or ran, by the id of its call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskSummary {
    /// The id of the call that started it.
    pub id: String,
    /// The command.
    pub command: String,
    /// When it was started.
    pub started: String,
    /// Whose command it is. Without one, it is that of the user at a terminal.
    pub principal: Option<Principal>,
    /// Whether it runs.
    pub status: TaskState,
    /// How it ended.
    pub end: Option<End>,
}

/// Whether a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It runs.
    Running,
    /// It has ended.
    Ended,
    /// The process that ran it is gone.
    Lost,
}
