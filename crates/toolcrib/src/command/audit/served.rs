//! `toolcrib audit` with a server: the record is read there, and shown here.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolcrib_core::{Change, escape};
use toolcrib_ledger::{CallFilter, CallHistory, EventKind, Problem, RecordEntry, VerifyReport};
use toolcrib_serve::{FileDifference, ShownChange};

use super::filter::call_filter;
use super::listing::{ListedCall, print_calls};
use super::report;
use super::served_tail::{self, TailWish};
use super::show::ShownCall;
use super::tail_line::TailPrinter;
use crate::cli::{AuditArgs, AuditCommand, CallFilterArgs, ExportFormat};
use crate::command::past_call::{CALLS, shown_time, what};
use crate::command::remote::{ServerClient, path_part};
use crate::command::short_id::{self, Candidate, IdError};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print, print_json};

/// The most calls that a server returns at once.
const MOST_SERVED_CALLS: usize = 1000;

/// The most calls that are looked through for one whose id begins as a person typed.
const MOST_FITTING_CALLS: usize = 100;

#[derive(Deserialize)]
struct FoundCallsBody {
    calls: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct OneCallBody {
    call: Box<RawValue>,
    differences: Vec<Option<FileDifference>>,
}

#[derive(Deserialize)]
struct StoryFields {
    outcome: String,
    changes: Vec<Change>,
    taken_back_by: Option<String>,
    output_saved: bool,
}

#[derive(Deserialize)]
struct VerifiedBody {
    lines: u64,
    files: usize,
    first: u64,
    last: u64,
    problems: Vec<ProblemBody>,
    notes: Vec<ProblemBody>,
}

#[derive(Deserialize)]
struct ProblemBody {
    file: String,
    line: Option<usize>,
    what: String,
}

pub(super) fn run(
    client: &ServerClient,
    terminal: Terminal,
    args: &AuditArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        AuditCommand::Tail { follow, lines, json } => {
            let wanted = if *follow { TailWish::Follow } else { TailWish::Newest };
            let printer = TailPrinter { terminal, format: (*json).into() };
            served_tail::run(client, printer, *lines, wanted)
        }
        AuditCommand::Show { call, json, .. } => {
            let wanted = match call {
                Some(given) => find(client, given)?,
                None => newest(client)?,
            };
            match wanted {
                Ok(id) => gather(client, &id)?.print(terminal, (*json).into()),
                Err(err) => return Ok(err.tell(terminal)),
            }
            Ok(Exit::Done)
        }
        AuditCommand::Search { filter, limit, json } => {
            let asked = (*limit).min(MOST_SERVED_CALLS);
            let query = query(&call_filter(filter)?, Some(asked));
            let FoundCallsBody { calls } = client.get(&format!("/api/audit?{query}"))?;
            if *json {
                for call in &calls {
                    print_json(call.get());
                }
            } else {
                print_calls(terminal, &listed(&calls)?, asked);
            }
            Ok(Exit::Done)
        }
        AuditCommand::Export { filter, format, .. } => export(client, filter, *format),
        AuditCommand::Verify { json } => {
            let body: VerifiedBody = client.get("/api/audit/verify")?;
            Ok(report::show(terminal, &body.into(), (*json).into()))
        }
    }
}

/// Prints what a server exports, as it comes.
fn export(
    client: &ServerClient,
    filter: &CallFilterArgs,
    format: ExportFormat,
) -> Result<Exit, CliError> {
    let (path, cut) = match format {
        ExportFormat::Ndjson => ("/api/audit/export", "{\"error\":\"the export is incomplete: "),
        ExportFormat::Csv => ("/api/audit/export.csv", "error: the export is incomplete: "),
    };
    let query = query(&call_filter(filter)?, None);
    let mut why = None;
    client.read_lines(&format!("{path}?{query}"), |line| {
        let line = String::from_utf8_lossy(line);
        if let Some(said) = line.strip_prefix(cut) {
            why = Some(said.trim_end_matches("\"}").to_owned());
            return false;
        }
        let line = match format {
            ExportFormat::Ndjson => escape::json(&line),
            ExportFormat::Csv => escape::line(&line),
        };
        print(&format!("{line}\n"))
    })?;
    match why {
        None => Ok(Exit::Done),
        Some(why) => Err(CliError::usage(format!("the export is incomplete: {why}"))),
    }
}

/// Returns the query that finds what a filter takes.
fn query(filter: &CallFilter, limit: Option<usize>) -> String {
    let CallFilter { since, until, tool, actor, outcome, text, call, .. } = filter;
    let CallFilter { session, caller, decision, changed_files, before, .. } = filter;
    let all = [
        ("since", since.map(|at| at.to_string())),
        ("until", until.map(|at| at.to_string())),
        ("tool", tool.as_ref().map(ToString::to_string)),
        ("actor", actor.clone()),
        ("outcome", outcome.map(|outcome| outcome.as_str().to_owned())),
        ("text", text.clone()),
        ("call", call.clone()),
        ("session", session.clone()),
        ("door", caller.door.map(|door| door.as_str().to_owned())),
        ("decision", decision.map(|decision| decision.as_str().to_owned())),
        ("changed", changed_files.then(|| "true".to_owned())),
        ("before", before.map(|line| line.to_string())),
        ("limit", limit.map(|limit| limit.to_string())),
    ];
    let given = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| format!("{name}={}", path_part(&value))).collect::<Vec<_>>().join("&")
}

fn listed(calls: &[Box<RawValue>]) -> Result<Vec<ListedCall>, CliError> {
    calls.iter().map(|call| Ok(serde_json::from_str(call.get())?)).collect()
}

/// Returns the id of the call that a person means.
pub(in crate::command) fn find(
    client: &ServerClient,
    given: &str,
) -> Result<Result<String, IdError>, CliError> {
    let filter = CallFilter { call: Some(given.to_owned()), ..CallFilter::default() };
    let query = query(&filter, Some(MOST_FITTING_CALLS));
    let FoundCallsBody { calls } = client.get(&format!("/api/audit?{query}"))?;
    let candidates = listed(&calls)?.into_iter().map(|it| Candidate {
        at: shown_time(&it.at),
        what: format!("{}  {}", it.tool, what(it.args.as_deref().unwrap_or_default())),
        id: it.call,
        item: (),
    });
    Ok(short_id::find(CALLS, given, candidates).map(|found| found.id))
}

/// Returns the id of the newest call on the record.
fn newest(client: &ServerClient) -> Result<Result<String, IdError>, CliError> {
    let FoundCallsBody { calls } = client.get("/api/audit?limit=1")?;
    let newest = listed(&calls)?.pop().map(|it| it.call);
    Ok(newest.ok_or_else(|| IdError::none(CALLS, "no call is on the record")))
}

/// Gathers everything about a call.
fn gather(client: &ServerClient, id: &str) -> Result<ShownCall, CliError> {
    let part = path_part(id);
    let OneCallBody { call, differences } = client.get(&format!("/api/audit/{part}"))?;
    let story: StoryFields = serde_json::from_str(call.get())?;
    let mut entries = Vec::new();
    client.read_lines(&format!("/api/audit/export?call={part}"), |line| {
        entries.extend(RecordEntry::parse(line).map(RecordEntry::into_owned));
        true
    })?;
    let mut history = CallHistory { entries, is_dead: false };
    // The server knows whether the process of a call died.
    history.is_dead = story.outcome == "unknown" && history.last(&EventKind::Lost).is_none();
    let differences = differences.into_iter().chain(std::iter::repeat(None));
    let shown = |(change, difference)| ShownChange { change, difference };
    Ok(ShownCall {
        history,
        json: call.get().to_owned(),
        changes: story.changes.into_iter().zip(differences).map(shown).collect(),
        undone_by: story.taken_back_by,
        is_output_saved: story.output_saved,
    })
}

impl From<VerifiedBody> for VerifyReport {
    fn from(body: VerifiedBody) -> Self {
        let VerifiedBody { lines, files, first, last, problems, notes } = body;
        let all = |found: Vec<ProblemBody>| found.into_iter().map(Problem::from).collect();
        Self { lines, files, first, last, problems: all(problems), notes: all(notes) }
    }
}

impl From<ProblemBody> for Problem {
    fn from(body: ProblemBody) -> Self {
        let ProblemBody { file, line, what } = body;
        Self { file, line, what }
    }
}
