//! `toolcrib call --batch`: many calls from one process, a line each.

use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
use toolcrib_core::{Call, Cancel, ErrorKind, Outcome, SessionId, ToolError, json as strict_json};
use toolcrib_runtime::Runtime;

use super::call::unrecorded;
use super::{approver, block_on, interrupted, open_to_stay};
use crate::cli::{CallArgs, Global};
use crate::exit::Exit;
use crate::terminal::{Terminal, is_result_lost, print_json};
use crate::wiring::{WiringError, session};

/// A line of stdin.
struct BatchLine {
    /// As it was written: the caller knows it by its spelling.
    id: String,
    tool: String,
    /// The arguments, or why there are none.
    args: Result<Value, ToolError>,
}

/// A call on the wire.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallParams<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    tool: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &CallArgs,
) -> Result<Exit, WiringError> {
    let crib = open_to_stay(global, terminal)?;
    // Stdin holds the calls, so nobody can answer there.
    // Stdin is where calls come from: nobody can be asked there.
    let approver = approver(global, None, &crib, args.park);
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
    let (done, mut ended) = mpsc::unbounded_channel::<Option<bool>>();
    let mut exit = Exit::Done;
    let stop = interrupted();
    tokio::pin!(stop);
    loop {
        // A slot first, then a line: no more is read than can be worked on.
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot,
            () = &mut stop => { cancel.cancel(); break }
        };
        let line = tokio::select! {
            line = lines.recv() => line,
            () = &mut stop => { cancel.cancel(); break }
        };
        let Some(line) = line else { break };
        while let Ok(answered) = ended.try_recv() {
            exit = fold(exit, answered);
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
            let answered = tell(&id, &outcome);
            let _ = done.send(answered);
            drop(slot);
        });
    }
    drop(done);
    while let Some(answered) = ended.recv().await {
        exit = fold(exit, answered);
    }
    if cancel.is_cancelled() { Exit::Interrupted } else { exit }
}

/// One call that failed makes the batch one that did.
fn fold(exit: Exit, answered: Option<bool>) -> Exit {
    if answered == Some(true) { exit } else { Exit::Failed }
}

/// Returns a token for one call that ends when `parent` does, and not the other way round.
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
    // Lets the watcher of this call's token go.
    cancel.cancel();
    (line.id, outcome)
}

/// Tells what came of a call. Returns whether it succeeded, and nothing if nobody reads the answers.
fn tell(id: &str, outcome: &Outcome) -> Option<bool> {
    let elapsed = outcome.elapsed.as_micros();
    let text = format!(r#"{{"id":{id},"reply":{},"elapsed_us":{elapsed}}}"#, outcome.text);
    print_json(&text).then_some(outcome.error.is_none())
}

/// Reads calls from stdin on a thread of their own.
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

/// Reads one line, holding no more of it than a call may have.
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
        return unreadable(bytes, wrong("this line", "it is longer than a call may be"));
    }
    let params: CallParams<'_> = match serde_json::from_slice(bytes) {
        Ok(params) => params,
        Err(err) => {
            let error = wrong("this line", &err.to_string())
                .hint(r#"a line is one call, {"id": …, "tool": "…", "args": {…}}"#);
            return unreadable(bytes, error);
        }
    };
    let args = params.args.map_or("{}", RawValue::get);
    let args = strict_json::parse(args.as_bytes())
        .map_err(|reason| wrong("the arguments", &reason).hint("send one JSON object"));
    BatchLine { id: params.id.map_or("null", RawValue::get).to_owned(), tool: params.tool, args }
}

/// Returns the line for a call that cannot be read, with its id and tool if a lenient reader finds
/// them: whoever waits for the answer knows it by that.
fn unreadable(bytes: &[u8], error: ToolError) -> BatchLine {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    BatchLine {
        id: value["id"].to_string(),
        tool: value["tool"].as_str().unwrap_or_default().to_owned(),
        args: Err(error),
    }
}
