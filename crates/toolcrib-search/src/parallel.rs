//! One piece of work on several threads; what the other threads use counts as used by the caller.

use std::sync::{Mutex, PoisonError};

use toolcrib_core::{SearchableTree, Usage};

/// Runs `worker` on this thread and on as many others as make `threads` in all. If a thread cannot be started, the
/// work takes longer, and that is all. What they use is counted where the files of a `tree` are worked on.
pub(crate) fn run(tree: Option<&dyn SearchableTree>, threads: usize, worker: impl Fn() + Sync) {
    let used = Mutex::new(Usage::default());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, || {
                worker();
                if let Some(tree) = tree {
                    used.lock().unwrap_or_else(PoisonError::into_inner).add(&tree.usage());
                }
            });
        }
        worker();
    });
    if let Some(tree) = tree {
        tree.add_usage(&used.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
}
