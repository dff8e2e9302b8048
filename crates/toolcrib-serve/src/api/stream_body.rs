//! A body that is written while it is sent.

use std::convert::Infallible;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::Frame;
use tokio::sync::mpsc;

/// How many pieces can wait to be sent. Then the one who writes waits.
const MOST_WAITING: usize = 16;

/// How many bytes a piece has, if there are as many.
const PIECE_BYTES: usize = 32 << 10;

/// Makes a body, and what writes it. The body ends when the sender is dropped.
pub(super) fn stream_body() -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = stream_pieces();
    (sender, Body::new(StreamBody(receiver)))
}

/// Makes a channel for the pieces of a body.
pub(super) fn stream_pieces() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(MOST_WAITING)
}

struct StreamBody(mpsc::Receiver<Bytes>);

impl HttpBody for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// Writes to a body from a thread that may block. It fails when the client is gone.
pub(super) struct BodyWriter {
    sender: mpsc::Sender<Bytes>,
    piece: Vec<u8>,
}

impl BodyWriter {
    pub(super) fn new(sender: mpsc::Sender<Bytes>) -> Self {
        Self { sender, piece: Vec::new() }
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        if piece.is_empty() {
            return Ok(());
        }
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.sender.blocking_send(Bytes::from(piece)).map_err(gone)
    }
}
