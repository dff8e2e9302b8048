//! `list_dir`: lists a directory, files first.

use std::fmt::Write;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, EntryKind, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::check;
use crate::operation::text_reply::TextReply;

pub(crate) struct ListDir;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Relative path to directory (default: current directory)
    #[serde(default = "crate::operation::directory::current")]
    path: Option<String>,
    /// Page to show, counted from 1; a page has 1000 entries (default: 1)
    page: Option<NonZeroUsize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    total_entries: usize,
    files: usize,
    directories: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The number of entries on one page.
const PAGE_ENTRIES: usize = 1000;

/// The most entries that all pages of a directory hold.
const MOST_ENTRIES: usize = 100_000;

static DECLARATION: Declaration = Declaration {
    name: "list_dir",
    summary: "List contents of a directory. A page has 1000 entries. Returns: {success, output, \
              files_affected, execution_time_ms, metadata{total_entries, files, directories, page?, \
              pages?, warnings?}}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { output_bytes: 4 << 20, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Files are listed before directories.",
            files: &[("src/app.py", ""), ("src/utils.py", ""), ("src/models/a.py", "")],
            before: &[],
            args: r#"{"path": "src"}"#,
            reply: r#"{"tool": "list_dir", "success": true,
                "output": "Contents of ./src:\n  app.py\n  utils.py\n  models/\n",
                "files_affected": [], "execution_time_ms": 0,
                "metadata": {"total_entries": 3, "files": 2, "directories": 1}}"#,
            leaves: &[],
        },
        Example {
            about: "A file is not a directory.",
            files: &[("file.txt", "")],
            before: &[],
            args: r#"{"path": "file.txt"}"#,
            reply: r#"{"tool": "list_dir", "success": false,
                "output": "Error: Path 'file.txt' is not a directory",
                "error": {"code": "not_a_directory", "message": "Path 'file.txt' is not a directory",
                    "suggestion": "Use read_file for a file, or list its parent directory"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
    ],
};

impl Tool for ListDir {
    type Args = Args;
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        check::directory(&*ctx.files, args.path.as_deref().unwrap_or("."))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let path = args.path.as_deref().unwrap_or(".");
        let mut listing = ctx.files.list(path, MOST_ENTRIES)?;
        listing.entries.sort_by_key(|entry| entry.kind == EntryKind::Directory);
        let total = listing.total();
        let pages = listing.entries.len().div_ceil(PAGE_ENTRIES).max(1);
        let page = args.page.map_or(1, NonZeroUsize::get);
        if page > pages {
            let message = format!("`page` is {page}, but there are only {pages} pages");
            return Err(ToolError::new(ErrorKind::BadArgs, message));
        }
        let mut output = format!("Contents of {}:\n", shown(path));
        for entry in listing.entries.iter().skip((page - 1) * PAGE_ENTRIES).take(PAGE_ENTRIES) {
            let slash = if entry.kind == EntryKind::Directory { "/" } else { "" };
            let _ = writeln!(output, "  {}{slash}", entry.name);
        }
        let mut warnings = Vec::new();
        if pages > 1 {
            let rest = if total > MOST_ENTRIES {
                format!(" of the first {MOST_ENTRIES}")
            } else {
                String::new()
            };
            let next =
                if page < pages { format!("; page {} has more", page + 1) } else { String::new() };
            let warning = format!(
                "Warning: Found {total} entries, showing page {page} of {pages}{rest}{next}"
            );
            let _ = writeln!(output, "{warning}");
            warnings.push(warning);
        }
        if let Some(denied) = listing.denied_sentence() {
            let warning = format!("Warning: {denied}");
            let _ = writeln!(output, "{warning}");
            warnings.push(warning);
        }
        let metadata = Metadata {
            total_entries: total,
            files: listing.files,
            directories: listing.directories,
            page: (pages > 1).then_some(page),
            pages: (pages > 1).then_some(pages),
            warnings,
        };
        Ok(TextReply { output, files_affected: Vec::new(), metadata: Some(metadata) })
    }
}

/// Returns the path as the contract shows it: a relative one begins with `./`.
fn shown(path: &str) -> String {
    if path.starts_with(['.', '/']) { path.to_owned() } else { format!("./{path}") }
}
