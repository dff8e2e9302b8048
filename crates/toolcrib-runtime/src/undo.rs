//! Undo: puts back what a call changed, on the record like any other call.

mod operation;
mod plan;
mod preview;

pub use operation::{RestoreAreas, UNDO_TOOL, Undo, as_json};
pub use plan::{Restored, UndoAction, UndoScope};
pub use preview::{PreviewedPath, PreviewedUndo, UndoPreviews};
