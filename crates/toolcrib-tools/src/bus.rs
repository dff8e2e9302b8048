//! The catalogue `bus`: tools that run behind a NATS server, as the nachos contract has them. The operator lists them, so
//! none is listed here. A reply is the tool's own `ToolResult`.

use serde_json::{Value, json};
use toolcrib_core::Catalogue;
use toolcrib_core::catalogue::{CatalogueSettings, Failure, ReplyView};
use toolcrib_core::material::Material;

use crate::nachos;

/// The name of the error object of a tool in the context of an error.
pub const TOOL_ERROR: &str = "tool_error";

/// The catalogue of tools behind a NATS server.
pub static BUS: Catalogue = Catalogue {
    name: "bus",
    about: "Tools of the nachos contract that run behind a NATS server",
    tools: &[],
    call_keys: nachos::CALL_KEYS,
    source_hashes: &[],
    settings: CatalogueSettings::NONE,
    reply: |_, reply, _| reply,
    error_reply,
    error_code: None,
    saves_replies_above: None,
    view: ReplyView {
        render: nachos::render,
        render_error: nachos::render_error,
        blocks: |_| None,
        schema: nachos::reply_schema,
    },
    material: Material::NONE,
};

/// Returns the error of the tool to the letter. Where there is none, it is an error of ours.
fn error_reply(failure: &Failure<'_>) -> Value {
    match failure.error.context.get(TOOL_ERROR) {
        Some(error) => json!({"success": false, "error": error}),
        None => nachos::error_reply(failure),
    }
}
