//! How a call is stopped: the times it is given, and the errors it ends with.

use std::time::Duration;

use toolcrib_core::{Effect, ErrorKind, ToolError};

/// How long cancelled work may take to stop before it is abandoned.
pub(super) const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// After this time, the buffered record of a call is written without waiting for the call to end.
pub(super) const FLUSH_AFTER: Duration = Duration::from_millis(20);

/// Returns the error of a call that reached its deadline.
pub(super) fn timeout(deadline: Duration) -> ToolError {
    let limit = deadline.as_millis() as u64;
    ToolError::new(ErrorKind::Timeout, format!("the call took longer than {limit} ms"))
        .with("limit_ms", limit)
}

/// Returns the error of a call that was cancelled.
pub(super) fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the call was cancelled")
}

/// Returns the error of a call that was told to stop, and stopped with an error of its own.
pub(super) fn stopped_with(stopped: ToolError, own: ToolError) -> ToolError {
    // The context of the tool's own error goes along.
    let mut stopped = stopped;
    stopped.context.extend(own.context);
    stopped
}

/// Returns the error of a call that was told to stop and did not.
pub(super) fn abandoned(stopped: ToolError, effect: Effect) -> ToolError {
    if effect != Effect::Write {
        return stopped;
    }
    stopped
        .with("outcome", "unknown")
        .hint("it may still take effect; look at the files before trying again")
}
