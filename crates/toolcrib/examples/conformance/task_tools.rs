//! Tools that go on without their client.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use toolcrib_core::calling_client::DetachNeed;
use toolcrib_core::{Ctx, ErrorKind, ToolError};

use crate::fixture::{Fixture, text};
use crate::input_tools::{field, form, only, your_name};

pub(crate) fn tools() -> Vec<Fixture> {
    vec![
        Fixture::with_schema("greet", one("name", "string"), |_, args| {
            Box::pin(async move {
                let name = args.get("name").and_then(Value::as_str).unwrap_or("friend");
                Ok(text(&format!("Hello, {name}!")))
            })
        }),
        Fixture::with_schema("slow_compute", one("seconds", "number"), |ctx, args| {
            Box::pin(async move {
                let seconds = args.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
                if seconds > 0.0 {
                    ctx.client.detach(DetachNeed::Wanted).await?;
                }
                work(&ctx, Duration::from_secs_f64(seconds)).await?;
                Ok(text(&format!("done after {seconds} s")))
            })
        }),
        Fixture::new("failing_job", |ctx, _| {
            Box::pin(async move {
                ctx.client.detach(DetachNeed::Required).await?;
                work(&ctx, Duration::from_millis(500)).await?;
                Err(ToolError::new(ErrorKind::Failed, "this job always fails"))
            })
        }),
        Fixture::new("protocol_error_job", |ctx, _| {
            Box::pin(async move {
                ctx.client.detach(DetachNeed::Wanted).await?;
                work(&ctx, Duration::from_millis(200)).await?;
                Err(ToolError::new(ErrorKind::Bug, "this job has a defect"))
            })
        }),
        Fixture::with_schema("confirm_delete", one("filename", "string"), |ctx, _| {
            Box::pin(async move {
                ctx.client.detach(DetachNeed::Required).await?;
                let question = form("Delete the file?", "confirm", "boolean");
                let answers = ctx.client.ask(only("confirm", question)).await?;
                Ok(text(&format!("answered: {}", answers["confirm"]["content"])))
            })
        }),
        Fixture::new("multi_input", |ctx, _| {
            Box::pin(async move {
                ctx.client.detach(DetachNeed::Required).await?;
                let questions = BTreeMap::from([
                    ("input-a".to_owned(), form("Give a value for A", "value", "string")),
                    ("input-b".to_owned(), form("Give a value for B", "value", "string")),
                ]);
                let answers = ctx.client.ask(questions).await?;
                Ok(text(&format!("{} and {}", answers["input-a"], answers["input-b"])))
            })
        }),
        Fixture::new("test_tool_with_task", |ctx, _| {
            Box::pin(async move {
                let answers = ctx.client.ask(only("user_name", your_name())).await?;
                ctx.client.detach(DetachNeed::Required).await?;
                work(&ctx, Duration::from_millis(200)).await?;
                Ok(text(&format!("Hello, {}!", field(&answers["user_name"], "name"))))
            })
        }),
    ]
}

/// Works for a time, until the call is cancelled.
async fn work(ctx: &Ctx, time: Duration) -> Result<(), ToolError> {
    tokio::select! {
        () = sleep(time) => Ok(()),
        () = ctx.cancel.cancelled() => {
            Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"))
        }
    }
}

fn one(name: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": kind}, "label": {"type": "string"}}})
}
