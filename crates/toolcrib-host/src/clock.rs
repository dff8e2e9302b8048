//! The clocks of the machine.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use toolcrib_core::{Clock, Usage};

use crate::usage;

/// The clock of the machine.
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn used(&self) -> Usage {
        usage::of_thread()
    }
}
