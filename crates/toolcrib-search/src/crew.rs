//! Several threads at one piece of work; what the helpers use counts as used by whoever has them.

use std::sync::{Mutex, PoisonError};

use toolcrib_core::{Ground, Usage};

/// Works on this thread and on as many others as make `threads` in all. Without another thread it takes
/// longer, and that is all.
pub(crate) fn work(ground: &dyn Ground, threads: usize, labour: impl Fn() + Sync) {
    let used = Mutex::new(Usage::default());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, || {
                labour();
                used.lock().unwrap_or_else(PoisonError::into_inner).add(&ground.used());
            });
        }
        labour();
    });
    ground.add_used(&used.into_inner().unwrap_or_else(PoisonError::into_inner));
}
