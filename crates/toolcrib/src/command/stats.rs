//! `toolcrib stats`: shows how healthy every tool is.

mod columns;
mod contract;
mod named_tool;
mod rebuilt;
mod served;
mod tables;
mod windowed;

use toolcrib_core::command::show_bytes;
use toolcrib_ledger::{QuarantineList, Stats};
use toolcrib_serve::{ReportKind, Statistics};

use named_tool::ReportForm;
use tables::StatsTables;

use super::remote;
use super::setup::open_state;
use crate::cli::{Global, StatsArgs, StatsCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};
use crate::wiring::{StateAccess, user_at_terminal};

/// More unfolded bytes of the record than this take a while to fold, and a note says so.
const SLOW_FOLD_BYTES: u64 = 20 << 20;

pub(super) fn run(global: &Global, terminal: Terminal, args: &StatsArgs) -> Result<Exit, CliError> {
    if let Some(client) = remote::chosen(global, terminal)? {
        return served::run(&client, terminal, args);
    }
    let access = open_state(global, terminal)?;
    if let Some(window) = args.window {
        return windowed::show(&access, terminal, window, args.json.into());
    }
    if let Some(StatsCommand::Rebuild { json }) = &args.command {
        return match access.reports().rebuild() {
            Ok(rebuilt) => Ok(rebuilt::show(terminal, &rebuilt, (*json).into())),
            Err(err) => Err(CliError::usage(err.message())),
        };
    }
    let mut stats = Stats::open(&access.state)?;
    for warning in &stats.warnings {
        terminal.warn(warning);
    }
    let unfolded = stats.unfolded_bytes()?;
    if unfolded > SLOW_FOLD_BYTES {
        terminal.note(&format!("reading {} of the record …", show_bytes(unfolded)));
    }
    access.maintenance.run(&mut stats)?;
    warn_of_skipped_files(terminal, &access);
    if let Some((kind, of)) = contract::wanted(args) {
        return match access.reports().report(kind, of.tool.as_deref()) {
            Ok(report) => {
                print_json(&report.to_string());
                Ok(Exit::Done)
            }
            Err(err) => contract::fail_in_json(err),
        };
    }
    if let Some(StatsCommand::Clear { what, tool, json }) = &args.command {
        let Some(kind) = ReportKind::parse(what) else {
            return Err(CliError::usage(format!("there are no figures called `{what}`")));
        };
        let cleared = access.reports().clear(kind, tool, &user_at_terminal().principal);
        let form = if *json { ReportForm::Json } else { ReportForm::Text };
        return contract::show_cleared(terminal, kind, tool, cleared, form);
    }
    let quarantined = QuarantineList::new(&access.state).all()?;
    let tools = stats.all(&quarantined, access.clock.now(), access.spans())?;
    Ok(StatsTables::new(terminal, tools).print(args))
}

/// Warns of each file of the record that was not folded.
fn warn_of_skipped_files(terminal: Terminal, access: &StateAccess) {
    for warning in access.state.skipped_files() {
        terminal.warn(&warning);
    }
}
