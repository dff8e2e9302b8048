//! The calls of a batch on a server: each is a request of its own.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::{ToolError, ToolName};
use toolcrib_serve::FullOutcome;

use super::reply::BatchReply;
use crate::command::remote::{ServerReply, pause};
use crate::command::remote_call::{FULL_OUTCOME, RemoteCalls, RemoteReply};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;

/// How often a call is sent again that the server had no room for. It did not run.
const MOST_TRIES: usize = 60;

/// The longest pause before a call is sent again.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Makes a call on the server. Returns what its line is answered with.
pub(super) fn answer(
    calls: &RemoteCalls,
    tool: &ToolName,
    args: &Result<Value, ToolError>,
) -> BatchReply<'static> {
    match make(calls, tool, args) {
        Ok(RemoteReply::Ended(outcome)) => of_outcome(*outcome),
        Ok(RemoteReply::Other(reply)) => of_reply(calls, &reply),
        Err(err) => of_error(&err),
    }
}

fn make(
    calls: &RemoteCalls,
    tool: &ToolName,
    args: &Result<Value, ToolError>,
) -> Result<RemoteReply, CliError> {
    for _ in 1..MOST_TRIES {
        match calls.make(tool, |_| args.clone(), FULL_OUTCOME, &[])? {
            RemoteReply::Other(ServerReply {
                status: 429 | 503, retry_after: Some(wait), ..
            }) => {
                pause(wait.min(LONGEST_PAUSE))?;
            }
            made => return Ok(made),
        }
    }
    calls.make(tool, |_| args.clone(), FULL_OUTCOME, &[])
}

fn of_outcome(outcome: FullOutcome) -> BatchReply<'static> {
    let exit = Exit::of_full(&outcome);
    let FullOutcome { text, elapsed_us, unrecorded, .. } = outcome;
    // A line of ours is one line of JSON, whatever a server sends.
    let is_one_line = !text.contains(['\n', '\r']);
    if !is_one_line || serde_json::from_str::<&RawValue>(&text).is_err() {
        let message = "the server's reply cannot be read: it is not one line of JSON";
        return of_error(&CliError::new(CliErrorKind::Server, message));
    }
    BatchReply { text: text.into(), elapsed_us: elapsed_us.into(), unrecorded, exit }
}

/// Answers with the server's own error, such as that of a call that a person declined.
fn of_reply(calls: &RemoteCalls, reply: &ServerReply) -> BatchReply<'static> {
    match reply.refusal().and_then(|_| serde_json::from_slice::<Value>(&reply.body).ok()) {
        Some(body) => failed(&body),
        None => of_error(&calls.client.refused(reply)),
    }
}

fn of_error(err: &CliError) -> BatchReply<'static> {
    let code = if err.kind == CliErrorKind::Interrupted { "interrupted" } else { "server_error" };
    failed(&json!({"error": {"code": code, "message": err.to_string()}}))
}

fn failed(body: &Value) -> BatchReply<'static> {
    let text = body.to_string().into();
    BatchReply { text, elapsed_us: 0, unrecorded: None, exit: Exit::Failed }
}
