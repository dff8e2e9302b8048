//! A shell command as `run_bash` and `run_powershell` take and answer it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{CommandRequest, Shell};
use toolcrib_core::{Ctx, Plan, ToolError};

use super::command::{self, StruckLimit};

/// The arguments of `run_bash` and `run_powershell`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellArgs {
    /// Command to execute
    command: String,
    /// Directory to run in, relative to the sandbox root (default: the root)
    cwd: Option<String>,
}

/// The reply of `run_bash` and `run_powershell`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShellReply {
    stdout: String,
    stderr: String,
    exit_code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<StruckLimit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl ShellArgs {
    /// Returns the request for the command, with all the time that the call has.
    fn request(&self, ctx: &Ctx, shell: Shell) -> CommandRequest {
        let seconds = ctx.terms.limits.deadline_ms.div_ceil(1000);
        let request = command::request(ctx, shell, &self.command, seconds);
        CommandRequest { directory: self.cwd.clone(), ..request }
    }

    /// Checks the command, and returns the plan to run it.
    pub(crate) fn check(&self, ctx: &Ctx, shell: Shell) -> Result<Plan, ToolError> {
        let request = self.request(ctx, shell);
        ctx.commands.check(&request)?;
        Ok(Plan::command(&request))
    }

    /// Runs the command to its end.
    pub(crate) fn run(&self, ctx: &Ctx, shell: Shell) -> Result<ShellReply, ToolError> {
        let finished = command::run(ctx, &self.request(ctx, shell))?;
        Ok(ShellReply {
            exit_code: finished.exit_code(),
            limit: StruckLimit::of(finished.strike.as_ref()),
            stdout: finished.stdout.text,
            stderr: finished.stderr.text,
            notes: finished.notes,
        })
    }
}
