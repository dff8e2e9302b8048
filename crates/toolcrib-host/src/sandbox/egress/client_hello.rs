//! The `ClientHello` of TLS, and the server name in it.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Instant;

/// How many bytes a client may send before it names its server.
const MOST_HELLO_BYTES: usize = 64 << 10;

/// Reads the records that hold the `ClientHello`, after the bytes that came `early`. If the client sends something
/// else, returns what was read of it.
pub(super) fn read(client: &mut TcpStream, early: Vec<u8>, until: Instant) -> io::Result<Vec<u8>> {
    let mut bytes = early;
    let mut chunk = [0; 4096];
    loop {
        if bytes.len() >= 5 && (bytes[0] != 22 || bytes[1] != 3) {
            return Ok(bytes);
        }
        if handshake(&bytes).is_some() || bytes.len() > MOST_HELLO_BYTES {
            return Ok(bytes);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut chunk)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// Joins the `ClientHello` from its records. Returns `None` until all of it is there.
fn handshake(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let (head, rest) = bytes.split_at_checked(5)?;
        if head[0] != 22 || head[1] != 3 {
            return None;
        }
        let (record, rest) =
            rest.split_at_checked(usize::from(u16::from_be_bytes([head[3], head[4]])))?;
        message.extend_from_slice(record);
        if let [1, a, b, c, ..] = message[..] {
            let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            if message.len() >= length + 4 {
                message.truncate(length + 4);
                return Some(message);
            }
        }
        bytes = rest;
    }
}

/// Returns the server name in a `ClientHello`, or `None` if it is no `ClientHello` or names no server or several.
pub(super) fn server_name(bytes: &[u8]) -> Option<String> {
    let message = handshake(bytes)?;
    let mut body = ByteReader(message.get(4..)?);
    body.take(2 + 32)?;
    body.block(1)?;
    body.block(2)?;
    body.block(1)?;
    let mut extensions = ByteReader(body.block(2)?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let content = extensions.block(2)?;
        if kind != 0 {
            continue;
        }
        let mut names = ByteReader(ByteReader(content).block(2)?);
        while !names.0.is_empty() {
            let kind = names.number(1)?;
            let name = names.block(2)?;
            if kind != 0 || found.is_some() {
                return None;
            }
            found = Some(String::from_utf8(name.to_vec()).ok()?);
        }
    }
    found
}

/// Reads a message from its beginning.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// Reads a block that begins with its length, in this many bytes.
    fn block(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let length = self.number(bytes)?;
        self.take(length)
    }
}
