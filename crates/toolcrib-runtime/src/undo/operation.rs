//! The undo of one call: found in the journal, restored, and recorded from asked to ended.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::canonical::{self, Digest};
use toolcrib_core::change::{Restore, UndoLog, UndoneCall};
use toolcrib_core::{
    Call, CallId, Caller, Clock, Durability, Effect, ErrorKind, Moment, Recorder, SessionId,
    ToolError, ToolName, Usage,
};

use super::plan::{Restored, UndoAction, UndoScope, restore_call};
use crate::call::scope::event;

/// The name that an undo is recorded under.
pub const UNDO_TOOL: &str = "toolcrib/undo";

/// Opens the roots that changes were made in.
pub trait RestoreAreas {
    /// Opens these roots for the undo with this id and tool name.
    fn open(
        &self,
        roots: &[String],
        undo: &CallId,
        tool: &ToolName,
    ) -> Result<Box<dyn Restore>, ToolError>;

    /// Returns whether the record knows a call.
    fn is_recorded(&self, call: &CallId) -> bool;
}

/// Undoes calls.
pub struct Undo<'a> {
    /// The journal.
    pub log: &'a dyn UndoLog,
    /// The files.
    pub areas: &'a dyn RestoreAreas,
    /// The record.
    pub recorder: &'a dyn Recorder,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Who undoes.
    pub caller: Arc<Caller>,
}

impl Undo<'_> {
    /// Undoes `wanted` as the call `id` of a person, and returns what was done to each path.
    pub fn run(
        &self,
        id: &CallId,
        session: SessionId,
        wanted: &str,
        scope: UndoScope,
    ) -> Result<Vec<Restored>, ToolError> {
        // Of two undos of one call, the second must see the first.
        let _lock = self.log.lock().map_err(|err| unreadable(&err))?;
        let args = json!({"call": wanted, "force": scope == UndoScope::Everything});
        let caller = Arc::clone(&self.caller);
        let call = Call::new(id.clone(), session, caller, UNDO_TOOL.into(), args);
        self.recorded(&call, || self.restore(&call, &CallId(wanted.to_owned()), scope))
    }

    fn restore(
        &self,
        undo: &Call,
        wanted: &CallId,
        scope: UndoScope,
    ) -> Result<Vec<Restored>, ToolError> {
        let (changes, undone) = self.log.history().map_err(|err| unreadable(&err))?;
        if let Some(undone) = undone.iter().find(|undone| undone.call == *wanted) {
            return Err(undone_already(undone));
        }
        let mine = changes.iter().filter(|change| change.call == *wanted);
        let mut roots: Vec<String> = mine.map(|change| change.root.clone()).collect();
        roots.sort_unstable();
        roots.dedup();
        if roots.is_empty() {
            return Err(not_undoable(self.areas, wanted));
        }
        let area = self.areas.open(&roots, &undo.id, &undo.tool)?;
        let restored = restore_call(&changes, wanted, scope, &*area, self.log);
        let restored = restored.map_err(|err| self.roll_back(err, undo, &roots, &*area))?;
        if restored.iter().all(|one| one.action == UndoAction::Unchanged) {
            return Ok(restored);
        }
        let undone = UndoneCall { call: wanted.clone(), by: undo.id.clone() };
        self.log.record_undo(&undone).map_err(|err| {
            let message =
                format!("the call was undone, but the journal could not be written: {err}");
            ToolError::new(ErrorKind::Io, message)
        })?;
        Ok(restored)
    }

    /// Takes a failed undo back, because an undo is all or nothing.
    fn roll_back(
        &self,
        err: ToolError,
        undo: &Call,
        roots: &[String],
        area: &dyn Restore,
    ) -> ToolError {
        let done = area.restored();
        if done.is_empty() {
            return err;
        }
        let id = &undo.id;
        let again = self.areas.open(roots, id, &undo.tool);
        let rolled_back = again
            .and_then(|again| restore_call(&done, id, UndoScope::Unchanged, &*again, self.log));
        if rolled_back.is_ok() {
            return err;
        }
        err.hint(format!("part of it was undone; `toolcrib undo {id}` takes that back"))
    }

    /// Records an operation of a person from asked to ended.
    fn recorded(
        &self,
        call: &Call,
        work: impl FnOnce() -> Result<Vec<Restored>, ToolError>,
    ) -> Result<Vec<Restored>, ToolError> {
        let start = self.clock.elapsed();
        let record = |moment: Moment<'_>, durability: Durability| {
            let event = event(self.clock, call, &call.tool, moment);
            self.recorder.record(&event, durability).map_err(|reason| {
                ToolError::new(ErrorKind::Unrecorded, format!("not recorded: {reason}"))
            })
        };
        let args = canonical::text(&call.args);
        let digest = Digest::of(UNDO_TOOL, &call.args).to_string();
        let caller = &*call.caller;
        let asked = Moment::Asked { args: &args, digest, effect: Effect::Write, caller };
        record(asked, Durability::Buffered)?;
        let by = if caller.is_local_user() { "terminal" } else { &caller.principal.name };
        let (rule, by) = ("a person's own command", Some(by));
        record(Moment::Decided { verdict: "allow", rule, by }, Durability::Buffered)?;
        record(Moment::Started { places: &[], directory: None, terms: None }, Durability::Synced)?;
        let done = work();
        let reply = match &done {
            Ok(restored) => as_json(restored).to_string(),
            Err(err) => err.message.clone(),
        };
        let ended = Moment::Ended {
            has_task: false,
            command_end: None,
            touched: None,
            network: None,
            error: done.as_ref().err().map(|err| (err.kind, err.message.as_str())),
            elapsed_us: self.clock.elapsed().saturating_sub(start).as_micros() as u64,
            version: None,
            reply: &reply,
            saved_as: None,
            usage: Usage::default(),
        };
        let _ = record(ended, Durability::Written);
        done
    }
}

/// Explains that a call was undone before.
pub(super) fn undone_already(undone: &UndoneCall) -> ToolError {
    let UndoneCall { call, by } = undone;
    ToolError::new(ErrorKind::Changed, format!("call `{call}` was undone already, by `{by}`"))
        .hint(format!("`toolcrib undo {by}` redoes the call"))
}

/// Explains why a call without changes in the journal cannot be undone.
pub(super) fn not_undoable(areas: &dyn RestoreAreas, wanted: &CallId) -> ToolError {
    let (message, hint) = if areas.is_recorded(wanted) {
        (
            format!(
                "call `{wanted}` cannot be undone: Toolcrib has no copies of the files that the call changed"
            ),
            format!("`toolcrib audit show {wanted}` says what it did"),
        )
    } else {
        let hint = "`toolcrib undo` lists the calls that can be undone".to_owned();
        (format!("call `{wanted}` is not known"), hint)
    };
    ToolError::new(ErrorKind::NotFound, message).hint(hint)
}

/// Returns what was restored as data for programs and for the record.
pub fn as_json(restored: &[Restored]) -> Value {
    restored.iter().map(|one| json!({"path": one.path, "action": one.action.as_str()})).collect()
}

pub(super) fn unreadable(err: &std::io::Error) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("the journal of changes cannot be read: {err}"))
}
