//! `task`: hands work to a subagent.

use std::fmt::Write;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::subagent::{NoSubagents, SubagentReport, SubagentWork};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::kept_text;

pub(crate) struct SpawnTask;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The task/prompt for the subagent
    prompt: String,
    /// Return immediately with `task_id`. (default: false)
    background: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Reply {
    Over { status: &'static str, stdout: String, stderr: String, exit_code: i32 },
    Started { task_id: String, status: &'static str, prompt: String },
}

/// The most bytes of a prompt. A longer one costs more than it says.
const MOST_PROMPT_BYTES: usize = 100_000;

/// The most bytes of a report in the reply. The rest is kept.
const MOST_REPORT_BYTES: usize = 24 << 10;

static DECLARATION: Declaration = Declaration {
    name: "task",
    summary: "Spawn a clemini subagent to handle delegated work. It has the tools of this catalogue under the same \
              policy, but nobody to ask and no subagents of its own. Returns: {status, stdout, stderr, exit_code} or \
              {task_id, status, prompt} when background=true",
    tier: Tier::Standard,
    effect: Effect::Write,
    limits: Limits { deadline_ms: 86_400_000, output_bytes: 64 << 10 },
    examples: &[
        Example {
            about: "Without a model nobody can do the work.",
            files: &[],
            before: &[],
            args: r#"{"prompt": "Analyze this codebase"}"#,
            reply: r#"{"error": "a subagent needs a model, and none is configured", "error_code": "IO_ERROR",
                "context": {"reason": "no_model",
                    "hint": "set `model.url` and `model.name`, such as http://127.0.0.1:11434/v1 and llama3.2 (`toolcrib config set`)"}}"#,
            leaves: &[],
        },
        Example {
            about: "The prompt must say something.",
            files: &[],
            before: &[],
            args: r#"{"prompt": " "}"#,
            reply: r#"{"error": "`prompt` is empty", "error_code": "INVALID_ARGUMENT",
                "context": {"hint": "say what is to be done, and what the report must tell"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for SpawnTask {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        if args.prompt.trim().is_empty() {
            return Err(ToolError::new(ErrorKind::BadArgs, "`prompt` is empty")
                .hint("say what is to be done, and what the report must tell"));
        }
        if args.prompt.len() > MOST_PROMPT_BYTES {
            let message = format!(
                "`prompt` has {} bytes; it may have {MOST_PROMPT_BYTES}",
                args.prompt.len()
            );
            return Err(ToolError::new(ErrorKind::TooLarge, message)
                .hint("put the material in a file, and name the file in the prompt"));
        }
        if ctx.calls.is_none() {
            let message = "a tool and a subagent cannot have subagents of their own";
            return Err(
                ToolError::new(ErrorKind::Unavailable, message).hint("do the work yourself")
            );
        }
        let host = ctx.outside.subagents.host().ok_or_else(NoSubagents::error)?;
        Ok(Plan { hosts: vec![host.to_owned()], ..Plan::default() })
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let Some(calls) = ctx.calls.clone() else {
            return Err(ToolError::new(ErrorKind::Bug, "the tool lost what makes its calls"));
        };
        let time = Duration::from_millis(ctx.terms.limits.deadline_ms.saturating_sub(1000));
        let work = SubagentWork {
            call: ctx.call.clone(),
            prompt: args.prompt.clone(),
            catalogue: "clemini",
            calls,
            meter: ctx.meter.clone(),
            time,
        };
        if args.background == Some(true) {
            ctx.outside.subagents.start(work)?;
            let (task_id, prompt) = (ctx.call.0.clone(), args.prompt);
            return Ok(Reply::Started { task_id, status: "running", prompt });
        }
        let report = ctx.outside.subagents.run(work, &ctx.cancel)?;
        let SubagentReport { text: mut stdout, failure } = report;
        if let Some(notice) = kept_text::shorten(ctx, &mut stdout, MOST_REPORT_BYTES) {
            let _ = write!(stdout, "\n[{notice}]");
        }
        Ok(match failure {
            None => Reply::Over { status: "success", stdout, stderr: String::new(), exit_code: 0 },
            Some(why) => Reply::Over {
                status: "failed",
                stdout,
                stderr: format!("Error: {why}"),
                exit_code: 1,
            },
        })
    }

    fn makes_calls(&self) -> bool {
        true
    }
}
