//! `kill_shell`: kills a background task and every process it started.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Tier, Tool, ToolError};

pub(crate) struct KillShell;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Task ID from bash or task tool
    task_id: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    task_id: String,
    status: &'static str,
    success: bool,
}

static DECLARATION: Declaration = Declaration {
    name: "kill_shell",
    summary: "Kill a background task (bash or subagent) and every process it started. Returns: {task_id, \
              status, success}",
    tier: Tier::Standard,
    effect: Effect::Write,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Kill a running background task.",
            files: &[],
            before: &[("clemini/bash", r#"{"command": "sleep 1000", "run_in_background": true}"#)],
            args: r#"{"task_id": "$task_id"}"#,
            reply: r#"{"task_id": "*", "status": "killed", "success": true}"#,
            leaves: &[],
        },
        Example {
            about: "A task that has already completed stays as it is.",
            files: &[],
            before: &[
                ("clemini/bash", r#"{"command": "true", "run_in_background": true}"#),
                ("clemini/task_output", r#"{"task_id": "$task_id", "wait": true}"#),
            ],
            args: r#"{"task_id": "$task_id"}"#,
            reply: r#"{"task_id": "*", "status": "already_completed", "success": true}"#,
            leaves: &[],
        },
        Example {
            about: "An unknown task is an error.",
            files: &[],
            before: &[],
            args: r#"{"task_id": "nonexistent"}"#,
            reply: r#"{"error": "Task not found: nonexistent", "error_code": "NOT_FOUND",
                "context": {"task_id": "nonexistent",
                    "hint": "task ids come from a call with run_in_background"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for KillShell {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let was_running = match ctx.outside.subagents.kill(&args.task_id) {
            Some(was_running) => was_running,
            None => ctx.commands.kill(&args.task_id)?,
        };
        let status = if was_running { "killed" } else { "already_completed" };
        Ok(Reply { task_id: args.task_id, status, success: true })
    }
}
