//! Checks the head of each request before the HTTP library sees it.
//!
//! hyper accepts `Content-Length` together with `Transfer-Encoding` and hides the former, merges equal lengths, and
//! answers a head that it refuses with an empty body. The gate reads heads first, refuses what is ambiguous, and gives
//! its refusals the form of all errors. Bodies pass through it unread.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::{Method, StatusCode, Uri};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::activity::Activity;
use crate::reply::ApiError;
use crate::tls::HANDSHAKE_BYTE;

/// How much is read at once while a head is expected.
const READ_BYTES: usize = 8 << 10;

/// How many headers a request may have. It is hyper's own limit.
const MOST_HEADERS: usize = 100;

/// How many line ends before a request line are skipped at once.
const MOST_BLANK_BYTES: usize = 4;

/// A connection whose requests are checked as they are read.
pub(crate) struct HeadGate<S> {
    stream: S,
    activity: Arc<Activity>,
    head_bytes: usize,
    /// What was read and not passed on.
    buffer: Vec<u8>,
    /// How much of `buffer` may be passed on.
    checked: usize,
    /// How much of `buffer` has no end of a head in it.
    searched: usize,
    expected: NextBytes,
    refusal: Option<ApiError>,
    is_stalled: bool,
    has_client_ended: bool,
}

/// What the next byte of a connection belongs to.
enum NextBytes {
    Head,
    /// The body, of which so many bytes are left.
    Body(u64),
    /// A body in chunks. The connection ends after it, so nobody here needs to know where it ends.
    Chunks,
}

/// What is left of a connection when hyper is done with it.
pub(crate) struct Leftover<S> {
    pub(crate) stream: S,
    /// The reply to a head that hyper did not get to see.
    pub(crate) refusal: Option<ApiError>,
    /// Whether the client has sent, or may send, what nobody reads.
    pub(crate) has_unread: bool,
}

impl<S> HeadGate<S> {
    pub(crate) fn new(stream: S, activity: Arc<Activity>, head_bytes: usize) -> Self {
        Self {
            stream,
            activity,
            head_bytes,
            buffer: Vec::new(),
            checked: 0,
            searched: 0,
            expected: NextBytes::Head,
            refusal: None,
            is_stalled: false,
            has_client_ended: false,
        }
    }

    pub(crate) fn into_leftover(self) -> Leftover<S> {
        let has_more = match self.expected {
            // A part of a head got no reply that could be lost.
            NextBytes::Head => self.refusal.is_some(),
            NextBytes::Body(_) | NextBytes::Chunks => true,
        };
        let has_unread = has_more && !self.has_client_ended;
        Leftover { stream: self.stream, refusal: self.refusal, has_unread }
    }

    /// Checks the head at the front of the buffer, if all of it is there. Returns whether it is decided.
    fn check_head(&mut self) -> bool {
        let is_blank = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
        let blank = self.buffer.iter().take(MOST_BLANK_BYTES).take_while(is_blank).count();
        self.buffer.drain(..blank);
        if self.buffer.is_empty() {
            return false;
        }
        // Waiting for the end of this head would leave the client waiting for its handshake.
        if self.buffer.first() == Some(&HANDSHAKE_BYTE) {
            self.refusal = Some(no_tls());
            return true;
        }
        let end = end_of_head(&self.buffer, self.searched);
        if end.unwrap_or(self.buffer.len()) > self.head_bytes {
            self.refusal = Some(too_long(&self.buffer, self.head_bytes));
            return true;
        }
        let Some(end) = end else {
            self.searched = self.buffer.len();
            self.activity.head_began();
            return false;
        };
        match body_after(&self.buffer[..end]) {
            Ok(expected) => self.pass(end, expected),
            Err(refusal) => self.refusal = Some(refusal),
        }
        true
    }

    /// Lets a head pass, with what has come of its body.
    fn pass(&mut self, end: usize, expected: NextBytes) {
        let after = self.buffer.len() - end;
        (self.checked, self.expected) = match expected {
            NextBytes::Head => (end, NextBytes::Head),
            NextBytes::Chunks => (end + after, NextBytes::Chunks),
            NextBytes::Body(length) => {
                let here = usize::try_from(length).map_or(after, |length| length.min(after));
                match length - here as u64 {
                    0 => (end + here, NextBytes::Head),
                    left => (end + here, NextBytes::Body(left)),
                }
            }
        };
        self.searched = 0;
    }

    /// Passes checked bytes on.
    fn hand_over(&mut self, out: &mut ReadBuf<'_>) {
        let bytes = self.checked.min(out.remaining());
        out.put_slice(&self.buffer[..bytes]);
        self.buffer.drain(..bytes);
        self.checked -= bytes;
        if self.buffer.is_empty() {
            // An idle connection keeps no memory.
            self.buffer = Vec::new();
        }
    }

    /// Notes whether the client takes what is written.
    fn note_written<T>(&mut self, written: &Poll<io::Result<T>>) {
        match (written, self.is_stalled) {
            (Poll::Pending, false) => self.activity.stalled(),
            (Poll::Ready(_), true) => self.activity.moved(),
            (Poll::Pending, true) | (Poll::Ready(_), false) => {}
        }
        self.is_stalled = written.is_pending();
    }
}

impl<S: AsyncRead + Unpin> HeadGate<S> {
    /// Reads more into the buffer. Returns how much.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = [MaybeUninit::uninit(); READ_BYTES];
        let mut read = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
        self.buffer.extend_from_slice(read.filled());
        self.has_client_ended |= read.filled().is_empty();
        Poll::Ready(Ok(read.filled().len()))
    }

    /// Reads at most `most` bytes straight into `out`. Returns how many.
    fn poll_through(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
        most: u64,
    ) -> Poll<io::Result<u64>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let before = out.filled().len();
        if most >= out.remaining() {
            ready!(Pin::new(&mut self.stream).poll_read(cx, out))?;
        } else {
            let mut limited = ReadBuf::new(out.initialize_unfilled_to(most));
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut limited))?;
            let bytes = limited.filled().len();
            out.advance(bytes);
        }
        let bytes = out.filled().len() - before;
        self.has_client_ended |= bytes == 0;
        Poll::Ready(Ok(bytes as u64))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadGate<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.checked > 0 {
                this.hand_over(out);
                return Poll::Ready(Ok(()));
            }
            if this.refusal.is_some() {
                // The end of the stream would cancel the request before, so it waits for that one. hyper reads again
                // when it has answered.
                return if this.activity.is_in_request() {
                    Poll::Pending
                } else {
                    Poll::Ready(Ok(()))
                };
            }
            match this.expected {
                NextBytes::Head => {
                    if this.check_head() {
                        continue;
                    }
                    if ready!(this.poll_more(cx))? == 0 {
                        if !this.buffer.is_empty() && !this.activity.is_in_request() {
                            this.refusal = Some(refuse("the request ended within its head"));
                        }
                        return Poll::Ready(Ok(()));
                    }
                }
                NextBytes::Body(left) => {
                    let bytes = ready!(this.poll_through(cx, out, left))?;
                    this.expected = match left - bytes {
                        0 => NextBytes::Head,
                        left => NextBytes::Body(left),
                    };
                    return Poll::Ready(Ok(()));
                }
                NextBytes::Chunks => {
                    return this.poll_through(cx, out, u64::MAX).map_ok(|_| ());
                }
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadGate<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note_written(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.note_written(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Does nothing: a refusal may still have to be written. Who gets the leftover ends the stream.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Returns where the head ends, with its empty line. The first `searched` bytes have no end in them.
fn end_of_head(bytes: &[u8], searched: usize) -> Option<usize> {
    let from = searched.saturating_sub(2);
    let line_ends = bytes.iter().enumerate().skip(from).filter(|(_, byte)| **byte == b'\n');
    line_ends.map(|(at, _)| at + 1).find_map(|next| match bytes.get(next..)? {
        [b'\n', ..] => Some(next + 1),
        [b'\r', b'\n', ..] => Some(next + 2),
        _ => None,
    })
}

/// Returns what follows a head, or the reply to a head that is refused.
fn body_after(head: &[u8]) -> Result<NextBytes, ApiError> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(end)) if end == head.len() => {}
        Ok(_) => return Err(refuse("the head of the request has no clear end")),
        Err(httparse::Error::TooManyHeaders) => {
            let message = format!("the request has more than {MOST_HEADERS} headers; send fewer");
            return Err(too_many_headers(message));
        }
        Err(httparse::Error::Version) => {
            return Err(refuse("this server speaks HTTP/1.1 and HTTP/1.0 only"));
        }
        Err(err) => return Err(refuse(&format!("the head of the request is not HTTP: {err}"))),
    }
    if Method::from_bytes(request.method.unwrap_or_default().as_bytes()).is_err() {
        return Err(refuse("the method is not one of HTTP"));
    }
    if Uri::try_from(request.path.unwrap_or_default()).is_err() {
        return Err(refuse("the path has characters that must be percent-encoded"));
    }
    let values = |name: &'static str| {
        let has_name = move |it: &&httparse::Header<'_>| it.name.eq_ignore_ascii_case(name);
        request.headers.iter().filter(has_name).map(|header| header.value)
    };
    let lengths: Vec<&[u8]> = values("content-length").collect();
    let encodings: Vec<&[u8]> = values("transfer-encoding").collect();
    match (lengths.as_slice(), encodings.as_slice()) {
        ([], []) => Ok(NextBytes::Head),
        ([length], []) => body_length(length),
        (_, []) => Err(refuse("`Content-Length` is given more than once; send it once")),
        ([], [encoding])
            if request.version == Some(1) && encoding.eq_ignore_ascii_case(b"chunked") =>
        {
            Ok(NextBytes::Chunks)
        }
        ([], _) => Err(refuse("the only `Transfer-Encoding` is `chunked`, once and with HTTP/1.1")),
        (_, _) => {
            Err(refuse("`Content-Length` and `Transfer-Encoding` are both given; send one of them"))
        }
    }
}

fn body_length(text: &[u8]) -> Result<NextBytes, ApiError> {
    let digits =
        std::str::from_utf8(text).ok().filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse::<u64>().ok()) {
        Some(0) => Ok(NextBytes::Head),
        Some(length) => Ok(NextBytes::Body(length)),
        None => Err(refuse("`Content-Length` is not a number of bytes")),
    }
}

fn refuse(message: &str) -> ApiError {
    ApiError::bad_request(message)
}

fn no_tls() -> ApiError {
    let message = "this port does not speak TLS; begin the address with `http://`";
    ApiError::new(StatusCode::BAD_REQUEST, "no_tls", message)
}

fn too_long(head: &[u8], limit: usize) -> ApiError {
    if head.contains(&b'\n') {
        return too_many_headers(format!(
            "the headers are over the limit of {limit} bytes; send less"
        ));
    }
    let message =
        format!("the request line is over the limit of {limit} bytes; send less in the path");
    ApiError::new(StatusCode::URI_TOO_LONG, "uri_too_long", message)
}

fn too_many_headers(message: String) -> ApiError {
    ApiError::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_found_however_it_is_cut() {
        for head in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n"] {
            let bytes = format!("{head}rest\r\n\r\n");
            for searched in 0..head.len() {
                assert_eq!(end_of_head(bytes.as_bytes(), searched), Some(head.len()), "{searched}");
            }
            for cut in 0..head.len() {
                assert_eq!(end_of_head(&head.as_bytes()[..cut], 0), None, "{cut}");
            }
        }
    }

    #[test]
    fn a_body_has_one_length_that_everybody_reads_alike() {
        let check = |headers: &str, expect: Option<&str>| {
            let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
            let found = match body_after(head.as_bytes()) {
                Ok(NextBytes::Head) => Some("none".to_owned()),
                Ok(NextBytes::Body(length)) => Some(length.to_string()),
                Ok(NextBytes::Chunks) => Some("chunks".to_owned()),
                Err(_) => None,
            };
            assert_eq!(found.as_deref(), expect, "{headers}");
        };
        check("", Some("none"));
        check("Content-Length: 0\r\n", Some("none"));
        check("content-length: 7\r\n", Some("7"));
        check("Transfer-Encoding: chunked\r\n", Some("chunks"));
        check("Content-Length: 7\r\nTransfer-Encoding: chunked\r\n", None);
        check("Transfer-Encoding: chunked\r\nContent-Length: 7\r\n", None);
        check("Content-Length: 7\r\nContent-Length: 7\r\n", None);
        check("Content-Length: 1\r\nContent-Length: 2\r\n", None);
        check("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", None);
        for length in ["+7", "-7", "7, 7", "0x7", "7a", "", "99999999999999999999"] {
            check(&format!("Content-Length: {length}\r\n"), None);
        }
        for encoding in ["gzip, chunked", "identity", "xchunked", "chunked, identity", ""] {
            check(&format!("Transfer-Encoding: {encoding}\r\n"), None);
        }
    }
}
