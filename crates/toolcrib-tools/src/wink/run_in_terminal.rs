//! `run_in_terminal`: runs a shell command in the sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{CommandRequest, Finished, Shell};
use toolcrib_core::schema::Within;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::command::{self, StruckLimit};
use crate::operation::text_reply::TextReply;

pub(crate) struct RunInTerminal;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Shell command to execute
    command: String,
    /// Timeout in seconds (default: 30)
    #[serde(default = "default_seconds")]
    timeout_seconds: Option<Within<1, 300>>,
}

fn default_seconds() -> Option<Within<1, 300>> {
    Within::of(30)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    exit_code: i32,
    stdout_lines: u64,
    stderr_lines: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<StruckLimit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

static DECLARATION: Declaration = Declaration {
    name: "run_in_terminal",
    summary: "Execute a shell command in a sandbox: it can write to the workspace, the rest of the system \
              is read-only or hidden, and there is no network unless the operator allows it. Returns: {success, output, files_affected, execution_time_ms, metadata{exit_code, \
              stdout_lines, stderr_lines, stderr?, limit?, warnings?}}",
    tier: Tier::Restricted,
    effect: Effect::Write,
    limits: Limits { deadline_ms: 305_000, output_bytes: 64 << 10 },
    examples: &[
        Example {
            about: "Run a command and read its output.",
            files: &[],
            before: &[],
            args: r#"{"command": "seq 5"}"#,
            reply: r#"{"tool": "run_in_terminal", "success": true,
                "output": "Command output:\n1\n2\n3\n4\n5\n", "files_affected": [],
                "execution_time_ms": 0,
                "metadata": {"exit_code": 0, "stdout_lines": 5, "stderr_lines": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "A missing program is an error.",
            files: &[],
            before: &[],
            args: r#"{"command": "invalid_cmd --now"}"#,
            reply: r#"{"tool": "run_in_terminal", "success": false,
                "output": "Error: Command 'invalid_cmd' not found",
                "error": {"code": "command_not_found", "message": "Command 'invalid_cmd' not found",
                    "suggestion": "Check the spelling, or use an installed program"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "A non-zero exit code is an error.",
            files: &[],
            before: &[],
            args: r#"{"command": "echo no such thing >&2; exit 1"}"#,
            reply: r#"{"tool": "run_in_terminal", "success": false,
                "output": "Error: Command failed with exit code 1:\nno such thing\n",
                "error": {"code": "command_failed",
                    "message": "Command failed with exit code 1:\nno such thing\n",
                    "suggestion": "Read the output, correct the command and call again"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "A command that times out is an error.",
            files: &[],
            before: &[],
            args: r#"{"command": "sleep 60", "timeout_seconds": 1}"#,
            reply: r#"{"tool": "run_in_terminal", "success": false,
                "output": "Error: Command timed out after 1 second",
                "error": {"code": "timeout", "message": "Command timed out after 1 second",
                    "suggestion": "Raise the timeout, or split the work into smaller commands"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
    ],
};

impl Args {
    fn request(&self, ctx: &Ctx) -> CommandRequest {
        let seconds = self.timeout_seconds.map_or(30, Within::get);
        CommandRequest {
            rest_hint: "read it with terminal_last_command: from_line, line_count",
            ..command::request(ctx, Shell::Own, &self.command, seconds)
        }
    }
}

impl Tool for RunInTerminal {
    type Args = Args;
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let request = args.request(ctx);
        ctx.commands.check(&request)?;
        Ok(Plan::command(&request))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let finished = command::run(ctx, &args.request(ctx))?;
        if finished.exit_code() != 0 {
            return Err(failed(finished));
        }
        let mut output = format!("Command output:\n{}", finished.stdout.text);
        if !output.ends_with('\n') {
            output.push('\n');
        }
        Ok(TextReply {
            output,
            files_affected: Vec::new(),
            metadata: Some(Metadata {
                exit_code: 0,
                stdout_lines: finished.stdout.lines,
                stderr_lines: finished.stderr.lines,
                stderr: finished.stderr.text,
                limit: StruckLimit::of(finished.strike.as_ref()),
                warnings: finished.notes,
            }),
        })
    }
}

fn failed(finished: Finished) -> ToolError {
    let (code, stderr) = (finished.exit_code(), finished.stderr.text);
    // If the command printed something first, the output says more than this error would.
    if code == 127
        && finished.stdout.text.is_empty()
        && let Some(name) = missing_program(&stderr)
    {
        let message = format!("Command '{name}' not found");
        return ToolError::new(ErrorKind::NotFound, message)
            .hint("check the spelling, or use an installed program");
    }
    let mut message = format!("Command failed with exit code {code}:\n{stderr}");
    for note in &finished.notes {
        message = format!("{}\n{note}\n", message.trim_end());
    }
    if !finished.stdout.text.is_empty() {
        message = format!("{}\nCommand output:\n{}", message.trim_end(), finished.stdout.text);
    }
    ToolError::new(ErrorKind::Failed, message)
        .hint("read the output, correct the command and call again")
        .with("exit_code", code)
}

/// Returns the program that the shell did not find, from the shell's error message.
fn missing_program(stderr: &str) -> Option<&str> {
    let line = stderr.lines().last()?;
    let before =
        line.strip_suffix(": command not found").or_else(|| line.strip_suffix(": not found"));
    match before {
        Some(before) => before.rsplit(": ").next(),
        // zsh puts the name last.
        None => line.split_once("command not found: ").map(|(_, name)| name),
    }
}
