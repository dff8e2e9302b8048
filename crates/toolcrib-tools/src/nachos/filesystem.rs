//! `filesystem`: reads, writes, lists and deletes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::capability::WriteMode;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::check;
use crate::operation::text::{self, MAX_FILE};

pub(crate) struct Filesystem;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to do
    action: Action,
    /// File or directory path
    path: String,
    /// Content to write (for write action)
    content: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Read,
    Write,
    List,
    Delete,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    Read(String),
    Written { written: bool },
    Names(Vec<String>),
    Deleted { deleted: bool },
}

/// The most names a listing has.
const MAX_NAMES: usize = 100_000;

static DECLARATION: Declaration = Declaration {
    name: "filesystem",
    summary: "Read and write files. Reads, writes, lists or deletes a path. Returns: {success, result, \
              metadata{duration}}; result is the text, {written}, the names, or {deleted}",
    tier: Tier::Elevated,
    effect: Effect::Write,
    limits: Limits { output_bytes: 64 << 20, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Write a file.",
            files: &[],
            before: &[],
            args: r#"{"action": "write", "path": "notes/a.txt", "content": "hello"}"#,
            reply: r#"{"success": true, "result": {"written": true}, "metadata": {"duration": 0}}"#,
            leaves: &[("notes/a.txt", "hello")],
        },
        Example {
            about: "Read it.",
            files: &[("notes/a.txt", "hello")],
            before: &[],
            args: r#"{"action": "read", "path": "notes/a.txt"}"#,
            reply: r#"{"success": true, "result": "hello", "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "List a directory.",
            files: &[("notes/b.txt", ""), ("notes/a.txt", ""), ("notes/sub/c.txt", "")],
            before: &[],
            args: r#"{"action": "list", "path": "notes"}"#,
            reply: r#"{"success": true, "result": ["a.txt", "b.txt", "sub"], "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "Delete a file.",
            files: &[("a.txt", "hello")],
            before: &[],
            args: r#"{"action": "delete", "path": "a.txt"}"#,
            reply: r#"{"success": true, "result": {"deleted": true}, "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "A write says what to write.",
            files: &[],
            before: &[],
            args: r#"{"action": "write", "path": "a.txt"}"#,
            reply: r#"{"success": false, "error": {"code": "VALIDATION_ERROR",
                "message": "content is required for write action", "details": {"kind": "bad_args"}},
                "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "A path that is not allowed.",
            files: &[],
            before: &[],
            args: r#"{"action": "read", "path": "/etc/passwd"}"#,
            reply: r#"{"success": false, "error": {"code": "VALIDATION_ERROR",
                "message": "Path /etc/passwd is not in allowed directories",
                "details": {"kind": "outside_root",
                    "hint": "use a path below the workspace; links may not leave it, nor be absolute"}},
                "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for Filesystem {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let files = &*ctx.files;
        match args.action {
            Action::Read => check::file(files, &args.path),
            Action::List => check::directory(files, &args.path),
            Action::Write => check::write(files, &args.path, content(args)?, MAX_FILE),
            Action::Delete => check::remove(files, &args.path),
        }
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let files = &*ctx.files;
        match args.action {
            Action::Read => {
                let file = text::read(files, &args.path, MAX_FILE)?;
                if file.is_cut {
                    let message = format!(
                        "{} has {} bytes, and the limit is {MAX_FILE}",
                        args.path, file.size
                    );
                    return Err(ToolError::new(ErrorKind::TooLarge, message).at(&args.path));
                }
                Ok(Reply::Read(file.text))
            }
            Action::Write => {
                let content = content(&args)?;
                files.write(&args.path, content.as_bytes(), WriteMode::Replace)?;
                Ok(Reply::Written { written: true })
            }
            Action::List => {
                let listing = files.list(&args.path, MAX_NAMES)?;
                if listing.total() > MAX_NAMES {
                    let message = format!(
                        "{} has {} entries, and the limit is {MAX_NAMES}",
                        args.path,
                        listing.total()
                    );
                    return Err(ToolError::new(ErrorKind::TooLarge, message).at(&args.path));
                }
                Ok(Reply::Names(listing.entries.into_iter().map(|entry| entry.name).collect()))
            }
            Action::Delete => {
                files.remove(&args.path)?;
                Ok(Reply::Deleted { deleted: true })
            }
        }
    }

    fn health(&self, ctx: &Ctx) -> Result<(), ToolError> {
        ctx.files.stat(".").map(|_| ())
    }
}

/// Returns what to write. Nothing to write is nothing given, as in the contract.
fn content(args: &Args) -> Result<&str, ToolError> {
    let content = args.content.as_deref().filter(|content| !content.is_empty());
    content
        .ok_or_else(|| ToolError::new(ErrorKind::BadArgs, "content is required for write action"))
}
