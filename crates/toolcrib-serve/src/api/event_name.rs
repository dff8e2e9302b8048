//! The names of events, such as `call.waiting`: what happened to what, as readers of `GET /api/events` filter it.

use toolcrib_ledger::{Act, EventKind, RecordEntry};

/// Returns what happened, as readers name it.
pub(super) fn of(entry: &RecordEntry<'_>) -> String {
    let what = match &entry.event {
        EventKind::Waits => "waiting",
        event => event.as_str(),
    };
    let subject = match &entry.act {
        Act::ToolCall => "call",
        act => act.as_str(),
    };
    format!("{subject}.{what}")
}

/// Whether an event of this name is the end of a call, or of a command that a call left running.
pub(super) fn is_end(name: &str) -> bool {
    let ended = [EventKind::Ended, EventKind::TaskEnded];
    name.strip_prefix("call.").is_some_and(|what| ended.iter().any(|kind| kind.as_str() == what))
}
