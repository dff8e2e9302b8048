//! The time of one run of a module, which the engine asks about while it runs code.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The time of one run. It begins with the task, not with the engine, which may wait for one.
#[derive(Debug, Default)]
pub(crate) struct RunClock {
    deadline: Cell<Option<Instant>>,
    /// Once the time is over it stays so, whatever a late answer adds.
    is_over: Cell<bool>,
}

impl RunClock {
    /// Begins the time of a task.
    pub(crate) fn start(&self, time: Duration) {
        self.deadline.set(Instant::now().checked_add(time));
    }

    /// Gives the task more time.
    pub(crate) fn extend(&self, time: Duration) {
        self.deadline.set(self.deadline.get().and_then(|deadline| deadline.checked_add(time)));
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        let is_over = self.is_over.get()
            || self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline);
        self.is_over.set(is_over);
        is_over
    }
}
