//! `bash`: runs a shell command in the sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{CommandRequest, OnTimeout, Ran, Shell};
use toolcrib_core::schema::Capped;
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::command::{self, StruckLimit};

pub(crate) struct Bash;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Command to run (e.g., `cargo test`, `gh issue view 42`)
    command: String,
    /// What this command does (for logging)
    #[expect(dead_code, reason = "only the record, which holds all arguments, needs it")]
    description: Option<String>,
    /// Directory to run in. (default: cwd)
    working_directory: Option<String>,
    /// Maximum time to wait for the command. (default: 120)
    timeout_seconds: Option<Capped<1, 86_400>>,
    /// Skip confirmation for destructive commands. (default: false)
    #[expect(dead_code, reason = "policy reads it; the tool does not")]
    confirmed: Option<bool>,
    /// Return immediately with `task_id`. (default: false)
    run_in_background: Option<bool>,
    /// What to do at the timeout: `kill` the command, or `keep` it running as a background task. (default: kill)
    on_timeout: Option<TimeoutAction>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TimeoutAction {
    Kill,
    Keep,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Reply {
    Over {
        stdout: String,
        stderr: String,
        exit_code: i32,
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<StruckLimit>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// Set when output was cut, so that `task_output` can read the rest.
        #[serde(skip_serializing_if = "Option::is_none")]
        task_id: Option<String>,
    },
    Started {
        task_id: String,
        status: &'static str,
    },
    Kept {
        task_id: String,
        status: &'static str,
        stdout: String,
        stderr: String,
    },
}

/// The timeout of a command when the call sets none.
const DEFAULT_TIMEOUT_SECONDS: u64 = 120;

static DECLARATION: Declaration = Declaration {
    name: "bash",
    summary: "Execute a shell command in a sandbox: it can write to the workspace, the rest of the system \
              is read-only or hidden, and there is no network unless the operator allows it. Returns: {stdout, stderr, exit_code, limit?, notes?, task_id?} or {task_id, status} \
              when run_in_background=true",
    tier: Tier::Restricted,
    effect: Effect::Write,
    limits: Limits { deadline_ms: 86_400_000, output_bytes: 64 << 10 },
    examples: &[
        Example {
            about: "Run a simple command.",
            files: &[("a.txt", "one\ntwo\n")],
            before: &[],
            args: r#"{"command": "wc -l < a.txt", "description": "Count lines"}"#,
            reply: r#"{"stdout": "2\n", "stderr": "", "exit_code": 0}"#,
            leaves: &[],
        },
        Example {
            about: "Run in a different directory.",
            files: &[("frontend/package.json", "{}")],
            before: &[],
            args: r#"{"command": "ls; touch built", "working_directory": "frontend"}"#,
            reply: r#"{"stdout": "package.json\n", "stderr": "", "exit_code": 0}"#,
            leaves: &[("frontend/built", "")],
        },
        Example {
            about: "A failed command returns its exit code.",
            files: &[],
            before: &[],
            args: r#"{"command": "echo mismatched types >&2; exit 101"}"#,
            reply: r#"{"stdout": "", "stderr": "mismatched types\n", "exit_code": 101}"#,
            leaves: &[],
        },
        Example {
            about: "A missing directory is an error.",
            files: &[],
            before: &[],
            args: r#"{"command": "ls", "working_directory": "nowhere"}"#,
            reply: r#"{"error": "Directory not found: nowhere", "error_code": "NOT_FOUND",
                "context": {"file_path": "nowhere",
                    "hint": "name a directory in the workspace, or leave out `working_directory`"}}"#,
            leaves: &[],
        },
        Example {
            about: "A command that times out is killed, and its output so far is returned.",
            files: &[],
            before: &[],
            args: r#"{"command": "echo begun; sleep 60", "timeout_seconds": 1}"#,
            reply: r#"{"error": "Command timed out after 1 second", "error_code": "TIMEOUT",
                "context": {"limit_ms": 1000, "stdout": "begun\n", "stderr": "",
                    "hint": "raise the timeout, or split the work into smaller commands"}}"#,
            leaves: &[],
        },
    ],
};

impl Args {
    fn is_background(&self) -> bool {
        self.run_in_background == Some(true)
    }

    fn request(&self, ctx: &Ctx) -> CommandRequest {
        let seconds = self.timeout_seconds.map_or(DEFAULT_TIMEOUT_SECONDS, Capped::get);
        let keeps = self.on_timeout == Some(TimeoutAction::Keep) || self.is_background();
        CommandRequest {
            directory: self.working_directory.clone(),
            on_timeout: if keeps { OnTimeout::Detach } else { OnTimeout::Kill },
            rest_hint: "read it with task_output: task_id \"{id}\", from_line, line_count",
            ..command::request(ctx, Shell::Bash, &self.command, seconds)
        }
    }
}

impl Tool for Bash {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let request = args.request(ctx);
        ctx.commands.check(&request)?;
        Ok(Plan::command(&request))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let request = args.request(ctx);
        let task_id = ctx.call.0.clone();
        if args.is_background() {
            ctx.commands.start(&request)?;
            return Ok(Reply::Started { task_id, status: "running" });
        }
        let finished = match ctx.commands.run(&request, &ctx.cancel)? {
            Ran::Over(finished) => command::finish(ctx, &request, *finished)?,
            Ran::Kept(task) => {
                let (stdout, stderr) = (task.stdout.text, task.stderr.text);
                return Ok(Reply::Kept { task_id, status: "running", stdout, stderr });
            }
        };
        let is_cut = finished.stdout.is_cut || finished.stderr.is_cut;
        let capped = args.timeout_seconds.and_then(|seconds| seconds.warning("timeout_seconds"));
        Ok(Reply::Over {
            exit_code: finished.exit_code(),
            limit: StruckLimit::of(finished.strike.as_ref()),
            stdout: finished.stdout.text,
            stderr: finished.stderr.text,
            notes: finished.notes.into_iter().chain(capped).collect(),
            task_id: is_cut.then_some(task_id),
        })
    }
}
