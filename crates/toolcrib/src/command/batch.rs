//! `toolcrib call --batch`: many calls from one process, a line each.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, mpsc};
use toolcrib_core::{Call, Cancel, json as strict_json};
use toolcrib_runtime::Runtime;

use super::{approver, block_on, interrupted, open};
use crate::cli::{CallArgs, Global};
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};
use crate::wiring::{WiringError, session};

/// A line of stdin: a call, or why it is none.
type Line = Result<(Value, String, Value), (Value, String)>;

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &CallArgs,
) -> Result<Exit, WiringError> {
    let crib = open(global, terminal)?;
    // Stdin holds the calls, so nobody can answer there.
    let approver: Arc<dyn toolcrib_runtime::Approver> =
        if global.yes { approver(global, terminal) } else { Arc::new(toolcrib_runtime::Nobody) };
    let runtime = Arc::new(crib.runtime(approver)?);
    let jobs = usize::from(args.jobs);
    block_on(async move {
        let local = tokio::task::LocalSet::new();
        local.run_until(serve(runtime, jobs)).await
    })
}

async fn serve(runtime: Arc<Runtime>, jobs: usize) -> Exit {
    let mut lines = read_lines(jobs);
    let cancel = Cancel::default();
    let session = session();
    let slots = Arc::new(Semaphore::new(jobs));
    let (done, mut ended) = mpsc::unbounded_channel::<bool>();
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
        let (runtime, session) = (Arc::clone(&runtime), session.clone());
        let (cancel, done) = (child(&cancel), done.clone());
        tokio::task::spawn_local(async move {
            let is_fine = answer(&runtime, line, session, cancel).await;
            let _ = done.send(is_fine);
            drop(slot);
        });
    }
    drop(done);
    let mut exit = Exit::Done;
    while let Some(is_fine) = ended.recv().await {
        if !is_fine {
            exit = Exit::Failed;
        }
    }
    if cancel.is_cancelled() { Exit::Interrupted } else { exit }
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

async fn answer(
    runtime: &Runtime,
    line: Line,
    session: toolcrib_core::SessionId,
    cancel: Cancel,
) -> bool {
    let (id, tool, args) = match line {
        Ok(call) => call,
        Err((id, reason)) => {
            let error = json!({"code": "bad_args", "message": reason});
            let reply = json!({"id": id, "reply": {"error": error}, "elapsed_us": 0});
            print_json(&reply.to_string());
            return false;
        }
    };
    let call = Call { id: toolcrib_ledger::new_call_id(), session, tool, args };
    let outcome = runtime.call(call, cancel.clone()).await;
    // Lets the watcher of this call's token go.
    cancel.cancel();
    let elapsed = outcome.elapsed.as_micros();
    print_json(&format!(r#"{{"id":{id},"reply":{},"elapsed_us":{elapsed}}}"#, outcome.text));
    outcome.error.is_none()
}

/// Reads calls from stdin on a thread of their own.
fn read_lines(ahead: usize) -> mpsc::Receiver<Line> {
    let (send, receive) = mpsc::channel(ahead);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let line = match read_line(&mut input) {
                Ok(None) => break,
                Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => continue,
                Ok(Some(bytes)) => parse(&bytes),
                Err(err) => Err((Value::Null, format!("stdin cannot be read: {err}"))),
            };
            let is_end = matches!(&line, Err((_, reason)) if reason.starts_with("stdin"));
            if send.blocking_send(line).is_err() || is_end {
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

fn parse(bytes: &[u8]) -> Line {
    let value = strict_json::parse(bytes).map_err(|reason| (Value::Null, reason))?;
    let Value::Object(mut object) = value else {
        return Err((Value::Null, "a call is an object {\"id\", \"tool\", \"args\"}".to_owned()));
    };
    let id = object.shift_remove("id").unwrap_or(Value::Null);
    let tool = match object.shift_remove("tool") {
        Some(Value::String(tool)) => tool,
        Some(_) => return Err((id, "`tool` must be a string".to_owned())),
        None => return Err((id, "`tool` is missing".to_owned())),
    };
    let args = object.shift_remove("args").unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(key) = object.keys().next() {
        return Err((id, format!("no `{key}` in a call; there are `id`, `tool` and `args`")));
    }
    Ok((id, tool, args))
}
