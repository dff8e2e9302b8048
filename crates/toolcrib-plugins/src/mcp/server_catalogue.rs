//! The catalogue of an MCP server: its replies have the form of MCP, `content`, `structuredContent` and `isError`.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use toolcrib_core::Catalogue;
use toolcrib_core::catalogue::{CatalogueSettings, Failure, RenderedError, Rendering, ReplyView};
use toolcrib_core::material::Material;

/// Every catalogue that was made. Catalogues live as long as the process, so each name has only one.
static MADE: Mutex<Vec<&'static Catalogue>> = Mutex::new(Vec::new());

/// Returns the catalogue of a server.
pub fn catalogue_of(name: &str) -> &'static Catalogue {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = made.iter().find(|known| known.name == name) {
        return known;
    }
    let catalogue = Box::leak(Box::new(Catalogue {
        name: Box::leak(name.to_owned().into_boxed_str()),
        about: Box::leak(format!("Tools of the MCP server {name}").into_boxed_str()),
        tools: &[],
        call_keys: &[],
        source_hashes: &[],
        settings: CatalogueSettings::NONE,
        reply: |_, reply, _| reply,
        error_reply,
        error_code: None,
        saves_replies_above: None,
        view: ReplyView {
            render,
            render_error: |reply| RenderedError::at(reply, "/content/0/text", "/hint"),
            blocks: |reply| reply.get("content"),
            schema: reply_schema,
        },
        material: Material::NONE,
    }));
    made.push(catalogue);
    catalogue
}

fn error_reply(failure: &Failure<'_>) -> Value {
    let error = failure.error;
    let mut reply = json!({
        "content": [{"type": "text", "text": error.message}],
        "isError": true,
        "error": error.kind.as_str(),
    });
    if let Some(hint) = &error.hint {
        reply["hint"] = hint.as_str().into();
    }
    reply
}

/// Shows a reply that is one text as that text, and all others as they are.
fn render(reply: &Value) -> Rendering<'_> {
    let is_one = reply["content"].as_array().is_some_and(|blocks| blocks.len() == 1);
    match reply["content"][0]["text"].as_str().filter(|_| is_one) {
        Some(text) => Rendering::Content { text, is_cut: false },
        None => Rendering::Fields { data: reply, exit_code: None },
    }
}

fn reply_schema(structured: Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {"content": {"type": "array"}, "isError": {"type": "boolean"}},
        "required": ["content"],
    });
    if !structured.is_null() {
        schema["properties"]["structuredContent"] = structured;
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_catalogue() {
        let made = catalogue_of("a-server");
        assert!(std::ptr::eq(made, catalogue_of("a-server")));
        assert!(!std::ptr::eq(made, catalogue_of("another")));
        let reply = json!({"content": [{"type": "text", "text": "hi"}], "isError": false});
        assert_eq!((made.view.blocks)(&reply), Some(&reply["content"]));
        assert_eq!((made.view.render)(&reply), Rendering::Content { text: "hi", is_cut: false });
    }
}
