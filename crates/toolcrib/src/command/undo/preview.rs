//! What it would do to undo calls, as every door tells it.

use toolcrib_core::{CallId, Change, ToolError};
use toolcrib_runtime::undo::{PreviewedPath, PreviewedUndo};
use toolcrib_serve::{PreviewedFile, UndoPreview};

use super::hint::over_http;
use crate::command::call_history::other_changes;
use crate::wiring::StateAccess;

/// Returns what it would do to undo these calls, one after the other.
pub(in crate::command) fn preview(
    access: &StateAccess,
    calls: &[String],
) -> Result<Vec<UndoPreview>, ToolError> {
    let calls: Vec<CallId> = calls.iter().cloned().map(CallId).collect();
    let previewed = access.preview_undo(&calls)?;
    Ok(previewed.into_iter().map(|one| shown(access, one)).collect())
}

fn shown(access: &StateAccess, previewed: PreviewedUndo) -> UndoPreview {
    let reason = previewed.reason().cloned();
    let PreviewedUndo { call, paths, .. } = previewed;
    let mine: Vec<Change> = paths.iter().map(|path| path.change.clone()).collect();
    let history = access.history_of(&call.0);
    let left = history.map(|history| other_changes(&history, &mine)).unwrap_or_default();
    let hint = reason.as_ref().and_then(|err| err.hint.as_deref()).map(over_http);
    UndoPreview {
        call,
        possible: reason.is_none(),
        reason: reason.map(|err| err.message),
        hint,
        files: paths.into_iter().map(file).collect(),
        left,
    }
}

fn file(path: PreviewedPath) -> PreviewedFile {
    let PreviewedPath { change, action } = path;
    let Change { root, path, kind, .. } = change;
    let reason = action.as_ref().err().map(|err| err.message.clone());
    PreviewedFile { root, path, kind, action: action.ok(), reason }
}
