//! `glob`: finds files whose path matches a pattern.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Within;
use toolcrib_core::search::{Glob as Ask, Page, Scope, Sort};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::found::hidden;

pub(crate) struct Glob;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Glob pattern (e.g., `**/*.rs`, `src/*.ts`)
    pattern: String,
    /// Search directory. (default: cwd)
    directory: Option<String>,
    /// Sort order: `name`, `modified` (latest first), or `size` (largest first). (default: name)
    sort: Option<GlobSort>,
    /// Max results. (default: no limit)
    head_limit: Option<Within<1, 1_000_000_000>>,
    /// Skip first N results. (default: 0)
    offset: Option<Within<0, 1_000_000_000>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GlobSort {
    Name,
    Modified,
    Size,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    matches: Vec<String>,
    count: usize,
    total_found: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The bytes of a reply that are not paths.
const REPLY_OVERHEAD_BYTES: usize = 4 << 10;

static DECLARATION: Declaration = Declaration {
    name: "glob",
    summary: "Find files matching a pattern. Like ripgrep, it skips hidden files and files that .gitignore \
              excludes. Returns: {matches[], count, total_found, truncated, warnings?}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { output_bytes: 512 << 10, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Find all Rust files.",
            files: &[
                ("src/main.rs", ""),
                ("src/lib.rs", ""),
                ("src/tools/mod.rs", ""),
                ("a.md", ""),
            ],
            before: &[],
            args: r#"{"pattern": "**/*.rs"}"#,
            reply: r#"{"matches": ["src/lib.rs", "src/main.rs", "src/tools/mod.rs"], "count": 3,
                "total_found": 3, "truncated": false}"#,
            leaves: &[],
        },
        Example {
            about: "Find in a specific directory, sorted by size.",
            files: &[("docs/A.md", "a"), ("docs/B.md", "bb"), ("docs/sub/C.md", ""), ("D.md", "")],
            before: &[],
            args: r#"{"pattern": "*.md", "directory": "docs", "sort": "size"}"#,
            reply: r#"{"matches": ["docs/B.md", "docs/A.md"], "count": 2, "total_found": 2,
                "truncated": false}"#,
            leaves: &[],
        },
        Example {
            about: "Paginated results.",
            files: &[("a.ts", ""), ("b.ts", ""), ("c.ts", "")],
            before: &[],
            args: r#"{"pattern": "**/*.ts", "head_limit": 1, "offset": 1}"#,
            reply: r#"{"matches": ["b.ts"], "count": 1, "total_found": 3, "truncated": true}"#,
            leaves: &[],
        },
        Example {
            about: "No matches return an empty list.",
            files: &[("a.ts", "")],
            before: &[],
            args: r#"{"pattern": "**/*.xyz"}"#,
            reply: r#"{"matches": [], "count": 0, "total_found": 0, "truncated": false}"#,
            leaves: &[],
        },
        Example {
            about: "An invalid pattern is an error.",
            files: &[],
            before: &[],
            args: r#"{"pattern": "src/{a,b"}"#,
            reply: r#"{"error": "Invalid glob pattern 'src/{a,b'", "error_code": "INVALID_ARGUMENT",
                "context": {"position": 5, "hint": "*"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for Glob {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        ctx.search.check(None, &scope(args))?;
        Ok(Plan::search(args.directory.as_deref(), Some(&args.pattern)))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let ask = Ask {
            scope: scope(&args),
            sort: match args.sort {
                None | Some(GlobSort::Name) => Sort::Name,
                Some(GlobSort::Modified) => Sort::Modified,
                Some(GlobSort::Size) => Sort::Size,
            },
            page: Page {
                skip: args.offset.map_or(0, Within::get) as usize,
                most: args.head_limit.map_or(usize::MAX, |limit| limit.get() as usize),
                most_bytes: DECLARATION.limits.output_bytes - REPLY_OVERHEAD_BYTES,
            },
        };
        let names = ctx.search.glob(&ask, &ctx.cancel)?;
        let skipped = hidden(Some(&args.pattern), Some("directory")).filter(|_| names.total == 0);
        Ok(Reply {
            warnings: names.denied_sentence().into_iter().chain(skipped).collect(),
            count: names.paths.len(),
            matches: names.paths,
            total_found: names.total,
            truncated: names.is_cut,
        })
    }
}

fn scope(args: &Args) -> Scope {
    Scope {
        directory: args.directory.clone(),
        glob: Some(args.pattern.clone()),
        ..Scope::default()
    }
}
