//! Running commands for tools: what comes back is bounded, and says what was left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{
    CommandRequest, End, Finished, OnTimeout, Ran, Shell, Stream, Strike,
};
use toolcrib_core::{Ctx, ErrorKind, ToolError};

use std::time::Duration;

/// Of each stream, at most this much comes back.
const KEEP: usize = 25_000;

/// What is left of a call's time when its command's is up.
const SPARE_MS: u64 = 500;

/// What is in a reply beside the two streams.
const OVERHEAD: usize = 2_000;

/// Puts an order together for a call.
pub(crate) fn request(ctx: &Ctx, shell: Shell, text: &str, seconds: u64) -> CommandRequest {
    CommandRequest {
        call: ctx.call.clone(),
        shell,
        text: text.to_owned(),
        directory: None,
        // Its own time is up before the call's, so that the answer is a command's and not a call's.
        time: Duration::from_secs(seconds)
            .min(Duration::from_millis(ctx.limits.deadline_ms.saturating_sub(SPARE_MS))),
        on_timeout: OnTimeout::Kill,
        keep: KEEP.min(room(ctx)),
        rest_hint: "read it with `toolcrib output {id}`",
        is_read_only: ctx.is_read_only,
    }
}

/// How many bytes of each stream have room in the reply.
fn room(ctx: &Ctx) -> usize {
    ctx.limits.output_bytes.saturating_sub(OVERHEAD).max(512) / 2
}

/// Runs an order to its end. A command whose time was up, or that was not wanted any more, is an error
/// that carries what it had printed.
pub(crate) fn run(ctx: &Ctx, request: &CommandRequest) -> Result<Finished, ToolError> {
    match ctx.commands.run(request, &ctx.cancel)? {
        Ran::Over(finished) => settle(ctx, request, *finished),
        Ran::Kept(_) => Err(ToolError::new(ErrorKind::Bug, "a command was kept against its order")),
    }
}

/// Counts what a command used, and makes an error of one that did not come to its end.
pub(crate) fn settle(
    ctx: &Ctx,
    request: &CommandRequest,
    finished: Finished,
) -> Result<Finished, ToolError> {
    ctx.meter.add(&finished.usage);
    ctx.meter.touch(finished.touched.clone());
    let (kind, message) = match finished.end {
        End::TimedOut => {
            let seconds = request.time.as_secs();
            (ErrorKind::Timeout, format!("Command timed out after {seconds} seconds"))
        }
        End::Killed => (ErrorKind::Cancelled, "the command was ended: its call was".to_owned()),
        End::Exited(_) | End::Signalled(_) | End::Limited => return Ok(finished),
    };
    let limit_ms = u64::try_from(request.time.as_millis()).unwrap_or(u64::MAX);
    Err(ToolError::new(kind, message)
        .hint("give it more time, or do less at once")
        .with("limit_ms", limit_ms)
        .with("stdout", finished.stdout.text)
        .with("stderr", finished.stderr.text))
}

/// Which output a caller wants to read.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Which {
    Stdout,
    Stderr,
}

impl Which {
    /// The stream that is meant: where results go, if nobody says.
    pub(crate) fn stream(which: Option<Self>) -> Stream {
        match which {
            Some(Self::Stderr) => Stream::Stderr,
            Some(Self::Stdout) | None => Stream::Stdout,
        }
    }
}

/// How many lines are read if nobody says.
pub(crate) const DEFAULT_LINES: u64 = 200;

/// A limit that struck, for programs.
#[derive(Serialize)]
pub(crate) struct Struck {
    name: &'static str,
    allowed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
    enforced_by: &'static str,
}

impl Struck {
    pub(crate) fn of(strike: Option<&Strike>) -> Option<Self> {
        strike.map(|strike| Self {
            name: strike.limit.as_str(),
            allowed: strike.allowed,
            used: strike.used,
            enforced_by: strike.by.as_str(),
        })
    }
}
