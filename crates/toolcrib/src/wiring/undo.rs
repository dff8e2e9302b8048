//! Undoes calls in the roots that they changed files in.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use toolcrib_core::change::Restore;
use toolcrib_core::{
    CallId, Caller, Cancel, Door, ErrorKind, Limits, Recorder, ToolError, ToolName,
};
use toolcrib_host::{Root, RootError, root_path};
use toolcrib_ledger::{CallFilter, CallHistory, find_calls};
use toolcrib_runtime::undo::{
    PreviewedUndo, RestoreAreas, Restored, Undo, UndoPreviews, UndoScope,
};

use toolcrib_serve::session_of;

use super::crib::session;
use super::state_access::StateAccess;

impl StateAccess {
    /// Undoes the call `wanted` as the call `id` of `caller`, and returns what was done to each path.
    pub fn undo(
        &self,
        id: &CallId,
        caller: Arc<Caller>,
        wanted: &str,
        scope: UndoScope,
    ) -> Result<Vec<Restored>, ToolError> {
        self.undo_recorded_by(&*self.recorder, id, caller, wanted, scope)
    }

    /// Undoes a call as [`Self::undo`] does, and records that with a recorder of the caller's.
    pub fn undo_recorded_by(
        &self,
        recorder: &dyn Recorder,
        id: &CallId,
        caller: Arc<Caller>,
        wanted: &str,
        scope: UndoScope,
    ) -> Result<Vec<Restored>, ToolError> {
        // Somebody may hold a lock for ever.
        let deadline = UndoDeadline::start(Duration::from_millis(Limits::DEFAULT.deadline_ms));
        // What somebody undoes through a server is the work of one session, like their calls there.
        let session = match caller.door {
            Door::Http => session_of(&caller.principal),
            _ => session(),
        };
        let undo = Undo {
            log: &*self.journal,
            areas: &UndoAreas { access: self, cancel: deadline.cancel.clone() },
            recorder,
            clock: &*self.clock,
            caller,
        };
        undo.run(id, session, wanted, scope)
    }

    /// Returns what it would do to undo these calls, one after the other.
    pub fn preview_undo(&self, calls: &[CallId]) -> Result<Vec<PreviewedUndo>, ToolError> {
        let deadline = UndoDeadline::start(Duration::from_millis(Limits::DEFAULT.deadline_ms));
        let areas = UndoAreas { access: self, cancel: deadline.cancel.clone() };
        UndoPreviews { log: &*self.journal, areas: &areas }.of(calls)
    }

    /// Returns the history of a call, if the record has it.
    pub fn history_of(&self, call: &str) -> Option<CallHistory> {
        let since = toolcrib_ledger::call_time(call);
        let wanted = CallFilter { call: Some(call.to_owned()), since, ..CallFilter::default() };
        find_calls(&self.state, &wanted, 1).ok()?.pop()
    }
}

/// The roots that changes were made in, under the rules of this process.
struct UndoAreas<'a> {
    access: &'a StateAccess,
    /// Cancels the work at the deadline.
    cancel: Cancel,
}

impl RestoreAreas for UndoAreas<'_> {
    fn open(
        &self,
        roots: &[String],
        undo: &CallId,
        tool: &ToolName,
    ) -> Result<Box<dyn Restore>, ToolError> {
        let roots: Result<Vec<Root>, _> =
            roots.iter().map(|root| Root::open(&root_path(root))).collect();
        let unavailable = |err: RootError| ToolError::new(ErrorKind::Unavailable, err.to_string());
        let workspace = self.access.workspace_of(roots.map_err(unavailable)?);
        Ok(Box::new(workspace.for_call(undo.clone(), tool, self.cancel.clone())))
    }

    fn is_recorded(&self, call: &CallId) -> bool {
        self.access.history_of(&call.0).is_some()
    }
}

/// Cancels work that takes too long. The thread that waits for it ends with this.
struct UndoDeadline {
    cancel: Cancel,
    _over: mpsc::Sender<()>,
}

impl UndoDeadline {
    fn start(time: Duration) -> Self {
        let cancel = Cancel::default();
        let late = cancel.clone();
        let (over, ended) = mpsc::channel();
        std::thread::spawn(move || {
            if ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                late.cancel();
            }
        });
        Self { cancel, _over: over }
    }
}
