//! `toolcrib approvals`: lists, shows and answers the calls that wait for an answer.

mod explanation;
mod served;
mod view;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use toolcrib_core::approval::{ApprovalStatus, ApprovalStore, KeptOutcome, PendingApproval};
use toolcrib_core::{Cancel, escape};
use toolcrib_ledger::{Approvals, Redactor};
use toolcrib_runtime::{ApprovalAnswers, Approved, ParkedCall};

use explanation::explain;
use view::{APPROVALS, ApprovalView, candidate, print_list, what_follows};

use super::event_loop::{block_on, interrupted};
use super::live_output::OutputShown;
use super::outcome_gathering;
use super::remote;
use super::setup::{open, open_state};
use super::short_id;
use super::waiting_call::{Reviewed, WaitingCall};
use crate::cli::{ApprovalsArgs, ApprovalsCommand, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};
use crate::wiring::user_at_terminal;

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ApprovalsArgs,
) -> Result<Exit, CliError> {
    if let Some(client) = remote::chosen(global, terminal)? {
        return served::run(&client, terminal, args);
    }
    let access = open_state(global, terminal)?;
    let store = Approvals::new(&access.state);
    let answers = ApprovalAnswers {
        store: Arc::new(store.clone()),
        recorder: Arc::clone(&access.recorder),
        clock: Arc::clone(&access.clock),
    };
    let redactor = &access.redactor;
    let id = match &args.command {
        ApprovalsCommand::List { all, json } => {
            let shown = if *all { Shown::All } else { Shown::Pending };
            return list(&store, redactor, shown, Format::from(*json));
        }
        ApprovalsCommand::Show { id, .. }
        | ApprovalsCommand::Approve { id, .. }
        | ApprovalsCommand::Deny { id, .. } => id,
    };
    let candidates = store.all()?.into_iter().map(|it| {
        let args = redactor.clean(&it.args.to_string()).into_owned();
        candidate(it, &args)
    });
    let id = match short_id::find(APPROVALS, id, candidates) {
        Ok(found) => found.id,
        Err(err) => return Ok(err.tell(terminal)),
    };
    let id = id.as_str();
    let done = match &args.command {
        ApprovalsCommand::List { .. } => Ok(Exit::Done),
        ApprovalsCommand::Show { json, .. } => match answers.find(id) {
            Ok((pending, status)) => {
                let now = match status {
                    ApprovalStatus::Pending => WaitingCall::find(global, terminal, &pending)?,
                    _ => WaitingCall::default(),
                };
                match Format::from(*json) {
                    Format::Json => {
                        let view = ApprovalView::of(&store, pending, status);
                        print_json(&view.to_json_with(&now.changes).to_string());
                    }
                    Format::Text => {
                        let page = now.page(terminal).filter(|_| std::io::stdout().is_terminal());
                        if let Some(page) = page {
                            print_lines(&on_terminal(&pending, page, &now.changes));
                        } else {
                            let view = ApprovalView::of(&store, pending, status);
                            view.print(terminal, &now.changes, &now.edits);
                        }
                    }
                }
                Ok(Exit::Done)
            }
            Err(err) => Err(err),
        },
        ApprovalsCommand::Approve { json, .. } => {
            return approve(global, terminal, &answers, id, Format::from(*json));
        }
        ApprovalsCommand::Deny { words, .. } => {
            // Nobody gains anything by a no, so it needs no terminal.
            answers.deny(id, &user_at_terminal().principal, &words.join(" ")).map(|pending| {
                print_lines(&[format!("Denied: {} of {}", pending.id, pending.tool)]);
                Exit::Done
            })
        }
    };
    done.or_else(|err| explain(terminal, id, err))
}

/// Approves a call if this process may, and the person at its terminal wants to. Runs the call if it was parked.
fn approve(
    global: &Global,
    terminal: Terminal,
    answers: &ApprovalAnswers,
    id: &str,
    format: Format,
) -> Result<Exit, CliError> {
    if !may_answer(global, terminal, answers, id) {
        return Ok(Exit::Failed);
    }
    if let Ok((PendingApproval { is_parked: true, question, .. }, _)) = answers.find(id)
        && let Some(place) = question.place
    {
        let message = format!("the call runs on another machine, at {}", escape::line(&place));
        let hint = format!(
            "only its gateway reaches that: write `toolcrib approvals approve {id} --server URL`, or answer on the page"
        );
        return Err(CliError::usage(message).hint(hint));
    }
    let reviewed = review(global, terminal, answers, id)?;
    let follows = match (&reviewed, answers.find(id)) {
        (Reviewed::Approved(wish), Ok((pending, _))) => what_follows(&pending, wish.as_ref()),
        _ => String::new(),
    };
    let approved = match reviewed {
        Reviewed::Approved(wish) => answers.approve(id, &user_at_terminal().principal, wish),
        Reviewed::Denied(words) => {
            let denied =
                answers.deny(id, &user_at_terminal().principal, &words).map(|_| Exit::Refused);
            return denied.or_else(|err| explain(terminal, id, err));
        }
        Reviewed::NotAnswered => {
            terminal.note(&format!("Not answered: {id} still waits."));
            return Ok(Exit::NeedsApproval);
        }
    };
    match approved {
        Ok(Approved::RunsElsewhere) => {
            print_lines(&[format!("Approved: {id} {follows}.")]);
            Ok(Exit::Done)
        }
        Ok(Approved::RunsHere(parked)) => run_parked(global, terminal, *parked, format),
        Err(err) => explain(terminal, id, err),
    }
}

/// Asks the person at the terminal about a call that waits, in the same form as its own process does. `--yes` is their
/// answer.
fn review(
    global: &Global,
    terminal: Terminal,
    answers: &ApprovalAnswers,
    id: &str,
) -> Result<Reviewed, CliError> {
    match answers.find(id) {
        Ok((pending, ApprovalStatus::Pending)) if !global.yes => {
            let reviewed = WaitingCall::find(global, terminal, &pending)?.review(terminal)?;
            Ok(reviewed.unwrap_or(Reviewed::Approved(None)))
        }
        // What else is wrong is said when the answer is given.
        _ => Ok(Reviewed::Approved(None)),
    }
}

/// Returns whether this process may answer. An agent has no terminal, so it cannot approve its own calls.
fn may_answer(global: &Global, terminal: Terminal, answers: &ApprovalAnswers, id: &str) -> bool {
    if answers.find(id).is_err() || global.yes || std::io::stdin().is_terminal() {
        return true;
    }
    let hint = "run this command on a terminal, or add --yes if you are the person who decides";
    terminal
        .fail("only a person can approve a call, and there is no terminal to ask on", Some(hint));
    false
}

/// Which approvals are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Pending,
    All,
}

fn list(
    approvals: &Approvals,
    redactor: &Redactor,
    which: Shown,
    format: Format,
) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let mut shown = Vec::new();
    for pending in approvals.all()? {
        let status = approvals.status(&pending, now)?;
        if which == Shown::All || status == ApprovalStatus::Pending {
            shown.push((pending, status));
        }
    }
    let shown = shown.into_iter().map(|(it, status)| ApprovalView::of(approvals, it, status));
    if format == Format::Json {
        let all: Vec<Value> = shown.map(|it| redactor.clean_json(&it.to_json())).collect();
        print_json(&Value::Array(all).to_string());
    } else {
        let shown: Vec<ApprovalView> = shown.collect();
        print_list(&shown, now, |args| redactor.clean(args).into());
    }
    Ok(Exit::Done)
}

/// Returns what a person at a terminal is shown about a call that waits.
fn on_terminal(pending: &PendingApproval, page: String, changes: &[String]) -> Vec<String> {
    let id = &pending.id;
    let mut lines = vec![page];
    lines.extend(changes.iter().map(|change| format!("  Changed   {}", escape::line(change))));
    lines.push(String::new());
    lines.push(format!(
        "asked at {:.0}, can be answered until {:.0}",
        pending.created_at, pending.expires_at
    ));
    lines.push(format!("answer it: toolcrib approvals approve {id}"));
    lines.push(format!("refuse it: toolcrib approvals deny {id} WHY"));
    lines
}

/// Runs a parked call that was approved, in its own workspace.
fn run_parked(
    global: &Global,
    terminal: Terminal,
    parked: ParkedCall,
    format: Format,
) -> Result<Exit, CliError> {
    let ParkedCall { workspace, call, approver } = parked;
    let id = call.id.0.clone();
    let there = Global { workspace: Some(PathBuf::from(workspace)), ..global.clone() };
    let crib = open(&there, terminal)?;
    let runtime = crib.runtime(approver)?;
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let outcome = block_on(async {
        tokio::spawn(async move {
            interrupted().await;
            stop.cancel();
        });
        runtime.call(call, cancel).await
    })?;
    // Whoever asked may come back for it.
    let _ = Approvals::new(&crib.state).keep_outcome(&id, &KeptOutcome::from(&outcome));
    match format {
        Format::Json => {
            print_json(&outcome.text);
        }
        Format::Text => outcome_gathering::show(terminal, &crib, &outcome, OutputShown::NotYet),
    }
    Ok(Exit::of_outcome(&outcome))
}
