//! The record as CSV: one row for each call.

use std::io::{self, Write};

use serde_json::Value;
use toolcrib_core::escape;

use crate::record::call_filter::CallFilter;
use crate::record::call_search::export_calls;
use crate::record::call_summary::call_summary;
use crate::record::event_kind::EventKind;
use crate::record::history::CallHistory;
use crate::state::StateFolder;

/// The columns, as [`call_summary`] names them.
const COLUMNS: [&str; 15] = [
    "call",
    "at",
    "session",
    "user",
    "tool",
    "args",
    "decision",
    "rule",
    "by",
    "outcome",
    "error",
    "message",
    "elapsed_ms",
    "version",
    "used",
];

/// Writes a row for each wanted call, below a row with the names of the columns. A row is one line.
pub fn export_csv(
    state: &StateFolder,
    filter: &CallFilter,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    export_calls(state, filter, |call, _| match call.first() {
        Some(entry) if entry.event == EventKind::Asked => write_row(call, out),
        _ => Ok(()),
    })
}

fn write_row(call: &CallHistory, out: &mut impl Write) -> io::Result<()> {
    let summary = serde_json::to_value(call_summary(call))?;
    let cells = COLUMNS.map(|column| match &summary[column] {
        Value::Null => String::new(),
        Value::String(text) => cell(text),
        other => cell(&other.to_string()),
    });
    writeln!(out, "{}", cells.join(","))
}

/// Returns a cell that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let text = escape::line(text);
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}
