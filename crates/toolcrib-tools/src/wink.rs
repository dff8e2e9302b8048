//! The catalogue `wink`: tools for a command-line agent. Its errors suggest what to do next.

mod create_directory;
mod create_file;
mod fetch_webpage;
mod file_search;
mod grep_search;
mod list_dir;
mod read_file;
mod replace_string_in_file;
mod run_in_terminal;
mod terminal_last_command;

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_core::catalogue::{
    CatalogueSettings, Failure, RenderedError, Rendering, ReplyView, millis,
};
use toolcrib_core::material::Material;
use toolcrib_core::{Catalogue, ErrorKind, ToolError};

pub(crate) static CATALOGUE: Catalogue = Catalogue {
    name: "wink",
    about: "Files, search and terminal for a command-line agent; errors suggest the next step",
    tools: &[
        &create_file::CreateFile,
        &read_file::ReadFile,
        &replace_string_in_file::ReplaceStringInFile,
        &list_dir::ListDir,
        &file_search::FileSearch,
        &grep_search::GrepSearch,
        &run_in_terminal::RunInTerminal,
        &terminal_last_command::TerminalLastCommand,
        &create_directory::CreateDirectory,
        &fetch_webpage::FetchWebpage,
    ],
    call_keys: &[],
    source_hashes: crate::source_hash::WINK,
    settings: CatalogueSettings::NONE,
    reply,
    error_reply,
    error_code: None,
    saves_replies_above: None,
    view: ReplyView { render, render_error, blocks: |_| None, schema: reply_schema },
    material: Material::NONE,
};

fn reply(tool: &str, mut reply: Value, elapsed: Duration) -> Value {
    let mut take = |key: &str| reply.as_object_mut().and_then(|reply| reply.shift_remove(key));
    let mut wrapped = Map::new();
    wrapped.insert("tool".to_owned(), tool.into());
    wrapped.insert("success".to_owned(), true.into());
    wrapped.insert("output".to_owned(), take("output").unwrap_or_default());
    wrapped.insert("files_affected".to_owned(), take("files_affected").unwrap_or_default());
    wrapped.insert("execution_time_ms".to_owned(), millis(elapsed).into());
    if let Some(metadata) = take("metadata") {
        wrapped.insert("metadata".to_owned(), metadata);
    }
    Value::Object(wrapped)
}

fn reply_schema(mut reply: Value) -> Value {
    let mut properties = json!({
        "tool": {"type": "string"},
        "success": {"const": true},
        "execution_time_ms": {"type": "integer"},
    });
    for key in ["output", "files_affected", "metadata"] {
        properties[key] = reply["properties"][key].take();
    }
    let required = ["tool", "success", "output", "files_affected", "execution_time_ms"];
    json!({"type": "object", "properties": properties, "required": required})
}

fn error_reply(failure: &Failure<'_>) -> Value {
    let error = in_contract(failure.tool, failure.error);
    let mut output = format!("Error: {}", error.message);
    // What a command printed before it timed out.
    for stream in ["stdout", "stderr"] {
        if let Some(printed) = failure.error.context.get(stream).and_then(Value::as_str)
            && !printed.is_empty()
        {
            output = format!("{}\n{stream}:\n{printed}", output.trim_end());
        }
    }
    json!({
        "tool": failure.tool,
        "success": false,
        "output": output,
        "error": {"code": error.code, "message": error.message, "suggestion": error.suggestion},
        "files_affected": [],
        "execution_time_ms": millis(failure.elapsed),
    })
}

/// Returns the page that was fetched. Returns the output as content if it is a listing: several lines, of a call that
/// changed nothing.
fn render(reply: &Value) -> Rendering<'_> {
    if let Some(text) = reply["metadata"]["content"].as_str() {
        let is_cut = reply["metadata"]["content_cut"] == true;
        return Rendering::Content { text, is_cut };
    }
    let text = reply["output"].as_str().unwrap_or_default();
    let is_unchanged = reply["files_affected"].as_array().is_some_and(Vec::is_empty);
    if is_unchanged && text.contains('\n') {
        return Rendering::Content { text, is_cut: false };
    }
    Rendering::Message(text)
}

fn render_error(reply: &Value) -> RenderedError<'_> {
    RenderedError::at(reply, "/error/message", "/error/suggestion")
}

/// An error in the contract's words.
struct WinkError {
    code: &'static str,
    message: String,
    suggestion: String,
}

/// Returns an error in the contract's words.
fn in_contract(tool: &str, error: &ToolError) -> WinkError {
    let path = error.path_text();
    let (code, message, suggestion) = match error.kind {
        ErrorKind::Outside => (
            "path_outside_working_dir",
            format!("Path '{path}' is outside working directory"),
            "Use a path inside the working directory; links may not leave it",
        ),
        ErrorKind::NotFound if tool == "run_in_terminal" => {
            ("command_not_found", error.message.clone(), "Check the spelling")
        }
        ErrorKind::Failed if tool == "run_in_terminal" => {
            ("command_failed", error.message.clone(), "Read the output")
        }
        ErrorKind::NotFound if tool == "terminal_last_command" => {
            ("no_command_history", error.message.clone(), "Run a command first")
        }
        ErrorKind::NotFound if matches!(tool, "list_dir" | "file_search") => (
            "directory_not_found",
            format!("Directory '{path}' not found"),
            "Check the name, or list the parent directory",
        ),
        ErrorKind::NotFound => (
            "file_not_found",
            format!("File '{path}' not found"),
            "Check the file name and try again, or use file_search to find it",
        ),
        ErrorKind::Exists => (
            "file_exists",
            format!("File '{path}' already exists. Use replace_string_in_file to modify"),
            "Use replace_string_in_file to change the file, or choose another name",
        ),
        ErrorKind::Permission => (
            "permission_denied",
            format!("{} - permission denied", cannot(tool, path)),
            "Choose another path, or ask a person to change the permissions",
        ),
        ErrorKind::NotDirectory if tool == "create_directory" => (
            "path_is_file",
            format!("Path '{path}' exists as a file, cannot create directory"),
            "Choose another name, or a path whose parents are all directories",
        ),
        ErrorKind::NotDirectory if matches!(tool, "list_dir" | "file_search") => (
            "not_a_directory",
            format!("Path '{path}' is not a directory"),
            "Use read_file for a file, or list its parent directory",
        ),
        ErrorKind::BadRange => {
            ("invalid_line_range", error.message.clone(), "Request lines within the file")
        }
        ErrorKind::NoMatch => (
            "string_not_found",
            error.message.clone(),
            "Read the file again and copy the text exactly, including spaces",
        ),
        ErrorKind::BadArgs if error.context.get("reason").is_some_and(|it| it == "bad_url") => {
            ("invalid_url", error.message.clone(), "Begin the URL with http:// or https://")
        }
        ErrorKind::Failed | ErrorKind::Io if tool == "fetch_webpage" => {
            ("fetch_failed", error.message.replace('`', "'"), "Try again, or look for another page")
        }
        kind => (code(kind), sentence(&error.message).replace('`', "'"), default_suggestion(kind)),
    };
    let suggestion = match &error.hint {
        Some(hint) if !matches!(error.kind, ErrorKind::Outside) => sentence(hint),
        _ => suggestion.to_owned(),
    };
    WinkError { code, message, suggestion }
}

/// Returns which operation of a tool was denied.
fn cannot(tool: &str, path: &str) -> String {
    match tool {
        "list_dir" => "Cannot list directory".to_owned(),
        "file_search" | "grep_search" => "Cannot search directory".to_owned(),
        "create_directory" => "Cannot create directory".to_owned(),
        "create_file" => format!("Cannot create file '{path}'"),
        "read_file" => format!("Cannot read file '{path}'"),
        _ => format!("Cannot modify file '{path}'"),
    }
}

/// Returns the contract's code for a kind of failure that needs no knowledge of the tool.
fn code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NoTool => "tool_not_found",
        ErrorKind::NotOffered => "tool_not_available",
        ErrorKind::BadArgs => "invalid_parameters",
        ErrorKind::Refused => "denied_by_policy",
        ErrorKind::Declined => "rejected",
        ErrorKind::NotText => "binary_file",
        ErrorKind::Changed => "file_changed",
        other => other.as_str(),
    }
}

/// Returns the suggestion for an error that brings no hint.
fn default_suggestion(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::BadArgs => "Correct the parameters and call again",
        ErrorKind::TooLarge | ErrorKind::OutputTooLarge => {
            "Request less at a time, or split the content"
        }
        ErrorKind::IsDirectory => "Use list_dir for a directory",
        ErrorKind::NotRegular | ErrorKind::NotText => "Choose a text file",
        ErrorKind::Timeout => "Try again, or request less",
        ErrorKind::NotDirectory => "Choose a path whose parents are all directories",
        ErrorKind::Cancelled => "Call again if you still need it",
        _ => "Report this if it happens again",
    }
}

/// Returns the text with a capital first letter, as the contract writes its sentences.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
