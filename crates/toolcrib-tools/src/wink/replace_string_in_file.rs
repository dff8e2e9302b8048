//! `replace_string_in_file`: replaces the first occurrence of a string.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::edit::{self, Miss, Occurrences, Replacement};
use crate::operation::text_reply::TextReply;
use crate::operation::{lines, similar};

pub(crate) struct ReplaceStringInFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Relative path to the file to modify
    path: String,
    /// Exact string to find and replace
    old_string: String,
    /// String to replace with
    new_string: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    occurrences_found: usize,
    occurrences_replaced: usize,
    lines_changed: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

static DECLARATION: Declaration = Declaration {
    name: "replace_string_in_file",
    summary: "Replace a specific string in a file with new content. Only the first occurrence is replaced. \
              Returns: {success, output, files_affected, execution_time_ms, \
              metadata{occurrences_found, occurrences_replaced, lines_changed, warnings?}}",
    tier: Tier::Restricted,
    effect: Effect::Write,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Replace the only occurrence.",
            files: &[("hello.py", "a = 1\nprint(a)\n")],
            before: &[],
            args: r#"{"path": "hello.py", "old_string": "print(a)", "new_string": "print(a + 1)"}"#,
            reply: r#"{"tool": "replace_string_in_file", "success": true,
                "output": "Replaced 1 occurrence in hello.py",
                "files_affected": ["hello.py"], "execution_time_ms": 0,
                "metadata": {"occurrences_found": 1, "occurrences_replaced": 1, "lines_changed": [2]}}"#,
            leaves: &[("hello.py", "a = 1\nprint(a + 1)\n")],
        },
        Example {
            about: "With several occurrences, the first is replaced and the reply warns.",
            files: &[("a.txt", "\n\n\n\nx\nx\nx\n")],
            before: &[],
            args: r#"{"path": "a.txt", "old_string": "x", "new_string": "y"}"#,
            reply: r#"{"tool": "replace_string_in_file", "success": true,
                "output": "Replaced 1 occurrence in a.txt\nWarning: Found 3 occurrences, replaced only the first at line 5",
                "files_affected": ["a.txt"], "execution_time_ms": 0,
                "metadata": {"occurrences_found": 3, "occurrences_replaced": 1, "lines_changed": [5],
                    "warnings": ["Warning: Found 3 occurrences, replaced only the first at line 5"]}}"#,
            leaves: &[("a.txt", "\n\n\n\ny\nx\nx\n")],
        },
        Example {
            about: "A string without a match is an error.",
            files: &[("a.txt", "something else\n")],
            before: &[],
            args: r#"{"path": "a.txt", "old_string": "old_text", "new_string": "new"}"#,
            reply: r#"{"tool": "replace_string_in_file", "success": false,
                "output": "Error: String 'old_text' not found in file",
                "error": {"code": "string_not_found", "message": "String 'old_text' not found in file",
                    "suggestion": "Read the file again and copy the text exactly, including spaces"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[("a.txt", "something else\n")],
        },
    ],
};

impl Tool for ReplaceStringInFile {
    type Args = Args;
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        if args.old_string.is_empty() {
            return Err(ToolError::new(ErrorKind::BadArgs, "`old_string` must not be empty"));
        }
        if args.old_string == args.new_string {
            let message = "`old_string` and `new_string` are identical, so nothing would change";
            return Err(ToolError::new(ErrorKind::BadArgs, message));
        }
        edit::preview(&*ctx.files, &args.path, &replacement(args), |text, miss| {
            missed(args, text, miss)
        })
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let word = |text: &str, miss: &Miss| missed(&args, text, miss);
        let (done, _) = edit::run(&*ctx.files, &args.path, &replacement(&args), word)?;
        let mut output = format!("Replaced 1 occurrence in {}", args.path);
        let mut warnings = Vec::new();
        if done.found > 1 {
            let warning = format!(
                "Warning: Found {} occurrences, replaced only the first at line {}",
                done.found,
                done.lines.first().copied().unwrap_or_default()
            );
            output = format!("{output}\n{warning}");
            warnings.push(warning);
        }
        let metadata = Metadata {
            occurrences_found: done.found,
            occurrences_replaced: done.count,
            lines_changed: done.lines,
            warnings,
        };
        Ok(TextReply { output, files_affected: vec![args.path], metadata: Some(metadata) })
    }
}

fn replacement(args: &Args) -> Replacement<'_> {
    Replacement { old: &args.old_string, new: &args.new_string, occurrences: Occurrences::First }
}

/// Returns the error for a string without a match, with the most similar text as its hint.
fn missed(args: &Args, text: &str, _: &Miss) -> ToolError {
    let shown = lines::cut(&args.old_string, 200);
    let dots = if shown.len() < args.old_string.len() { "…" } else { "" };
    let message = format!("String '{shown}{dots}' not found in file");
    let error = ToolError::new(ErrorKind::NoMatch, message).at(&args.path);
    match similar::passages(text, &args.old_string).first() {
        Some(near) => error.hint(format!(
            "the most similar text is at line {}: {}",
            near.line,
            lines::cut(&near.text, 400)
        )),
        None => error,
    }
}
