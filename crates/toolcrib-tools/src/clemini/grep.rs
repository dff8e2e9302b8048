//! `grep`: finds lines that match a regular expression.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::{Capped, Within};
use toolcrib_core::search::{Found, Grep as Ask, Page, Pattern, Scope, Want};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::found::{hidden, out_of_time};

pub(crate) struct Grep;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Regex pattern (e.g., `fn\s+\w+`, `TODO|FIXME`)
    pattern: String,
    /// Search directory. (default: cwd)
    directory: Option<String>,
    /// File glob filter; a glob without a slash matches file names at any depth. (default: `**/*`)
    file_pattern: Option<String>,
    /// File type filter: a type name of ripgrep, or a file extension (`rs`, `ts`, `py`, etc.); includes files with
    /// hidden names
    #[serde(rename = "type")]
    kind: Option<String>,
    /// `content`, `files_with_matches`, `count`. (default: content)
    output_mode: Option<OutputMode>,
    /// Ignore case. (default: false)
    case_insensitive: Option<bool>,
    /// Lines of context around matches. (default: 0)
    context: Option<Capped<0, 1000>>,
    /// Lines before match. (default: context)
    before_context: Option<Capped<0, 1000>>,
    /// Lines after match. (default: context)
    after_context: Option<Capped<0, 1000>>,
    /// Max results. (default: no limit)
    head_limit: Option<Within<1, 1_000_000_000>>,
    /// Skip first N results. (default: 0)
    offset: Option<Within<0, 1_000_000_000>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    Content,
    FilesWithMatches,
    Count,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    matches: Vec<Match>,
    count: usize,
    total_found: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_is_at_least: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Match {
    Line {
        file: String,
        line: u64,
        content: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<Vec<String>>,
    },
    File(String),
    Count {
        file: String,
        count: u64,
    },
}

/// The bytes of a reply that are not matched text.
const REPLY_OVERHEAD_BYTES: usize = 4 << 10;

static DECLARATION: Declaration = Declaration {
    name: "grep",
    summary: "Search file contents with regex. Like ripgrep, it skips binary files, hidden files and files \
              that .gitignore excludes. Returns: {matches[], count, total_found, \
              total_is_at_least?, truncated?, warnings?}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { deadline_ms: 40_000, output_bytes: 512 << 10 },
    examples: &[
        Example {
            about: "Search for function definitions in Rust files.",
            files: &[("src/main.rs", "// main\nfn main() {\n}\n"), ("src/main.py", "fn x\n")],
            before: &[],
            args: r#"{"pattern": "fn\\s+\\w+", "type": "rs", "output_mode": "content"}"#,
            reply: r#"{"matches": [{"file": "src/main.rs", "line": 2, "content": "fn main() {"}],
                "count": 1, "total_found": 1}"#,
            leaves: &[],
        },
        Example {
            about: "Find files containing \"TODO\" (file list only).",
            files: &[("src/lib.rs", "// TODO\n"), ("src/tools/bash.rs", "TODO\nTODO\n"), ("a", "")],
            before: &[],
            args: r#"{"pattern": "TODO", "output_mode": "files_with_matches"}"#,
            reply: r#"{"matches": ["src/lib.rs", "src/tools/bash.rs"], "count": 2, "total_found": 2}"#,
            leaves: &[],
        },
        Example {
            about: "Case-insensitive search with context.",
            files: &[("src/main.rs", "line 1\nline 2\nAn Error\nline 4\nline 5\nline 6\n")],
            before: &[],
            args: r#"{"pattern": "error", "case_insensitive": true, "context": 2}"#,
            reply: r#"{"matches": [{"file": "src/main.rs", "line": 3, "content": "An Error",
                "before": ["line 1", "line 2"], "after": ["line 4", "line 5"]}],
                "count": 1, "total_found": 1}"#,
            leaves: &[],
        },
        Example {
            about: "Count matches per file, with a limit on the results.",
            files: &[("a.rs", "x.unwrap()\nx.unwrap()\n"), ("b.rs", "y.unwrap()\n"), ("c.py", "")],
            before: &[],
            args: r#"{"pattern": "unwrap\\(\\)", "type": "rs", "output_mode": "count", "head_limit": 1}"#,
            reply: r#"{"matches": [{"file": "a.rs", "count": 2}], "count": 1, "total_found": 3,
                "truncated": true}"#,
            leaves: &[],
        },
        Example {
            about: "No matches return an empty list.",
            files: &[("src/components/a.tsx", "import x\n"), ("src/b.tsx", "export\n")],
            before: &[],
            args: r#"{"pattern": "export", "directory": "src/components", "file_pattern": "*.tsx"}"#,
            reply: r#"{"matches": [], "count": 0, "total_found": 0}"#,
            leaves: &[],
        },
        Example {
            about: "An invalid pattern is an error that shows where, and how to search for the literal text.",
            files: &[],
            before: &[],
            args: r#"{"pattern": "main("}"#,
            reply: r#"{"error": "Invalid regex pattern: unclosed group",
                "error_code": "INVALID_ARGUMENT", "context": {"position": 5, "hint":
                "the error is at character 5, `(`; to search for this text literally, use `main\\(`"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for Grep {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let ask = ask(ctx, args)?;
        ctx.search.check(Some(&ask.pattern), &ask.scope)?;
        Ok(Plan::search(args.directory.as_deref(), args.file_pattern.as_deref()))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let ask = ask(ctx, &args)?;
        let found = ctx.search.grep(&ask, &ctx.cancel)?;
        let mut reply = reply(found, &ask);
        reply.warnings.extend(args.warnings());
        if reply.matches.is_empty() {
            reply.warnings.extend(hidden(args.file_pattern.as_deref(), Some("directory")));
        }
        Ok(reply)
    }
}

impl Args {
    /// Returns the warnings about numbers that were capped.
    fn warnings(&self) -> impl Iterator<Item = String> {
        let all = [
            ("context", self.context),
            ("before_context", self.before_context),
            ("after_context", self.after_context),
        ];
        all.into_iter().filter_map(|(name, number)| number?.warning(name))
    }
}

/// Returns the search that the arguments describe.
fn ask(ctx: &Ctx, args: &Args) -> Result<Ask, ToolError> {
    if args.pattern.is_empty() {
        return Err(ToolError::new(ErrorKind::BadArgs, "`pattern` is empty")
            .hint("give a regex; `.` matches every non-empty line"));
    }
    let context = args.context.map_or(0, Capped::get);
    let want = match args.output_mode.unwrap_or(OutputMode::Content) {
        OutputMode::Content => Want::Lines {
            before: args.before_context.map_or(context, Capped::get) as usize,
            after: args.after_context.map_or(context, Capped::get) as usize,
        },
        OutputMode::FilesWithMatches => Want::Files,
        OutputMode::Count => Want::Counts,
    };
    Ok(Ask {
        pattern: Pattern {
            text: args.pattern.clone(),
            is_literal: false,
            ignores_case: args.case_insensitive.unwrap_or(false),
        },
        scope: Scope {
            directory: args.directory.clone(),
            glob: args.file_pattern.clone().filter(|glob| glob != "**/*"),
            kind: args.kind.clone(),
            ..Scope::default()
        },
        want,
        page: Page {
            skip: args.offset.map_or(0, Within::get) as usize,
            most: args.head_limit.map_or(usize::MAX, |limit| limit.get() as usize),
            most_bytes: DECLARATION.limits.output_bytes - REPLY_OVERHEAD_BYTES,
        },
        count_limit: ctx.settings.search_count_limit,
        counts_files: false,
        time: ctx.settings.search_time,
    })
}

fn reply(found: Found, ask: &Ask) -> Reply {
    let total_found = if ask.want == Want::Files { found.files_matched } else { found.lines };
    let mut warnings: Vec<String> = found.skipped.sentences().collect();
    if found.is_partial {
        warnings.push(out_of_time(ask.time));
    }
    let mut matches = Vec::with_capacity(found.returned);
    for file in found.files {
        match ask.want {
            Want::Files => matches.push(Match::File(file.path)),
            Want::Counts => matches.push(Match::Count { file: file.path, count: file.count }),
            Want::Lines { before, after } => {
                let path = file.path;
                matches.extend(file.lines.into_iter().map(|line| Match::Line {
                    file: path.clone(),
                    line: line.number,
                    content: line.text,
                    before: (before > 0).then_some(line.before),
                    after: (after > 0).then_some(line.after),
                }));
            }
        }
    }
    let truncated = (found.is_cut || found.is_partial).then_some(true);
    let total_is_at_least = found.is_lower_bound.then_some(true);
    Reply { count: matches.len(), matches, total_found, total_is_at_least, truncated, warnings }
}
