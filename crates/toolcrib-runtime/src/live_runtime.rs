//! The runtime of a process whose settings change while it answers calls.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;
use toolcrib_core::Toolset;

use crate::latest::Latest;
use crate::runtime::Runtime;

/// The runtime in force. Another one takes its place in one step, so a call has all of the old settings or all of the
/// new ones: it keeps the runtime that it began with.
pub struct LiveRuntime {
    current: Arc<RwLock<Arc<Runtime>>>,
    changes: watch::Sender<()>,
}

impl LiveRuntime {
    /// Puts a runtime in force.
    pub fn new(runtime: Runtime) -> Self {
        let current = Arc::new_cyclic(|current| {
            let latest = Latest::of(current);
            RwLock::new(Arc::new(Runtime { latest, ..runtime }))
        });
        Self { current, changes: watch::Sender::new(()) }
    }

    /// Returns the runtime in force.
    pub fn current(&self) -> Arc<Runtime> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what tells when another runtime was put in force.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Puts another runtime in force. The counts of sessions pass to it.
    pub fn replace(&self, runtime: Runtime) {
        let mut held = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let judge = runtime.judge.as_ref().clone().succeeding(&held.judge);
        let latest = held.latest.clone();
        *held = Arc::new(Runtime { judge: Arc::new(judge), latest, ..runtime });
        drop(held);
        self.changes.send_replace(());
    }

    /// Offers other tools from now on. A call that has begun keeps the tool that it began with.
    pub fn replace_toolset(&self, toolset: Toolset) {
        let mut held = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::new(Runtime { toolset: Arc::new(toolset), ..held.as_ref().clone() });
        drop(held);
        self.changes.send_replace(());
    }
}
