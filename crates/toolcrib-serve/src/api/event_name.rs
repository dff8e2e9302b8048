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
