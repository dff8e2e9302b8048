//! `toolcrib call --batch`: makes many calls in one process, one for each line of stdin.

use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
use toolcrib_core::{
    Call, Cancel, ErrorKind, Outcome, SessionId, ToolError, ToolName, json as strict_json,
};
use toolcrib_runtime::Runtime;

use super::approver::approver;
use super::call::unrecorded;
use super::event_loop::{block_on, interrupted};
use super::setup::open_long_lived;
use crate::cli::{CallArgs, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, is_result_lost, print_json};
use crate::wiring::session;

/// One line of stdin.
struct BatchLine {
    /// The id as JSON, in the caller's own spelling.
    id: String,
    tool: ToolName,
    /// The arguments, or why they cannot be read.
    args: Result<Value, ToolError>,
}

/// A call on the wire.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallParams<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    tool: ToolName,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

pub(super) fn run(global: &Global, terminal: Terminal, args: &CallArgs) -> Result<Exit, CliError> {
    let crib = open_long_lived(global, terminal)?;
    // Stdin holds the calls, so nobody can be asked there.
    let approver = approver(global, None, &crib, args);
    let runtime = Arc::new(crib.runtime(approver)?);
    let jobs = usize::from(args.jobs);
    block_on(async move {
        let local = tokio::task::LocalSet::new();
        local.run_until(serve(runtime, jobs, terminal)).await
    })
}

async fn serve(runtime: Arc<Runtime>, jobs: usize, terminal: Terminal) -> Exit {
    let mut lines = read_lines(jobs);
    let cancel = Cancel::default();
    let session = session();
    let slots = Arc::new(Semaphore::new(jobs));
    let (done, mut ended) = mpsc::unbounded_channel::<ReplyState>();
    let mut exit = Exit::Done;
    let stop = interrupted();
    tokio::pin!(stop);
    loop {
        // The slot comes before the line, so that no more lines are read than can run.
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot,
            () = &mut stop => { cancel.cancel(); break }
        };
        let line = tokio::select! {
            line = lines.recv() => line,
            () = &mut stop => { cancel.cancel(); break }
        };
        let Some(line) = line else { break };
        while let Ok(reply) = ended.try_recv() {
            exit = fold(exit, reply);
        }
        if is_result_lost() {
            break;
        }
        let (runtime, session) = (Arc::clone(&runtime), session.clone());
        let (cancel, done) = (child(&cancel), done.clone());
        tokio::task::spawn_local(async move {
            let (id, outcome) = answer(&runtime, line, session, cancel).await;
            if let Some(reason) = &outcome.unrecorded {
                terminal.warn(&unrecorded(reason));
            }
            let _ = done.send(print_reply(&id, &outcome));
            drop(slot);
        });
    }
    drop(done);
    while let Some(reply) = ended.recv().await {
        exit = fold(exit, reply);
    }
    if cancel.is_cancelled() { Exit::Interrupted } else { exit }
}

/// Returns the exit code of the batch after one more reply: one failed call fails the batch.
fn fold(exit: Exit, reply: ReplyState) -> Exit {
    match reply {
        ReplyState::Succeeded => exit,
        ReplyState::Failed | ReplyState::Unread => Exit::Failed,
    }
}

/// Returns a token for one call that is cancelled with `parent`, but does not cancel `parent`.
fn child(parent: &Cancel) -> Cancel {
    let child = Cancel::default();
    let (watched, ended) = (parent.clone(), child.clone());
    tokio::task::spawn_local(async move {
        tokio::select! {
            () = watched.cancelled() => ended.cancel(),
            () = ended.cancelled() => {}
        }
    });
    child
}

/// Makes the call of one line.
async fn answer(
    runtime: &Runtime,
    line: BatchLine,
    session: SessionId,
    cancel: Cancel,
) -> (String, Outcome) {
    let id = toolcrib_ledger::new_call_id();
    let mut call = Call { id, session, conversation: None, tool: line.tool, args: Value::Null };
    let outcome = match line.args {
        Ok(args) => {
            call.args = args;
            runtime.call(call, cancel.clone()).await
        }
        Err(reason) => runtime.reject(&call, &reason),
    };
    // This ends the task that watches the call's token.
    cancel.cancel();
    (line.id, outcome)
}

/// What became of the reply to a call.
#[derive(Clone, Copy)]
enum ReplyState {
    /// The reply of a successful call was printed.
    Succeeded,
    /// The reply of a failed call was printed.
    Failed,
    /// Nobody reads the replies any more.
    Unread,
}

/// Prints the reply to a call.
fn print_reply(id: &str, outcome: &Outcome) -> ReplyState {
    let elapsed = outcome.elapsed.as_micros();
    let text = format!(r#"{{"id":{id},"reply":{},"elapsed_us":{elapsed}}}"#, outcome.text);
    if !print_json(&text) {
        return ReplyState::Unread;
    }
    match Exit::of_outcome(outcome) {
        Exit::Done => ReplyState::Succeeded,
        _ => ReplyState::Failed,
    }
}

/// Reads calls from stdin on a thread of its own.
fn read_lines(ahead: usize) -> mpsc::Receiver<BatchLine> {
    let (send, receive) = mpsc::channel(ahead);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let line = match read_line(&mut input) {
                Ok(None) | Err(_) => break,
                Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => continue,
                Ok(Some(bytes)) => parse(&bytes),
            };
            if send.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// Reads one line, and keeps no more of it than the longest call may have.
fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let most = strict_json::MAX_BYTES + 1;
    let mut line = Vec::new();
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            return Ok(if line.is_empty() { None } else { Some(line) });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = most.saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(&part[..room]);
        let used = end.map_or(available.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

fn parse(bytes: &[u8]) -> BatchLine {
    let wrong =
        |what: &str, reason: &str| ToolError::new(ErrorKind::BadArgs, format!("{what}: {reason}"));
    if bytes.len() > strict_json::MAX_BYTES {
        return unreadable(bytes, wrong("invalid line", "it is longer than a call may be"));
    }
    let params: CallParams<'_> = match serde_json::from_slice(bytes) {
        Ok(params) => params,
        Err(err) => {
            let error = wrong("invalid line", &err.to_string())
                .hint(r#"write one call on each line: {"id": …, "tool": "…", "args": {…}}"#);
            return unreadable(bytes, error);
        }
    };
    let args = params.args.map_or("{}", RawValue::get);
    let args = strict_json::parse(args.as_bytes())
        .map_err(|reason| wrong("invalid arguments", &reason.message).hint("send one JSON object"));
    BatchLine { id: params.id.map_or("null", RawValue::get).to_owned(), tool: params.tool, args }
}

/// Returns the line for a call that cannot be read, with its id and tool if a lenient parser finds
/// them, because the caller tells replies apart by the id.
fn unreadable(bytes: &[u8], error: ToolError) -> BatchLine {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    BatchLine {
        id: value["id"].to_string(),
        tool: value["tool"].as_str().unwrap_or_default().into(),
        args: Err(error),
    }
}
