//! `toolcrib approvals`: lists, shows and answers the calls that wait for an answer.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::approval::{ApprovalStatus, ApprovalStore, KeptOutcome, PendingApproval};
use toolcrib_core::{Cancel, Principal, Role, escape};
use toolcrib_ledger::{Approvals, Redactor};
use toolcrib_runtime::{ApprovalAnswers, ApprovalError, Approved, ParkedCall};

use super::event_loop::{block_on, interrupted};
use super::layout::fit_all;
use super::live_output::OutputShown;
use super::past_call;
use super::render;
use super::setup::{open, open_state};
use super::short_id::{self, Candidate, IdNoun, ShortIds};
use super::waiting_call::{Reviewed, WaitingCall};
use crate::cli::{ApprovalsArgs, ApprovalsCommand, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print, print_json, print_lines, width};
use crate::wiring::user_at_terminal;

const APPROVALS: IdNoun =
    IdNoun { one: "approval", many: "approvals", listed_by: "toolcrib approvals list --all" };

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ApprovalsArgs,
) -> Result<Exit, CliError> {
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
    let candidates = store.all()?.into_iter().map(|it| Candidate {
        at: format!("{:.0}", it.created_at),
        what: format!("{}  {}", it.tool, past_call::what(&redactor.clean(&it.args.to_string()))),
        id: it.id,
        item: (),
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
                        let mut value = as_value(&store, &pending, status);
                        value["changed"] = json!(now.changes);
                        print_json(&value.to_string());
                    }
                    Format::Text => {
                        let page = now.page(terminal).filter(|_| std::io::stdout().is_terminal());
                        if let Some(page) = page {
                            print_lines(&on_terminal(&pending, page, &now.changes));
                        } else {
                            print_lines(&details(&store, &pending, status, &now.changes));
                            print(&now.difference);
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
    let approved = match review(global, terminal, answers, id)? {
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
            print_lines(&[format!("Approved: {id} runs in the process that asked.")]);
            Ok(Exit::Done)
        }
        Ok(Approved::RunsHere(parked)) => run_parked(global, terminal, *parked, format),
        Err(err) => explain(terminal, id, err),
    }
}

/// Says why an answer does not count.
fn explain(terminal: Terminal, id: &str, err: ApprovalError) -> Result<Exit, CliError> {
    let id = escape::line(id);
    match err {
        ApprovalError::NotFound => {
            let hint = "`toolcrib approvals list` lists the calls that are waiting";
            terminal
                .fail(&format!("no call is waiting for approval with the id `{id}`"), Some(hint));
        }
        ApprovalError::OwnCall => {
            let hint = "another person or another token must answer";
            terminal.fail("you cannot answer a question about your own call", Some(hint));
            return Ok(Exit::Refused);
        }
        ApprovalError::Closed(status) => {
            let hint = "`toolcrib approvals show` shows the answer";
            let what = match status {
                ApprovalStatus::Pending => "is waiting",
                ApprovalStatus::Approved => "was approved already",
                ApprovalStatus::Denied => "was denied already",
                ApprovalStatus::TakenUp => "was approved already, and has run",
                ApprovalStatus::Expired => "has expired",
                ApprovalStatus::Revoked => "was asked with a token that is revoked",
            };
            terminal.fail(&format!("{id} {what}"), Some(hint));
        }
        ApprovalError::Store(err) => return Err(err.into()),
    }
    Ok(Exit::Failed)
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
    if matches!(format, Format::Json) {
        let value = |(it, status): &(PendingApproval, ApprovalStatus)| {
            redactor.clean_json(&as_value(approvals, it, *status))
        };
        let all: Vec<Value> = shown.iter().map(value).collect();
        print_json(&Value::Array(all).to_string());
    } else if shown.is_empty() {
        print_lines(&["No call is waiting for an answer.".to_owned()]);
    } else {
        let ids = ShortIds::of(shown.iter().map(|(it, _)| it.id.as_str()));
        let line = |(it, status): &(PendingApproval, ApprovalStatus)| {
            let age = now.duration_since(it.created_at).as_secs();
            // `show` has the whole arguments, for the person who answers.
            let args = it.args.to_string();
            let args: String = redactor.clean(&args).chars().take(80).collect();
            format!(
                "{}  {}  {age} s ago  {}  {}",
                ids.short(&it.id),
                status.as_str(),
                escape::line(it.tool.as_str()),
                escape::line(&args)
            )
        };
        print_lines(&fit_all(&shown.iter().map(line).collect::<Vec<_>>(), width()));
    }
    Ok(Exit::Done)
}

fn as_value(approvals: &Approvals, pending: &PendingApproval, status: ApprovalStatus) -> Value {
    let answer = approvals.answer(&pending.id).ok().flatten();
    let mut value = serde_json::to_value(pending).unwrap_or_default();
    // The state of thousands of files says nothing to whoever reads this.
    if let Some(fields) = value.as_object_mut() {
        fields.remove("pins");
    }
    value["status"] = status.as_str().into();
    value["answer"] = json!(answer);
    value
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

fn details(
    approvals: &Approvals,
    pending: &PendingApproval,
    status: ApprovalStatus,
    changes: &[String],
) -> Vec<String> {
    let mut lines = vec![format!("{} {}", pending.id, status.as_str())];
    let mut add = |name: &str, text: &str| {
        lines.push(escape::line(&format!("  {name:<12}{text}")).into_owned());
    };
    add("tool:", pending.tool.as_str());
    for (key, value) in pending.args.as_object().into_iter().flatten() {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        add(&format!("{key}:"), &shown);
    }
    add("workspace:", &pending.workspace);
    for file in &pending.question.files {
        add("changes:", file);
    }
    for unpinned in &pending.question.unpinned {
        add("not pinned:", unpinned);
    }
    for change in changes {
        add("changed:", change);
    }
    add("rule:", &pending.question.rule);
    if let Some(reading) = &pending.question.runs {
        add("reading:", &reading.to_string());
    }
    let Principal { name, role } = &pending.caller.principal;
    match role {
        Role::User => add("asked by:", &pending.requester),
        role => add("asked by:", &format!("{name} ({})", role.as_str())),
    }
    add("asked at:", &format!("{:.0}", pending.created_at));
    add("expires:", &format!("{:.0}", pending.expires_at));
    if let Ok(Some(answer)) = approvals.answer(&pending.id) {
        let verb = if answer.is_approved { "approved" } else { "denied" };
        add("answer:", &format!("{verb} by {} {}", answer.by, answer.words));
    }
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
        Format::Text => render::outcome(terminal, &crib, &outcome, OutputShown::NotYet),
    }
    Ok(Exit::of_outcome(&outcome))
}
