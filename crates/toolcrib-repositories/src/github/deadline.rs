//! The time that a question to GitHub has.

use std::thread;
use std::time::{Duration, Instant};

use toolcrib_core::{Cancel, ErrorKind, ToolError};

/// How long a wait goes on before it looks whether the call was cancelled.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The time that a question has, and the token that cancels it.
#[derive(Clone)]
pub(super) struct QuestionDeadline {
    until: Instant,
    pub(super) cancel: Cancel,
}

impl QuestionDeadline {
    pub(super) fn new(time: Duration, cancel: &Cancel) -> Self {
        let now = Instant::now();
        let until = now.checked_add(time).unwrap_or(now + Duration::from_hours(24));
        Self { until, cancel: cancel.clone() }
    }

    /// Returns the time that is left; fails if there is none, or if the call was cancelled.
    pub(super) fn left(&self, host: &str) -> Result<Duration, ToolError> {
        self.cancel.check()?;
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let message = format!("`{host}` did not answer in time");
            return Err(ToolError::new(ErrorKind::Timeout, message)
                .hint("repeat the call; what was read by now is kept"));
        }
        Ok(left)
    }

    /// Whether something can still be done after a wait.
    pub(super) fn has_room_for(&self, wait: Duration) -> bool {
        Instant::now().checked_add(wait).is_some_and(|then| then < self.until)
    }

    /// Waits. Fails if the call is cancelled meanwhile.
    pub(super) fn wait(&self, wait: Duration, host: &str) -> Result<(), ToolError> {
        let then = Instant::now() + wait;
        loop {
            let left = self.left(host)?;
            let rest = then.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            thread::sleep(rest.min(left).min(LOOK_INTERVAL));
        }
    }
}
