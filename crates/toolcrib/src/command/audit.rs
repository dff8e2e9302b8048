//! `toolcrib audit`: the record, for people.

use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::{Change, escape};
use toolcrib_ledger::report;
use toolcrib_ledger::{
    Entry, Fate, Follower, Journal, Problem, Record, Redactor, State, Story, Verified, Wanted,
    find_calls, tell_calls, tell_lines, verify,
};

use super::setup::read_config;
use super::when::moment;
use super::{render, story};
use crate::cli::{AuditArgs, AuditCommand, CallFilter, ExportFormat, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print, print_json, print_lines};

/// How often it is looked for new lines.
const BETWEEN_LOOKS: std::time::Duration = std::time::Duration::from_millis(200);

pub(super) fn run(global: &Global, terminal: Terminal, args: &AuditArgs) -> Result<Exit, CliError> {
    let plans = read_config(global, terminal)?;
    let redactor = plans.redactor();
    let folder = plans.state?;
    if !folder.join("context_log").exists() {
        let shown = folder.display();
        terminal.fail(
            &format!("there is no record at `{shown}`"),
            Some("TOOLCRIB_STATE says where it is; the first call begins one"),
        );
        return Ok(Exit::Failed);
    }
    let state = State::open(&folder)?;
    let exit = look(terminal, &state, &redactor, args)?;
    let passed_over = state.passed_over();
    for warning in &passed_over {
        terminal.warn(warning);
    }
    // What is exported is then not all of it.
    let is_partial = !passed_over.is_empty() && matches!(args.command, AuditCommand::Export { .. });
    Ok(if is_partial { Exit::Failed } else { exit })
}

fn look(
    terminal: Terminal,
    state: &State,
    redactor: &Redactor,
    args: &AuditArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        AuditCommand::Tail { follow, lines, json } => tail(terminal, state, *lines, *follow, *json),
        AuditCommand::Show { call, json } => show(terminal, state, redactor, call, *json),
        AuditCommand::Search { which, limit, json } => {
            let calls = find_calls(state, &wanted(which)?, *limit)?;
            search(terminal, &calls, *limit, *json);
            Ok(Exit::Done)
        }
        AuditCommand::Export { which, format, .. } => export(state, &wanted(which)?, *format),
        AuditCommand::Verify { json } => Ok(tell(terminal, &verify(state)?, *json)),
    }
}

fn wanted(which: &CallFilter) -> Result<Wanted, CliError> {
    let now = Timestamp::now();
    let at = |text: &Option<String>| {
        text.as_ref().map(|text| moment(text, now)).transpose().map_err(CliError::usage)
    };
    let fate = which.outcome.as_deref();
    Ok(Wanted {
        since: at(&which.since)?,
        until: at(&which.until)?,
        tool: which.tool.clone(),
        actor: which.actor.clone(),
        fate: Fate::ALL.into_iter().find(|known| Some(known.as_str()) == fate),
        text: which.text.clone(),
        call: None,
    })
}

fn tail(
    terminal: Terminal,
    state: &State,
    most: usize,
    follow: bool,
    as_json: bool,
) -> Result<Exit, CliError> {
    let say = |line: &[u8], is_ours: bool| match Entry::parse(line).filter(|_| is_ours) {
        Some(_) if as_json => print_json(String::from_utf8_lossy(line).trim_end()),
        None if as_json => {
            let text = String::from_utf8_lossy(line);
            print_json(&json!({"event": "line_not_ours", "text": text}).to_string())
        }
        Some(entry) => print(&format!("{}\n", one_line(terminal, &entry))),
        None => {
            let what = "a line that is not ours, or torn: `toolcrib audit verify` tells";
            print(&format!("{}\n", terminal.paint(Paint::Bad, what)))
        }
    };
    let mut follower = Follower::at_end(state)?;
    let mut newest: Vec<(Vec<u8>, bool)> = Vec::new();
    for page in Record::open(state)?.pages().rev() {
        let page = page?;
        let pieces = page.pieces().rev().take(most - newest.len());
        newest.extend(pieces.map(|piece| (piece.to_vec(), page.is_ours(piece))));
        if newest.len() >= most {
            break;
        }
    }
    for (line, is_ours) in newest.iter().rev() {
        if !say(line, *is_ours) {
            return Ok(Exit::Done);
        }
    }
    if !follow {
        return Ok(Exit::Done);
    }
    loop {
        std::thread::sleep(BETWEEN_LOOKS);
        for (line, is_ours) in follower.fresh()? {
            if !say(&line, is_ours) {
                return Ok(Exit::Done);
            }
        }
    }
}

/// A line of the record in one line.
fn one_line(terminal: Terminal, entry: &Entry) -> String {
    let about = match entry.event.as_str() {
        // With what `audit show` takes.
        "asked" => {
            format!("{} {}", entry.trace_id, entry.args_preview.as_deref().unwrap_or_default())
        }
        "decided" => {
            let by = entry.by.as_ref().map(|by| format!(", said {by}")).unwrap_or_default();
            let decision = entry.decision.as_deref().unwrap_or_default();
            format!("{decision}: {}{by}", entry.rule.as_deref().unwrap_or_default())
        }
        "waits" => entry.rule.clone().unwrap_or_default(),
        "started" => entry.places.join(" "),
        "ended" | "task_ended" => {
            let error = entry
                .error
                .as_deref()
                .map(|kind| format!("{kind}: {}", entry.message.as_deref().unwrap_or_default()));
            let took = format!("{} ms", entry.elapsed_ms.unwrap_or_default());
            format!("{} in {took}", error.unwrap_or_else(|| "ok".to_owned()))
        }
        _ => entry.detail.as_ref().map(Value::to_string).unwrap_or_default(),
    };
    let about = escape::line(&about).into_owned();
    let cut = about.floor_char_boundary(120);
    let more = if cut < about.len() { "…" } else { "" };
    let paint = match (entry.event.as_str(), entry.error.is_some(), entry.decision.as_deref()) {
        ("ended", true, _) | (_, _, Some("deny")) => Paint::Bad,
        ("ended", ..) => Paint::Good,
        _ => Paint::Dim,
    };
    let tool = entry.tool();
    let tool = if tool.is_empty() { entry.act.clone() } else { tool };
    format!(
        "{}  {}  {:<24}  {}{more}",
        terminal.paint(Paint::Dim, &format!("{:.3}", entry.ts)),
        terminal.paint(paint, &format!("{:<10}", escape::line(&entry.event))),
        escape::line(&tool),
        &about[..cut]
    )
}

fn search(terminal: Terminal, calls: &[Story], limit: usize, as_json: bool) {
    if as_json {
        for story in calls {
            print_json(&summary(story).to_string());
        }
        return;
    }
    if calls.is_empty() {
        print_lines(&["No call on the record is like that.".to_owned()]);
        return;
    }
    let lines: Vec<String> = calls.iter().map(|story| row(terminal, story)).collect();
    print_lines(&lines);
    if calls.len() == limit {
        terminal.note(&format!("the newest {limit}; there may be more (--limit, --until)"));
    }
}

fn row(terminal: Terminal, story: &Story) -> String {
    let fate = story.fate();
    let took = story.moment("ended").and_then(|entry| entry.elapsed_ms);
    let args = story.first().and_then(|entry| entry.args_preview.clone()).unwrap_or_default();
    let args = escape::line(&args).into_owned();
    let cut = args.floor_char_boundary(60);
    format!(
        "{}  {:.0}  {:<28}  {}  {:>9}  {}",
        escape::line(story.id()),
        story.at(),
        escape::line(&story.tool()),
        terminal.paint(story::colour(fate), &format!("{:<7}", fate.as_str())),
        took.map_or_else(|| "-".to_owned(), |took| format!("{took:.1} ms")),
        &args[..cut]
    )
}

/// A call in the fields that all forms of it share.
fn summary(story: &Story) -> Value {
    let asked = story.first();
    let decided = story.moment("decided");
    let ended = story.moment("ended");
    let answered = story.entries.iter().rev().find_map(Entry::answered_by);
    json!({
        "call": story.id(),
        "at": report::stamp(story.at()),
        "session": asked.map(|entry| &entry.conv_id),
        "user": asked.and_then(|entry| entry.user),
        "tool": story.tool(),
        "args": asked.and_then(|entry| entry.args_preview.as_ref()),
        "decision": decided.and_then(|entry| entry.decision.as_ref()),
        "rule": decided.and_then(|entry| entry.rule.as_ref()),
        "by": decided.and_then(|entry| entry.by.as_deref()).or(answered),
        "outcome": story.fate().as_str(),
        "error": ended.and_then(|entry| entry.error.as_ref()),
        "message": ended.and_then(|entry| entry.message.as_ref()),
        "elapsed_ms": ended.and_then(|entry| entry.elapsed_ms),
        "version": ended.and_then(|entry| entry.version.as_ref()),
        "used": ended.and_then(|entry| entry.used),
    })
}

fn show(
    terminal: Terminal,
    state: &State,
    redactor: &Redactor,
    call: &str,
    as_json: bool,
) -> Result<Exit, CliError> {
    let (asked, call) = (call, call.to_uppercase());
    let call = call.as_str();
    // The id of a call begins with its time.
    let since = toolcrib_ledger::call_time(call);
    let wanted = Wanted { call: Some(call.to_owned()), since, ..Wanted::default() };
    let Some(story) = find_calls(state, &wanted, 1)?.pop() else {
        let message = format!("no call `{}` is on the record", escape::line(asked));
        terminal.fail(&message, Some("`toolcrib audit search` lists those that are"));
        return Ok(Exit::Failed);
    };
    let journal = Journal::new(state);
    let (changes, taken) = journal.read()?;
    let changes: Vec<Change> = changes.into_iter().filter(|it| it.call.0 == call).collect();
    let taken = taken.into_iter().find(|taken| taken.call.0 == call).map(|taken| taken.by.0);
    let output = state.folder().join("output").join(story.id());
    let has_output = output.join("stdout").exists() || output.join("stderr").exists();
    if as_json {
        let mut value = summary(&story);
        value["result"] =
            json!(story.moment("ended").and_then(|entry| entry.result_preview.clone()));
        value["moments"] = story.entries.iter().map(story::moment_json).collect();
        value["places"] = json!(story.moment("started").map(|entry| entry.places.clone()));
        value["directory"] = json!(story.moment("started").and_then(|it| it.directory.clone()));
        value["task"] = json!(story.moment("task_ended").and_then(|entry| entry.end));
        value["changes"] = json!(changes);
        value["touched"] = json!(story::touched(&story));
        value["taken_back_by"] = json!(taken);
        value["output_saved"] = json!(has_output);
        print_json(&value.to_string());
        return Ok(Exit::Done);
    }
    let mut text = story::told(terminal, &story);
    for change in &changes {
        let place = change.place();
        match change.doubt {
            Some(doubt) => {
                let said = format!("{place}, perhaps: {}", doubt.words());
                story::say(&mut text, render::done(change.kind), &said);
            }
            None => story::say(&mut text, render::done(change.kind), &place),
        }
        text.push_str(&render::difference(terminal, &journal, redactor, change));
    }
    for said in story::also(&story, &changes) {
        story::say(&mut text, "also", &said);
    }
    if has_output {
        story::say(&mut text, "printed", &format!("toolcrib output {}", story.id()));
    }
    match taken {
        Some(by) => story::say(&mut text, "undone", &format!("by {by}")),
        None if !changes.is_empty() => {
            let is_command = story.moment("started").is_some_and(|entry| entry.directory.is_some());
            let rest = if is_command { " (the files of which copies were kept)" } else { "" };
            let force = if changes.iter().any(|it| it.doubt.is_some()) { "--force " } else { "" };
            let said = format!("toolcrib undo {force}{}{rest}", story.id());
            story::say(&mut text, "take back", &said);
        }
        None => {}
    }
    print(&text);
    Ok(Exit::Done)
}

/// What a row of an export has, as [`summary`] names it.
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

fn export(state: &State, wanted: &Wanted, format: ExportFormat) -> Result<Exit, CliError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = match format {
        // Everything that is on the record, as it is and in its order.
        ExportFormat::Ndjson if wanted.is_only_of_time() => tell_lines(state, wanted, |line| {
            out.write_all(escape::json(&String::from_utf8_lossy(line)).as_bytes())
        }),
        // The lines of some calls as they are.
        ExportFormat::Ndjson => tell_calls(state, wanted, |_, lines| {
            lines.iter().try_for_each(|line| {
                let text = String::from_utf8_lossy(line);
                out.write_all(escape::json(&text).as_bytes())
            })
        }),
        ExportFormat::Csv => writeln!(out, "{}", COLUMNS.join(",")).and_then(|()| {
            tell_calls(state, wanted, |story, _| match story.first() {
                Some(entry) if entry.event == "asked" => csv_row(story, &mut out),
                _ => Ok(()),
            })
        }),
    };
    match written.and_then(|()| out.flush()) {
        Err(err) if err.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::usage(format!("the export is not whole: {err}")))
        }
        _ => Ok(Exit::Done),
    }
}

fn csv_row(story: &Story, out: &mut impl Write) -> io::Result<()> {
    let summary = summary(story);
    let cells = COLUMNS.map(|column| match &summary[column] {
        Value::Null => String::new(),
        Value::String(text) => cell(text),
        other => cell(&other.to_string()),
    });
    writeln!(out, "{}", cells.join(","))
}

/// A cell that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let text = escape::line(text);
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

fn tell(terminal: Terminal, report: &Verified, as_json: bool) -> Exit {
    let exit = if report.problems.is_empty() { Exit::Done } else { Exit::Failed };
    let value =
        |found: &Problem| json!({"file": found.file, "line": found.line, "what": found.what});
    if as_json {
        let all = |found: &[Problem]| found.iter().map(value).collect::<Vec<_>>();
        let value = json!({
            "ok": report.problems.is_empty(),
            "lines": report.lines,
            "files": report.files,
            "first": report.first,
            "last": report.last,
            "problems": all(&report.problems),
            "notes": all(&report.notes),
        });
        print_json(&value.to_string());
        return exit;
    }
    let place = |found: &Problem| match found.line {
        Some(line) => format!("{}:{line}: {}", found.file, found.what),
        None => format!("{}: {}", found.file, found.what),
    };
    for note in &report.notes {
        terminal.note(&format!("note: {}", place(note)));
    }
    for problem in &report.problems {
        print_lines(&[format!("{} {}", terminal.paint(Paint::Bad, "✗"), place(problem))]);
    }
    let Verified { lines, files, first, last, .. } = report;
    let noun = if *files == 1 { "file" } else { "files" };
    let all = format!("{lines} lines in {files} {noun}, numbers {first} to {last}");
    print_lines(&[if report.problems.is_empty() {
        format!("{} The record is whole: {all}.", terminal.paint(Paint::Good, "✓"))
    } else {
        format!("The record is not whole: {all}.")
    }]);
    exit
}
