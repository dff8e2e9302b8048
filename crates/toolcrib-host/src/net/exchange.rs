//! One request and its reply over HTTP/1.1, each part within its bound while it arrives.

use std::io::{self, Read, Write};

use toolcrib_core::net::{AllowedAddresses, FetchMethod, FetchReply};
use toolcrib_core::{ErrorKind, ToolError, escape};

use super::bad_reply::bad;
use super::content_coding::{ACCEPTED_CODINGS, ContentCoding, ReadBody, read_body};
use super::framing::{BodyReader, Framing};
use super::reply_reader::ReplyReader;
use super::target::FetchTarget;

/// The most headers that a caller can send, and the most bytes of them.
const MAX_HEADERS: usize = 32;
const MAX_HEADER_BYTES: usize = 16 << 10;

/// How often a host may say that its reply is on its way.
const MAX_INTERIM_REPLIES: usize = 8;

/// The headers that we write ourselves.
const OWN_HEADERS: [&str; 10] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "expect",
    "te",
    "trailer",
    "keep-alive",
    "proxy-authorization",
];

/// A request as it is sent.
pub(super) struct RawRequest<'a> {
    pub(super) method: FetchMethod,
    pub(super) target: &'a FetchTarget,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: Option<&'a str>,
    pub(super) most_bytes: usize,
    pub(super) user_agent: &'a str,
    pub(super) addresses: AllowedAddresses,
}

/// A reply as it came, but decompressed.
#[derive(Debug)]
pub(super) struct RawReply {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    body: ReadBody,
}

impl RawReply {
    /// Returns where a redirect leads.
    pub(super) fn location(&self) -> Option<&str> {
        let is_redirect = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        self.header("location").filter(|_| is_redirect)
    }

    pub(super) fn into_reply(self, target: &FetchTarget, redirect: Option<String>) -> FetchReply {
        let Self { status, headers, body } = self;
        FetchReply {
            url: target.as_str().to_owned(),
            status,
            headers,
            body: body.bytes,
            encoded_bytes: body.encoded,
            is_cut: body.is_cut,
            redirect,
            ..FetchReply::default()
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// An exchange that failed.
pub(super) struct BrokenExchange {
    pub(super) err: io::Error,
    /// Whether the host had sent anything.
    pub(super) has_begun: bool,
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
) -> Result<RawReply, BrokenExchange> {
    let sent = send(stream, request);
    sent.map_err(|err| BrokenExchange { err, has_begun: false })?;
    let mut input = ReplyReader::new(stream);
    read_reply(&mut input, request)
        .map_err(|err| BrokenExchange { err, has_begun: input.has_begun() })
}

fn send(stream: &mut impl Write, request: &RawRequest<'_>) -> io::Result<()> {
    stream.write_all(head_of(request).as_bytes())?;
    stream.write_all(request.body.unwrap_or_default().as_bytes())?;
    stream.flush()
}

fn read_reply<S: Read>(
    input: &mut ReplyReader<'_, S>,
    request: &RawRequest<'_>,
) -> io::Result<RawReply> {
    for _ in 0..=MAX_INTERIM_REPLIES {
        let (status, headers) = input.read_head()?;
        // A host may say first that it goes on.
        if (100..200).contains(&status) && status != 101 {
            continue;
        }
        if status == 101 {
            return Err(bad("it changes to a protocol that nobody asked for"));
        }
        let mut reply = RawReply { status, headers, body: ReadBody::default() };
        let has_body = request.method != FetchMethod::Head && !matches!(status, 204 | 304);
        if has_body {
            let coding = ContentCoding::of(&reply.headers)?;
            let mut body = BodyReader::new(input, Framing::of(&reply.headers)?);
            reply.body = read_body(&mut body, coding, request.most_bytes)?;
            if coding != ContentCoding::Plain {
                let is_of_wire = |name: &str| matches!(name, "content-encoding" | "content-length");
                reply.headers.retain(|(name, _)| !is_of_wire(name));
            }
        }
        return Ok(reply);
    }
    Err(bad("it never comes to its head"))
}

fn head_of(request: &RawRequest<'_>) -> String {
    let RawRequest { method, target, headers, body, user_agent, .. } = request;
    let request_line = format!("{} {} HTTP/1.1", method.as_str(), target.path_and_query());
    let mut lines =
        vec![request_line, format!("Host: {}", target.authority()), "Connection: close".to_owned()];
    let has = |name: &str| headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
    if !has("accept-encoding") {
        // A part of a compressed body cannot be decompressed.
        let codings = if has("range") { "identity" } else { ACCEPTED_CODINGS };
        lines.push(format!("Accept-Encoding: {codings}"));
    }
    if !has("user-agent") {
        lines.push(format!("User-Agent: {user_agent}"));
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
