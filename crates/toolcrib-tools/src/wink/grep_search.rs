//! `grep_search`: finds lines that contain a text or match a regular expression.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Within;
use toolcrib_core::search::{Grep, Page, Pattern, Scope, Want};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError, counted,
};

use crate::operation::found::{hidden, out_of_time};
use crate::operation::text_reply::TextReply;

pub(crate) struct GrepSearch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Text or regex pattern to search for
    pattern: String,
    /// Whether pattern is regex (default: false)
    #[serde(default = "default_is_regex")]
    is_regex: Option<bool>,
    /// Glob pattern to limit files searched (default: all files)
    file_pattern: Option<String>,
    /// Maximum number of results to return (default: 100)
    #[serde(default = "default_results")]
    max_results: Option<Within<1, 1000>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    total_matches: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_is_at_least: Option<bool>,
    files_searched: u64,
    pattern: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The number of results when the call sets none.
const DEFAULT_RESULTS: u64 = 100;

/// The bytes of a reply that are not matched text.
const REPLY_OVERHEAD_BYTES: usize = 64 << 10;

static DECLARATION: Declaration = Declaration {
    name: "grep_search",
    summary: "Search file contents for text or regex pattern. It skips binary files, hidden files and files \
              that .gitignore excludes. Returns: {success, output, files_affected, \
              execution_time_ms, metadata{total_matches, total_is_at_least?, files_searched, pattern, \
              warnings?}}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { deadline_ms: 40_000, output_bytes: 4 << 20 },
    examples: &[
        Example {
            about: "Search for a literal text.",
            files: &[("app.py", "import os\n# TODO: (implement\n"), ("b.py", "todo\n")],
            before: &[],
            args: r#"{"pattern": "TODO: (impl"}"#,
            reply: r#"{"tool": "grep_search", "success": true,
                "output": "Found 1 match for 'TODO: (impl':\n  app.py:2: # TODO: (implement\n",
                "files_affected": [], "execution_time_ms": 0,
                "metadata": {"total_matches": 1, "files_searched": 2, "pattern": "TODO: (impl"}}"#,
            leaves: &[],
        },
        Example {
            about: "An invalid regex is an error.",
            files: &[],
            before: &[],
            args: r#"{"pattern": "(a", "is_regex": true}"#,
            reply: r#"{"tool": "grep_search", "success": false,
                "output": "Error: Invalid regex pattern: unclosed group",
                "error": {"code": "invalid_regex",
                    "message": "Invalid regex pattern: unclosed group", "suggestion": "*"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
    ],
};

impl Tool for GrepSearch {
    type Args = Args;
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        if args.pattern.is_empty() {
            return Err(ToolError::new(ErrorKind::BadArgs, "`pattern` is empty")
                .hint("give the text to search for"));
        }
        let ask = ask(ctx, args);
        ctx.search.check(Some(&ask.pattern), &ask.scope)?;
        Ok(Plan::search(None, args.file_pattern.as_deref()))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let ask = ask(ctx, &args);
        let found = ctx.search.grep(&ask, &ctx.cancel)?;
        let at_least = if found.is_lower_bound { "at least " } else { "" };
        let total = format!("{at_least}{}", counted(found.lines, "match"));
        let mut output = format!("Found {total} for '{}':\n", args.pattern);
        for file in &found.files {
            for line in &file.lines {
                let _ = writeln!(output, "  {}:{}: {}", file.path, line.number, line.text);
            }
        }
        let mut warnings = Vec::new();
        if found.is_cut {
            let shown = found.returned;
            warnings.push(format!("Warning: Found {total}, showing first {shown}"));
        }
        if found.is_partial {
            warnings.push(out_of_time(ask.time));
        }
        let skipped = hidden(args.file_pattern.as_deref(), None).filter(|_| found.files.is_empty());
        let sentences = found.skipped.sentences().chain(skipped);
        warnings.extend(sentences.map(|sentence| format!("Warning: {sentence}")));
        for warning in &warnings {
            let _ = writeln!(output, "{warning}");
        }
        let metadata = Metadata {
            total_matches: found.lines,
            total_is_at_least: found.is_lower_bound.then_some(true),
            files_searched: found.files_searched,
            pattern: args.pattern,
            warnings,
        };
        Ok(TextReply { output, files_affected: Vec::new(), metadata: Some(metadata) })
    }
}

#[expect(clippy::unnecessary_wraps, reason = "serde wants the field's type")]
fn default_is_regex() -> Option<bool> {
    Some(false)
}

fn default_results() -> Option<Within<1, 1000>> {
    Within::of(DEFAULT_RESULTS)
}

/// Returns the search that the arguments describe.
fn ask(ctx: &Ctx, args: &Args) -> Grep {
    Grep {
        pattern: Pattern {
            text: args.pattern.clone(),
            is_literal: !args.is_regex.unwrap_or(false),
            ignores_case: false,
        },
        scope: Scope { glob: args.file_pattern.clone(), ..Scope::default() },
        want: Want::Lines { before: 0, after: 0 },
        page: Page {
            skip: 0,
            most: args.max_results.map_or(DEFAULT_RESULTS, Within::get) as usize,
            most_bytes: DECLARATION.limits.output_bytes - REPLY_OVERHEAD_BYTES,
        },
        count_limit: ctx.settings.search_count_limit,
        counts_files: true,
        time: ctx.settings.search_time,
    }
}
