//! A line of the record, as `audit tail` prints it.

use serde_json::Value;
use toolcrib_core::escape;
use toolcrib_ledger::{EventKind, RecordEntry, TailLine};

use crate::command::call_history;
use crate::command::layout::fit;
use crate::terminal::{Format, Paint, Terminal, print, print_json, width};

/// The most bytes of arguments, replies and details in one line.
const TAIL_DETAIL_BYTES: usize = 120;

/// Prints lines of the record.
#[derive(Clone, Copy)]
pub(super) struct TailPrinter {
    pub(super) terminal: Terminal,
    pub(super) format: Format,
}

impl TailPrinter {
    /// Prints a line. Returns whether the output is still open.
    pub(super) fn print(self, line: &TailLine) -> bool {
        if self.format == Format::Json {
            return print_json(&line.to_json());
        }
        let foreign =
            "a torn line, or one that toolcrib did not write: run `toolcrib audit verify`";
        let text = match line.entry() {
            Some(entry) => one_line(self.terminal, &entry),
            None => self.terminal.paint(Paint::Bad, foreign),
        };
        print(&format!("{}\n", fit(&text, width())))
    }
}

/// Returns an entry of the record in one line.
fn one_line(terminal: Terminal, entry: &RecordEntry<'_>) -> String {
    let detail = match &entry.event {
        // Begins with the id that `audit show` takes.
        EventKind::Asked => {
            format!("{} {}", entry.call.id, entry.preview.args.as_deref().unwrap_or_default())
        }
        EventKind::Decided => call_history::describe_decision(entry),
        EventKind::Waits => entry.decision.rule.as_deref().unwrap_or_default().to_owned(),
        EventKind::Started => entry.start.places.join(" "),
        EventKind::Ended | EventKind::TaskEnded => {
            let message = entry.end.message.as_deref().unwrap_or_default();
            let error = entry.end.error.as_deref().map(|kind| format!("{kind}: {message}"));
            let took = format!("{} ms", entry.end.elapsed_ms().unwrap_or_default());
            let how = error.unwrap_or_else(|| match entry.end.command_end {
                Some(end) if entry.has_failed_command() => call_history::describe_end(end),
                _ => "ok".to_owned(),
            });
            format!("{how}, took {took}")
        }
        _ => entry.detail.as_ref().map(Value::to_string).unwrap_or_default(),
    };
    let detail = escape::line(&detail).into_owned();
    let cut = detail.floor_char_boundary(TAIL_DETAIL_BYTES);
    let more = if cut < detail.len() { "…" } else { "" };
    let verdict = entry.decision.verdict.as_deref();
    let has_failed = entry.end.error.is_some() || entry.has_failed_command();
    let paint = match (&entry.event, has_failed, verdict) {
        (EventKind::Ended, true, _) | (_, _, Some("deny")) => Paint::Bad,
        (EventKind::Ended, ..) => Paint::Good,
        _ => Paint::Dim,
    };
    let tool = entry.tool();
    let tool = if tool.is_empty() { entry.act.as_str() } else { tool.as_str() };
    format!(
        "{}  {}  {:<24}  {}{more}",
        terminal.paint(Paint::Dim, &format!("{:.3}", entry.at)),
        terminal.paint(paint, &format!("{:<10}", escape::line(entry.event.as_str()))),
        escape::line(tool),
        &detail[..cut]
    )
}
