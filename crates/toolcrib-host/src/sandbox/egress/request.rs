//! A request to the proxy, parsed strictly.

use std::fmt::{self, Write as _};
use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Instant;

/// How many bytes the head of a request may have.
const MOST_HEAD_BYTES: usize = 32 << 10;

/// Headers that concern the client and the proxy alone, and are not passed on.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// One request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) is_tunnel: bool,
    /// The head that is sent to the server.
    pub(super) head: Vec<u8>,
    /// How long the body is, and what was already read of it.
    length: u64,
    pub(super) early: Vec<u8>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    BadRequest(&'static str),
    TooLarge,
    NoLength,
    BadHost(String),
    OtherHost,
    HostNotListed(String),
    PortNotListed(u16),
    NotAllowed(String),
    NoAddress(String),
    LocalAddress(String),
    Unreachable(String),
    OtherServerName(String),
}

/// Who or what kept a request from passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalCause {
    /// The request itself, the settings, a person, or what the proxy checks.
    Rules,
    /// The network: the request was allowed, and did not get through.
    Network,
}

impl Refusal {
    pub(super) fn cause(&self) -> RefusalCause {
        match self {
            Self::BadRequest(_)
            | Self::TooLarge
            | Self::NoLength
            | Self::BadHost(_)
            | Self::OtherHost
            | Self::HostNotListed(_)
            | Self::PortNotListed(_)
            | Self::NotAllowed(_)
            | Self::LocalAddress(_)
            | Self::OtherServerName(_) => RefusalCause::Rules,
            Self::NoAddress(_) | Self::Unreachable(_) => RefusalCause::Network,
        }
    }

    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::BadRequest(_) | Self::BadHost(_) | Self::OtherHost => "400 Bad Request",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::NoLength => "411 Length Required",
            Self::HostNotListed(_)
            | Self::PortNotListed(_)
            | Self::NotAllowed(_)
            | Self::LocalAddress(_)
            | Self::OtherServerName(_) => "403 Forbidden",
            Self::NoAddress(_) | Self::Unreachable(_) => "502 Bad Gateway",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(why) => write!(f, "invalid request: {why}"),
            Self::TooLarge => {
                write!(f, "the request header is larger than {MOST_HEAD_BYTES} bytes")
            }
            Self::NoLength => f.write_str("a request with a body needs a Content-Length header"),
            Self::BadHost(host) => {
                write!(f, "`{}` is not a host name", host.escape_debug())
            }
            Self::OtherHost => {
                f.write_str("the Host header and the request line name different hosts")
            }
            Self::HostNotListed(host) => {
                write!(f, "`{host}` is not in `sandbox.egress`; the operator can add it")
            }
            Self::PortNotListed(port) => {
                write!(f, "port {port} is not in `sandbox.egress_ports`; the operator can add it")
            }
            Self::NotAllowed(why) => f.write_str(why),
            Self::NoAddress(why) => write!(
                f,
                "the host is allowed, but its name could not be resolved: {why}; check the name, and whether this \
                 machine can resolve names"
            ),
            Self::LocalAddress(host) => {
                write!(f, "`{host}` resolves to an address that is not on the open internet")
            }
            Self::Unreachable(why) => {
                write!(f, "the host is allowed, but cannot be reached: {why}")
            }
            Self::OtherServerName(name) if name.is_empty() => {
                f.write_str("the connection is not TLS with a server name (SNI)")
            }
            Self::OtherServerName(name) => {
                write!(f, "the TLS connection names another server, `{}`", name.escape_debug())
            }
        }
    }
}

impl Request {
    /// Reads the head of a request, all of it by `until`.
    pub(super) fn read(
        client: &mut TcpStream,
        until: Instant,
    ) -> io::Result<Result<Self, Refusal>> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        let end = loop {
            if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
                break end;
            }
            if bytes.len() > MOST_HEAD_BYTES {
                return Ok(Err(Refusal::TooLarge));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            client.set_read_timeout(Some(left))?;
            match client.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => bytes.extend_from_slice(&chunk[..count]),
            }
        };
        let early = bytes.split_off(end + 4);
        Ok(parse(&bytes, early))
    }

    /// Passes the body on, exactly as long as the request says.
    pub(super) fn forward_body(
        &self,
        client: &mut TcpStream,
        mut send: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let early = &self.early[..self.early.len().min(self.length as usize)];
        send(early)?;
        let mut rest = client.take(self.length - early.len() as u64);
        let mut buffer = vec![0; 32 << 10];
        loop {
            match rest.read(&mut buffer)? {
                0 => return Ok(()),
                count => send(&buffer[..count])?,
            }
        }
    }
}

fn parse(head: &[u8], early: Vec<u8>) -> Result<Request, Refusal> {
    let bad = Refusal::BadRequest;
    let head = std::str::from_utf8(head).map_err(|_| bad("it is not text"))?;
    // Control characters: one program takes them for the end of a line and another does not.
    let is_odd =
        |text: &str| text.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f);
    if head.split("\r\n").any(is_odd) {
        return Err(bad("it contains control characters"));
    }
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let first = lines.next().unwrap_or_default();
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, version] = words[..] else { return Err(bad("malformed request line")) };
    if !matches!(version, "HTTP/1.0" | "HTTP/1.1")
        || !method.bytes().all(|byte| byte.is_ascii_uppercase())
    {
        return Err(bad("malformed request line"));
    }
    let headers: Vec<(&str, &str)> = lines
        .map(|line| line.split_once(':').filter(|(name, _)| is_token(name)))
        .collect::<Option<_>>()
        .ok_or(bad("malformed header"))?;
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(Request { host, port, is_tunnel: true, head: Vec::new(), length: 0, early });
    }
    let rest =
        target.strip_prefix("http://").ok_or(bad("only http:// and CONNECT are supported"))?;
    let slash = rest.find(['/', '?']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(slash);
    let (host, port) = authority(place, Some(80))?;
    let values = |wanted: &str| {
        let wanted = wanted.to_owned();
        headers
            .iter()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(&wanted))
            .map(|it| it.1.trim())
    };
    let named: Vec<(String, u16)> =
        values("host").map(|value| authority(value, Some(80))).collect::<Result<_, _>>()?;
    if named.len() != 1 || !named[0].0.eq_ignore_ascii_case(&host) || named[0].1 != port {
        return Err(Refusal::OtherHost);
    }
    if values("transfer-encoding").next().is_some() {
        return Err(Refusal::NoLength);
    }
    let lengths: Vec<&str> = values("content-length").collect();
    let length = match lengths[..] {
        [] => 0,
        [one] => number(one).ok_or(bad("malformed Content-Length"))?,
        _ => return Err(bad("several Content-Length headers")),
    };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let mut sent = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in &headers {
        if !HOP_BY_HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop)) {
            let _ = write!(sent, "{name}:{value}\r\n");
        }
    }
    sent.push_str("Connection: close\r\n\r\n");
    Ok(Request { host, port, is_tunnel: false, head: sent.into_bytes(), length, early })
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}

/// Parses digits, and nothing else.
fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok())?
}

/// Parses `host:port`. `port` is the default, if there is one.
fn authority(text: &str, port: Option<u16>) -> Result<(String, u16), Refusal> {
    let bad = || Refusal::BadHost(text.chars().take(300).collect());
    if text.contains(['@', '[', ']', '/', '\\']) {
        return Err(bad());
    }
    match (text.rsplit_once(':'), port) {
        (Some((host, port)), _) if !host.contains(':') => {
            let port = number(port).and_then(|port| u16::try_from(port).ok());
            Ok((host.to_owned(), port.ok_or_else(bad)?))
        }
        (None, Some(port)) => Ok((text.to_owned(), port)),
        _ => Err(bad()),
    }
}
