//! When a search ends before it is through: at its deadline, on cancellation, or when the page is full.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use toolcrib_core::Cancel;

/// Tells a search when to stop.
pub(crate) struct Stop<'a> {
    pub(crate) cancel: &'a Cancel,
    pub(crate) deadline: Instant,
    /// Set when nothing more is needed, because the page is full.
    pub(crate) is_enough: AtomicBool,
}

impl Stop<'_> {
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_enough.load(Ordering::Relaxed) || self.cancel.is_cancelled() || self.is_late()
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_set() {
            Err(io::Error::new(io::ErrorKind::TimedOut, StopSignal))
        } else {
            Ok(())
        }
    }

    /// Whether an error is the signal by which a search was stopped, and not a failure to read.
    pub(crate) fn is_stop_signal(err: &io::Error) -> bool {
        err.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<StopSignal>)
    }
}

#[derive(Debug)]
struct StopSignal;

impl std::fmt::Display for StopSignal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("told to stop")
    }
}

impl std::error::Error for StopSignal {}
