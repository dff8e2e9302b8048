//! The bytes of a reply that were read and not used yet: its head, its lines and what follows.

use std::io::{self, Read};

use super::bad_reply::{bad, cut_short};

/// The most bytes of a reply's head.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// The most headers of a reply.
const MAX_REPLY_HEADERS: usize = 128;

/// The longest line of a chunked body that says how long the next part is.
const MAX_CHUNK_LINE: usize = 256;

/// The status and the headers of a reply, by name in lower case.
pub(super) type ReplyHead = (u16, Vec<(String, String)>);

/// What was read of a reply, and not used yet.
pub(super) struct ReplyReader<'a, S> {
    stream: &'a mut S,
    bytes: Vec<u8>,
    at: usize,
    has_begun: bool,
}

impl<'a, S: Read> ReplyReader<'a, S> {
    pub(super) fn new(stream: &'a mut S) -> Self {
        Self { stream, bytes: Vec::new(), at: 0, has_begun: false }
    }

    /// Whether the host has sent anything.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Reads the head of the next reply.
    pub(super) fn read_head(&mut self) -> io::Result<ReplyHead> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MAX_REPLY_HEADERS];
            let mut reply = httparse::Response::new(&mut headers);
            let parsed = reply.parse(self.rest());
            match parsed.map_err(|err| bad(&format!("its head is not HTTP: {err}")))? {
                httparse::Status::Complete(length) => {
                    let text = |it: &httparse::Header<'_>| {
                        let value = String::from_utf8_lossy(it.value).into_owned();
                        (it.name.to_ascii_lowercase(), value)
                    };
                    let status = reply.code.unwrap_or_default();
                    let headers = reply.headers.iter().map(text).collect();
                    self.at += length;
                    return Ok((status, headers));
                }
                httparse::Status::Partial if self.rest().len() > MAX_HEAD_BYTES => {
                    return Err(bad(&format!("its head has more than {MAX_HEAD_BYTES} bytes")));
                }
                httparse::Status::Partial => {
                    if !self.fill()? {
                        return Err(bad("it ended before its head did"));
                    }
                }
            }
        }
    }

    /// Reads a line of a chunked body, without its end.
    pub(super) fn read_line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.rest().iter().position(|it| *it == b'\n') {
                let line = self.rest()[..end].to_vec();
                self.at += end + 1;
                let line = line.strip_suffix(b"\r").unwrap_or(&line);
                return String::from_utf8(line.to_vec()).map_err(|_| bad("a line is no text"));
            }
            if self.rest().len() > MAX_CHUNK_LINE {
                return Err(bad("a part of it has no length"));
            }
            if !self.fill()? {
                return Err(cut_short());
            }
        }
    }

    /// Puts the next bytes into `place`, and returns how many. None are left if it is 0.
    pub(super) fn take(&mut self, place: &mut [u8]) -> io::Result<usize> {
        if place.is_empty() || (self.rest().is_empty() && !self.fill()?) {
            return Ok(0);
        }
        let count = place.len().min(self.rest().len());
        place[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }

    /// Reads more. Returns whether there was more.
    fn fill(&mut self) -> io::Result<bool> {
        self.bytes.drain(..std::mem::take(&mut self.at));
        let mut part = [0; 16 << 10];
        let count = match self.stream.read(&mut part) {
            // A TLS connection that ends without saying so was perhaps cut off by somebody on the way, and a body without
            // a length may not be whole.
            Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => {
                return if self.has_begun { Err(cut_short()) } else { Ok(false) };
            }
            count => count?,
        };
        self.bytes.extend_from_slice(&part[..count]);
        self.has_begun |= count > 0;
        Ok(count > 0)
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }
}
