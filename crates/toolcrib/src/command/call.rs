//! `toolcrib call`: makes one call.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{Caller, Cancel, ErrorKind, Outcome};
use toolcrib_runtime::Preview;
use toolcrib_serve::{DifferenceLength, PlannedCall};

use super::approver::approver;
use super::arguments::arguments;
use super::difference;
use super::event_loop::{block_on, interrupted};
use super::live_output::{LiveView, OutputShown};
use super::outcome_gathering;
use super::prompt::{PersonAtTerminal, TerminalPrompt};
use super::remote;
use super::remote_call;
use super::render::{self, PriorApproval};
use super::setup::open;
use crate::cli::{CallArgs, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::table;
use crate::terminal::{Terminal, print_json};
use crate::wiring::{
    Crib, NamedPlace, call_at_terminal, check_connection, session, user_at_terminal,
};

pub(super) fn run(global: &Global, terminal: Terminal, args: &CallArgs) -> Result<Exit, CliError> {
    if args.jobs > 1 {
        return Err(CliError::usage("--jobs needs --batch: a single call is one job"));
    }
    if let Some(client) = remote::chosen(global, terminal)? {
        return remote_call::run(client.choosing(args.connection.clone()), terminal, args);
    }
    if args.wait.is_some() {
        return Err(CliError::usage("--wait needs --server: here, the call itself waits")
            .hint("`policy.approval_seconds` says how long a question is asked"));
    }
    let crib = open(global, terminal)?;
    let tool = args.tool.as_deref().unwrap_or_default();
    for warning in crib.plugins().mount_for(&crib.settings, &tool.into()) {
        terminal.warn(&warning);
    }
    let mut runtime = crib.runtime(approver(global, Some(terminal), &crib, args))?;
    let answer_time = crib.settings.get(table::POLICY_APPROVAL_SECONDS);
    if let Some(person) = PersonAtTerminal::on_terminal(terminal, answer_time) {
        runtime.client = Arc::new(person);
    }
    let mut call = call_at_terminal(session(), tool, Value::Null);
    call.caller = chosen_caller(&crib, args)?;
    match arguments(&args.args, &runtime.toolset, &call.tool) {
        Ok(parsed) => call.args = parsed,
        Err(error) => {
            let outcome = runtime.reject(&call, &error);
            return Ok(show(terminal, args, &crib, &outcome, OutputShown::NotYet));
        }
    }
    let cancel = Cancel::default();
    let stop = cancel.clone();
    block_on(async {
        tokio::spawn(async move {
            interrupted().await;
            stop.cancel();
        });
        if args.dry_run {
            return match runtime.preview(call, cancel).await {
                Ok(preview) => {
                    let yes = global.yes;
                    let approval = if yes { PriorApproval::Given } else { PriorApproval::NotGiven };
                    render::planned(terminal, &planned(&preview), approval, args.json.into())
                }
                Err(outcome) => show(terminal, args, &crib, &outcome, OutputShown::NotYet),
            };
        }
        // Programs get the reply, people what the command prints as it prints it.
        let live = (!args.json).then(|| LiveView::start(crib.sandbox(), terminal));
        let outcome = runtime.call(call, cancel).await;
        let shown = live.map_or(OutputShown::NotYet, LiveView::end);
        show(terminal, args, &crib, &outcome, shown)
    })
}

/// Returns the user at the terminal, with the connection that they chose. Fails if there is no such connection.
pub(super) fn chosen_caller(crib: &Crib, args: &CallArgs) -> Result<Arc<Caller>, CliError> {
    let Some(name) = &args.connection else { return Ok(user_at_terminal()) };
    check_connection(&NamedPlace::all(&crib.settings)?, name)?;
    let connection = Some(name.clone());
    Ok(Arc::new(Caller { connection, ..(*user_at_terminal()).clone() }))
}

/// Prints the outcome of a call. Returns the exit code.
fn show(
    terminal: Terminal,
    args: &CallArgs,
    crib: &Crib,
    outcome: &Outcome,
    shown: OutputShown,
) -> Exit {
    if terminal.verbosity > 0 {
        let decision =
            outcome.decision.as_ref().map_or("no decision".to_owned(), ToString::to_string);
        terminal.note(&format!("call {} of {}: {decision}", outcome.call, outcome.tool));
    }
    if terminal.verbosity > 1 {
        terminal.note(&format!("recorded in {}", crib.state.folder().display()));
    }
    if let Some(reason) = &outcome.unrecorded {
        terminal.warn(&unrecorded(reason));
    }
    let is_declined = outcome.error.as_ref().is_some_and(|it| it.kind == ErrorKind::Declined);
    if args.json {
        print_json(&outcome.text);
    } else if !(is_declined && TerminalPrompt::told_no()) {
        outcome_gathering::show(terminal, crib, outcome, shown);
    }
    Exit::of_outcome(outcome)
}

/// Returns what a call would do.
fn planned(preview: &Preview) -> PlannedCall {
    let edits = &preview.question.plan.edits;
    PlannedCall {
        tool: preview.tool.clone(),
        decision: preview.decision.verdict().as_str().to_owned(),
        rule: preview.decision.rule.clone(),
        files_affected: edits.iter().map(|edit| edit.path.clone()).collect(),
        edits: difference::of_preview(preview, DifferenceLength::Usual),
    }
}

/// Returns the warning that a call could not be recorded.
pub(super) fn unrecorded(reason: &dyn Display) -> String {
    format!(
        "the record cannot be written: {reason}; until it can, calls that change something are \
         refused, and calls that only read run unrecorded"
    )
}
