//! `write_file`: creates or overwrites a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::capability::{WriteMode, Written};
use toolcrib_core::escape::beside;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::check;
use crate::operation::text::MAX_FILE_BYTES;

pub(crate) struct WriteFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Path to file
    file_path: String,
    /// Content to write
    content: String,
    /// Create .bak before overwrite. (default: false)
    backup: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    success: bool,
    bytes_written: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overwritten: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup_created: Option<bool>,
}

static DECLARATION: Declaration = Declaration {
    name: "write_file",
    summary: "Create or overwrite a file. Returns: {success, bytes_written, created?, overwritten?, \
              backup_created?}",
    tier: Tier::Elevated,
    effect: Effect::Write,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Create a new file.",
            files: &[],
            before: &[],
            args: r#"{"file_path": "new_file.txt", "content": "Hello, world!"}"#,
            reply: r#"{"success": true, "bytes_written": 13, "created": true}"#,
            leaves: &[("new_file.txt", "Hello, world!")],
        },
        Example {
            about: "Overwrite a file and keep a backup.",
            files: &[("config.toml", "old")],
            before: &[],
            args: r#"{"file_path": "config.toml", "content": "[settings]\nkey = \"value\"",
                "backup": true}"#,
            reply: r#"{"success": true, "bytes_written": 24, "overwritten": true,
                "backup_created": true}"#,
            leaves: &[("config.toml", "[settings]\nkey = \"value\""), ("config.toml.bak", "old")],
        },
        Example {
            about: "A path outside the allowed directories is refused.",
            files: &[],
            before: &[],
            args: r#"{"file_path": "/etc/passwd", "content": "malicious"}"#,
            reply: r#"{"error": "Access denied: /etc/passwd is outside allowed paths",
                "error_code": "ACCESS_DENIED",
                "context": {"file_path": "/etc/passwd",
                    "hint": "use a path inside the workspace; links may neither leave it nor be absolute"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for WriteFile {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let mut plan = check::write(&*ctx.files, &args.file_path, &args.content, MAX_FILE_BYTES)?;
        if args.backup == Some(true)
            && let Some(old) = plan.edits.first().and_then(|edit| edit.before.clone())
        {
            let backup =
                check::write(&*ctx.files, &beside(&args.file_path, ".bak"), &old, MAX_FILE_BYTES)?;
            plan.edits.extend(backup.edits);
        }
        Ok(plan)
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let wants_backup = args.backup == Some(true);
        let is_backed_up = wants_backup && back_up(ctx, &args.file_path)?;
        let written =
            ctx.files.write(&args.file_path, args.content.as_bytes(), WriteMode::Replace)?;
        Ok(Reply {
            success: true,
            bytes_written: args.content.len(),
            created: (written == Written::Created).then_some(true),
            overwritten: (written == Written::Replaced).then_some(true),
            backup_created: is_backed_up.then_some(true),
        })
    }
}

/// Copies the file to its name with `.bak` added. Returns whether there was a file to copy.
fn back_up(ctx: &Ctx, path: &str) -> Result<bool, ToolError> {
    match ctx.files.copy(path, &beside(path, ".bak"), MAX_FILE_BYTES) {
        Ok(_) => Ok(true),
        Err(err) if err.kind == ErrorKind::NotFound => Ok(false),
        Err(err) if err.kind == ErrorKind::TooLarge => {
            Err(err
                .hint("call it without `backup`; `toolcrib undo` can revert the write in any case"))
        }
        Err(err) => Err(err),
    }
}
