//! The event loops that connections live on. A connection stays on the thread of its loop: where threads share one
//! loop, nearly every request wakes another thread, and that costs more than a short call.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The event loops of a server's connections. When this is dropped, what runs on threads of its own is dropped too.
pub struct ConnectionLoops {
    loops: Vec<Handle>,
    next: AtomicUsize,
    /// Each thread runs until its end is dropped.
    _ends: Vec<oneshot::Sender<()>>,
}

impl ConnectionLoops {
    /// Starts a loop for each core, on a thread of its own.
    pub fn start() -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let (mut loops, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            let event_loop = Builder::new_current_thread().enable_all().build()?;
            let (end, ended) = oneshot::channel::<()>();
            loops.push(event_loop.handle().clone());
            ends.push(end);
            thread::Builder::new().name("connections".to_owned()).spawn(move || {
                let _ = event_loop.block_on(ended);
                event_loop.shutdown_background();
            })?;
        }
        Ok(Self { loops, next: AtomicUsize::new(0), _ends: ends })
    }

    /// Returns the loop that this is called on as the only one.
    pub fn here() -> Self {
        Self { loops: vec![Handle::current()], next: AtomicUsize::new(0), _ends: Vec::new() }
    }

    /// Returns the loop of the next connection. The loops take turns.
    pub(crate) fn next(&self) -> &Handle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        &self.loops[number % self.loops.len()]
    }
}
