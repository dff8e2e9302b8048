//! The catalogue `nachos`: tools as isolated workers, with security tiers and one result format.

mod calculator;
mod filesystem;

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_core::catalogue::{
    CallKey, CatalogueSettings, Failure, RenderedError, Rendering, ReplyView, millis,
};
use toolcrib_core::material::Material;
use toolcrib_core::{Catalogue, ErrorKind, ToolError};

/// What every call of the contract carries beside its parameters.
pub(crate) const CALL_KEYS: &[(&str, CallKey)] =
    &[("sessionId", CallKey::Conversation), ("callId", CallKey::Ignored)];

pub(crate) static CATALOGUE: Catalogue = Catalogue {
    name: "nachos",
    about: "Tools as isolated workers with security tiers 0-4; one format for every result",
    tools: &[&calculator::Calculator, &filesystem::Filesystem],
    call_keys: CALL_KEYS,
    source_hashes: crate::source_hash::NACHOS,
    settings: CatalogueSettings::NONE,
    reply,
    error_reply,
    error_code: None,
    saves_replies_above: None,
    view: ReplyView { render, render_error, blocks: |_| None, schema: reply_schema },
    material: Material::NONE,
};

fn reply(_: &str, reply: Value, elapsed: Duration) -> Value {
    json!({"success": true, "result": reply, "metadata": {"duration": millis(elapsed)}})
}

pub(crate) fn reply_schema(reply: Value) -> Value {
    let metadata = json!({
        "type": "object",
        "properties": {"duration": {"type": "integer"}},
        "required": ["duration"],
    });
    json!({
        "type": "object",
        "properties": {"success": {"const": true}, "result": reply, "metadata": metadata},
        "required": ["success", "result", "metadata"],
    })
}

pub(crate) fn error_reply(failure: &Failure<'_>) -> Value {
    let error = failure.error;
    let mut body = Map::new();
    body.insert("code".to_owned(), code(error.kind).into());
    body.insert("message".to_owned(), message(error).into());
    let mut details = error.context.clone();
    details.insert("kind".to_owned(), error.kind.as_str().into());
    if let Some(message) = expression_message(failure) {
        // The contract fixes this message. Our own message names the mistake, so it is kept as the
        // reason.
        details.shift_remove("arguments");
        details.insert("reason".to_owned(), error.message.as_str().into());
        body.insert("message".to_owned(), message.into());
    }
    if let Some(hint) = &error.hint {
        details.insert("hint".to_owned(), hint.as_str().into());
    }
    body.insert("details".to_owned(), Value::Object(details));
    json!({
        "success": false,
        "error": body,
        "metadata": {"duration": millis(failure.elapsed)},
    })
}

/// Returns the contract's message for an expression that is missing or not a string.
fn expression_message(failure: &Failure<'_>) -> Option<&'static str> {
    let is_type_error = failure.error.context.contains_key("arguments");
    let expression = &failure.args["expression"];
    let is_meant = failure.tool == "calculator" && is_type_error && !expression.is_string();
    is_meant.then_some("expression must be a string")
}

/// Returns a file's text, and the fields of the result for every other reply.
pub(crate) fn render(reply: &Value) -> Rendering<'_> {
    match &reply["result"] {
        Value::String(text) => Rendering::Content { text, is_cut: false },
        data => Rendering::Fields { data, exit_code: None },
    }
}

pub(crate) fn render_error(reply: &Value) -> RenderedError<'_> {
    RenderedError::at(reply, "/error/message", "/error/details/hint")
}

/// Returns the contract's sentence for an error.
fn message(error: &ToolError) -> String {
    let path = error.path_text();
    match error.kind {
        ErrorKind::Outside => format!("Path {path} is not in allowed directories"),
        ErrorKind::NotFound => format!("ENOENT: no such file or directory: {path}"),
        ErrorKind::IsDirectory => format!("EISDIR: illegal operation on a directory: {path}"),
        ErrorKind::NotDirectory => format!("ENOTDIR: not a directory: {path}"),
        ErrorKind::Permission => format!("EACCES: permission denied: {path}"),
        _ => error.message.clone(),
    }
}

/// Returns the contract's code for a kind of failure.
fn code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NoTool => "TOOL_NOT_FOUND",
        ErrorKind::NotOffered => "TOOL_NOT_AVAILABLE",
        ErrorKind::BadArgs
        | ErrorKind::BadRegex
        | ErrorKind::BadGlob
        | ErrorKind::Outside
        | ErrorKind::Protected
        | ErrorKind::TooLarge => "VALIDATION_ERROR",
        ErrorKind::Refused | ErrorKind::Declined => "POLICY_DENIED",
        ErrorKind::ApprovalNeeded | ErrorKind::ConfirmationNeeded => "APPROVAL_REQUIRED",
        ErrorKind::InputNeeded => "INPUT_REQUIRED",
        ErrorKind::Timeout => "TIMEOUT",
        ErrorKind::Cancelled => "CANCELLED",
        ErrorKind::Bug | ErrorKind::Unrecorded => "INTERNAL_ERROR",
        ErrorKind::NotFound
        | ErrorKind::NoMatch
        | ErrorKind::NotUnique
        | ErrorKind::BadRange
        | ErrorKind::Permission
        | ErrorKind::Exists
        | ErrorKind::NotRegular
        | ErrorKind::IsDirectory
        | ErrorKind::NotDirectory
        | ErrorKind::OutputTooLarge
        | ErrorKind::NotText
        | ErrorKind::Changed
        | ErrorKind::NoConnection
        | ErrorKind::Unavailable
        | ErrorKind::Failed
        | ErrorKind::Io => "EXECUTION_ERROR",
    }
}
