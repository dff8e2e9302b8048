//! The catalogue `forgekeeper`: tools behind a management API. Its errors carry codes.

mod check_pr_status;
mod create_task_card;
mod echo;
mod get_time;
mod http_fetch;
mod read_dir;
mod read_file;
mod run_bash;
mod run_powershell;
mod write_file;

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_core::catalogue::{
    CatalogueSettings, Failure, RenderedError, Rendering, ReplyView, millis,
};
use toolcrib_core::material::Material;
use toolcrib_core::{Catalogue, ErrorKind, ToolError};

pub(crate) static CATALOGUE: Catalogue = Catalogue {
    name: "forgekeeper",
    about: "Sandboxed tools behind a management API: discovery, approval, health",
    tools: &[
        &get_time::GetTime,
        &echo::Echo,
        &read_file::ReadFile,
        &read_dir::ReadDir,
        &write_file::WriteFile,
        &run_powershell::RunPowershell,
        &run_bash::RunBash,
        &http_fetch::HttpFetch,
        &create_task_card::CreateTaskCard,
        &check_pr_status::CheckPrStatus,
    ],
    call_keys: &[],
    source_hashes: crate::source_hash::FORGEKEEPER,
    settings: CatalogueSettings {
        root: Some("forgekeeper.root"),
        allow: Some("forgekeeper.allow"),
        switches: &[
            ("run_bash", "forgekeeper.bash"),
            ("run_powershell", "forgekeeper.powershell"),
            ("http_fetch", "forgekeeper.http_fetch"),
        ],
        timeout_ms: Some("forgekeeper.timeout_ms"),
        output_bytes: Some("forgekeeper.max_output_bytes"),
        output_lines: Some("forgekeeper.max_output_lines"),
        read_bytes: Some("forgekeeper.max_read_bytes"),
        write_bytes: Some("forgekeeper.max_write_bytes"),
        ..CatalogueSettings::NONE
    },
    reply,
    error_reply,
    error_code: Some(error_code),
    saves_replies_above: None,
    view: ReplyView { render, render_error, blocks: |_| None, schema: reply_schema },
    material: Material::NONE,
};

pub(crate) fn reply(tool: &str, reply: Value, elapsed: Duration) -> Value {
    json!({
        "ok": true,
        "tool": tool,
        "result": reply,
        "elapsed_ms": millis(elapsed),
    })
}

pub(crate) fn reply_schema(reply: Value) -> Value {
    // A tool from another author need not declare its result.
    let reply = if reply.is_null() { json!({}) } else { reply };
    json!({
        "type": "object",
        "properties": {
            "ok": {"const": true},
            "tool": {"type": "string"},
            "result": reply,
            "elapsed_ms": {"type": "integer"},
        },
        "required": ["ok", "tool", "result", "elapsed_ms"],
    })
}

pub(crate) fn error_reply(failure: &Failure<'_>) -> Value {
    let error = failure.error;
    let number = |key: &str| error.context.get(key).and_then(Value::as_u64).unwrap_or_default();
    let mut body = Map::new();
    body.insert("ok".to_owned(), false.into());
    body.insert("error".to_owned(), error_code(error.kind).into());
    body.insert("message".to_owned(), message(failure.tool, error, number).into());
    if error.kind == ErrorKind::OutputTooLarge {
        body.insert("actualBytes".to_owned(), number("actual_bytes").into());
    }
    if let Some(path) = &error.path {
        body.insert("path".to_owned(), path.as_str().into());
    }
    let hint = match (error.kind, failure.tool) {
        (ErrorKind::OutputTooLarge, "read_file") => {
            Some("read the file in parts, with `offset` and `limit`")
        }
        _ => error.hint.as_deref(),
    };
    if let Some(hint) = hint {
        body.insert("hint".to_owned(), hint.into());
    }
    Value::Object(body)
}

/// Returns the contract's code for a kind of failure, and our own where the contract has none.
pub(crate) fn error_code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotOffered => "tool_not_allowed",
        ErrorKind::NoTool => "tool_not_found",
        ErrorKind::OutputTooLarge => "output_too_large",
        ErrorKind::Timeout => "timeout",
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::Permission => "EACCES",
        ErrorKind::Exists => "EEXIST",
        ErrorKind::IsDirectory => "EISDIR",
        ErrorKind::NotDirectory => "ENOTDIR",
        ErrorKind::Outside => "path_outside_sandbox",
        ErrorKind::TooLarge => "size_exceeded",
        ErrorKind::BadArgs => "invalid_arguments",
        ErrorKind::Refused => "policy_denied",
        kind => kind.as_str(),
    }
}

/// Returns the contract's sentence for an error, and our own where the contract has none.
fn message(tool: &str, error: &ToolError, number: impl Fn(&str) -> u64) -> String {
    match error.kind {
        ErrorKind::NotOffered => format!("Tool '{tool}' not in allowlist"),
        ErrorKind::NoTool => format!("Tool '{tool}' not found"),
        ErrorKind::OutputTooLarge => {
            format!("Tool output exceeded {} bytes", number("limit_bytes"))
        }
        ErrorKind::Timeout => format!("Tool execution exceeded {}ms", number("limit_ms")),
        // It is about no file.
        _ if tool == "check_pr_status" => error.message.clone(),
        ErrorKind::NotFound => "ENOENT: file not found".to_owned(),
        ErrorKind::Permission => "EACCES: permission denied".to_owned(),
        ErrorKind::Exists => "EEXIST: file already exists".to_owned(),
        ErrorKind::IsDirectory => "EISDIR: is a directory".to_owned(),
        ErrorKind::NotDirectory => "ENOTDIR: not a directory".to_owned(),
        ErrorKind::Outside => {
            format!("Path '{}' leads outside the sandbox", error.path_text())
        }
        _ => error.message.clone(),
    }
}

/// Returns the text of a file or a card, and the fields of the result for every other reply.
pub(crate) fn render(reply: &Value) -> Rendering<'_> {
    let result = &reply["result"];
    match result["content"].as_str().or_else(|| result["card"].as_str()) {
        Some(text) => Rendering::Content { text, is_cut: result["truncated"] == true },
        None => Rendering::Fields { data: result, exit_code: result["exit_code"].as_i64() },
    }
}

pub(crate) fn render_error(reply: &Value) -> RenderedError<'_> {
    RenderedError::at(reply, "/message", "/hint")
}
