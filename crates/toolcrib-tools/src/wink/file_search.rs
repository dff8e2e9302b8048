//! `file_search`: finds files whose path matches a glob.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::search::{Glob, Page, Scope, Sort};
use toolcrib_core::{
    Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError, counted,
};

use crate::operation::found::hidden;
use crate::operation::text_reply::TextReply;

pub(crate) struct FileSearch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Glob pattern (e.g., '**/*.py', 'src/**/*.go')
    pattern: String,
    /// Base directory to search from (default: current directory)
    #[serde(default = "crate::operation::directory::current")]
    base_path: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    matches: usize,
    pattern: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The most files that a reply lists.
const MOST_LISTED_FILES: usize = 1000;

/// How many levels deep files are found.
const MOST_DEPTH: usize = 20;

static DECLARATION: Declaration = Declaration {
    name: "file_search",
    summary: "Search for files matching a glob pattern, at most 20 levels deep. It skips hidden files and \
              files that .gitignore excludes. Returns: {success, output, files_affected, \
              execution_time_ms, metadata{matches, pattern, warnings?}}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { output_bytes: 4 << 20, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Find all Go files.",
            files: &[("cmd/main.go", ""), ("internal/agent.go", ""), ("README.md", "")],
            before: &[],
            args: r#"{"pattern": "**/*.go"}"#,
            reply: r#"{"tool": "file_search", "success": true,
                "output": "Found 2 files matching '**/*.go':\n  cmd/main.go\n  internal/agent.go\n",
                "files_affected": [], "execution_time_ms": 0,
                "metadata": {"matches": 2, "pattern": "**/*.go"}}"#,
            leaves: &[],
        },
        Example {
            about: "An invalid pattern is an error.",
            files: &[],
            before: &[],
            args: r#"{"pattern": "**/*[.go"}"#,
            reply: r#"{"tool": "file_search", "success": false,
                "output": "Error: Invalid glob pattern '**/*[.go'",
                "error": {"code": "invalid_glob", "message": "Invalid glob pattern '**/*[.go'",
                    "suggestion": "*"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
    ],
};

impl Tool for FileSearch {
    type Args = Args;
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        ctx.search.check(None, &scope(args))?;
        Ok(Plan::search(args.base_path.as_deref(), Some(&args.pattern)))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let page = Page { most: MOST_LISTED_FILES, ..Page::ALL };
        let ask = Glob { scope: scope(&args), sort: Sort::Name, page };
        let names = ctx.search.glob(&ask, &ctx.cancel)?;
        let mut output =
            format!("Found {} matching '{}':\n", counted(names.total as u64, "file"), args.pattern);
        for path in &names.paths {
            let _ = writeln!(output, "  {path}");
        }
        let mut warnings = Vec::new();
        if names.is_cut {
            let warning = format!(
                "Warning: Found {} matches, showing first {MOST_LISTED_FILES}",
                names.total
            );
            let _ = writeln!(output, "{warning}");
            warnings.push(warning);
        }
        let skipped = hidden(Some(&args.pattern), Some("base_path")).filter(|_| names.total == 0);
        for sentence in names.denied_sentence().into_iter().chain(skipped) {
            let warning = format!("Warning: {sentence}");
            let _ = writeln!(output, "{warning}");
            warnings.push(warning);
        }
        let metadata = Metadata { matches: names.total, pattern: args.pattern, warnings };
        Ok(TextReply { output, files_affected: Vec::new(), metadata: Some(metadata) })
    }
}

fn scope(args: &Args) -> Scope {
    Scope {
        directory: args.base_path.clone(),
        glob: Some(args.pattern.clone()),
        depth: Some(MOST_DEPTH),
        ..Scope::default()
    }
}
