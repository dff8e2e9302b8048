//! Declarations as model providers want them: one pure function for each wire format.

use serde_json::{Map, Value, json};
use toolcrib_core::Effect;
use toolcrib_core::toolset::Offer;

/// The wire formats that tools can be declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Function calling of `OpenAI`'s chat API.
    OpenAi,
    /// Tool use of Anthropic's messages API.
    Anthropic,
    /// Function declarations of the Gemini API.
    Gemini,
    /// `tools/list` of the Model Context Protocol.
    Mcp,
}

/// Declares tools in a dialect, as the value that goes into the request's `tools`.
pub fn declare(dialect: Dialect, offers: &[Offer]) -> Value {
    match dialect {
        Dialect::OpenAi => offers.iter().map(openai).collect(),
        Dialect::Anthropic => offers.iter().map(anthropic).collect(),
        Dialect::Gemini => {
            let declarations: Value = offers.iter().map(gemini).collect();
            json!([{"functionDeclarations": declarations}])
        }
        Dialect::Mcp => {
            let tools: Value = offers.iter().map(mcp).collect();
            json!({"tools": tools})
        }
    }
}

fn openai(offer: &Offer) -> Value {
    let declaration = offer.tool.declaration();
    json!({
        "type": "function",
        "function": {
            "name": declaration.name,
            "description": declaration.summary,
            "parameters": offer.tool.schema(),
        },
    })
}

fn anthropic(offer: &Offer) -> Value {
    let declaration = offer.tool.declaration();
    json!({
        "name": declaration.name,
        "description": declaration.summary,
        "input_schema": offer.tool.schema(),
    })
}

fn gemini(offer: &Offer) -> Value {
    let declaration = offer.tool.declaration();
    let mut schema = offer.tool.schema();
    without_additional(&mut schema);
    let mut function = Map::new();
    function.insert("name".to_owned(), declaration.name.into());
    function.insert("description".to_owned(), declaration.summary.into());
    // An object without properties is refused there: a tool without arguments has no parameters.
    if schema["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        function.insert("parameters".to_owned(), schema);
    }
    Value::Object(function)
}

fn mcp(offer: &Offer) -> Value {
    let declaration = offer.tool.declaration();
    let is_write = declaration.effect == Effect::Write;
    json!({
        "name": declaration.name,
        "description": declaration.summary,
        "inputSchema": offer.tool.schema(),
        "annotations": {
            "readOnlyHint": !is_write,
            "destructiveHint": is_write,
            "openWorldHint": false,
        },
    })
}

/// Gemini's subset of JSON Schema has no `additionalProperties`, and `default` only lately.
fn without_additional(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("additionalProperties");
            object.remove("default");
            object.remove("examples");
            object.values_mut().for_each(without_additional);
        }
        Value::Array(items) => items.iter_mut().for_each(without_additional),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
