//! The catalogue `hikai`: tools that read a connected repository, keep a plan and validate outputs.

mod list_dirs;
mod list_files;
mod read_file;
mod search_code;
mod todo_manager;
mod validate_output;

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::catalogue::{CatalogueSettings, Failure, RenderedError, Rendering, ReplyView};
use toolcrib_core::material::Material;
use toolcrib_core::{Catalogue, ErrorKind};

pub(crate) static CATALOGUE: Catalogue = Catalogue {
    name: "hikai",
    about: "Read a connected repository, keep a plan of at most 15 items, validate outputs",
    tools: &[
        &list_dirs::ListDirs,
        &list_files::ListFiles,
        &read_file::ReadFile,
        &search_code::SearchCode,
        &todo_manager::TodoManager,
        &validate_output::ValidateOutput,
    ],
    call_keys: &[],
    source_hashes: crate::source_hash::HIKAI,
    settings: CatalogueSettings {
        connection: Some("hikai.connection"),
        output_types: Some("hikai.output_types"),
        ..CatalogueSettings::NONE
    },
    reply,
    error_reply,
    error_code: None,
    saves_replies_above: Some(10 << 10),
    view: ReplyView { render, render_error, blocks: |_| None, schema: |reply| reply },
    material: Material::NONE,
};

/// Returns a tool's reply as it is: the contract puts nothing around it.
fn reply(_: &str, reply: Value, _: Duration) -> Value {
    reply
}

fn error_reply(failure: &Failure<'_>) -> Value {
    let error = failure.error;
    let path = error.path_text();
    let text = match error.kind {
        ErrorKind::NoTool | ErrorKind::NotOffered => {
            // Only for this failure does the contract return the whole ToolResult.
            let text = format!("Unknown tool: {}", failure.tool);
            let mut result = json!({"name": failure.tool, "input": failure.args, "error": text});
            if let Some(hint) = &error.hint {
                result["hint"] = hint.as_str().into();
            }
            return result;
        }
        ErrorKind::NotFound => format!("Path not found: {path}"),
        ErrorKind::Outside => format!("Path is outside the repository: {path}"),
        _ => match &error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message.clone(),
        },
    };
    json!({"error": text})
}

/// Returns a file's text for `read_file`, and the reply's fields for every other tool.
fn render(reply: &Value) -> Rendering<'_> {
    match reply["content"].as_str() {
        Some(text) => Rendering::Content { text, is_cut: reply["truncated"] == true },
        None => Rendering::Fields { data: reply, exit_code: None },
    }
}

fn render_error(reply: &Value) -> RenderedError<'_> {
    RenderedError::at(reply, "/error", "/hint")
}
