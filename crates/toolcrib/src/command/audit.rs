//! `toolcrib audit`: shows the record to people.

mod filter;
mod listing;
mod report;
mod served;
mod show;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::escape;
use toolcrib_ledger::{
    CallFilter, CallHistory, EventKind, RecordEntry, RecordReader, RecordTail, Redactor,
    StateFolder, TailLine, call_summary, export_calls, export_lines, find_calls, verify,
};

use filter::call_filter;
use listing::{ListedCall, print_calls};
pub(super) use served::find as find_served;
use show::ShownCall;

use super::call_history;
use super::layout::fit;
use super::past_call;
use super::remote;
use super::setup::read_config;
use super::short_id::IdError;
use crate::cli::{AuditArgs, AuditCommand, ExportFormat, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print, print_json, width};

/// The pause between two reads of new lines.
const TAIL_PAUSE: Duration = Duration::from_millis(200);

/// The most bytes of arguments, replies and details in one line of `tail`.
const TAIL_DETAIL_BYTES: usize = 120;

pub(super) fn run(global: &Global, terminal: Terminal, args: &AuditArgs) -> Result<Exit, CliError> {
    if let Some(client) = remote::chosen(global, terminal)? {
        return served::run(&client, terminal, args);
    }
    let config = read_config(global, terminal)?;
    let redactor = config.redactor();
    let folder = config.state.clone()?;
    if !folder.join("context_log").exists() {
        let shown = folder.display();
        terminal.fail(
            &format!("there is no record at `{shown}`"),
            Some("set TOOLCRIB_STATE to the folder that has it; the first call starts a record"),
        );
        return Ok(Exit::Failed);
    }
    let state = StateFolder::open(&folder)?;
    let exit = run_command(terminal, &state, config.root.path(), &redactor, args)?;
    let skipped = state.skipped_files();
    for warning in &skipped {
        terminal.warn(warning);
    }
    // An export without the skipped files is incomplete.
    let is_partial = !skipped.is_empty() && matches!(args.command, AuditCommand::Export { .. });
    Ok(if is_partial { Exit::Failed } else { exit })
}

fn run_command(
    terminal: Terminal,
    state: &StateFolder,
    directory: &Path,
    redactor: &Redactor,
    args: &AuditArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        AuditCommand::Tail { follow, lines, json } => {
            let print_line: &dyn Fn(&TailLine) -> bool =
                if *json { &print_tail_json } else { &|line| print_tail_line(terminal, line) };
            let tail = RecordTail::at_end(state)?;
            let is_open = print_last_lines(state, *lines, print_line)?;
            if *follow && is_open { follow_record(tail, print_line) } else { Ok(Exit::Done) }
        }
        AuditCommand::Show { call, json, .. } => {
            let found = match call {
                Some(given) => past_call::find(state, given)?,
                None => past_call::last(state, directory)?
                    .ok_or_else(|| IdError::none(past_call::CALLS, "no call is on the record")),
            };
            match found {
                Ok(history) => {
                    ShownCall::gather(state, redactor, history)?.print(terminal, (*json).into());
                    Ok(Exit::Done)
                }
                Err(err) => Ok(err.tell(terminal)),
            }
        }
        AuditCommand::Search { filter, limit, json } => {
            let calls = find_calls(state, &call_filter(filter)?, *limit)?;
            let calls = calls.iter().map(call_summary);
            if *json {
                for call in calls {
                    print_json(&serde_json::to_string(&call)?);
                }
            } else {
                let calls: Vec<ListedCall> = calls.map(ListedCall::from).collect();
                print_calls(terminal, &calls, *limit);
            }
            Ok(Exit::Done)
        }
        AuditCommand::Export { filter, format, .. } => {
            export(state, &call_filter(filter)?, *format)
        }
        AuditCommand::Verify { json } => {
            Ok(report::show(terminal, &verify(state)?, (*json).into()))
        }
    }
}

/// Prints the last lines of the record. Returns whether the output is still open.
fn print_last_lines(
    state: &StateFolder,
    count: usize,
    print_line: &dyn Fn(&TailLine) -> bool,
) -> Result<bool, CliError> {
    let mut newest: Vec<TailLine> = Vec::new();
    for segment in RecordReader::open(state)?.load_all().rev() {
        let segment = segment?;
        let pieces = segment.pieces().rev().take(count - newest.len());
        newest.extend(
            pieces.map(|piece| TailLine {
                bytes: piece.to_vec(),
                is_signed: segment.is_signed(piece),
            }),
        );
        if newest.len() >= count {
            break;
        }
    }
    Ok(newest.iter().rev().all(print_line))
}

/// Prints lines as they are written, until the output is closed.
fn follow_record(
    mut tail: RecordTail,
    print_line: &dyn Fn(&TailLine) -> bool,
) -> Result<Exit, CliError> {
    loop {
        std::thread::sleep(TAIL_PAUSE);
        if !tail.read_new()?.iter().all(print_line) {
            return Ok(Exit::Done);
        }
    }
}

fn print_tail_json(line: &TailLine) -> bool {
    let text = String::from_utf8_lossy(&line.bytes);
    if line.is_signed && RecordEntry::parse(&line.bytes).is_some() {
        return print_json(text.trim_end());
    }
    print_json(&json!({"event": "line_not_ours", "text": text}).to_string())
}

fn print_tail_line(terminal: Terminal, line: &TailLine) -> bool {
    let entry = RecordEntry::parse(&line.bytes).filter(|_| line.is_signed);
    let foreign = "a torn line, or one that toolcrib did not write: run `toolcrib audit verify`";
    let text = entry
        .map_or_else(|| terminal.paint(Paint::Bad, foreign), |entry| one_line(terminal, &entry));
    print(&format!("{}\n", fit(&text, width())))
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

/// The columns of a CSV export, as [`summary`] names them.
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

fn export(
    state: &StateFolder,
    filter: &CallFilter,
    format: ExportFormat,
) -> Result<Exit, CliError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = match format {
        // Every line of the record, as it is and in its order.
        ExportFormat::Ndjson if filter.is_only_time() => export_lines(state, filter, |line| {
            out.write_all(escape::json(&String::from_utf8_lossy(line)).as_bytes())
        }),
        // The lines of some calls, as they are.
        ExportFormat::Ndjson => export_calls(state, filter, |_, lines| {
            lines.iter().try_for_each(|line| {
                let text = String::from_utf8_lossy(line);
                out.write_all(escape::json(&text).as_bytes())
            })
        }),
        ExportFormat::Csv => writeln!(out, "{}", COLUMNS.join(",")).and_then(|()| {
            export_calls(state, filter, |call, _| match call.first() {
                Some(entry) if entry.event == EventKind::Asked => csv_row(call, &mut out),
                _ => Ok(()),
            })
        }),
    };
    match written.and_then(|()| out.flush()) {
        Err(err) if err.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::usage(format!("the export is incomplete: {err}")))
        }
        _ => Ok(Exit::Done),
    }
}

fn csv_row(call: &CallHistory, out: &mut impl Write) -> io::Result<()> {
    let summary = serde_json::to_value(call_summary(call))?;
    let cells = COLUMNS.map(|column| match &summary[column] {
        Value::Null => String::new(),
        Value::String(text) => cell(text),
        other => cell(&other.to_string()),
    });
    writeln!(out, "{}", cells.join(","))
}

/// Returns a CSV cell that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let text = escape::line(text);
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}
