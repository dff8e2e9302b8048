//! `filesystem`: reads, writes, lists or deletes a path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::capability::WriteMode;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::check;
use crate::operation::text::{self, MAX_FILE_BYTES};

pub(crate) struct Filesystem;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to do
    action: FileAction,
    /// File or directory path
    path: String,
    /// Content to write (for write action)
    content: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileAction {
    Read,
    Write,
    List,
    Delete,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Reply {
    Read(String),
    Written { written: bool },
    Names(Vec<String>),
    Deleted { deleted: bool },
}

/// The most names in one listing.
const MAX_LISTED_NAMES: usize = 100_000;

static DECLARATION: Declaration = Declaration {
    name: "filesystem",
    summary: "Read and write files; also list a directory or delete a path. Returns: {success, result, \
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
            about: "Read a file.",
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
            about: "A write needs content.",
            files: &[],
            before: &[],
            args: r#"{"action": "write", "path": "a.txt"}"#,
            reply: r#"{"success": false, "error": {"code": "VALIDATION_ERROR",
                "message": "content is required for write action", "details": {"kind": "bad_args"}},
                "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "A path outside the allowed directories is refused.",
            files: &[],
            before: &[],
            args: r#"{"action": "read", "path": "/etc/passwd"}"#,
            reply: r#"{"success": false, "error": {"code": "VALIDATION_ERROR",
                "message": "Path /etc/passwd is not in allowed directories",
                "details": {"kind": "outside_root",
                    "hint": "use a path inside the workspace; links may neither leave it nor be absolute"}},
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
            FileAction::Read => check::file(files, &args.path),
            FileAction::List => check::directory(files, &args.path),
            FileAction::Write => check::write(files, &args.path, content(args)?, MAX_FILE_BYTES),
            FileAction::Delete => check::remove(files, &args.path),
        }
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let files = &*ctx.files;
        match args.action {
            FileAction::Read => {
                let file = text::read(files, &args.path, MAX_FILE_BYTES)?;
                if file.is_cut {
                    let message = format!(
                        "{} has {} bytes, but the limit is {MAX_FILE_BYTES}",
                        args.path, file.size
                    );
                    return Err(ToolError::new(ErrorKind::TooLarge, message).at(&args.path));
                }
                Ok(Reply::Read(file.text))
            }
            FileAction::Write => {
                let content = content(&args)?;
                files.write(&args.path, content.as_bytes(), WriteMode::Replace)?;
                Ok(Reply::Written { written: true })
            }
            FileAction::List => {
                let listing = files.list(&args.path, MAX_LISTED_NAMES)?;
                if listing.total() > MAX_LISTED_NAMES {
                    let message = format!(
                        "{} has {} entries, but the limit is {MAX_LISTED_NAMES}",
                        args.path,
                        listing.total()
                    );
                    return Err(ToolError::new(ErrorKind::TooLarge, message).at(&args.path));
                }
                Ok(Reply::Names(listing.entries.into_iter().map(|entry| entry.name).collect()))
            }
            FileAction::Delete => {
                files.remove(&args.path)?;
                Ok(Reply::Deleted { deleted: true })
            }
        }
    }

    fn health(&self, ctx: &Ctx) -> Result<(), ToolError> {
        ctx.files.stat(".").map(|_| ())
    }
}

/// Returns the content to write. An empty string is content: it makes an empty file.
fn content(args: &Args) -> Result<&str, ToolError> {
    args.content
        .as_deref()
        .ok_or_else(|| ToolError::new(ErrorKind::BadArgs, "content is required for write action"))
}
