//! Tools that ask the client by the reply to its call, as 2026-07-28 has it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_core::calling_client::ClientQuestion;

use crate::fixture::{Fixture, text};

pub(crate) fn tools() -> Vec<Fixture> {
    vec![
        Fixture::new("test_input_required_result_elicitation", |ctx, _| {
            Box::pin(async move {
                let answers = ctx.client.ask(only("user_name", your_name())).await?;
                let name = field(&answers["user_name"], "name");
                Ok(text(&format!("Hello, {name}!")))
            })
        }),
        Fixture::new("test_streaming_elicitation", |ctx, _| {
            Box::pin(async move {
                ctx.client.ask(only("value", form("Give a value", "value", "string"))).await?;
                Ok(text("answered"))
            })
        }),
        Fixture::new("test_input_required_result_sampling", |ctx, _| {
            Box::pin(async move {
                let question = model("What is the capital of France?");
                let answers = ctx.client.ask(only("capital_question", question)).await?;
                Ok(text(&format!("The model says: {}", answers["capital_question"]["content"])))
            })
        }),
        Fixture::new("test_input_required_result_list_roots", |ctx, _| {
            Box::pin(async move {
                let answers = ctx.client.ask(only("client_roots", ClientQuestion::Roots)).await?;
                Ok(text(&format!("The folders are: {}", answers["client_roots"]["roots"])))
            })
        }),
        confirmed("test_input_required_result_request_state"),
        confirmed("test_input_required_result_tampered_state"),
        Fixture::new("test_input_required_result_multiple_inputs", |ctx, _| {
            Box::pin(async move {
                ctx.client.ask(all_kinds()).await?;
                Ok(text("All inputs received"))
            })
        }),
        Fixture::new("test_input_required_result_multi_round", |ctx, _| {
            Box::pin(async move {
                ctx.client.ask(only("step1", your_name())).await?;
                let colour = form("What is your favourite colour?", "color", "string");
                ctx.client.ask(only("step2", colour)).await?;
                Ok(text("Multi-round flow complete"))
            })
        }),
        Fixture::new("test_input_required_result_capabilities", |ctx, _| {
            Box::pin(async move {
                let mut questions = all_kinds();
                questions.retain(|_, question| ctx.client.can_answer(question));
                if !questions.is_empty() {
                    ctx.client.ask(questions).await?;
                }
                Ok(text("asked what the client can answer"))
            })
        }),
    ]
}

/// A tool that asks for a confirmation.
fn confirmed(name: &'static str) -> Fixture {
    Fixture::new(name, |ctx, _| {
        Box::pin(async move {
            ctx.client.ask(only("confirm", form("Please confirm", "ok", "boolean"))).await?;
            Ok(text("Confirmed: state-ok"))
        })
    })
}

fn all_kinds() -> BTreeMap<String, ClientQuestion> {
    BTreeMap::from([
        ("user_name".to_owned(), your_name()),
        ("greeting".to_owned(), model("Write a greeting")),
        ("client_roots".to_owned(), ClientQuestion::Roots),
    ])
}

pub(crate) fn only(name: &str, question: ClientQuestion) -> BTreeMap<String, ClientQuestion> {
    BTreeMap::from([(name.to_owned(), question)])
}

pub(crate) fn your_name() -> ClientQuestion {
    form("What is your name?", "name", "string")
}

/// A form with one field.
pub(crate) fn form(message: &str, name: &str, kind: &str) -> ClientQuestion {
    let schema =
        json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
    ClientQuestion::Form { message: message.to_owned(), schema }
}

/// Returns what was written into a field of a form.
pub(crate) fn field(answer: &Value, name: &str) -> String {
    answer["content"][name].as_str().unwrap_or("nobody").to_owned()
}

fn model(prompt: &str) -> ClientQuestion {
    ClientQuestion::Model { prompt: prompt.to_owned(), most_tokens: 100 }
}
