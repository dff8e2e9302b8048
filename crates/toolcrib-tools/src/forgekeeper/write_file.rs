//! `write_file`: writes a text file of the sandbox root.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::capability::{WriteMode, Written};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::check;

pub(crate) struct WriteFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File path relative to sandbox root
    path: String,
    /// Text to write
    content: String,
    /// Whether to replace an existing file (default: true)
    overwrite: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    path: String,
    bytes: usize,
    created: bool,
}

static DECLARATION: Declaration = Declaration {
    name: "write_file",
    summary: "Write a text file to the sandbox. Returns: {ok, tool, result{path, bytes, created}, \
              elapsed_ms}",
    tier: Tier::Elevated,
    effect: Effect::Write,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Create a new file.",
            files: &[],
            before: &[],
            args: r#"{"path": "notes/a.txt", "content": "hello"}"#,
            reply: r#"{"ok": true, "tool": "write_file",
                "result": {"path": "notes/a.txt", "bytes": 5, "created": true}, "elapsed_ms": 0}"#,
            leaves: &[("notes/a.txt", "hello")],
        },
        Example {
            about: "With overwrite=false, an existing file is an error.",
            files: &[("a.txt", "old")],
            before: &[],
            args: r#"{"path": "a.txt", "content": "new", "overwrite": false}"#,
            reply: r#"{"ok": false, "error": "EEXIST", "message": "EEXIST: file already exists",
                "path": "a.txt"}"#,
            leaves: &[("a.txt", "old")],
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
        let check = if args.overwrite == Some(false) { check::create } else { check::write };
        check(&*ctx.files, &args.path, &args.content, ctx.settings.max_write_bytes)
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let mode = if args.overwrite == Some(false) { WriteMode::New } else { WriteMode::Replace };
        let written = ctx.files.write(&args.path, args.content.as_bytes(), mode)?;
        Ok(Reply {
            path: args.path,
            bytes: args.content.len(),
            created: written == Written::Created,
        })
    }
}
