//! The body of a stream of events in which no event is larger than it may be.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

/// A stream of events, as bytes.
pub(crate) struct BoundedEvents {
    body: Incoming,
    size: EventSize,
}

impl BoundedEvents {
    pub(crate) fn new(body: Incoming, most: usize) -> Self {
        Self { body, size: EventSize { most, so_far: 0, line: 0 } }
    }
}

/// How large the event is that has begun.
struct EventSize {
    most: usize,
    so_far: usize,
    /// How many bytes its last line has.
    line: usize,
}

impl EventSize {
    /// Counts bytes. Returns whether an event is too large.
    fn add(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            match byte {
                b'\r' => {}
                // An empty line ends an event.
                b'\n' if self.line == 0 => self.so_far = 0,
                b'\n' => self.line = 0,
                _ => self.line += 1,
            }
            self.so_far += 1;
            if self.so_far > self.most {
                return true;
            }
        }
        false
    }
}

impl Body for BoundedEvents {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(frame) = frame.transpose().map_err(io::Error::other)? else {
            return Poll::Ready(None);
        };
        if frame.data_ref().is_some_and(|bytes| self.size.add(bytes)) {
            return Poll::Ready(Some(Err(io::Error::other("an event is too large"))));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_events_pass_and_a_large_one_does_not() {
        let size = || EventSize { most: 20, so_far: 0, line: 0 };
        let mut many = size();
        assert!((0..100).all(|_| !many.add(b"data: 123\r\n\r\n")));
        let mut one = size();
        assert!(!one.add(b"data: 123\ndata: 45\n"), "the control");
        assert!(one.add(b"data: 6\n"));
    }
}
