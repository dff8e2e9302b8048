//! The outcome of a call as an HTTP reply.

use axum::http::StatusCode;
use serde_json::{Value, json};
use toolcrib_core::approval::KeptOutcome;
use toolcrib_core::json_text::json_text;
use toolcrib_core::{ErrorKind, Outcome, ToolError, ToolName};

use super::json_reply::JsonReply;
use crate::reply::ApiError;

/// Returns the status of a failed call.
pub(super) fn status_of(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::NoTool => StatusCode::NOT_FOUND,
        ErrorKind::NotOffered
        | ErrorKind::Refused
        | ErrorKind::Declined
        | ErrorKind::ApprovalNeeded => StatusCode::FORBIDDEN,
        ErrorKind::ConfirmationNeeded
        | ErrorKind::InputNeeded
        | ErrorKind::Cancelled
        | ErrorKind::Changed => StatusCode::CONFLICT,
        ErrorKind::Timeout => StatusCode::REQUEST_TIMEOUT,
        ErrorKind::TooLarge | ErrorKind::OutputTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::Unavailable | ErrorKind::Unrecorded => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorKind::BadArgs
        | ErrorKind::BadRegex
        | ErrorKind::BadGlob
        | ErrorKind::NotFound
        | ErrorKind::NoMatch
        | ErrorKind::NotUnique
        | ErrorKind::BadRange
        | ErrorKind::Outside
        | ErrorKind::Protected
        | ErrorKind::Permission
        | ErrorKind::Exists
        | ErrorKind::NotRegular
        | ErrorKind::IsDirectory
        | ErrorKind::NotDirectory
        | ErrorKind::NotText
        | ErrorKind::NoConnection
        | ErrorKind::Failed
        | ErrorKind::Io => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// Returns the error of an operation that failed like a tool.
pub(super) fn failed(err: &ToolError) -> ApiError {
    let status = match err.kind {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Exists => StatusCode::CONFLICT,
        ErrorKind::Io => StatusCode::SERVICE_UNAVAILABLE,
        kind => status_of(kind),
    };
    with_hint(status, err.kind.as_str(), err)
}

/// Returns an error that says what happened and, as `hint`, what to do next.
pub(super) fn with_hint(status: StatusCode, code: &'static str, err: &ToolError) -> ApiError {
    let failed = ApiError::new(status, code, err.message.clone());
    match &err.hint {
        Some(hint) => failed.field("hint", hint.as_str()),
        None => failed,
    }
}

/// Returns the reply about a call that was just made. `approval` is the id of the question, if the call waits for an
/// answer.
pub(super) fn made(outcome: &Outcome, approval: Option<&str>) -> JsonReply {
    let call = &outcome.call.0;
    if outcome.error.is_some() {
        return reply(call, &outcome.tool, outcome.into(), approval);
    }
    // The text of the reply is there already, and can be long.
    JsonReply { status: StatusCode::OK, body: outcome.text.clone(), call: Some(call.clone()) }
}

/// Returns the reply about a call. If the call succeeded, it is the catalogue's reply, unchanged. If the call failed, it
/// has the form of all errors, with the catalogue's own reply beside it where that has another form. `approval` is the
/// id of the question, if the call waits for an answer.
pub(super) fn reply(
    call: &str,
    tool: &ToolName,
    outcome: KeptOutcome,
    approval: Option<&str>,
) -> JsonReply {
    let KeptOutcome { reply, error } = outcome;
    let (status, body) = match error {
        None => (StatusCode::OK, reply),
        Some(error) => {
            let kind = error.kind();
            let mut body = if reply["ok"] == false && reply["error"].is_string() {
                reply
            } else {
                let (code, message) = (kind.as_str(), &error.message);
                json!({"ok": false, "error": code, "message": message, "reply": reply})
            };
            body["call"] = call.into();
            if let Some(approval) = approval {
                point_to_approval(&mut body, approval);
            }
            body["tool"] = tool.as_str().into();
            (status_of(kind), body)
        }
    };
    JsonReply { status, body: json_text(&body), call: Some(call.to_owned()) }
}

/// Says where a parked call can be answered, and how its outcome is got.
fn point_to_approval(body: &mut Value, id: &str) {
    body["approval"] = json!({
        "id": id,
        "answer": format!("POST /api/approvals/{id}"),
        "status": format!("GET /api/calls/{id}"),
        "retry": {"approval_id": id},
    });
}
