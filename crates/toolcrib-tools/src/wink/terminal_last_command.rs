//! `terminal_last_command`: the last command of this session, and what it printed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::Lines;
use toolcrib_core::schema::Within;
use toolcrib_core::{Ctx, Declaration, Effect, ErrorKind, Example, Limits, Tier, Tool, ToolError};

use super::Reply;
use crate::operation::command::{DEFAULT_LINES, Which};

pub(crate) struct TerminalLastCommand;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Show its saved output from this line on, counted from 1
    from_line: Option<Within<1, 1_000_000_000>>,
    /// How many lines to show with `from_line` (default: 200)
    line_count: Option<Within<1, 1_000_000>>,
    /// Which output to show with `from_line`: `stdout` or `stderr` (default: stdout)
    stream: Option<Which>,
}

#[derive(Serialize)]
pub(crate) struct Metadata {
    command: String,
    exit_code: i32,
    executed_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
}

static DECLARATION: Declaration = Declaration {
    name: "terminal_last_command",
    summary: "Retrieve the last shell command that was executed, with its output or lines of it. \
              Returns: {success, output, files_affected, execution_time_ms, metadata{command, \
              exit_code, executed_at, total_lines?}}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { output_bytes: 64 << 10, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "The last command and what it printed.",
            files: &[],
            before: &[("wink/run_in_terminal", r#"{"command": "echo clean"}"#)],
            args: "{}",
            reply: r#"{"tool": "terminal_last_command", "success": true,
                "output": "Last command: echo clean\nOutput: clean\n", "files_affected": [],
                "execution_time_ms": 0,
                "metadata": {"command": "echo clean", "exit_code": 0, "executed_at": "*"}}"#,
            leaves: &[],
        },
        Example {
            about: "Lines of it.",
            files: &[],
            before: &[("wink/run_in_terminal", r#"{"command": "seq 100"}"#)],
            args: r#"{"from_line": 50, "line_count": 2}"#,
            reply: r#"{"tool": "terminal_last_command", "success": true,
                "output": "Last command: seq 100\nOutput: 50\n51\n", "files_affected": [],
                "execution_time_ms": 0, "metadata": {"command": "seq 100", "exit_code": 0,
                    "executed_at": "*", "total_lines": 100}}"#,
            leaves: &[],
        },
        Example {
            about: "No command history.",
            files: &[],
            before: &[],
            args: "{}",
            reply: r#"{"tool": "terminal_last_command", "success": false,
                "output": "Error: No previous command in this session",
                "error": {"code": "no_command_history",
                    "message": "No previous command in this session",
                    "suggestion": "Run a command with run_in_terminal first"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
    ],
};

impl Tool for TerminalLastCommand {
    type Args = Args;
    type Reply = Reply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply<Metadata>, ToolError> {
        let Some(past) = ctx.commands.last() else {
            let message = "No previous command in this session";
            return Err(ToolError::new(ErrorKind::NotFound, message)
                .hint("run a command with run_in_terminal first"));
        };
        let exit_code = past.finished.exit_code();
        let (printed, total_lines) = if let Some(from) = args.from_line {
            let count = args.line_count.map_or(DEFAULT_LINES, Within::get);
            let lines = Lines { from: from.get(), count, most: ctx.limits.output_bytes / 3 };
            let stream = Which::stream(args.stream);
            let read = ctx.commands.read(&past.id, stream, lines)?;
            (read.text, Some(read.total))
        } else {
            (past.finished.stdout.text + &past.finished.stderr.text, None)
        };
        Ok(Reply {
            output: format!("Last command: {}\nOutput: {printed}", past.text),
            files_affected: Vec::new(),
            metadata: Some(Metadata {
                command: past.text,
                exit_code,
                executed_at: format!("{:.0}", past.at),
                total_lines,
            }),
        })
    }
}
