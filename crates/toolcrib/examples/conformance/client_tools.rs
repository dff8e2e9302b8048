//! Tools that ask the client, as protocols before 2026-07-28 try it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use toolcrib_core::calling_client::ClientQuestion;
use toolcrib_core::{Ctx, ToolError};

use crate::fixture::{Fixture, text};

pub(crate) fn tools() -> Vec<Fixture> {
    vec![
        Fixture::with_schema("test_sampling", one_text("prompt"), |ctx, args| {
            Box::pin(async move {
                let prompt = text_of(&args, "prompt");
                let answer = ask(&ctx, ClientQuestion::Model { prompt, most_tokens: 100 }).await?;
                Ok(text(&format!("LLM response: {}", answer["content"])))
            })
        }),
        Fixture::with_schema("test_elicitation", one_text("message"), |ctx, args| {
            Box::pin(async move {
                let schema = json!({
                    "type": "object",
                    "properties": {
                        "username": {"type": "string", "description": "Your name"},
                        "email": {"type": "string", "description": "Your address"}
                    },
                    "required": ["username", "email"]
                });
                let message = text_of(&args, "message");
                let answer = ask(&ctx, ClientQuestion::Form { message, schema }).await?;
                Ok(text(&format!("User response: {answer}")))
            })
        }),
        Fixture::new("test_elicitation_sep1034_defaults", |ctx, _| {
            Box::pin(async move {
                let schema = json!({
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "default": "John Doe"},
                        "age": {"type": "integer", "default": 30},
                        "score": {"type": "number", "default": 95.5},
                        "status": {
                            "type": "string",
                            "enum": ["active", "inactive", "pending"],
                            "default": "active"
                        },
                        "verified": {"type": "boolean", "default": true}
                    }
                });
                answered_form(&ctx, "Check the values", schema).await
            })
        }),
        Fixture::new("test_elicitation_sep1330_enums", |ctx, _| {
            Box::pin(async move { answered_form(&ctx, "Choose", all_choices()).await })
        }),
        Fixture::new("test_missing_capability", |ctx, _| {
            Box::pin(async move {
                let prompt = "Say yes".to_owned();
                ask(&ctx, ClientQuestion::Model { prompt, most_tokens: 10 }).await?;
                Ok(text("the client has a model"))
            })
        }),
    ]
}

/// Returns a form with each kind of choice.
fn all_choices() -> Value {
    let titled = json!([
        {"const": "value1", "title": "First"},
        {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"}
    ]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["One", "Two", "Three"]
            },
            "untitledMulti": {
                "type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]}
            },
            "titledMulti": {"type": "array", "items": {"anyOf": titled}}
        }
    })
}

async fn answered_form(ctx: &Ctx, message: &str, schema: Value) -> Result<Value, ToolError> {
    let answer = ask(ctx, ClientQuestion::Form { message: message.to_owned(), schema }).await?;
    Ok(text(&format!("Elicitation completed: {answer}")))
}

/// Asks one thing.
async fn ask(ctx: &Ctx, question: ClientQuestion) -> Result<Value, ToolError> {
    let questions = BTreeMap::from([("question".to_owned(), question)]);
    Ok(ctx.client.ask(questions).await?.remove("question").unwrap_or_default())
}

fn one_text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

fn text_of(args: &Map<String, Value>, name: &str) -> String {
    args.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
