//! `read_dir`: lists a directory of the sandbox root.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, EntryKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::check;

pub(crate) struct ReadDir;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Directory path relative to sandbox root (default: the root)
    path: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    path: String,
    entries: Vec<ListedEntry>,
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ListedEntry {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

static DECLARATION: Declaration = Declaration {
    name: "read_dir",
    summary: "List directory contents. Returns: {ok, tool, result{path, entries[{name, type}], \
              total, truncated?}, elapsed_ms}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { output_bytes: 1 << 30, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "List a directory.",
            files: &[("src/a.txt", ""), ("src/sub/b.txt", "")],
            before: &[],
            args: r#"{"path": "src"}"#,
            reply: r#"{"ok": true, "tool": "read_dir", "result": {"path": "src", "entries": [
                {"name": "a.txt", "type": "file"}, {"name": "sub", "type": "directory"}], "total": 2},
                "elapsed_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "A file is not a directory.",
            files: &[("a.txt", "")],
            before: &[],
            args: r#"{"path": "a.txt"}"#,
            reply: r#"{"ok": false, "error": "ENOTDIR", "message": "ENOTDIR: not a directory",
                "path": "a.txt"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for ReadDir {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        check::directory(&*ctx.files, args.path.as_deref().unwrap_or("."))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let path = args.path.unwrap_or_else(|| ".".to_owned());
        let most = ctx.settings.max_output_lines;
        let listing = ctx.files.list(&path, most)?;
        let total = listing.total();
        let warnings = listing.denied_sentence().into_iter().collect();
        let entries: Vec<ListedEntry> = listing
            .entries
            .into_iter()
            .map(|entry| ListedEntry { name: entry.name, kind: kind_word(entry.kind) })
            .collect();
        let truncated = (entries.len() < total).then_some(true);
        Ok(Reply { path, entries, total, truncated, warnings })
    }
}

/// Returns the contract's word for a kind of entry.
fn kind_word(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
        EntryKind::Link => "link",
        EntryKind::Special => "special",
    }
}
