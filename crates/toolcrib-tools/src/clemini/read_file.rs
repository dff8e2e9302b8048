//! `read_file`: returns a file with line numbers.

use std::fmt::Write;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError, counted,
};

use crate::operation::text::{self, MAX_FILE_BYTES};
use crate::operation::{check, lines};

pub(crate) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Path to file (absolute or relative)
    file_path: String,
    /// Line to start from. (default: 1)
    offset: Option<NonZeroUsize>,
    /// Max lines to read. (default: 2000)
    limit: Option<NonZeroUsize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    contents: String,
    total_lines: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
}

/// The number of lines returned when the call sets no limit.
const DEFAULT_READ_LINES: usize = 2000;

/// The bytes that the number of a line usually takes, with what surrounds it.
const NUMBER_BYTES: usize = 8;

/// The most bytes of file content in one reply.
const MOST_CONTENT_BYTES: usize = 100 << 10;

static DECLARATION: Declaration = Declaration {
    name: "read_file",
    summary: "Read the contents of a file with line numbers. Returns: {contents, total_lines, \
              truncated?}",
    tier: Tier::Standard,
    effect: Effect::Read,
    // JSON can escape every byte of the contents as six.
    limits: Limits { output_bytes: 1 << 20, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Read a whole file.",
            files: &[("src/main.rs", "fn main() {\n    println!(\"Hello\");\n}\n")],
            before: &[],
            args: r#"{"file_path": "src/main.rs"}"#,
            reply: r#"{"contents": "1: fn main() {\n2:     println!(\"Hello\");\n3: }", "total_lines": 3}"#,
            leaves: &[],
        },
        Example {
            about: "Read a range of lines.",
            files: &[("a.txt", "one\ntwo\nthree\nfour\n")],
            before: &[],
            args: r#"{"file_path": "a.txt", "offset": 2, "limit": 2}"#,
            reply: r#"{"contents": "2: two\n3: three", "total_lines": 4, "truncated": true}"#,
            leaves: &[],
        },
        Example {
            about: "A missing file is an error.",
            files: &[],
            before: &[],
            args: r#"{"file_path": "nonexistent.rs"}"#,
            reply: r#"{"error": "File not found: nonexistent.rs", "error_code": "NOT_FOUND",
                "context": {"file_path": "nonexistent.rs",
                    "hint": "check that the file exists or use glob to search"}}"#,
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
        check::file(&*ctx.files, &args.file_path)
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let file = text::read(&*ctx.files, &args.file_path, MAX_FILE_BYTES)?;
        let all = lines::of(&file.text);
        let offset = args.offset.map_or(1, NonZeroUsize::get);
        if offset > all.len().max(1) {
            let message = format!(
                "offset {offset} is past the end: the file has {}",
                counted(all.len() as u64, "line")
            );
            return Err(ToolError::new(ErrorKind::BadRange, message).at(&args.file_path));
        }
        let limit = args.limit.map_or(DEFAULT_READ_LINES, NonZeroUsize::get);
        let most = file.text.len() + all.len() * NUMBER_BYTES;
        let mut contents = String::with_capacity(most.min(MOST_CONTENT_BYTES + NUMBER_BYTES));
        let mut shown = 0;
        for (line, number) in all.iter().zip(1_usize..).skip(offset - 1).take(limit) {
            let room = MOST_CONTENT_BYTES.saturating_sub(contents.len());
            if line.len() > room {
                // A first line that exceeds the limit is cut: otherwise it could never be read.
                if shown == 0 {
                    let _ = write!(contents, "{number}: {} … [cut]", lines::cut(line, room));
                    shown += 1;
                }
                break;
            }
            if shown > 0 {
                contents.push('\n');
            }
            // The pieces are pushed without formatting, because this is the hottest loop of the most
            // used tool.
            lines::push_number(&mut contents, number);
            contents.push_str(": ");
            contents.push_str(line);
            shown += 1;
        }
        let is_cut = offset - 1 + shown < all.len() || file.is_cut || contents.ends_with("[cut]");
        Ok(Reply { contents, total_lines: all.len(), truncated: is_cut.then_some(true) })
    }
}
