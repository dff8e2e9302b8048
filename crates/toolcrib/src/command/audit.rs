//! `toolcrib audit`: shows the record to people.

mod show;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::{ToolName, counted, escape};
use toolcrib_ledger::{
    CallFilter, CallHistory, CallOutcome, EventKind, Problem, RecordEntry, RecordReader,
    RecordTail, Redactor, StateFolder, TailLine, VerifyReport, call_summary, export_calls,
    export_lines, find_calls, verify,
};

use show::ShownCall;

use super::call_history;
use super::layout::{fit, fit_all};
use super::past_call;
use super::setup::read_config;
use super::short_id::{IdError, ShortIds};
use super::when::parse_time;
use crate::cli::{AuditArgs, AuditCommand, CallFilterArgs, ExportFormat, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print, print_json, print_lines, width};

/// The pause between two reads of new lines.
const TAIL_PAUSE: Duration = Duration::from_millis(200);

/// The most bytes of arguments, replies and details in one line of `tail`.
const TAIL_DETAIL_BYTES: usize = 120;

/// The most bytes of arguments in one line of `search`.
const SEARCH_ARGS_BYTES: usize = 60;

pub(super) fn run(global: &Global, terminal: Terminal, args: &AuditArgs) -> Result<Exit, CliError> {
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
            let shown = match found {
                Ok(history) => ShownCall::gather(state, history)?,
                Err(err) => return Ok(err.tell(terminal)),
            };
            if *json {
                print_json(&shown.to_json()?);
            } else {
                print(&shown.describe(terminal, redactor));
            }
            Ok(Exit::Done)
        }
        AuditCommand::Search { filter, limit, json } => {
            let calls = find_calls(state, &call_filter(filter)?, *limit)?;
            if *json {
                for call in &calls {
                    print_json(&serde_json::to_string(&call_summary(call))?);
                }
            } else {
                print_calls(terminal, &calls, *limit);
            }
            Ok(Exit::Done)
        }
        AuditCommand::Export { filter, format, .. } => {
            export(state, &call_filter(filter)?, *format)
        }
        AuditCommand::Verify { json } => {
            let report = verify(state)?;
            if *json {
                print_json(&report_json(&report).to_string());
            } else {
                print_report(terminal, &report);
            }
            Ok(if report.problems.is_empty() { Exit::Done } else { Exit::Failed })
        }
    }
}

fn call_filter(args: &CallFilterArgs) -> Result<CallFilter, CliError> {
    let now = Timestamp::now();
    let parse =
        |text: &String| parse_time(text, now).map_err(|err| CliError::usage(err.to_string()));
    let time = |text: &Option<String>| text.as_ref().map(parse).transpose();
    let outcome = args.outcome.as_deref();
    Ok(CallFilter {
        since: time(&args.since)?,
        until: time(&args.until)?,
        tool: args.tool.as_deref().map(ToolName::from),
        actor: args.actor.clone(),
        outcome: CallOutcome::ALL.into_iter().find(|known| Some(known.as_str()) == outcome),
        text: args.text.clone(),
        call: None,
    })
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

fn print_calls(terminal: Terminal, calls: &[CallHistory], limit: usize) {
    if calls.is_empty() {
        print_lines(&["No matching calls.".to_owned()]);
        return;
    }
    let ids = ShortIds::of(calls.iter().map(CallHistory::id));
    let columns = CallColumns::of(calls);
    let lines: Vec<String> = calls
        .iter()
        .map(|call| search_line(terminal, ids.short(call.id()), call, &columns))
        .collect();
    print_lines(&fit_all(&lines, width()));
    if calls.len() == limit {
        terminal
            .note(&format!("these are the newest {limit} calls; for more, use --limit or --until"));
    }
}

/// How the columns of a list of calls are filled.
struct CallColumns {
    tool: usize,
    outcome: usize,
    /// The day whose calls are listed without their date. Programs get whole times.
    today: Option<Timestamp>,
}

impl CallColumns {
    /// Returns columns that leave a person as much room for the arguments as there is.
    fn of(calls: &[CallHistory]) -> Self {
        if !io::stdout().is_terminal() {
            return Self { tool: 28, outcome: 14, today: None };
        }
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
        Self {
            tool: widest(&mut calls.iter().map(|call| call.tool().as_str().len())),
            outcome: widest(&mut calls.iter().map(|call| call.outcome().as_str().len())),
            today: Some(Timestamp::now()),
        }
    }

    fn time(&self, at: Timestamp) -> String {
        match self.today {
            Some(now) if day_of(at) == day_of(now) => at.strftime("%H:%M:%SZ").to_string(),
            Some(_) => at.strftime("%m-%d %H:%MZ").to_string(),
            None => format!("{at:.0}"),
        }
    }
}

fn day_of(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

fn search_line(terminal: Terminal, id: &str, call: &CallHistory, columns: &CallColumns) -> String {
    let outcome = call.outcome();
    let took = call.last(&EventKind::Ended).and_then(|entry| entry.end.elapsed_ms());
    let args = call.first().and_then(|entry| entry.preview.args.as_deref()).unwrap_or_default();
    let args = escape::line(args).into_owned();
    let cut = args.floor_char_boundary(SEARCH_ARGS_BYTES);
    let CallColumns { tool: tool_width, outcome: outcome_width, .. } = columns;
    let shown = format!("{:<outcome_width$}", outcome.as_str());
    format!(
        "{}  {}  {:<tool_width$}  {}  {:>9}  {}",
        escape::line(id),
        columns.time(call.at()),
        escape::line(call.tool().as_str()),
        terminal.paint(call_history::colour(outcome), &shown),
        took.map_or_else(|| "-".to_owned(), |took| format!("{took:.1} ms")),
        &args[..cut]
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

fn report_json(report: &VerifyReport) -> Value {
    let value =
        |found: &Problem| json!({"file": found.file, "line": found.line, "what": found.what});
    let all = |found: &[Problem]| found.iter().map(value).collect::<Vec<_>>();
    json!({
        "ok": report.problems.is_empty(),
        "lines": report.lines,
        "files": report.files,
        "first": report.first,
        "last": report.last,
        "problems": all(&report.problems),
        "notes": all(&report.notes),
    })
}

fn print_report(terminal: Terminal, report: &VerifyReport) {
    // The names are those of files that others may have put there.
    let with_place = |found: &Problem| {
        let line = found.line.map(|line| format!(":{line}")).unwrap_or_default();
        escape::line(&format!("{}{line}: {}", found.file, found.what)).into_owned()
    };
    for note in &report.notes {
        terminal.note(&format!("note: {}", with_place(note)));
    }
    for problem in &report.problems {
        print_lines(&[format!("{} {}", terminal.paint(Paint::Bad, "✗"), with_place(problem))]);
    }
    let VerifyReport { lines, files, first, last, .. } = report;
    let (lines, files) = (counted(*lines, "line"), counted(*files as u64, "file"));
    let all = format!("{lines} in {files}, numbers {first} to {last}");
    print_lines(&[if report.problems.is_empty() {
        format!("{} The record is intact: {all}.", terminal.paint(Paint::Good, "✓"))
    } else {
        format!("The record is not intact: {all}.")
    }]);
}
