//! `run_powershell`: runs a PowerShell command in the sandbox.

use toolcrib_core::command::Shell;
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::shell::{ShellArgs, ShellReply};

pub(crate) struct RunPowershell;

static DECLARATION: Declaration = Declaration {
    name: "run_powershell",
    summary: "Execute PowerShell command in a sandbox (FRONTEND_ENABLE_POWERSHELL=1). Returns: {ok, tool, \
              result{stdout, stderr, exit_code, limit?, notes?}, elapsed_ms}",
    tier: Tier::Restricted,
    effect: Effect::Write,
    limits: Limits { deadline_ms: 600_000, output_bytes: 64 << 10 },
    examples: &[Example {
        about: "An empty command is an error.",
        files: &[],
        before: &[],
        args: r#"{"command": " "}"#,
        reply: r#"{"ok": false, "error": "invalid_arguments", "message": "the command is empty",
                "hint": "give the command to run"}"#,
        leaves: &[],
    }],
};

impl Tool for RunPowershell {
    type Args = ShellArgs;
    type Reply = ShellReply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &ShellArgs) -> Result<Plan, ToolError> {
        args.check(ctx, Shell::PowerShell)
    }

    async fn run(&self, ctx: &Ctx, args: ShellArgs) -> Result<ShellReply, ToolError> {
        args.run(ctx, Shell::PowerShell)
    }
}
