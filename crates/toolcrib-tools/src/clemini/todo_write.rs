//! `todo_write`: keeps the todo list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::todo::{self, TodoItem};

pub(crate) struct TodoWrite;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Array of todo items
    todos: Vec<TodoItem>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    success: bool,
    count: usize,
}

static DECLARATION: Declaration = Declaration {
    name: "todo_write",
    summary: "Track progress on multi-step tasks. The list replaces the previous one. Returns: \
              {success, count}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Write a new list.",
            files: &[],
            before: &[],
            args: r#"{"todos": [
                {"content": "Read the existing code", "activeForm": "Reading the existing code", "status": "in_progress"},
                {"content": "Write unit tests", "activeForm": "Writing unit tests", "status": "pending"}]}"#,
            reply: r#"{"success": true, "count": 2}"#,
            leaves: &[],
        },
        Example {
            about: "An item without content is an error.",
            files: &[],
            before: &[],
            args: r#"{"todos": [{"content": " ", "activeForm": "x", "status": "pending"}]}"#,
            reply: r#"{"error": "`todos[0].content` is empty", "error_code": "INVALID_ARGUMENT"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for TodoWrite {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, _: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        todo::check(&args.todos, "todos")?;
        Ok(Plan::default())
    }

    async fn run(&self, _: &Ctx, args: Args) -> Result<Reply, ToolError> {
        Ok(Reply { success: true, count: args.todos.len() })
    }
}
