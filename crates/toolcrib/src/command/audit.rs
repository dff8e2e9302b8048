//! `toolcrib audit`: shows the record to people.

mod filter;
mod listing;
mod report;
mod served;
mod served_tail;
mod show;
mod tail_line;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use toolcrib_core::escape;
use toolcrib_ledger::{
    CallFilter, RecordTail, Redactor, StateFolder, call_summary, export_calls, export_csv,
    export_lines, find_calls, newest_lines, verify,
};

use filter::call_filter;
use listing::{ListedCall, print_calls};
pub(super) use served::find as find_served;
use show::ShownCall;
use tail_line::TailPrinter;

use super::past_call;
use super::remote;
use super::setup::read_config;
use super::short_id::IdError;
use crate::cli::{AuditArgs, AuditCommand, ExportFormat, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};

/// The pause between two reads of new lines.
const TAIL_PAUSE: Duration = Duration::from_millis(200);

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
            let printer = TailPrinter { terminal, format: (*json).into() };
            let tail = RecordTail::at_end(state)?;
            let is_open = newest_lines(state, *lines)?.iter().all(|line| printer.print(line));
            if *follow && is_open { follow_record(tail, printer) } else { Ok(Exit::Done) }
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

/// Prints lines as they are written, until the output is closed.
fn follow_record(mut tail: RecordTail, printer: TailPrinter) -> Result<Exit, CliError> {
    loop {
        std::thread::sleep(TAIL_PAUSE);
        if !tail.read_new()?.iter().all(|line| printer.print(line)) {
            return Ok(Exit::Done);
        }
    }
}

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
        ExportFormat::Csv => export_csv(state, filter, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        Err(err) if err.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::usage(format!("the export is incomplete: {err}")))
        }
        _ => Ok(Exit::Done),
    }
}
