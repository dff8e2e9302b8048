//! How long a session of the page lasts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use toolcrib_core::Clock;

/// How long a session lasts without a request, in seconds.
const LONGEST_IDLE_SECONDS: i64 = 12 * 60 * 60;

/// How long a session lasts at most, in seconds.
const LONGEST_SESSION_SECONDS: i64 = 7 * 24 * 60 * 60;

/// The life of a session, for what outlasts the check of a request.
pub(crate) struct SessionLife {
    clock: Arc<dyn Clock>,
    /// The second in which the session ends, however much it is used.
    ends_at: i64,
    /// The second of the last use.
    used_at: AtomicI64,
    /// Whether somebody ended it.
    has_ended: AtomicBool,
}

impl SessionLife {
    pub(crate) fn begin(clock: Arc<dyn Clock>) -> Self {
        let now = clock.now().as_second();
        let ends_at = now.saturating_add(LONGEST_SESSION_SECONDS);
        Self { clock, ends_at, used_at: AtomicI64::new(now), has_ended: AtomicBool::new(false) }
    }

    /// Ends the session, whatever time it has left.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether somebody ended the session.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Whether the session was not used for too long, or is too old.
    pub(crate) fn has_expired(&self) -> bool {
        let now = self.clock.now().as_second();
        now >= self.ends_at || now >= self.used_at().saturating_add(LONGEST_IDLE_SECONDS)
    }

    /// Notes that the session is used now.
    pub(crate) fn note_use(&self) {
        self.used_at.store(self.clock.now().as_second(), Ordering::Relaxed);
    }

    /// Returns the second of the last use.
    pub(crate) fn used_at(&self) -> i64 {
        self.used_at.load(Ordering::Relaxed)
    }

    /// Returns in how many seconds the session ends, however much it is used. `sooner` is the second in which something
    /// else ends it.
    pub(crate) fn seconds_left(&self, sooner: Option<i64>) -> i64 {
        let ends_at = sooner.map_or(self.ends_at, |sooner| sooner.min(self.ends_at));
        ends_at.saturating_sub(self.clock.now().as_second()).max(0)
    }
}
