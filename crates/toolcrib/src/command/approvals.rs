//! `toolcrib approvals`: calls that wait for someone's answer.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::policy::Answer;
use toolcrib_core::{Call, CallId, Cancel, Note, Recorder, SessionId, escape};
use toolcrib_ledger::{ApprovalAnswer, ApprovalStatus, Approvals, PendingApproval, Redactor};
use toolcrib_runtime::{AnswerFuture, Approver, ConfirmationSource, Question, Review};

use super::event_loop::{block_on, interrupted};
use super::render;
use super::setup::open;
use crate::cli::{ApprovalsArgs, ApprovalsCommand, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json, print_lines};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ApprovalsArgs,
) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let approvals = Approvals::new(&crib.state);
    let recorder = Arc::clone(&crib.recorder);
    let redactor = crib.redactor.clone();
    drop(crib);
    match &args.command {
        ApprovalsCommand::List { all, json } => list(&approvals, &redactor, *all, *json),
        ApprovalsCommand::Show { id, json } => {
            let Some((pending, standing)) = find(terminal, &approvals, id)? else {
                return Ok(Exit::Failed);
            };
            if *json {
                print_json(&as_value(&approvals, &pending, standing).to_string());
            } else {
                print_lines(&told(&approvals, &pending, standing));
            }
            Ok(Exit::Done)
        }
        ApprovalsCommand::Approve { id, json } => {
            approve(global, terminal, &approvals, &*recorder, id, *json)
        }
        ApprovalsCommand::Deny { id, words } => {
            let Some((pending, standing)) = find(terminal, &approvals, id)? else {
                return Ok(Exit::Failed);
            };
            if !answer(global, terminal, &approvals, &pending, standing, false, &words.join(" "))? {
                return Ok(Exit::Failed);
            }
            note(&*recorder, &pending, "denied", &words.join(" "));
            print_lines(&[format!("Denied: {} of {}", pending.id, pending.tool)]);
            Ok(Exit::Done)
        }
    }
}

fn list(
    approvals: &Approvals,
    redactor: &Redactor,
    all: bool,
    as_json: bool,
) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let mut shown = Vec::new();
    for pending in approvals.all()? {
        let standing = approvals.status(&pending, now)?;
        if all || standing == ApprovalStatus::Pending {
            shown.push((pending, standing));
        }
    }
    if as_json {
        let value = |(it, standing): &(PendingApproval, ApprovalStatus)| {
            redactor.clean_json(&as_value(approvals, it, *standing))
        };
        let all: Vec<Value> = shown.iter().map(value).collect();
        print_json(&Value::Array(all).to_string());
    } else if shown.is_empty() {
        print_lines(&["Nothing waits for an answer.".to_owned()]);
    } else {
        let line = |(it, standing): &(PendingApproval, ApprovalStatus)| {
            let age = now.duration_since(it.created_at).as_secs();
            // Whoever answers sees all of it with `show`.
            let args = it.args.to_string();
            let args: String = redactor.clean(&args).chars().take(80).collect();
            format!(
                "{}  {}  {age} s ago  {}  {}",
                it.id,
                standing.as_str(),
                it.tool,
                escape::line(&args)
            )
        };
        print_lines(&shown.iter().map(line).collect::<Vec<_>>());
    }
    Ok(Exit::Done)
}

fn find(
    terminal: Terminal,
    approvals: &Approvals,
    id: &str,
) -> Result<Option<(PendingApproval, ApprovalStatus)>, CliError> {
    if let Ok(pending) = approvals.find(id) {
        let standing = approvals.status(&pending, Timestamp::now())?;
        return Ok(Some((pending, standing)));
    }
    let hint = "`toolcrib approvals list` shows those that wait";
    terminal.fail(&format!("no call waits as `{}`", escape::line(id)), Some(hint));
    Ok(None)
}

fn as_value(approvals: &Approvals, pending: &PendingApproval, standing: ApprovalStatus) -> Value {
    let decided = approvals.answer(&pending.id).ok().flatten();
    let mut value = serde_json::to_value(pending).unwrap_or_default();
    value["status"] = standing.as_str().into();
    value["answer"] = json!(decided);
    value
}

fn told(approvals: &Approvals, pending: &PendingApproval, standing: ApprovalStatus) -> Vec<String> {
    let mut lines = vec![format!("{} {}", pending.id, standing.as_str())];
    let mut add =
        |name: &str, text: &str| lines.push(format!("  {name:<11}{}", escape::line(text)));
    add("tool:", &pending.tool);
    for (key, value) in pending.args.as_object().into_iter().flatten() {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        add(&format!("{key}:"), &shown);
    }
    add("workspace:", &pending.workspace);
    for file in &pending.question.files {
        add("changes:", file);
    }
    for loose in &pending.question.loose {
        add("not bound:", loose);
    }
    add("rule:", &pending.question.rule);
    if let Some(reading) = &pending.question.reading {
        add("reading:", reading);
    }
    add("asked by:", &pending.requester);
    add("asked at:", &format!("{:.0}", pending.created_at));
    add("expires:", &format!("{:.0}", pending.expires_at));
    if let Ok(Some(decided)) = approvals.answer(&pending.id) {
        let verb = if decided.is_approved { "approved" } else { "denied" };
        add("answer:", &format!("{verb} by {} {}", decided.by, decided.words));
    }
    lines
}

/// Puts an answer down; `false` if it does not count, which was said.
fn answer(
    global: &Global,
    terminal: Terminal,
    approvals: &Approvals,
    pending: &PendingApproval,
    standing: ApprovalStatus,
    is_approved: bool,
    words: &str,
) -> Result<bool, CliError> {
    // Whoever asks is not the one who answers: an agent has no terminal.
    if !global.yes && !std::io::stdin().is_terminal() {
        let hint = "answer from a terminal, or give --yes where you are the one who may";
        terminal
            .fail("an approval is a person's to give, and there is no terminal here", Some(hint));
        return Ok(false);
    }
    let by = format!("user {}", rustix::process::getuid().as_raw());
    let decided = ApprovalAnswer { is_approved, by, words: words.to_owned(), at: Timestamp::now() };
    let is_open = standing == ApprovalStatus::Pending;
    if is_open && approvals.decide(&pending.id, &decided)? {
        return Ok(true);
    }
    let standing = approvals.status(pending, Timestamp::now())?;
    let message = format!("{} is {} already", pending.id, standing.as_str());
    terminal.fail(&message, Some("`toolcrib approvals show` has the answer that counts"));
    Ok(false)
}

fn approve(
    global: &Global,
    terminal: Terminal,
    approvals: &Approvals,
    recorder: &dyn Recorder,
    id: &str,
    as_json: bool,
) -> Result<Exit, CliError> {
    let Some((pending, standing)) = find(terminal, approvals, id)? else {
        return Ok(Exit::Failed);
    };
    // One that was approved and not taken up, by a process that ended in between, can be taken up now.
    if standing != ApprovalStatus::Approved {
        if !answer(global, terminal, approvals, &pending, standing, true, "")? {
            return Ok(Exit::Failed);
        }
        note(recorder, &pending, "approved", "");
    }
    // Whoever asked is there to run it; a parked call has nobody.
    if !pending.is_parked || !approvals.take_up(id)? {
        print_lines(&[format!("Approved: {id} runs where it was asked for.")]);
        return Ok(Exit::Done);
    }
    let there = Global { workspace: Some(PathBuf::from(&pending.workspace)), ..global.clone() };
    let crib = open(&there, terminal)?;
    let by = approvals.answer(id)?.map(|decided| decided.by).unwrap_or_default();
    let runtime = crib.runtime(Arc::new(Bound { digest: pending.digest.clone(), by }))?;
    let call = Call {
        id: CallId(pending.id.clone()),
        session: SessionId(pending.requester.clone()),
        conversation: None,
        tool: pending.tool.clone(),
        args: pending.args.clone(),
    };
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let outcome = block_on(async {
        tokio::spawn(async move {
            interrupted().await;
            stop.cancel();
        });
        runtime.call(call, cancel).await
    })?;
    if as_json {
        print_json(&outcome.text);
    } else {
        render::outcome(terminal, &crib, &outcome);
    }
    Ok(outcome.error.map_or(Exit::Done, |err| Exit::of(err.kind)))
}

/// Puts an answer on the record.
fn note(recorder: &dyn Recorder, pending: &PendingApproval, event: &str, words: &str) {
    let by = format!("user {}", rustix::process::getuid().as_raw());
    let detail = json!({"by": by, "words": words, "requester": pending.requester});
    let (tool, call) = (pending.tool.as_str(), pending.id.as_str());
    let at = Timestamp::now();
    let _ = recorder.note(&Note { at, actor: "user", act: "approval", event, tool, call, detail });
}

/// The answer to one call and no other.
struct Bound {
    digest: String,
    by: String,
}

impl Approver for Bound {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            if question.digest == self.digest {
                return Answer::Yes(self.by.clone());
            }
            Answer::No(self.by.clone(), "it is not the call that was approved".to_owned())
        })
    }

    fn confirmation(&self) -> ConfirmationSource {
        ConfirmationSource::NotNeeded
    }

    fn review(&self) -> Review {
        Review::Nothing
    }
}
