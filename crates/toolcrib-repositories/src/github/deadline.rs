//! The time that a question to GitHub has.

use std::time::{Duration, Instant};

use toolcrib_core::{Cancel, ToolError};
use toolcrib_host::Patience;

/// The time that a question has, however many requests it takes, and the token that cancels it.
#[derive(Clone)]
pub(super) struct QuestionDeadline(Patience);

impl QuestionDeadline {
    pub(super) fn new(time: Duration, cancel: &Cancel) -> Self {
        Self(Patience::new(time, cancel))
    }

    pub(super) fn cancel(&self) -> &Cancel {
        self.0.cancel()
    }

    /// Returns the time that is left; fails if there is none, or if the call was cancelled.
    pub(super) fn left(&self, host: &str) -> Result<Duration, ToolError> {
        if self.0.is_over() { Err(self.ended(self.0.ended(host))) } else { Ok(self.0.left()) }
    }

    /// Whether something can still be done after a wait.
    pub(super) fn has_room_for(&self, wait: Duration) -> bool {
        Instant::now().checked_add(wait).is_some_and(|then| self.0.reaches(then))
    }

    /// Waits. Fails if the call is cancelled meanwhile.
    pub(super) fn wait(&self, wait: Duration, host: &str) -> Result<(), ToolError> {
        self.0.wait_until(Instant::now() + wait, host).map_err(|err| self.ended(err))
    }

    fn ended(&self, err: ToolError) -> ToolError {
        if self.0.is_cancelled() {
            return err;
        }
        err.hint("repeat the call; what was read by now is kept")
    }
}
