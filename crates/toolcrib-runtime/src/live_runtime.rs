//! The runtime of a process whose settings change while it answers calls.

use std::sync::{Arc, PoisonError, RwLock};

use crate::runtime::Runtime;

/// The runtime in force. Another one takes its place in one step, so a call has all of the old settings or all of the
/// new ones: it keeps the runtime that it began with.
pub struct LiveRuntime(RwLock<Arc<Runtime>>);

impl LiveRuntime {
    /// Puts a runtime in force.
    pub fn new(runtime: Runtime) -> Self {
        Self(RwLock::new(Arc::new(runtime)))
    }

    /// Returns the runtime in force.
    pub fn current(&self) -> Arc<Runtime> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another runtime in force. The counts of sessions pass to it.
    pub fn replace(&self, runtime: Runtime) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let judge = runtime.judge.as_ref().clone().succeeding(&held.judge);
        *held = Arc::new(Runtime { judge: Arc::new(judge), ..runtime });
    }
}
