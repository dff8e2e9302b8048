//! One request and its reply over HTTP/1.1, each part within its bound while it arrives.

use std::io::{self, Read, Write};

use toolcrib_core::net::{FetchMethod, FetchReply};
use toolcrib_core::{ErrorKind, ToolError, escape};

use super::target::FetchTarget;

/// The most bytes of a reply's head.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// The most headers of a reply.
const MAX_REPLY_HEADERS: usize = 128;

/// The most headers that a caller can send, and the most bytes of them.
const MAX_HEADERS: usize = 32;
const MAX_HEADER_BYTES: usize = 16 << 10;

/// The longest line of a chunked body that says how long the next part is.
const MAX_CHUNK_LINE: usize = 256;

/// The headers that we write ourselves.
const OWN_HEADERS: [&str; 11] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "upgrade",
    "expect",
    "te",
    "trailer",
    "keep-alive",
    "proxy-authorization",
];

/// What we call ourselves.
const USER_AGENT: &str = concat!("toolcrib/", env!("CARGO_PKG_VERSION"));

/// A request as it is sent.
pub(super) struct RawRequest<'a> {
    pub(super) method: FetchMethod,
    pub(super) target: &'a FetchTarget,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: Option<&'a str>,
    pub(super) most_bytes: usize,
}

/// A reply as it came.
#[derive(Debug)]
pub(super) struct RawReply {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    is_cut: bool,
}

impl RawReply {
    /// Returns where a redirect leads.
    pub(super) fn location(&self) -> Option<&str> {
        let is_redirect = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        self.header("location").filter(|_| is_redirect)
    }

    pub(super) fn into_reply(self, target: &FetchTarget, redirect: Option<String>) -> FetchReply {
        let Self { status, headers, body, is_cut } = self;
        FetchReply { url: target.as_str().to_owned(), status, headers, body, is_cut, redirect }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// Fails if headers cannot be sent as they are.
pub(super) fn check_headers(headers: &[(String, String)]) -> Result<(), ToolError> {
    let bad = |name: &str, why: &str| {
        let message = format!("the header `{}` cannot be sent: {why}", escape::line(name));
        ToolError::new(ErrorKind::BadArgs, message).with("reason", "invalid_header")
    };
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if headers.len() > MAX_HEADERS || bytes > MAX_HEADER_BYTES {
        let message = format!(
            "more than {MAX_HEADERS} headers or {MAX_HEADER_BYTES} bytes of them are given"
        );
        return Err(ToolError::new(ErrorKind::BadArgs, message).with("reason", "invalid_header"));
    }
    for (name, value) in headers {
        let is_token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(bad(name, "its name is not one"));
        }
        if OWN_HEADERS.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            return Err(bad(name, "Toolcrib writes it itself"));
        }
        let is_plain = |it: u8| it == b'\t' || (0x20..0x7f).contains(&it);
        if !value.bytes().all(is_plain) {
            return Err(bad(name, "its value has other characters than those of ASCII text"));
        }
    }
    Ok(())
}

/// Sends a request, and reads the reply.
pub(super) fn exchange(
    stream: &mut (impl Read + Write),
    request: &RawRequest<'_>,
) -> io::Result<RawReply> {
    stream.write_all(head_of(request).as_bytes())?;
    stream.write_all(request.body.unwrap_or_default().as_bytes())?;
    stream.flush()?;
    let mut input = ReplyReader { stream, bytes: Vec::new(), at: 0 };
    loop {
        let (status, headers) = input.read_head()?;
        // A host may say first that it goes on.
        if (100..200).contains(&status) {
            continue;
        }
        let mut reply = RawReply { status, headers, body: Vec::new(), is_cut: false };
        let has_body = request.method != FetchMethod::Head && !matches!(status, 204 | 304);
        if has_body {
            if let Some(encoding) = reply.header("content-encoding").filter(|it| *it != "identity")
            {
                let encoding = escape::line(encoding).into_owned();
                return Err(bad(&format!("it is encoded as `{encoding}`, which nobody asked for")));
            }
            (reply.body, reply.is_cut) = input.read_body(&reply, request.most_bytes)?;
        }
        return Ok(reply);
    }
}

fn head_of(request: &RawRequest<'_>) -> String {
    let RawRequest { method, target, headers, body, .. } = request;
    let request_line = format!("{} {} HTTP/1.1", method.as_str(), target.path_and_query());
    let mut lines = vec![
        request_line,
        format!("Host: {}", target.authority()),
        "Connection: close".to_owned(),
        "Accept-Encoding: identity".to_owned(),
    ];
    let has = |name: &str| headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
    if !has("user-agent") {
        lines.push(format!("User-Agent: {USER_AGENT}"));
    }
    if !has("accept") {
        lines.push("Accept: */*".to_owned());
    }
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    let takes_body = matches!(method, FetchMethod::Post | FetchMethod::Put | FetchMethod::Patch);
    if body.is_some() || takes_body {
        lines.push(format!("Content-Length: {}", body.map_or(0, str::len)));
    }
    lines.join("\r\n") + "\r\n\r\n"
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// What was read of a reply, and not used yet.
struct ReplyReader<'a, S> {
    stream: &'a mut S,
    bytes: Vec<u8>,
    at: usize,
}

impl<S: Read> ReplyReader<'_, S> {
    /// Reads more. Returns whether there was more.
    fn fill(&mut self) -> io::Result<bool> {
        self.bytes.drain(..std::mem::take(&mut self.at));
        let mut part = [0; 16 << 10];
        // Hosts that end a TLS connection without saying so end the reply all the same.
        let count = match self.stream.read(&mut part) {
            Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => 0,
            other => other?,
        };
        self.bytes.extend_from_slice(&part[..count]);
        Ok(count > 0)
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn read_head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
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

    /// Returns the body up to `most` bytes, and whether there is more.
    fn read_body(&mut self, reply: &RawReply, most: usize) -> io::Result<(Vec<u8>, bool)> {
        if let Some(encoding) = reply.header("transfer-encoding") {
            if !encoding.eq_ignore_ascii_case("chunked") {
                return Err(bad("its transfer encoding is not known"));
            }
            return self.read_chunks(most);
        }
        let length = match reply.header("content-length") {
            None => None,
            Some(text) => Some(text.parse::<u64>().map_err(|_| bad("its length is no number"))?),
        };
        let mut body = Vec::new();
        let wanted = length.unwrap_or(u64::MAX);
        let is_whole = self.take(&mut body, wanted, most)?;
        if length.is_some() && !is_whole && body.len() < most {
            return Err(bad("it ended before it was whole"));
        }
        let is_cut = match length {
            Some(length) => length > body.len() as u64,
            None => !is_whole && body.len() >= most && (!self.rest().is_empty() || self.fill()?),
        };
        Ok((body, is_cut))
    }

    /// Takes up to `wanted` bytes, but no more than `most` in all. Returns whether all that were wanted are there.
    fn take(&mut self, body: &mut Vec<u8>, wanted: u64, most: usize) -> io::Result<bool> {
        let mut left = wanted;
        while left > 0 {
            if body.len() >= most {
                return Ok(false);
            }
            if self.rest().is_empty() && !self.fill()? {
                return Ok(false);
            }
            let room = (most - body.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = room.min(self.rest().len());
            body.extend_from_slice(&self.bytes[self.at..self.at + count]);
            self.at += count;
            left -= count as u64;
        }
        Ok(true)
    }

    fn read_chunks(&mut self, most: usize) -> io::Result<(Vec<u8>, bool)> {
        let mut body = Vec::new();
        loop {
            let line = self.read_line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let is_hex = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
            let length = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
            let length = length.ok_or_else(|| bad("a part of it has no length"))?;
            if length == 0 {
                return Ok((body, false));
            }
            if !self.take(&mut body, length, most)? {
                if body.len() >= most {
                    return Ok((body, true));
                }
                return Err(bad("it ended before it was whole"));
            }
            if !self.read_line()?.is_empty() {
                return Err(bad("a part of it is longer than it says"));
            }
        }
    }

    fn read_line(&mut self) -> io::Result<String> {
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
                return Err(bad("it ended before it was whole"));
            }
        }
    }
}
