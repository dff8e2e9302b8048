//! Hands what a command prints to a reader as it comes, without ever waiting for the reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use toolcrib_core::command::Stream;

/// How much may wait for the reader before no more is read.
const ROOM: usize = 4 << 20;

/// The end that what is printed goes into.
pub struct Tee {
    queue: Sender<(Stream, Vec<u8>)>,
    waiting: Arc<AtomicUsize>,
}

/// The end that it comes out of.
pub struct TeeReader {
    queue: Receiver<(Stream, Vec<u8>)>,
    waiting: Arc<AtomicUsize>,
}

impl Tee {
    /// Returns both ends.
    pub fn pair() -> (Self, TeeReader) {
        let (send, receive) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        (Self { queue: send, waiting: Arc::clone(&waiting) }, TeeReader { queue: receive, waiting })
    }

    pub(crate) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Acquire) < ROOM
    }

    pub(crate) fn pass(&self, stream: Stream, bytes: &[u8]) {
        self.waiting.fetch_add(bytes.len(), Ordering::AcqRel);
        // A reader that is gone has no use for it.
        if self.queue.send((stream, bytes.to_vec())).is_err() {
            self.waiting.store(0, Ordering::Release);
        }
    }
}

impl TeeReader {
    /// Waits for the next piece; nothing when the command is over.
    pub fn next(&self) -> Option<(Stream, Vec<u8>)> {
        let (stream, bytes) = self.queue.recv().ok()?;
        self.waiting.fetch_sub(bytes.len(), Ordering::AcqRel);
        Some((stream, bytes))
    }
}
