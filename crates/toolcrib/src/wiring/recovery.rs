//! Recovery after a crash: finds the calls whose process died, and tells the operator about them.

use std::path::Path;
use std::sync::Arc;

use toolcrib_core::change::UndoLog;
use toolcrib_core::{Clock, Recorder};
use toolcrib_host::{Workspace, changed_since};
use toolcrib_ledger::{Journal, LostCall, StateFolder, recover_lost_calls};

/// Puts the calls whose process died on the record, and returns a warning for each.
pub(super) fn recover(
    workspace: &Arc<Workspace>,
    state: &StateFolder,
    recorder: &dyn Recorder,
    clock: &dyn Clock,
) -> Vec<String> {
    let root = workspace.root().map(|root| root.path().display().to_string());
    let changed_files = |lost: &LostCall| {
        let directory = lost.directory.as_ref()?;
        let is_here = root.as_ref().is_some_and(|root| Path::new(directory).starts_with(root));
        is_here.then(|| changed_since(workspace, state.folder(), lost.at))
    };
    // The command is over, so its snapshots can be compared with the files now.
    workspace.resolve_orphaned_snapshots();
    match recover_lost_calls(state, recorder, clock.now(), &changed_files) {
        Ok(lost) => {
            lost.iter().map(|lost| warning(lost, journalled_changes(state, lost))).collect()
        }
        Err(err) => vec![format!("the record cannot be read: {err}")],
    }
}

/// Whether the journal has changes of a call that died.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JournalledChanges {
    /// The journal has at least one change of the call.
    Any,
    /// The journal has no change of the call.
    Nothing,
}

/// Looks for changes of the call in the journal.
fn journalled_changes(state: &StateFolder, lost: &LostCall) -> JournalledChanges {
    let changes = Journal::new(state).history().unwrap_or_default().0;
    if changes.iter().any(|change| change.call.0 == lost.call) {
        JournalledChanges::Any
    } else {
        JournalledChanges::Nothing
    }
}

/// Returns what the operator is told about a call that died, and what to do next.
fn warning(lost: &LostCall, changes: JournalledChanges) -> String {
    let (call, tool) = (&lost.call, &lost.tool);
    // A command names no places: it may have changed any file of the workspace.
    let is_command = lost.places.is_empty();
    let details = format!("Details: `toolcrib audit show {call}`.");
    match (changes, is_command) {
        (JournalledChanges::Any, true) => format!(
            "Toolcrib was killed during `{tool}` (call {call}), so it is not known what the command did. \
             `toolcrib undo --force {call}` restores the files named on its command line; check those and \
             the other files of the workspace before you go on. {details}"
        ),
        (JournalledChanges::Any, false) => format!(
            "Toolcrib was killed during `{tool}` (call {call}), so it is not known how far it got. \
             `toolcrib undo {call}` takes it back. {details}"
        ),
        (JournalledChanges::Nothing, true) => format!(
            "Toolcrib was killed during `{tool}` (call {call}), so it is not known what the command did. \
             Check the files of the workspace before you go on. {details}"
        ),
        (JournalledChanges::Nothing, false) => format!(
            "Toolcrib was killed during `{tool}` (call {call}), before it changed any file. {details}"
        ),
    }
}
