//! How long a fetch may go on: its deadline, and the token that cancels it.

use std::thread;
use std::time::{Duration, Instant};

use toolcrib_core::{Cancel, ErrorKind, ToolError};

/// How long it waits before it checks whether it was cancelled.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The deadline of one fetch, and the token that cancels it.
#[derive(Clone, Debug)]
pub struct Patience {
    until: Instant,
    cancel: Cancel,
}

impl Patience {
    /// Returns the patience of a fetch that begins now.
    pub fn new(time: Duration, cancel: &Cancel) -> Self {
        let now = Instant::now();
        // A time that is too long for the clock is as good as a year.
        let until = now.checked_add(time).unwrap_or(now + Duration::from_hours(365 * 24));
        Self { until, cancel: cancel.clone() }
    }

    /// Returns the time that is left.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Whether the fetch was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Returns the token that cancels the fetch.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Whether the fetch must end now.
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.left().is_zero()
    }

    /// Whether something can still be done after a wait until then.
    pub fn reaches(&self, moment: Instant) -> bool {
        moment < self.until
    }

    /// Waits until then. Fails if the fetch was cancelled, or has no time for the wait.
    pub fn wait_until(&self, moment: Instant, host: &str) -> Result<(), ToolError> {
        loop {
            if self.is_over() {
                return Err(self.ended(host));
            }
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(POLL_INTERVAL).min(self.left()));
        }
    }

    /// Returns the error of a fetch that must end.
    pub fn ended(&self, host: &str) -> ToolError {
        if self.is_cancelled() {
            return ToolError::new(ErrorKind::Cancelled, "the call was cancelled");
        }
        ToolError::new(ErrorKind::Timeout, format!("`{host}` did not answer in time"))
            .with("reason", "deadline")
            .hint("try again later, or give it more time")
    }
}
