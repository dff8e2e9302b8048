//! `read_file`: reads a file of the connected repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::repository::connection;
use crate::operation::{check, text};

pub(crate) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File to read, relative to the repository's root
    path: String,
}

#[derive(Serialize)]
pub(crate) struct Reply {
    path: String,
    content: String,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
}

/// The most bytes of a file in one reply.
const MOST_CONTENT_BYTES: u64 = 100 << 10;

static DECLARATION: Declaration = Declaration {
    name: "read_file",
    summary: "Read a file of the connected repository. Content beyond 100 KB is cut. Returns: \
              {path, content, size, truncated?}",
    tier: Tier::Standard,
    effect: Effect::Read,
    // JSON can escape every byte of the content as six.
    limits: Limits { output_bytes: 1 << 20, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "Read a file.",
            files: &[("src/components/button.tsx", "export function Button() { ... }")],
            before: &[],
            args: r#"{"path": "src/components/button.tsx"}"#,
            reply: r#"{"path": "src/components/button.tsx",
                "content": "export function Button() { ... }", "size": 32}"#,
            leaves: &[],
        },
        Example {
            about: "A path outside the repository is refused.",
            files: &[],
            before: &[],
            args: r#"{"path": "../secret"}"#,
            reply: r#"{"error": "Path is outside the repository: ../secret"}"#,
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
        check::file(&*connection(ctx)?.files, &args.path)
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let file = text::read(&*connection(ctx)?.files, &args.path, MOST_CONTENT_BYTES)?;
        Ok(Reply {
            path: args.path,
            content: file.text,
            size: file.size,
            truncated: file.is_cut.then_some(true),
        })
    }
}
