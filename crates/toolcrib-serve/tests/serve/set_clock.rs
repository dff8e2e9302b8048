//! A clock that tests set.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::{Clock, Usage};

/// The time of the tests, in seconds since 1970.
pub(crate) const NOW: i64 = 1_800_000_000;

/// A clock that tests set.
pub(crate) struct SetClock {
    pub(crate) now: AtomicI64,
    pub(crate) elapsed: AtomicU64,
}

impl Default for SetClock {
    fn default() -> Self {
        Self { now: AtomicI64::new(NOW), elapsed: AtomicU64::new(0) }
    }
}

impl SetClock {
    /// Lets the time of day go on.
    pub(crate) fn go_on(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.now.load(Ordering::SeqCst)).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.elapsed.load(Ordering::SeqCst))
    }

    fn used(&self) -> Usage {
        Usage::default()
    }
}
