//! `read_file`: returns a file, or a range of its lines.

use std::fmt::Write;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError, counted,
};

use crate::operation::lines;
use crate::operation::text::{self, MAX_FILE_BYTES};
use crate::operation::text_reply::TextReply;

pub(crate) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Relative path to the file to read
    path: String,
    /// Starting line number (1-indexed, optional)
    start_line: Option<NonZeroUsize>,
    /// Ending line number (1-indexed, inclusive, optional)
    end_line: Option<NonZeroUsize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    total_lines: usize,
    lines_returned: usize,
    file_size_bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The number of bytes of a binary file that are shown.
const HEX_DUMP_BYTES: usize = 1024;

static DECLARATION: Declaration = Declaration {
    name: "read_file",
    summary: "Read the contents of a file, optionally specifying line range. Returns: {success, \
              output, files_affected, execution_time_ms, metadata{total_lines, lines_returned, \
              file_size_bytes, warnings?}}",
    tier: Tier::Standard,
    effect: Effect::Read,
    // JSON can escape every byte of a file of ten megabytes as six.
    limits: Limits { output_bytes: 64 << 20, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Read a range of lines.",
            files: &[("hello.py", "one\ntwo\nthree\n")],
            before: &[],
            args: r#"{"path": "hello.py", "start_line": 2, "end_line": 3}"#,
            reply: r#"{"tool": "read_file", "success": true,
                "output": "Contents of hello.py (lines 2-3):\ntwo\nthree",
                "files_affected": [], "execution_time_ms": 0,
                "metadata": {"total_lines": 3, "lines_returned": 2, "file_size_bytes": 14}}"#,
            leaves: &[],
        },
        Example {
            about: "A missing file is an error.",
            files: &[],
            before: &[],
            args: r#"{"path": "missing.txt"}"#,
            reply: r#"{"tool": "read_file", "success": false,
                "output": "Error: File 'missing.txt' not found",
                "error": {"code": "file_not_found", "message": "File 'missing.txt' not found",
                    "suggestion": "Check the file name and try again, or use file_search to find it"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "A range beyond the end of the file is an error.",
            files: &[("a.txt", "1\n2\n3\n")],
            before: &[],
            args: r#"{"path": "a.txt", "start_line": 30, "end_line": 40}"#,
            reply: r#"{"tool": "read_file", "success": false,
                "output": "Error: Line range invalid - file has 3 lines, requested 30-40",
                "error": {"code": "invalid_line_range",
                    "message": "Line range invalid - file has 3 lines, requested 30-40",
                    "suggestion": "Request lines within the file"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
    ],
};

impl Tool for ReadFile {
    type Args = Args;
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        if let (Some(start), Some(end)) = (args.start_line, args.end_line)
            && end < start
        {
            let message =
                format!("Line range invalid - end_line {end} is before start_line {start}");
            return Err(ToolError::new(ErrorKind::BadRange, message).at(&args.path));
        }
        ctx.files.stat(&args.path)?;
        Ok(Plan::read(&args.path))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let file = match text::read(&*ctx.files, &args.path, MAX_FILE_BYTES) {
            Err(err) if err.kind == ErrorKind::NotText => return hex_dump(ctx, &args),
            other => other?,
        };
        let all = lines::of(&file.text);
        let start = args.start_line.map_or(1, NonZeroUsize::get);
        let end = args.end_line.map_or(all.len(), NonZeroUsize::get).min(all.len());
        if start > all.len() && (start > 1 || args.end_line.is_some()) {
            let requested = match args.end_line {
                Some(end) => format!("{start}-{end}"),
                None => format!("{start} onwards"),
            };
            let part = if file.is_cut {
                format!(" in its first {MAX_FILE_BYTES} bytes")
            } else {
                String::new()
            };
            let has = counted(all.len() as u64, "line");
            let message =
                format!("Line range invalid - file has {has}{part}, requested {requested}");
            return Err(ToolError::new(ErrorKind::BadRange, message).at(&args.path));
        }
        let shown = all.get(start - 1..end).unwrap_or_default();
        let mut output = if shown.is_empty() {
            format!("Contents of {} (no lines):\n", args.path)
        } else {
            format!("Contents of {} (lines {start}-{end}):\n", args.path)
        };
        output.push_str(&shown.join("\n"));
        let mut warnings = Vec::new();
        if file.is_cut {
            let warning = format!(
                "Warning: File has {} bytes, showing only the first {MAX_FILE_BYTES}",
                file.size
            );
            let _ = write!(output, "\n{warning}");
            warnings.push(warning);
        }
        let metadata = Metadata {
            total_lines: file.total_lines(&*ctx.files, &args.path)?,
            lines_returned: shown.len(),
            file_size_bytes: file.size,
            warnings,
        };
        Ok(TextReply { output, files_affected: Vec::new(), metadata: Some(metadata) })
    }
}

/// Returns the beginning of a binary file as hexadecimal numbers, sixteen bytes a line.
fn hex_dump(ctx: &Ctx, args: &Args) -> Result<TextReply<Metadata>, ToolError> {
    let content = ctx.files.read(&args.path, HEX_DUMP_BYTES as u64)?;
    let warning = "Warning: File appears to be binary, displaying first 1KB as hex".to_owned();
    let mut output = format!("{warning}\n");
    for (index, bytes) in content.bytes.chunks(16).enumerate() {
        let _ = write!(output, "{:08x} ", index * 16);
        for byte in bytes {
            let _ = write!(output, " {byte:02x}");
        }
        output.push('\n');
    }
    let metadata = Metadata {
        total_lines: 0,
        lines_returned: 0,
        file_size_bytes: content.size,
        warnings: vec![warning],
    };
    Ok(TextReply { output, files_affected: Vec::new(), metadata: Some(metadata) })
}
