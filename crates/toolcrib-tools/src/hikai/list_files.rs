//! `list_files`: lists the files of one directory.

use globset::GlobBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Capped;
use toolcrib_core::{
    Ctx, Declaration, Effect, EntryKind, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::repository::{connection, join, plan_directory};

pub(crate) struct ListFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Directory to list (default: the repository's root)
    path: Option<String>,
    /// Glob that file names must match, such as `*.tsx`; case is ignored (default: all files)
    pattern: Option<String>,
    /// Maximum number of files to return (default: 50)
    limit: Option<Capped<1, 100>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    files: Vec<FileEntry>,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FileEntry {
    path: String,
    name: String,
    size: u64,
}

/// The most entries of one directory that are read.
const MAX_DIRECTORY_ENTRIES: usize = 100_000;

/// The most bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 1000;

static DECLARATION: Declaration = Declaration {
    name: "list_files",
    summary: "List the files of one directory of the connected repository, not recursively. \
              Returns: {files[{path, name, size}], truncated}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "List files that match a pattern.",
            files: &[
                ("apps/webapp/src/main.tsx", "render()\n"),
                ("apps/webapp/src/style.css", ""),
                ("apps/webapp/src/routes/index.tsx", ""),
            ],
            before: &[],
            args: r#"{"path": "apps/webapp/src", "pattern": "*.tsx", "limit": 50}"#,
            reply: r#"{"files": [{"path": "apps/webapp/src/main.tsx", "name": "main.tsx", "size": 9}],
                "truncated": false}"#,
            leaves: &[],
        },
        Example {
            about: "An invalid pattern is an error.",
            files: &[],
            before: &[],
            args: r#"{"pattern": "[a"}"#,
            reply: r#"{"error": "Invalid pattern '[a': unclosed character class; missing ']'"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for ListFiles {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        matcher(args)?;
        plan_directory(ctx, args.path.as_deref().unwrap_or("."))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let tree = &connection(ctx)?.files;
        let matcher = matcher(&args)?;
        let limit = args.limit.map_or(50, Capped::get) as usize;
        let base = args.path.as_deref().unwrap_or(".");
        let listing = tree.list(base, MAX_DIRECTORY_ENTRIES)?;
        let capped = args.limit.and_then(|limit| limit.warning("limit"));
        let warnings = capped.into_iter().chain(listing.denied_sentence()).collect();
        let is_wanted = |name: &str| matcher.as_ref().is_none_or(|glob| glob.is_match(name));
        let mut names = listing
            .entries
            .into_iter()
            .filter(|entry| entry.kind == EntryKind::File && is_wanted(&entry.name))
            .map(|entry| entry.name);
        let shown: Vec<String> = names.by_ref().take(limit).collect();
        let paths: Vec<String> = shown.iter().map(|name| join(base, name)).collect();
        let metas = tree.stat_each(&paths).into_iter();
        // A file that cannot be read is listed all the same.
        let sizes = metas.map(|meta| meta.map_or(0, |meta| meta.size));
        let named = paths.into_iter().zip(shown).zip(sizes);
        let files = named.map(|((path, name), size)| FileEntry { path, name, size }).collect();
        Ok(Reply { files, truncated: names.next().is_some(), warnings })
    }
}

/// Returns the compiled pattern, if the call has one.
fn matcher(args: &Args) -> Result<Option<globset::GlobMatcher>, ToolError> {
    let Some(pattern) = &args.pattern else { return Ok(None) };
    let refuse = |why: &dyn std::fmt::Display| {
        ToolError::new(ErrorKind::BadArgs, format!("Invalid pattern '{pattern}': {why}"))
    };
    if pattern.is_empty() {
        return Err(ToolError::new(ErrorKind::BadArgs, "`pattern` is empty")
            .hint("leave out `pattern` to list all files"));
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        let message = format!("`pattern` is longer than {MAX_PATTERN_BYTES} bytes");
        return Err(ToolError::new(ErrorKind::BadArgs, message));
    }
    let glob = GlobBuilder::new(pattern).case_insensitive(true).literal_separator(true).build();
    let glob = glob.map_err(|err| refuse(err.kind()))?;
    Ok(Some(glob.compile_matcher()))
}
