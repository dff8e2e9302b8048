//! Runs commands for tools. The output in a reply is bounded, and says what was cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{
    CommandRequest, End, Finished, OnTimeout, Ran, Shell, Stream, Strike,
};
use toolcrib_core::{Ctx, ErrorKind, ToolError, counted};

use std::time::Duration;

/// The most bytes of each stream in a reply.
const MOST_STREAM_BYTES: usize = 25_000;

/// The bytes of a reply that belong to neither stream.
const REPLY_OVERHEAD_BYTES: usize = 2_000;

/// Returns the request for a call's command.
pub(crate) fn request(ctx: &Ctx, shell: Shell, text: &str, seconds: u64) -> CommandRequest {
    CommandRequest {
        call: ctx.call.clone(),
        shell,
        text: text.to_owned(),
        directory: None,
        time: Duration::from_secs(seconds).min(most_time(ctx)),
        on_timeout: OnTimeout::Kill,
        keep: MOST_STREAM_BYTES.min(stream_room(ctx)),
        rest_hint: "read it with `toolcrib output {id}`",
        is_read_only: ctx.terms.is_read_only,
    }
}

/// Returns the most time that the operator gives a command of this tool.
fn most_time(ctx: &Ctx) -> Duration {
    Duration::from_millis(ctx.terms.limits.deadline_ms)
}

/// Returns how many bytes of each stream fit into the reply.
fn stream_room(ctx: &Ctx) -> usize {
    ctx.terms.limits.output_bytes.saturating_sub(REPLY_OVERHEAD_BYTES).max(512) / 2
}

/// Runs a command to its end. A command that timed out or was cancelled is an error with its output
/// so far.
pub(crate) fn run(ctx: &Ctx, request: &CommandRequest) -> Result<Finished, ToolError> {
    match ctx.commands.run(request, &ctx.cancel)? {
        Ran::Over(finished) => finish(ctx, request, *finished),
        Ran::Kept(_) => Err(ToolError::new(
            ErrorKind::Bug,
            "a command was detached although its request said to kill it",
        )),
    }
}

/// Adds what a command used to its call, and returns an error for a command that did not end by
/// itself.
pub(crate) fn finish(
    ctx: &Ctx,
    request: &CommandRequest,
    finished: Finished,
) -> Result<Finished, ToolError> {
    ctx.meter.add(&finished.usage);
    ctx.meter.touch(finished.touched.clone());
    ctx.meter.set_network(finished.network.clone());
    ctx.meter.set_command_end(finished.end);
    let (kind, message) = match finished.end {
        End::TimedOut => {
            let time = match request.time.subsec_millis() {
                0 => counted(request.time.as_secs(), "second"),
                _ => format!("{} ms", request.time.as_millis()),
            };
            (ErrorKind::Timeout, format!("Command timed out after {time}"))
        }
        End::Killed => (
            ErrorKind::Cancelled,
            "the command was killed because its call was cancelled".to_owned(),
        ),
        End::Exited(_) | End::Signalled(_) | End::Limited => return Ok(finished),
    };
    let limit_ms = u64::try_from(request.time.as_millis()).unwrap_or(u64::MAX);
    let hint = if request.time == most_time(ctx) {
        "the operator's settings give a command no more time; split the work into smaller commands"
    } else {
        "raise the timeout, or split the work into smaller commands"
    };
    Err(ToolError::new(kind, message)
        .hint(hint)
        .with("limit_ms", limit_ms)
        .with("stdout", finished.stdout.text)
        .with("stderr", finished.stderr.text))
}

/// The stream that a caller wants to read.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StreamChoice {
    Stdout,
    Stderr,
}

impl StreamChoice {
    /// Returns the chosen stream, which is stdout by default.
    pub(crate) fn stream(choice: Option<Self>) -> Stream {
        match choice {
            Some(Self::Stderr) => Stream::Stderr,
            Some(Self::Stdout) | None => Stream::Stdout,
        }
    }
}

/// The number of saved output lines that are read by default.
pub(crate) const DEFAULT_OUTPUT_LINES: u64 = 200;

/// A limit that ended or throttled a command, in a reply.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StruckLimit {
    name: &'static str,
    allowed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
    enforced_by: &'static str,
}

impl StruckLimit {
    pub(crate) fn of(strike: Option<&Strike>) -> Option<Self> {
        strike.map(|strike| Self {
            name: strike.limit.as_str(),
            allowed: strike.allowed,
            used: strike.used,
            enforced_by: strike.by.as_str(),
        })
    }
}
