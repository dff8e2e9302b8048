//! `create_directory`: creates a directory and its missing parents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, EntryKind, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::text_reply::TextReply;

pub(crate) struct CreateDirectory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Relative path to directory to create
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    created_parents: Vec<String>,
}

/// The most created parents that a reply names.
const MOST_NAMED_PARENTS: usize = 100;

static DECLARATION: Declaration = Declaration {
    name: "create_directory",
    summary: "Create a directory structure (equivalent to mkdir -p). Returns: {success, output, \
              files_affected, execution_time_ms, metadata{created_parents}}",
    tier: Tier::Elevated,
    effect: Effect::Write,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Missing parents are created.",
            files: &[],
            before: &[],
            args: r#"{"path": "src/models"}"#,
            reply: r#"{"tool": "create_directory", "success": true,
                "output": "Created directory: src/models",
                "files_affected": ["src/models"], "execution_time_ms": 0,
                "metadata": {"created_parents": ["src"]}}"#,
            leaves: &[("src/models/", "")],
        },
        Example {
            about: "An existing directory is a success.",
            files: &[("src/", "")],
            before: &[],
            args: r#"{"path": "src"}"#,
            reply: r#"{"tool": "create_directory", "success": true,
                "output": "Directory already exists: src",
                "files_affected": [], "execution_time_ms": 0,
                "metadata": {"created_parents": []}}"#,
            leaves: &[("src/", "")],
        },
        Example {
            about: "A file with that name is an error.",
            files: &[("test.txt", "")],
            before: &[],
            args: r#"{"path": "test.txt"}"#,
            reply: r#"{"tool": "create_directory", "success": false,
                "output": "Error: Path 'test.txt' exists as a file, cannot create directory",
                "error": {"code": "path_is_file",
                    "message": "Path 'test.txt' exists as a file, cannot create directory",
                    "suggestion": "Choose another name, or a path whose parents are all directories"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[("test.txt", "")],
        },
    ],
};

impl Tool for CreateDirectory {
    type Args = Args;
    type Reply = TextReply<Metadata>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        match ctx.files.stat(&args.path) {
            Ok(meta) if meta.kind == EntryKind::Directory => Ok(Plan::default()),
            Ok(_) => {
                let message = format!("`{}` is a file", args.path);
                Err(ToolError::new(ErrorKind::NotDirectory, message).at(&args.path))
            }
            Err(err) if err.kind == ErrorKind::NotFound => {
                ctx.files.check_write(args.path.trim_end_matches('/'))?;
                Ok(Plan::edit(&args.path, None, None))
            }
            Err(err) => Err(err),
        }
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<Metadata>, ToolError> {
        let mut made = ctx.files.make_directory(&args.path)?;
        let is_made = made.pop().is_some();
        // A path can have thousands of directories, and nobody reads that many names.
        made.truncate(MOST_NAMED_PARENTS);
        if !is_made {
            return Ok(TextReply {
                output: format!("Directory already exists: {}", args.path),
                files_affected: Vec::new(),
                metadata: Some(Metadata { created_parents: Vec::new() }),
            });
        }
        Ok(TextReply {
            output: format!("Created directory: {}", args.path),
            files_affected: vec![args.path],
            metadata: Some(Metadata { created_parents: made }),
        })
    }
}
