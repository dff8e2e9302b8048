//! Toolcrib with one more catalogue: the tools, prompts and resources that the official conformance suite of MCP expects
//! of a server. They are ordinary tools, so the suite tries what every call goes through: checks, decisions, the record.
//!
//! It is also an example of a program with tools of its own.

mod client_tools;
mod content_tools;
mod fixture;
mod input_tools;
mod prompts;
mod resources;
mod task_tools;

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::catalogue::{CatalogueSettings, Failure, RenderedError, Rendering, ReplyView};
use toolcrib_core::material::Material;
use toolcrib_core::{AnyTool, Catalogue};

use fixture::Fixture;

fn main() -> ExitCode {
    toolcrib::main_with(&[catalogue()])
}

/// Returns the catalogue. It lives as long as the process.
fn catalogue() -> &'static Catalogue {
    let parts =
        [content_tools::tools(), client_tools::tools(), input_tools::tools(), task_tools::tools()];
    let tools: Vec<&'static dyn AnyTool> = parts
        .into_iter()
        .flatten()
        .map(|tool: Fixture| &*Box::leak(Box::new(tool)) as &'static dyn AnyTool)
        .collect();
    Box::leak(Box::new(Catalogue {
        name: "conformance",
        about: "What the conformance suite of MCP expects of a server",
        tools: tools.leak(),
        call_keys: &[],
        source_hashes: &[],
        settings: CatalogueSettings::NONE,
        reply,
        error_reply,
        error_code: None,
        saves_replies_above: None,
        view: ReplyView {
            render: |reply| Rendering::Fields { data: reply, exit_code: None },
            render_error: |reply| RenderedError::at(reply, "/content/0/text", "/hint"),
            blocks: |reply| reply.get("content"),
            schema: |_| Value::Null,
        },
        material: Material { prompts: &prompts::PROMPTS, resources: &resources::RESOURCES },
    }))
}

/// Replies are lists of content blocks.
fn reply(_: &str, blocks: Value, _: Duration) -> Value {
    json!({"content": blocks})
}

fn error_reply(failure: &Failure<'_>) -> Value {
    json!({"content": [{"type": "text", "text": failure.error.message}]})
}
