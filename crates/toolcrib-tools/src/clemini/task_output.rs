//! `task_output`: returns the output and the status of a background task.

use std::fmt::Write;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{End, Lines, Stream, Task, TaskStatus};
use toolcrib_core::schema::Within;
use toolcrib_core::{Ctx, Declaration, Effect, ErrorKind, Example, Limits, Tier, Tool, ToolError};

use crate::operation::command::{DEFAULT_OUTPUT_LINES, StreamChoice, StruckLimit};
use crate::operation::kept_text;

pub(crate) struct TaskOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The task ID to check
    task_id: String,
    /// Wait for completion (up to timeout). (default: false)
    wait: Option<bool>,
    /// Max wait time in seconds if wait=true. (default: 30)
    timeout: Option<Within<0, 86_400>>,
    /// Read the saved output from this line on, counted from 1; works with the id of any `bash` call
    from_line: Option<Within<1, 1_000_000_000>>,
    /// How many lines to read with `from_line`. (default: 200)
    line_count: Option<Within<1, 1_000_000>>,
    /// Which stream to read with `from_line`: `stdout` or `stderr`. (default: stdout)
    stream: Option<StreamChoice>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    task_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<StruckLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<LinesRead>,
}

/// The lines that a reply holds.
#[derive(Serialize, JsonSchema)]
struct LinesRead {
    stream: &'static str,
    from: u64,
    count: u64,
    total: u64,
}

/// The most bytes of a stream in the reply.
const MOST_SHOWN_BYTES: usize = 48 << 10;

/// How long `wait` waits when the call sets no timeout.
const DEFAULT_WAIT_SECONDS: u64 = 30;

static DECLARATION: Declaration = Declaration {
    name: "task_output",
    summary: "Get the output and status of a background task, or a range of lines that any command \
              printed. Returns: {task_id, status, exit_code?, stdout, stderr, limit?, lines?}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { deadline_ms: 86_400_000, output_bytes: 64 << 10 },
    examples: &[
        Example {
            about: "Check the status of a running task.",
            files: &[],
            before: &[("clemini/bash", r#"{"command": "sleep 1000", "run_in_background": true}"#)],
            args: r#"{"task_id": "$task_id"}"#,
            reply: r#"{"task_id": "*", "status": "running", "stdout": "", "stderr": ""}"#,
            leaves: &[],
        },
        Example {
            about: "Wait for completion.",
            files: &[],
            before: &[(
                "clemini/bash",
                r#"{"command": "echo Build successful", "run_in_background": true}"#,
            )],
            args: r#"{"task_id": "$task_id", "wait": true}"#,
            reply: r#"{"task_id": "*", "status": "completed", "exit_code": 0,
                "stdout": "Build successful\n", "stderr": ""}"#,
            leaves: &[],
        },
        Example {
            about: "Wait with a custom timeout.",
            files: &[],
            before: &[(
                "clemini/bash",
                r#"{"command": "echo Still building...; sleep 1000", "run_in_background": true}"#,
            )],
            args: r#"{"task_id": "$task_id", "wait": true, "timeout": 1}"#,
            reply: r#"{"task_id": "*", "status": "running", "stdout": "Still building...\n",
                "stderr": ""}"#,
            leaves: &[],
        },
        Example {
            about: "Read a range of lines that a task printed.",
            files: &[],
            before: &[
                ("clemini/bash", r#"{"command": "seq 1000", "run_in_background": true}"#),
                ("clemini/task_output", r#"{"task_id": "$task_id", "wait": true}"#),
            ],
            args: r#"{"task_id": "$task_id", "from_line": 500, "line_count": 2}"#,
            reply: r#"{"task_id": "*", "status": "completed", "exit_code": 0, "stdout": "500\n501\n",
                "stderr": "", "lines": {"stream": "stdout", "from": 500, "count": 2, "total": 1000}}"#,
            leaves: &[],
        },
        Example {
            about: "An unknown task is an error.",
            files: &[],
            before: &[],
            args: r#"{"task_id": "xyz789"}"#,
            reply: r#"{"error": "Task not found: xyz789", "error_code": "NOT_FOUND",
                "context": {"task_id": "xyz789",
                    "hint": "task ids come from a call with run_in_background"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for TaskOutput {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let task = if args.wait == Some(true) {
            let seconds = args.timeout.map_or(DEFAULT_WAIT_SECONDS, Within::get);
            let most = Duration::from_millis(ctx.terms.limits.deadline_ms.saturating_sub(1000));
            let time = Duration::from_secs(seconds).min(most);
            let subagent = ctx.outside.subagents.wait(&args.task_id, time, &ctx.cancel);
            subagent.map_or_else(|| ctx.commands.wait(&args.task_id, time, &ctx.cancel), Ok)
        } else {
            let subagent = ctx.outside.subagents.task(&args.task_id);
            subagent.map_or_else(|| ctx.commands.task(&args.task_id), Ok)
        };
        let Some(from_line) = args.from_line else { return Ok(reply(ctx, task?)) };
        let stream = StreamChoice::stream(args.stream);
        let most = ctx.terms.limits.output_bytes / 3;
        let count = args.line_count.map_or(DEFAULT_OUTPUT_LINES, Within::get);
        let read = ctx.commands.read(
            &args.task_id,
            stream,
            Lines { from: from_line.get(), count, most },
        )?;
        // A foreground call is not a task, and it has ended by the time its output can be read.
        let (status, exit_code) = match task {
            Ok(task) => status_word(task.status),
            Err(err) if err.kind == ErrorKind::NotFound => ("completed", None),
            Err(err) => return Err(err),
        };
        let lines = LinesRead {
            stream: stream.as_str(),
            from: read.from,
            count: read.count,
            total: read.total,
        };
        let (stdout, stderr) = match stream {
            Stream::Stdout => (read.text, String::new()),
            Stream::Stderr => (String::new(), read.text),
        };
        let task_id = args.task_id;
        Ok(Reply { task_id, status, exit_code, stdout, stderr, limit: None, lines: Some(lines) })
    }
}

fn reply(ctx: &Ctx, task: Task) -> Reply {
    let (status, exit_code) = status_word(task.status);
    let mut stdout = task.stdout.text;
    // What commands print was cut when it was read. The report of a subagent was not.
    if let Some(notice) = kept_text::shorten(ctx, &mut stdout, MOST_SHOWN_BYTES) {
        let _ = write!(stdout, "\n[{notice}]");
    }
    Reply {
        task_id: task.id,
        status,
        exit_code,
        stdout,
        stderr: task.stderr.text,
        limit: StruckLimit::of(task.strike.as_ref()),
        lines: None,
    }
}

/// Returns the contract's word for a task's status, and the exit code of one that ended.
fn status_word(status: TaskStatus) -> (&'static str, Option<i32>) {
    match status {
        TaskStatus::Running => ("running", None),
        TaskStatus::Lost => ("ended, unknown", None),
        TaskStatus::Ended(end) => {
            let word = match end {
                End::Exited(_) | End::Signalled(_) => "completed",
                End::TimedOut => "timed_out",
                End::Limited => "limit_exceeded",
                End::Killed => "killed",
            };
            (word, Some(end.exit_code()))
        }
    }
}
