//! Passes a command's output to a reader as it is printed, without ever waiting for the reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use toolcrib_core::command::Stream;

/// How many bytes may wait for the reader. Beyond that the command's output is not read any more.
const MOST_WAITING_BYTES: usize = 4 << 20;

/// The end that output is written to.
pub struct OutputTee {
    queue: Sender<(Stream, Vec<u8>)>,
    waiting: Arc<AtomicUsize>,
}

/// The end that output is read from.
pub struct OutputTeeReader {
    queue: Receiver<(Stream, Vec<u8>)>,
    waiting: Arc<AtomicUsize>,
}

impl OutputTee {
    /// Returns both ends.
    pub fn pair() -> (Self, OutputTeeReader) {
        let (send, receive) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        (
            Self { queue: send, waiting: Arc::clone(&waiting) },
            OutputTeeReader { queue: receive, waiting },
        )
    }

    /// Whether the reader keeps up.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Acquire) < MOST_WAITING_BYTES
    }

    /// Passes a piece of output on.
    pub(crate) fn pass(&self, stream: Stream, bytes: &[u8]) {
        self.waiting.fetch_add(bytes.len(), Ordering::AcqRel);
        // The reader is gone, so nothing waits for it.
        if self.queue.send((stream, bytes.to_vec())).is_err() {
            self.waiting.store(0, Ordering::Release);
        }
    }
}

impl OutputTeeReader {
    /// Waits for the next piece of output. Returns `None` when the command has ended.
    pub fn next(&self) -> Option<(Stream, Vec<u8>)> {
        let (stream, bytes) = self.queue.recv().ok()?;
        self.waiting.fetch_sub(bytes.len(), Ordering::AcqRel);
        Some((stream, bytes))
    }
}
