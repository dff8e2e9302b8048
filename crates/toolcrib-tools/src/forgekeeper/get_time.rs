//! `get_time`: returns the current time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Tier, Tool, ToolError};

pub(crate) struct GetTime;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    time: String,
    unix_ms: i64,
}

static DECLARATION: Declaration = Declaration {
    name: "get_time",
    summary: "Get current UTC timestamp. Returns: {ok, tool, result{time, unix_ms}, elapsed_ms}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Get the current time.",
            files: &[],
            before: &[],
            args: "{}",
            reply: r#"{"ok": true, "tool": "get_time", "result": {"time": "*", "unix_ms": "*"},
                "elapsed_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "The tool takes no arguments.",
            files: &[],
            before: &[],
            args: r#"{"zone": "UTC"}"#,
            reply: r#"{"ok": false, "error": "invalid_arguments",
                "message": "there is no argument `zone`; the tool takes none"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for GetTime {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    async fn run(&self, ctx: &Ctx, _: Args) -> Result<Reply, ToolError> {
        let now = ctx.clock.now();
        Ok(Reply { time: format!("{now:.3}"), unix_ms: now.as_millisecond() })
    }
}
