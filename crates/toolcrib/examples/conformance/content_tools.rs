//! Tools that return each kind of content, fail, log, and tell how far they are.

use serde_json::{Value, json};
use toolcrib_core::calling_client::{MessageLevel, ProgressReport};
use toolcrib_core::{ErrorKind, ToolError};

use crate::fixture::{Fixture, text, text_block};

/// A picture of one pixel, as base64.
pub(crate) const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";

/// A sound without samples, as base64.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

pub(crate) fn tools() -> Vec<Fixture> {
    vec![
        Fixture::new("test_simple_text", |_, _| {
            Box::pin(async { Ok(text("This is a simple text response for testing.")) })
        }),
        Fixture::new("test_image_content", |_, _| Box::pin(async { Ok(json!([picture()])) })),
        Fixture::new("test_audio_content", |_, _| {
            Box::pin(async {
                Ok(json!([{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}]))
            })
        }),
        Fixture::new("test_embedded_resource", |_, _| {
            Box::pin(async {
                Ok(json!([resource(
                    "test://embedded-resource",
                    "text/plain",
                    "An embedded resource."
                )]))
            })
        }),
        Fixture::new("test_multiple_content_types", |_, _| {
            Box::pin(async {
                let part = resource("test://mixed-content-resource", "application/json", "{}");
                Ok(json!([text_block("Several kinds of content:"), picture(), part]))
            })
        }),
        Fixture::new("test_error_handling", |_, _| {
            Box::pin(async {
                let message = "This tool intentionally returns an error for testing";
                Err(ToolError::new(ErrorKind::Failed, message))
            })
        }),
        Fixture::new("test_tool_with_logging", |ctx, _| {
            Box::pin(async move {
                for message in ["started", "goes on", "ends"] {
                    ctx.client.log(MessageLevel::Info, message.to_owned()).await?;
                }
                Ok(text("logged"))
            })
        }),
        Fixture::new("test_logging_tool", |ctx, _| {
            Box::pin(async move {
                ctx.client.log(MessageLevel::Error, "a message".to_owned()).await?;
                Ok(text("logged if it was wanted"))
            })
        }),
        Fixture::new("test_tool_with_progress", |ctx, _| {
            Box::pin(async move {
                for done in [0.0, 50.0, 100.0] {
                    let message = Some(format!("{done} of 100"));
                    let report = ProgressReport { done, total: Some(100.0), message };
                    ctx.client.report_progress(report).await?;
                }
                Ok(text("done"))
            })
        }),
        Fixture::with_schema("json_schema_2020_12_tool", all_keywords(), |_, _| {
            Box::pin(async { Ok(text("called")) })
        }),
        Fixture::with_schema(
            "test_custom_header",
            json!({
                "type": "object",
                "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
                "required": ["value"]
            }),
            |_, _| Box::pin(async { Ok(text("called")) }),
        ),
    ]
}

fn picture() -> Value {
    json!({"type": "image", "data": PICTURE, "mimeType": "image/png"})
}

fn resource(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

/// Returns a schema with keywords that a server must not lose.
fn all_keywords() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}
