//! Passes a command's output to a reader as it is printed, without ever waiting for the reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use toolcrib_core::command::Stream;

/// How many bytes may wait for the reader. Beyond that the command's output is not read any more.
const MOST_WAITING_BYTES: usize = 4 << 20;

/// The end that output is written to.
#[derive(Clone)]
pub struct OutputTee {
    queue: Sender<OutputPiece>,
    waiting: Arc<AtomicUsize>,
}

/// The end that output is read from.
pub struct OutputTeeReader {
    queue: Receiver<OutputPiece>,
    waiting: Arc<AtomicUsize>,
}

/// What a reader of output gets.
pub enum OutputPiece {
    /// A command has started.
    Started,
    /// The command printed this.
    Printed(Stream, Vec<u8>),
    /// The command printed nothing meanwhile.
    Nothing,
    /// Nothing more comes.
    End,
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

    /// Tells the reader that a command has started.
    pub(crate) fn start(&self) {
        let _ = self.queue.send(OutputPiece::Started);
    }

    /// Tells the reader that nothing more comes, although a tee is left.
    pub fn end(&self) {
        let _ = self.queue.send(OutputPiece::End);
    }

    /// Passes a piece of output on.
    pub(crate) fn pass(&self, stream: Stream, bytes: &[u8]) {
        self.waiting.fetch_add(bytes.len(), Ordering::AcqRel);
        // The reader is gone, so nothing waits for it.
        if self.queue.send(OutputPiece::Printed(stream, bytes.to_vec())).is_err() {
            self.waiting.store(0, Ordering::Release);
        }
    }
}

impl OutputTeeReader {
    /// Waits for the next piece of output. Returns `None` when nothing more comes.
    pub fn next(&self) -> Option<(Stream, Vec<u8>)> {
        loop {
            match self.queue.recv().ok()? {
                OutputPiece::Printed(stream, bytes) => {
                    self.waiting.fetch_sub(bytes.len(), Ordering::AcqRel);
                    return Some((stream, bytes));
                }
                OutputPiece::Started | OutputPiece::Nothing => {}
                OutputPiece::End => return None,
            }
        }
    }

    /// Waits for what comes next, for `most` at most.
    pub fn next_within(&self, most: Duration) -> OutputPiece {
        match self.queue.recv_timeout(most) {
            Ok(piece) => {
                if let OutputPiece::Printed(_, bytes) = &piece {
                    self.waiting.fetch_sub(bytes.len(), Ordering::AcqRel);
                }
                piece
            }
            Err(RecvTimeoutError::Timeout) => OutputPiece::Nothing,
            Err(RecvTimeoutError::Disconnected) => OutputPiece::End,
        }
    }
}
