//! Undo: puts back what a call changed, on the record like any other call.

mod operation;
mod restore;

pub use operation::{RestoreAreas, Undo, as_json};
pub use restore::{Restored, UndoAction, UndoScope};
