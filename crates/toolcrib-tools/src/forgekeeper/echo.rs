//! `echo`: returns its argument.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Tier, Tool, ToolError};

pub(crate) struct Echo;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Text to echo back
    text: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    text: String,
}

static DECLARATION: Declaration = Declaration {
    name: "echo",
    summary: "Echo text back. Returns: {ok, tool, result{text}, elapsed_ms}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "The text comes back unchanged.",
            files: &[],
            before: &[],
            args: r#"{"text": "héllo"}"#,
            reply: r#"{"ok": true, "tool": "echo", "result": {"text": "héllo"}, "elapsed_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "The text is required.",
            files: &[],
            before: &[],
            args: "{}",
            reply: r#"{"ok": false, "error": "invalid_arguments", "message": "`text` is missing"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for Echo {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    async fn run(&self, _: &Ctx, args: Args) -> Result<Reply, ToolError> {
        Ok(Reply { text: args.text })
    }
}
