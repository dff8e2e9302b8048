//! `read_file`: reads a text file of the sandbox root.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::text::{self, MAX_FILE_BYTES};
use crate::operation::{check, lines};

pub(crate) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File path relative to sandbox root
    path: String,
    /// Line to start from (default: 1)
    offset: Option<NonZeroUsize>,
    /// Maximum number of lines to read (default: as many as fit into a reply)
    limit: Option<NonZeroUsize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    path: String,
    content: String,
    bytes: u64,
    total_lines: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

static DECLARATION: Declaration = Declaration {
    name: "read_file",
    summary: "Read a text file from the sandbox. Returns: {ok, tool, result{path, content, bytes, \
              total_lines, truncated?, next_offset?}, elapsed_ms}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { output_bytes: 1 << 30, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Read a file.",
            files: &[("README.md", "# Forgekeeper\n")],
            before: &[],
            args: r#"{"path": "README.md"}"#,
            reply: r##"{"ok": true, "tool": "read_file", "result": {"path": "README.md",
                "content": "# Forgekeeper\n", "bytes": 14, "total_lines": 1}, "elapsed_ms": 0}"##,
            leaves: &[],
        },
        Example {
            about: "A missing file is an error.",
            files: &[],
            before: &[],
            args: r#"{"path": "nonexistent/file.txt"}"#,
            reply: r#"{"ok": false, "error": "ENOENT", "message": "ENOENT: file not found",
                "path": "nonexistent/file.txt"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for ReadFile {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        check::file(&*ctx.files, &args.path)
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let file = text::read(&*ctx.files, &args.path, MAX_FILE_BYTES)?;
        let total = lines::count(&file.text);
        let from = args.offset.map_or(0, |offset| offset.get() - 1);
        if from > 0 && from >= total {
            let message = format!(
                "`offset` {} is past the end of the file, which has {total} lines",
                from + 1
            );
            return Err(ToolError::new(ErrorKind::BadRange, message).at(&args.path));
        }
        let most = ctx.settings.max_output_lines;
        let count = args.limit.map_or(most, NonZeroUsize::get).min(most);
        let room = usize::try_from(ctx.settings.max_read_bytes).unwrap_or(usize::MAX);
        let rest = lines::skip(&file.text, from);
        let (mut content, mut shown) = ("", 0);
        for end in lines::ends(rest).take(count) {
            if end > room {
                // A first line that exceeds the limit is cut: otherwise it could never be read.
                if shown == 0 {
                    content = lines::cut(&rest[..end], room);
                    shown += 1;
                }
                break;
            }
            content = &rest[..end];
            shown += 1;
        }
        let next = from + shown;
        let is_cut = next < total || file.is_cut || content.len() == room;
        let total_lines = file.total_lines(&*ctx.files, &args.path)?;
        Ok(Reply {
            path: args.path,
            content: content.to_owned(),
            bytes: file.size,
            total_lines,
            truncated: is_cut.then_some(true),
            next_offset: (next < total).then_some(next + 1),
        })
    }
}
