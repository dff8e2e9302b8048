//! What it would do to undo calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::CallId;
use toolcrib_core::change::ChangeKind;
use toolcrib_runtime::undo::UndoAction;

/// What it would do to undo a call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UndoPreview {
    /// The call.
    pub call: CallId,
    /// Whether the call can be undone now.
    pub possible: bool,
    /// Why it cannot.
    pub reason: Option<String>,
    /// What to do about that.
    pub hint: Option<String>,
    /// What would be done to each path.
    pub files: Vec<PreviewedFile>,
    /// What its command changed beside that. There is no copy of it, so undo leaves it.
    pub left: Vec<String>,
}

/// What an undo would do to a path.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PreviewedFile {
    /// The absolute path of the root.
    pub root: String,
    /// The path below its root.
    pub path: String,
    /// What the call did to it.
    pub kind: ChangeKind,
    /// What would be done to it. A directory that the call made is removed only if it is empty.
    pub action: Option<UndoAction>,
    /// Why nothing of the call would be undone.
    pub reason: Option<String>,
}
