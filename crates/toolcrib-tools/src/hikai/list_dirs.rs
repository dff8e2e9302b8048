//! `list_dirs`: lists the directories below a path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Capped;
use toolcrib_core::{
    Ctx, Declaration, Effect, EntryKind, Example, Limits, Listing, Plan, Tier, Tool, ToolError,
};

use crate::operation::repository::{connection, join, plan_directory};

pub(crate) struct ListDirs;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Directory to start from (default: the repository's root)
    path: Option<String>,
    /// How many levels deep to list (default: 2)
    depth: Option<Capped<1, 3>>,
    /// Maximum number of directories to return (default: 50)
    limit: Option<Capped<1, 100>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    dirs: Vec<DirEntry>,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DirEntry {
    path: String,
    depth: u64,
}

/// The most entries of one directory that are read.
const MAX_DIRECTORY_ENTRIES: usize = 100_000;

static DECLARATION: Declaration = Declaration {
    name: "list_dirs",
    summary: "List the directories below a path of the connected repository, level by \
              level. Returns: {dirs[{path, depth}], truncated}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "List two levels.",
            files: &[
                ("apps/webapp/src/domains/", ""),
                ("apps/webapp/src/routes/", ""),
                ("apps/webapp/src/main.tsx", ""),
            ],
            before: &[],
            args: r#"{"path": "apps/webapp/src", "depth": 2, "limit": 50}"#,
            reply: r#"{"dirs": [{"path": "apps/webapp/src/domains", "depth": 1},
                {"path": "apps/webapp/src/routes", "depth": 1}], "truncated": false}"#,
            leaves: &[],
        },
        Example {
            about: "Upper levels come first, and `truncated` says that the limit left some out.",
            files: &[("a/b/c/", ""), ("d/", "")],
            before: &[],
            args: r#"{"limit": 2}"#,
            reply: r#"{"dirs": [{"path": "a", "depth": 1}, {"path": "d", "depth": 1}],
                "truncated": true}"#,
            leaves: &[],
        },
        Example {
            about: "A depth beyond 3 is 3, with a warning.",
            files: &[("a/b/c/d/", "")],
            before: &[],
            args: r#"{"path": "a", "depth": 9}"#,
            reply: r#"{"dirs": [{"path": "a/b", "depth": 1}, {"path": "a/b/c", "depth": 2},
                {"path": "a/b/c/d", "depth": 3}], "truncated": false,
                "warnings": ["`depth` can be 3 at most, so 3 was used, not 9"]}"#,
            leaves: &[],
        },
        Example {
            about: "A missing path is an error.",
            files: &[],
            before: &[],
            args: r#"{"path": "nowhere"}"#,
            reply: r#"{"error": "Path not found: nowhere"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for ListDirs {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        plan_directory(ctx, args.path.as_deref().unwrap_or("."))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let tree = &connection(ctx)?.files;
        let depth = args.depth.map_or(2, Capped::get);
        let limit = args.limit.map_or(50, Capped::get) as usize;
        let capped = [
            args.depth.and_then(|depth| depth.warning("depth")),
            args.limit.and_then(|limit| limit.warning("limit")),
        ];
        let warnings = |all: &Listing| -> Vec<String> {
            capped.iter().flatten().cloned().chain(all.denied_sentence()).collect()
        };
        let mut level = vec![args.path.unwrap_or_else(|| ".".to_owned())];
        let mut dirs: Vec<DirEntry> = Vec::new();
        let mut all = Listing::default();
        for depth in 1..=depth {
            let mut next = Vec::new();
            for base in &level {
                let listing = match tree.list(base, MAX_DIRECTORY_ENTRIES) {
                    Ok(listing) => listing,
                    // Only the requested directory must be readable. Directories below it are listed
                    // even if they cannot be opened.
                    Err(err) if depth == 1 => return Err(err),
                    Err(_) => continue,
                };
                all.denied += listing.denied;
                let below = listing.entries.iter().filter(|it| it.kind == EntryKind::Directory);
                // `.git` holds git's own files, not the project's.
                for entry in below.filter(|entry| entry.name != ".git") {
                    if dirs.len() == limit {
                        return Ok(Reply { dirs, truncated: true, warnings: warnings(&all) });
                    }
                    let path = join(base, &entry.name);
                    next.push(path.clone());
                    dirs.push(DirEntry { path, depth });
                }
            }
            level = next;
        }
        Ok(Reply { dirs, truncated: false, warnings: warnings(&all) })
    }
}
