//! The whole outcome of a call, gathered from what the call returned and what the state folder has about it.

use std::time::Duration;

use serde_json::Value;
use toolcrib_core::approval::KeptOutcome;
use toolcrib_core::change::UndoLog;
use toolcrib_core::{CallId, Change, Outcome, ToolName};
use toolcrib_ledger::{EventKind, RecordEntry};
use toolcrib_serve::{CommandPlace, FullError, FullOutcome, ShownChange};

use super::difference;
use super::live_output::OutputShown;
use super::render;
use crate::terminal::Terminal;
use crate::wiring::Crib;

/// Prints the outcome of a call that this process made.
pub(super) fn show(terminal: Terminal, crib: &Crib, outcome: &Outcome, shown: OutputShown) {
    let toolset = crib.toolset().ok();
    let catalogue = toolset.and_then(|toolset| toolset.catalogue(&outcome.tool));
    render::outcome(terminal, catalogue, &of_outcome(crib, outcome), shown);
}

/// Gathers the whole outcome of a call that this process made.
pub(super) fn of_outcome(crib: &Crib, outcome: &Outcome) -> FullOutcome {
    FullOutcome {
        call: outcome.call.clone(),
        tool: outcome.tool.clone(),
        text: outcome.text.clone(),
        error: outcome.error.as_ref().map(FullError::from),
        decision: outcome.decision.as_ref().map(ToString::to_string),
        grant: outcome.decision.as_ref().and_then(|it| it.grant.clone()),
        changes: shown_changes(crib, outcome.changes.clone()),
        touched: outcome.touched.clone(),
        place: match outcome.touched {
            Some(_) => command_place(crib, &changes_of(crib, &outcome.call)),
            None => command_place(crib, &[]),
        },
        elapsed_us: microseconds(outcome.elapsed),
        has_failed_command: outcome.has_failed_command(),
        unrecorded: outcome.unrecorded.as_ref().map(ToString::to_string),
    }
}

/// Gathers the whole outcome of a call that waited for an answer. What was not kept of it is on the record.
pub(super) fn of_kept(crib: &Crib, call: &str, tool: &ToolName, kept: &KeptOutcome) -> FullOutcome {
    let id = CallId(call.to_owned());
    let history = crib.history_of(call);
    let ended = history.as_ref().and_then(|history| history.last(&EventKind::Ended));
    let changes = changes_of(crib, &id);
    let touched = ended.and_then(|entry| entry.end.changed_files.clone());
    // A command's changes are told by its last line, and not one by one.
    let is_command = ended.is_some_and(|entry| entry.end.command_end.is_some());
    let elapsed_ms = ended.and_then(|entry| entry.end.elapsed_ms()).unwrap_or_default();
    let elapsed = Duration::try_from_secs_f64(elapsed_ms / 1e3).unwrap_or_default();
    FullOutcome {
        call: id,
        tool: tool.clone(),
        text: kept.reply.to_string(),
        error: kept.error.as_ref().map(|error| FullError {
            kind: error.kind.clone(),
            message: error.message.clone(),
            context: serde_json::Map::<String, Value>::new(),
        }),
        decision: None,
        grant: None,
        place: command_place(crib, if touched.is_some() { &changes } else { &[] }),
        changes: if is_command { Vec::new() } else { shown_changes(crib, changes) },
        touched,
        elapsed_us: microseconds(elapsed),
        has_failed_command: ended.is_some_and(RecordEntry::has_failed_command),
        unrecorded: None,
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn changes_of(crib: &Crib, call: &CallId) -> Vec<Change> {
    let history = crib.journal.history();
    let changes = history.map(|(changes, _)| changes).unwrap_or_default();
    changes.into_iter().filter(|change| change.call == *call).collect()
}

fn shown_changes(crib: &Crib, changes: Vec<Change>) -> Vec<ShownChange> {
    let shown = |change: Change| ShownChange {
        difference: difference::of_change(&crib.journal, &crib.redactor, &change),
        change,
    };
    changes.into_iter().map(shown).collect()
}

/// Returns where the command of a call ran, and whether the call can be undone.
fn command_place(crib: &Crib, own: &[Change]) -> CommandPlace {
    let root = crib.workspace().root().map(|root| root.path().display().to_string());
    let deleted = own.iter().filter(|it| it.before.is_some() && it.after.is_none());
    CommandPlace {
        root: root.unwrap_or_default(),
        deleted: deleted.map(Change::place).collect(),
        has_copies: !own.is_empty(),
    }
}
