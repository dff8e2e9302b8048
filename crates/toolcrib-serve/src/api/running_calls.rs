//! The calls that run, so that they can be cancelled and waited for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use toolcrib_core::{CallId, Cancel, Principal};

/// How often a server that stops looks whether calls still run.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// How long cancelled calls have to end and to be recorded.
const END_TIME: Duration = Duration::from_secs(5);

/// The calls that run, with who made them.
#[derive(Clone, Default)]
pub struct RunningCalls(Arc<Mutex<HashMap<String, (Principal, Cancel)>>>);

/// A call that runs, until this is dropped.
pub(crate) struct RunningCall {
    id: String,
    cancel: Cancel,
    all: RunningCalls,
}

/// Cancels a call when it is dropped: nobody waits for the call any more.
pub(crate) struct CancelOnDrop(Cancel);

impl RunningCalls {
    /// Adds a call.
    pub(crate) fn start(&self, id: &CallId, principal: &Principal) -> RunningCall {
        let cancel = Cancel::default();
        self.lock().insert(id.0.clone(), (principal.clone(), cancel.clone()));
        RunningCall { id: id.0.clone(), cancel, all: self.clone() }
    }

    /// Returns how many calls run.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns who made a call that runs, and what cancels it.
    pub(super) fn find(&self, id: &str) -> Option<(Principal, Cancel)> {
        self.lock().get(id).cloned()
    }

    /// Cancels the calls of principals of which `is_gone` says that they are nobody any more.
    pub fn cancel_of(&self, is_gone: impl Fn(&Principal) -> bool) {
        for (_, cancel) in self.lock().values().filter(|(principal, _)| is_gone(principal)) {
            cancel.cancel();
        }
    }

    /// Waits until no call runs, but not past `until`. Then cancels those that still run, and waits until they have
    /// ended and are recorded. Returns how many were cancelled.
    pub async fn finish_or_cancel(&self, until: Instant) -> usize {
        self.wait_until(until).await;
        let left: Vec<Cancel> = self.lock().values().map(|(_, cancel)| cancel.clone()).collect();
        for cancel in &left {
            cancel.cancel();
        }
        self.wait_until(Instant::now() + END_TIME).await;
        left.len()
    }

    /// Waits until no call runs.
    pub(crate) async fn wait_until_none(&self) {
        while !self.lock().is_empty() {
            sleep(LOOK_INTERVAL).await;
        }
    }

    async fn wait_until(&self, until: Instant) {
        while !self.lock().is_empty() && Instant::now() < until {
            sleep(LOOK_INTERVAL).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Principal, Cancel)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningCall {
    pub(crate) fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Returns what cancels the call when it is dropped.
    pub(crate) fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.cancel.clone())
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
