//! The line to the runners of tools that listen on the bus: requests in the envelope of the contract, and their replies.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::random_id::random_uuid;
use crate::reply_box::ReplyBox;
use crate::subject::BusPrefix;

/// What the gateway calls itself in envelopes.
const SOURCE: &str = "toolcrib";

/// Reaches runners once the process is connected to a NATS server.
#[derive(Default)]
pub struct RunnerLine(OnceLock<ConnectedLine>);

struct ConnectedLine {
    client: Client,
    replies: Arc<ReplyBox>,
    prefix: BusPrefix,
}

/// A call for a runner.
pub(crate) struct RunnerCall<'a> {
    /// The contract's `toolId`.
    pub(crate) tool: &'a str,
    /// The id of the call.
    pub(crate) call: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) longest: Duration,
}

impl RunnerLine {
    /// Uses a connection from now on. `prefix` is what the subjects of the runners begin with.
    pub async fn open(&self, client: Client, prefix: BusPrefix) -> io::Result<()> {
        let replies = Arc::new(ReplyBox::open(client.clone()).await?);
        let _ = self.0.set(ConnectedLine { client, replies, prefix });
        Ok(())
    }

    /// Has a runner make a call. Returns its `ToolResult`.
    pub(crate) async fn call(
        &self,
        call: RunnerCall<'_>,
        args: Map<String, Value>,
        cancel: &Cancel,
    ) -> Result<Value, ToolError> {
        let unavailable = |message: String, hint: &str| {
            Err(ToolError::new(ErrorKind::Unavailable, message).hint(hint))
        };
        let tool = call.tool;
        let Some(line) = self.0.get() else {
            let message = format!("the tool `{tool}` runs behind a NATS server");
            return unavailable(message, "call it through `toolcrib serve --nats URL`");
        };
        if line.client.connection_state() != State::Connected {
            let message = format!("the tool `{tool}` runs behind a NATS server, which is down");
            return unavailable(message, "repeat the call when it is up");
        }
        let lost =
            |err: io::Error| ToolError::new(ErrorKind::Io, format!("the request failed: {err}"));
        let id = random_uuid().map_err(lost)?;
        let mut payload = json!({"sessionId": call.call, "callId": call.call});
        if let Value::Object(payload) = &mut payload {
            payload.extend(args);
        }
        let request = json!({
            "id": id,
            "timestamp": format!("{:.3}", call.now),
            "source": SOURCE,
            "type": "tool.request",
            "payload": payload,
        });
        let subject = line.prefix.request_subject(tool);
        let body = request.to_string().into();
        let sent = line.replies.send(subject, body, |_, _, _| HeaderMap::new()).await;
        let mut waiting = sent.map_err(lost)?;
        let reply = tokio::select! {
            reply = timeout(call.longest, waiting.message()) => reply,
            () = cancel.cancelled() => {
                let cancelled = ToolError::new(ErrorKind::Cancelled, "the call was cancelled");
                return Err(cancelled.with("outcome", "unknown"));
            }
        };
        let Ok(Some(message)) = reply else {
            let message = format!("the runner of `{tool}` did not answer in time");
            return Err(ToolError::new(ErrorKind::Timeout, message)
                .hint("it may still take effect; find out before trying again")
                .with("outcome", "unknown"));
        };
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            let message = format!("no runner of `{tool}` listens");
            return unavailable(message, "start the tool, and repeat the call");
        }
        result_of(&message.payload, &id, tool)
    }
}

/// Takes the `ToolResult` out of a reply: in an envelope, or bare as a runner sends one whose tool threw.
fn result_of(reply: &[u8], request: &str, tool: &str) -> Result<Value, ToolError> {
    let wrong = |what: &str| {
        let message = format!("the runner of `{tool}` {what}");
        ToolError::new(ErrorKind::Failed, message)
            .hint("it may have taken effect; its author can mend the reply")
            .with("reason", "bad_result")
    };
    let read = toolcrib_core::json::parse(reply)
        .map_err(|err| wrong(&format!("sent what is no JSON: {err}")))?;
    let Value::Object(mut read) = read else { return Err(wrong("sent no object")) };
    let result = match read.shift_remove("payload") {
        None => Value::Object(read),
        Some(_) if read.get("correlationId").and_then(Value::as_str) != Some(request) => {
            return Err(wrong("answered another request"));
        }
        Some(payload) => payload,
    };
    let is_result = match result["success"].as_bool() {
        Some(true) => true,
        Some(false) => {
            result["error"]["code"].is_string() && result["error"]["message"].is_string()
        }
        None => false,
    };
    if is_result { Ok(result) } else { Err(wrong("sent no `ToolResult`")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_a_result_for_this_request() {
        let read = |reply: &Value| result_of(reply.to_string().as_bytes(), "r1", "browser");
        let done = json!({"success": true, "result": 1});
        let failed = json!({"success": false, "error": {"code": "X", "message": "m"}});
        let enveloped =
            |payload: &Value, of: &str| json!({"id": "a", "correlationId": of, "payload": payload});
        assert_eq!(read(&enveloped(&done, "r1")).unwrap(), done);
        assert_eq!(read(&enveloped(&failed, "r1")).unwrap(), failed);
        // A runner sends it bare if its tool throws.
        assert_eq!(read(&failed).unwrap(), failed);
        for wrong in [
            enveloped(&done, "r2"),
            json!({"payload": done}),
            enveloped(&json!({}), "r1"),
            enveloped(&json!({"success": "yes"}), "r1"),
            enveloped(&json!({"success": false}), "r1"),
            enveloped(&json!(null), "r1"),
            json!([]),
            json!({}),
        ] {
            let err = read(&wrong).unwrap_err();
            assert_eq!(err.kind, ErrorKind::Failed, "{wrong}");
        }
        assert!(result_of(b"garbage", "r1", "browser").is_err());
    }
}
