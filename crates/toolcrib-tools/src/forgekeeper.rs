//! The catalogue `forgekeeper`: tools behind a management API, with codes of its errors.

mod create_task_card;
mod echo;
mod get_time;
mod read_dir;
mod read_file;
mod run_bash;
mod run_powershell;
mod write_file;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolcrib_core::catalogue::{Failure, millis};
use toolcrib_core::command::{CommandRequest, Shell};
use toolcrib_core::{Catalogue, Ctx, Declaration, ErrorKind, Plan, ToolError};

use crate::operation::command::{self, Struck};

pub(crate) static CATALOGUE: Catalogue = Catalogue {
    name: "forgekeeper",
    about: "Sandboxed tools behind a management API: discovery, approval, health",
    tools: &[
        &get_time::GetTime,
        &echo::Echo,
        &read_file::ReadFile,
        &read_dir::ReadDir,
        &write_file::WriteFile,
        &run_powershell::RunPowershell,
        &run_bash::RunBash,
        &create_task_card::CreateTaskCard,
    ],
    call_keys: &[],
    source_hash: |tool| crate::source_hash("forgekeeper", tool),
    reply: wrap,
    error_reply: word,
};

/// What both shells take.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandArgs {
    /// Command to execute
    command: String,
    /// Directory to run in, relative to the sandbox root (default: the root)
    cwd: Option<String>,
}

/// What both shells answer.
#[derive(Serialize)]
pub(crate) struct CommandReply {
    stdout: String,
    stderr: String,
    exit_code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Struck>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl CommandArgs {
    fn request(&self, ctx: &Ctx, shell: Shell) -> CommandRequest {
        let seconds = ctx.limits.deadline_ms.div_ceil(1000);
        let request = command::request(ctx, shell, &self.command, seconds);
        CommandRequest { directory: self.cwd.clone(), ..request }
    }

    fn check(&self, ctx: &Ctx, shell: Shell) -> Result<Plan, ToolError> {
        let request = self.request(ctx, shell);
        ctx.commands.check(&request)?;
        Ok(Plan::command(&request))
    }

    fn run(&self, ctx: &Ctx, shell: Shell) -> Result<CommandReply, ToolError> {
        let finished = command::run(ctx, &self.request(ctx, shell))?;
        Ok(CommandReply {
            exit_code: finished.exit_code(),
            limit: Struck::of(finished.strike.as_ref()),
            stdout: finished.stdout.text,
            stderr: finished.stderr.text,
            notes: finished.notes,
        })
    }
}

fn wrap(declaration: &Declaration, reply: Value, elapsed: Duration) -> Value {
    json!({
        "ok": true,
        "tool": declaration.name,
        "result": reply,
        "elapsed_ms": millis(elapsed),
    })
}

fn word(failure: &Failure<'_>) -> Value {
    let error = failure.error;
    let number = |key: &str| error.context.get(key).and_then(Value::as_u64).unwrap_or_default();
    let tool = failure.tool;
    let (code, message) = match error.kind {
        ErrorKind::NotOffered => ("tool_not_allowed", format!("Tool '{tool}' not in allowlist")),
        ErrorKind::NoTool => ("tool_not_found", format!("Tool '{tool}' not found")),
        ErrorKind::OutputTooLarge => {
            let limit = number("limit_bytes");
            ("output_too_large", format!("Tool output exceeded {limit} bytes"))
        }
        ErrorKind::Timeout => {
            ("timeout", format!("Tool execution exceeded {}ms", number("limit_ms")))
        }
        ErrorKind::NotFound => ("ENOENT", "ENOENT: file not found".to_owned()),
        ErrorKind::Permission => ("EACCES", "EACCES: permission denied".to_owned()),
        ErrorKind::Exists => ("EEXIST", "EEXIST: file already exists".to_owned()),
        ErrorKind::IsDirectory => ("EISDIR", "EISDIR: is a directory".to_owned()),
        ErrorKind::NotDirectory => ("ENOTDIR", "ENOTDIR: not a directory".to_owned()),
        ErrorKind::Outside => {
            let path = error.path_text();
            ("path_outside_sandbox", format!("Path '{path}' leads outside the sandbox"))
        }
        ErrorKind::TooLarge => ("size_exceeded", error.message.clone()),
        ErrorKind::BadArgs => ("invalid_arguments", error.message.clone()),
        ErrorKind::Refused => ("policy_denied", error.message.clone()),
        kind => (kind.as_str(), error.message.clone()),
    };
    let mut body = Map::new();
    body.insert("ok".to_owned(), false.into());
    body.insert("error".to_owned(), code.into());
    body.insert("message".to_owned(), message.into());
    if error.kind == ErrorKind::OutputTooLarge {
        body.insert("actualBytes".to_owned(), number("actual_bytes").into());
    }
    if let Some(path) = &error.path {
        body.insert("path".to_owned(), path.as_str().into());
    }
    if let Some(hint) = &error.hint {
        body.insert("hint".to_owned(), hint.as_str().into());
    }
    Value::Object(body)
}
