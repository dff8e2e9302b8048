//! `run_bash`: runs a Bash command in the sandbox.

use toolcrib_core::command::Shell;
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::shell::{ShellArgs, ShellReply};

pub(crate) struct RunBash;

static DECLARATION: Declaration = Declaration {
    name: "run_bash",
    summary: "Execute Bash command in a sandbox (FRONTEND_ENABLE_BASH=1). Returns: {ok, tool, \
              result{stdout, stderr, exit_code, limit?, notes?}, elapsed_ms}",
    tier: Tier::Restricted,
    effect: Effect::Write,
    limits: Limits { deadline_ms: 600_000, output_bytes: 64 << 10 },
    examples: &[
        Example {
            about: "A command's output and exit code are returned.",
            files: &[],
            before: &[],
            args: r#"{"command": "echo out; echo err >&2; exit 3"}"#,
            reply: r#"{"ok": true, "tool": "run_bash",
                "result": {"stdout": "out\n", "stderr": "err\n", "exit_code": 3}, "elapsed_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "An empty command is an error.",
            files: &[],
            before: &[],
            args: r#"{"command": " "}"#,
            reply: r#"{"ok": false, "error": "invalid_arguments", "message": "the command is empty",
                "hint": "give the command to run"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for RunBash {
    type Args = ShellArgs;
    type Reply = ShellReply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &ShellArgs) -> Result<Plan, ToolError> {
        args.check(ctx, Shell::Bash)
    }

    async fn run(&self, ctx: &Ctx, args: ShellArgs) -> Result<ShellReply, ToolError> {
        args.run(ctx, Shell::Bash)
    }
}
