//! Holds back the calls of a client that makes more than it can read. What a client says besides, such as the answer to a
//! question, always gets through.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// How many bytes may wait until the client reads them. Then no more calls are begun.
const MOST_UNWRITTEN: usize = 32 << 20;

/// How many calls of one connection run at once, while their client waits for the replies. Others wait for their turn. Over
/// HTTP since 2026-07-28, a connection is one request, and the limits of the server hold.
const MOST_RUNNING: usize = 256;

/// What holds back the calls of one client.
pub(super) struct CallGate {
    running: Semaphore,
    unwritten: AtomicUsize,
    is_less: Notify,
}

/// A message that waits until the client reads it. It counts until this is dropped.
pub(super) struct WaitingMessage {
    gate: Arc<CallGate>,
    bytes: usize,
}

impl Default for CallGate {
    fn default() -> Self {
        let running = Semaphore::new(MOST_RUNNING);
        Self { running, unwritten: AtomicUsize::new(0), is_less: Notify::new() }
    }
}

impl CallGate {
    /// Counts a message until the client has read it.
    pub(super) fn count(self: Arc<Self>, bytes: usize) -> WaitingMessage {
        self.unwritten.fetch_add(bytes, Ordering::AcqRel);
        WaitingMessage { gate: self, bytes }
    }

    /// Waits until a call may begin. It counts as running until what this returns is dropped.
    pub(super) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        let turn = self.running.acquire().await.ok();
        self.wait_for_room().await;
        turn
    }

    /// Waits until the client has read enough.
    pub(super) async fn wait_for_room(&self) {
        loop {
            let is_less = self.is_less.notified();
            if self.unwritten.load(Ordering::Acquire) < MOST_UNWRITTEN {
                return;
            }
            is_less.await;
        }
    }
}

impl Drop for WaitingMessage {
    fn drop(&mut self) {
        self.gate.unwritten.fetch_sub(self.bytes, Ordering::AcqRel);
        self.gate.is_less.notify_waiters();
    }
}
