//! The bell of the worker pool, for which calls wait that found no worker.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Wake;
use std::time::Duration;

/// Rings when a worker comes back, or when a call that waits was cancelled.
#[derive(Default)]
pub(crate) struct PoolBell {
    lock: Mutex<u64>,
    rung: Condvar,
}

impl Wake for PoolBell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

impl PoolBell {
    /// Returns how often the bell has rung.
    pub(crate) fn count(&self) -> u64 {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings the bell.
    pub(crate) fn ring(&self) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.rung.notify_all();
    }

    /// Waits until the bell has rung since it had been rung `count` times.
    pub(crate) fn wait(&self, count: u64, time: Duration) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.rung.wait_timeout_while(lock, time, |now| *now == count);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
