//! `terminal_last_command`: returns the last command of this session and its output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::Lines;
use toolcrib_core::schema::Within;
use toolcrib_core::{Ctx, Declaration, Effect, ErrorKind, Example, Limits, Tier, Tool, ToolError};

use crate::operation::command::{DEFAULT_OUTPUT_LINES, StreamChoice};
use crate::operation::text_reply::TextReply;

pub(crate) struct TerminalLastCommand;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Show the saved output from this line on, counted from 1
    from_line: Option<Within<1, 1_000_000_000>>,
    /// How many lines to show with `from_line` (default: 200)
    line_count: Option<Within<1, 1_000_000>>,
    /// Which stream to show with `from_line`: `stdout` or `stderr` (default: stdout)
    stream: Option<StreamChoice>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    command: String,
    exit_code: i32,
    executed_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
}

static DECLARATION: Declaration = Declaration {
    name: "terminal_last_command",
    summary: "Retrieve the last shell command that was executed, with its output or a range of its lines. \
              Returns: {success, output, files_affected, execution_time_ms, metadata{command, \
              exit_code, executed_at, total_lines?}}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { output_bytes: 64 << 10, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Get the last command and its output.",
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
            about: "Get a range of lines.",
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
            about: "A session without commands is an error.",
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
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let Some(last) = ctx.commands.last() else {
            let message = "No previous command in this session";
            return Err(ToolError::new(ErrorKind::NotFound, message)
                .hint("run a command with run_in_terminal first"));
        };
        let exit_code = last.finished.exit_code();
        let (printed, total_lines) = if let Some(from) = args.from_line {
            let count = args.line_count.map_or(DEFAULT_OUTPUT_LINES, Within::get);
            let lines = Lines { from: from.get(), count, most: ctx.terms.limits.output_bytes / 3 };
            let stream = StreamChoice::stream(args.stream);
            let read = ctx.commands.read(&last.id, stream, lines)?;
            (read.text, Some(read.total))
        } else {
            (last.finished.stdout.text + &last.finished.stderr.text, None)
        };
        Ok(TextReply {
            output: format!("Last command: {}\nOutput: {printed}", last.text),
            files_affected: Vec::new(),
            metadata: Some(Metadata {
                command: last.text,
                exit_code,
                executed_at: format!("{:.0}", last.at),
                total_lines,
            }),
        })
    }
}
