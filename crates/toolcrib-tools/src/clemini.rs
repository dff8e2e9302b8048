//! The catalogue `clemini`: tools for a coding agent. Its errors carry a code and context.

mod ask_user;
mod bash;
mod edit;
mod glob;
mod grep;
mod kill_shell;
mod read_file;
mod task;
mod task_output;
mod todo_write;
mod web_fetch;
mod web_search;
mod write_file;

use std::time::Duration;

use serde_json::{Map, Value};
use toolcrib_core::catalogue::{CatalogueSettings, Failure, RenderedError, Rendering, ReplyView};
use toolcrib_core::material::Material;
use toolcrib_core::{Catalogue, ErrorKind, ToolError};

pub(crate) static CATALOGUE: Catalogue = Catalogue {
    name: "clemini",
    about: "Files, search and shell for a coding agent; errors carry codes and hints",
    tools: &[
        &read_file::ReadFile,
        &write_file::WriteFile,
        &edit::Edit,
        &glob::Glob,
        &grep::Grep,
        &bash::Bash,
        &kill_shell::KillShell,
        &task::SpawnTask,
        &task_output::TaskOutput,
        &ask_user::AskUser,
        &todo_write::TodoWrite,
        &web_search::CleminiWebSearch,
        &web_fetch::WebFetch,
    ],
    call_keys: &[],
    source_hashes: crate::source_hash::CLEMINI,
    settings: CatalogueSettings::NONE,
    reply,
    error_reply,
    error_code: None,
    saves_replies_above: None,
    view: ReplyView { render, render_error, blocks: |_| None, schema: |reply| reply },
    material: Material::NONE,
};

/// Returns a tool's reply as it is: the contract puts nothing around it.
fn reply(_: &str, reply: Value, _: Duration) -> Value {
    reply
}

fn error_reply(failure: &Failure<'_>) -> Value {
    let error = failure.error;
    let mut body = Map::new();
    body.insert("error".to_owned(), message(failure.tool, error).into());
    body.insert("error_code".to_owned(), code(error.kind).into());
    if error.kind == ErrorKind::ConfirmationNeeded {
        body.insert("needs_confirmation".to_owned(), true.into());
    }
    let mut context = error.context.clone();
    if let Some(suggestions) = context.shift_remove("suggestions") {
        body.insert("suggestions".to_owned(), suggestions);
    }
    if let Some(path) = &error.path {
        context.insert("file_path".to_owned(), path.as_str().into());
    }
    if error.kind == ErrorKind::ApprovalNeeded {
        context.insert("reason".to_owned(), error.kind.as_str().into());
    }
    let hint = error.hint.as_deref().or_else(|| default_hint(failure.tool, error.kind));
    if let Some(hint) = hint {
        context.insert("hint".to_owned(), hint.into());
    }
    if !context.is_empty() {
        body.insert("context".to_owned(), Value::Object(context));
    }
    Value::Object(body)
}

/// Returns a file's text for `read_file`, and the reply's fields for every other tool.
fn render(reply: &Value) -> Rendering<'_> {
    match reply["contents"].as_str() {
        Some(text) => Rendering::Content { text, is_cut: reply["truncated"] == true },
        None => Rendering::Fields { data: reply, exit_code: reply["exit_code"].as_i64() },
    }
}

fn render_error(reply: &Value) -> RenderedError<'_> {
    let suggestions = reply["suggestions"].as_array().map(Vec::as_slice).unwrap_or_default();
    RenderedError { suggestions, ..RenderedError::at(reply, "/error", "/context/hint") }
}

/// Returns the contract's sentence for an error.
fn message(tool: &str, error: &ToolError) -> String {
    let path = error.path_text();
    match error.kind {
        ErrorKind::NotFound if matches!(tool, "grep" | "glob" | "bash") && !path.is_empty() => {
            format!("Directory not found: {path}")
        }
        ErrorKind::ConfirmationNeeded => {
            "Command requires confirmation. Re-run with confirmed=true".to_owned()
        }
        ErrorKind::Refused if tool == "bash" => match error.context.get("because") {
            Some(Value::String(because)) => format!("Command blocked: {because}"),
            _ => error.message.clone(),
        },
        ErrorKind::NotFound if path.is_empty() => error.message.clone(),
        ErrorKind::NotFound => format!("File not found: {path}"),
        ErrorKind::Outside => format!("Access denied: {path} is outside allowed paths"),
        ErrorKind::Permission => format!("Access denied: {}", error.message),
        ErrorKind::NotText => {
            format!(
                "Cannot read {path}: it is binary, or text in an encoding other than UTF-8 and UTF-16"
            )
        }
        _ => error.message.clone(),
    }
}

/// Returns the hint for an error that brings none of its own.
fn default_hint(tool: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotDirectory if matches!(tool, "grep" | "glob") => {
            Some("name a directory in the workspace, or leave out `directory`")
        }
        ErrorKind::NotFound | ErrorKind::NotDirectory if tool == "bash" => {
            Some("name a directory in the workspace, or leave out `working_directory`")
        }
        ErrorKind::NotFound => Some("check that the file exists or use glob to search"),
        ErrorKind::NoMatch => {
            Some("read the file again and copy the text exactly, including spaces")
        }
        ErrorKind::IsDirectory => Some("name a file instead of a directory"),
        ErrorKind::NotDirectory => {
            Some("one of the parents in this path is a file; choose another path")
        }
        ErrorKind::NotText => Some("this tool reads and edits only UTF-8 and UTF-16 text"),
        ErrorKind::Permission => Some("if you need access, ask a person to change the permissions"),
        _ => None,
    }
}

/// Returns the contract's code for a kind of failure.
fn code(kind: ErrorKind) -> &'static str {
    match kind {
        // An agent cannot confirm what only a person may approve, so this is not
        // `NEEDS_CONFIRMATION`.
        ErrorKind::Outside
        | ErrorKind::Protected
        | ErrorKind::Permission
        | ErrorKind::ApprovalNeeded => "ACCESS_DENIED",
        ErrorKind::NotFound | ErrorKind::NoMatch | ErrorKind::NoTool => "NOT_FOUND",
        ErrorKind::NotUnique => "NOT_UNIQUE",
        ErrorKind::NotText => "BINARY_FILE",
        ErrorKind::Timeout => "TIMEOUT",
        ErrorKind::Refused | ErrorKind::Declined | ErrorKind::NotOffered => "BLOCKED",
        ErrorKind::ConfirmationNeeded => "NEEDS_CONFIRMATION",
        ErrorKind::InputNeeded => "NEEDS_INPUT",
        ErrorKind::BadArgs
        | ErrorKind::BadRegex
        | ErrorKind::BadGlob
        | ErrorKind::BadRange
        | ErrorKind::TooLarge
        | ErrorKind::OutputTooLarge
        | ErrorKind::IsDirectory
        | ErrorKind::NotDirectory
        | ErrorKind::NotRegular
        | ErrorKind::Exists => "INVALID_ARGUMENT",
        ErrorKind::Cancelled
        | ErrorKind::Changed
        | ErrorKind::NoConnection
        | ErrorKind::Unavailable
        | ErrorKind::Failed
        | ErrorKind::Io
        | ErrorKind::Unrecorded
        | ErrorKind::Bug => "IO_ERROR",
    }
}
