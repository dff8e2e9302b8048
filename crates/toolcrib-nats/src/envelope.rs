//! The contract's envelope: `{id, timestamp, source, type, correlationId?, payload}`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_core::escape::is_deceptive;

use crate::random_id::random_uuid;
use crate::refusal::{BusRefusal, RefusalCode};

/// The longest id of a request.
const LONGEST_ID: usize = 128;

/// The longest `sessionId`.
const LONGEST_SESSION: usize = 256;

/// How many characters of `source` are shown.
const LONGEST_SOURCE: usize = 128;

/// How much the time of a request may differ from our clock: how old it may be, and how far ahead its sender's clock.
pub(crate) const MOST_CLOCK_DIFFERENCE: Duration = Duration::from_mins(5);

/// A request in its envelope.
#[derive(Debug, Deserialize)]
pub(crate) struct RequestEnvelope {
    pub(crate) id: String,
    timestamp: Option<String>,
    /// What its sender calls itself. It is shown and recorded, and nothing is decided by it.
    source: Option<String>,
    payload: Map<String, Value>,
}

/// The arguments of a call, and what the contract puts beside them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestParameters {
    /// The `sessionId`.
    pub(crate) session: Option<String>,
    pub(crate) args: Map<String, Value>,
}

impl RequestEnvelope {
    /// Reads a message.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, BusRefusal> {
        let read: Self = serde_json::from_slice(bytes).map_err(|err| {
            let message = format!(
                "the message is no request: {err}; send {{id, timestamp, source, type, payload}} as JSON"
            );
            BusRefusal { code: RefusalCode::InvalidRequest, message }
        })?;
        let is_id =
            |id: &str| (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control);
        if is_id(&read.id) {
            return Ok(read);
        }
        let message = format!("`id` needs 1 to {LONGEST_ID} characters and no control characters");
        Err(BusRefusal { code: RefusalCode::InvalidRequest, message })
    }

    /// Fails unless the request was made lately. An old one may be sent again by somebody who has heard it.
    pub(crate) fn check_fresh(&self, now: Timestamp) -> Result<(), BusRefusal> {
        let written = self.timestamp.as_deref().unwrap_or_default();
        let Ok(at) = written.parse::<Timestamp>() else {
            let message =
                "`timestamp` must say when the request was made, as in 2026-11-19T12:00:00.000Z"
                    .to_owned();
            return Err(BusRefusal { code: RefusalCode::InvalidRequest, message });
        };
        if is_near(at, now) {
            return Ok(());
        }
        let minutes = MOST_CLOCK_DIFFERENCE.as_secs() / 60;
        let message = format!(
            "the request is of {at}, which is more than {minutes} minutes from now; send a new one, and check your clock"
        );
        Err(BusRefusal { code: RefusalCode::StaleRequest, message })
    }

    /// Returns what its sender calls itself, as it may be shown.
    pub(crate) fn take_source(&mut self) -> Option<String> {
        let is_shown = |it: &char| !it.is_control() && !is_deceptive(*it);
        let name: String =
            self.source.take()?.chars().filter(is_shown).take(LONGEST_SOURCE).collect();
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// Takes the parameters out of the payload, flat or nested.
    pub(crate) fn take_parameters(&mut self) -> Result<RequestParameters, BusRefusal> {
        let mut args = std::mem::take(&mut self.payload);
        let session = args.shift_remove("sessionId").and_then(|it| it.as_str().map(str::to_owned));
        if session.as_ref().is_some_and(|it| {
            it.chars().count() > LONGEST_SESSION || it.chars().any(char::is_control)
        }) {
            let message = format!(
                "`sessionId` has more than {LONGEST_SESSION} characters or has control characters; shorten it"
            );
            return Err(BusRefusal { code: RefusalCode::InvalidRequest, message });
        }
        args.shift_remove("callId");
        if args.len() == 1
            && let Some(Value::Object(nested)) = args.get_mut("parameters")
        {
            args = std::mem::take(nested);
        }
        Ok(RequestParameters { session, args })
    }
}

/// Whether a message of this time is not old, as far as clocks of different machines agree.
pub(crate) fn is_near(at: Timestamp, now: Timestamp) -> bool {
    let away = now.duration_since(at).abs();
    away <= SignedDuration::try_from(MOST_CLOCK_DIFFERENCE).unwrap_or(SignedDuration::MAX)
}

/// Returns a result in the envelope of the contract, as the reply to a request.
pub(crate) fn reply(request: &str, tool: &str, now: Timestamp, payload: Value) -> Value {
    json!({
        // The id is only a name.
        "id": random_uuid().unwrap_or_default(),
        "timestamp": format!("{now:.3}"),
        "source": tool,
        "type": "tool.response",
        "correlationId": request,
        "payload": payload,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(timestamp: &str, payload: &Value) -> RequestEnvelope {
        let text = json!({"id": "r1", "timestamp": timestamp, "source": "gateway", "type": "tool.request", "payload": payload});
        RequestEnvelope::read(text.to_string().as_bytes()).unwrap()
    }

    const AT: &str = "2026-11-19T12:00:00.000Z";

    #[test]
    fn parameters_are_flat_or_nested() {
        let expected = |args: Value| {
            let Value::Object(args) = args else { unreachable!() };
            RequestParameters { session: Some("s".to_owned()), args }
        };
        let flat = json!({"sessionId": "s", "callId": "c", "expression": "2 + 2"});
        assert_eq!(
            request(AT, &flat).take_parameters().unwrap(),
            expected(json!({"expression": "2 + 2"}))
        );
        let nested =
            json!({"sessionId": "s", "callId": "c", "parameters": {"expression": "2 + 2"}});
        assert_eq!(
            request(AT, &nested).take_parameters().unwrap(),
            expected(json!({"expression": "2 + 2"}))
        );
        // A parameter that is called so.
        let beside = json!({"sessionId": "s", "parameters": {"a": 1}, "b": 2});
        let args = json!({"parameters": {"a": 1}, "b": 2});
        assert_eq!(request(AT, &beside).take_parameters().unwrap(), expected(args));
        let text = json!({"sessionId": "s", "parameters": "x"});
        assert_eq!(
            request(AT, &text).take_parameters().unwrap(),
            expected(json!({"parameters": "x"}))
        );
    }

    #[test]
    fn what_is_no_request_is_told() {
        for text in [
            &b""[..],
            b"\xff\xfe",
            b"null",
            b"[]",
            b"{}",
            br#"{"id": 1, "payload": {}}"#,
            br#"{"id": "", "payload": {}}"#,
            br#"{"id": "a\u0007", "payload": {}}"#,
            br#"{"id": "a", "payload": []}"#,
            br#"{"id": "a"}"#,
            &vec![b'['; 100_000],
        ] {
            let refusal = RequestEnvelope::read(text).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::InvalidRequest, "{refusal:?}");
        }
    }

    #[test]
    fn an_old_request_is_stale() {
        let now: Timestamp = AT.parse().unwrap();
        let check = |timestamp: &str| {
            request(timestamp, &json!({})).check_fresh(now).map_err(|refusal| refusal.code)
        };
        assert_eq!(check(AT), Ok(()));
        assert_eq!(check("2026-11-19T13:04:00+01:00"), Ok(()));
        assert_eq!(check("2026-11-19T11:00:00Z"), Err(RefusalCode::StaleRequest));
        assert_eq!(check("2026-11-19T13:00:00Z"), Err(RefusalCode::StaleRequest));
        for wrong in ["", "now", "2026-11-19", "1763553600"] {
            assert_eq!(check(wrong), Err(RefusalCode::InvalidRequest), "{wrong}");
        }
    }

    #[test]
    fn a_reply_has_the_envelope_of_the_contract() {
        let reply = reply("r1", "calculator", AT.parse().unwrap(), json!({"success": true}));
        let keys: Vec<&String> = reply.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "timestamp", "source", "type", "correlationId", "payload"]);
        assert_eq!(reply["timestamp"], AT);
        let id = reply["id"].as_str().unwrap();
        assert!(id.len() == 36 && id.as_bytes()[14] == b'4', "{id}");
    }
}
