//! A client that sends bytes as they are, and reads replies.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

/// How long a test waits before it has failed. Nothing depends on it otherwise.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) trait Wire: Read + Write {
    fn end_writing(&self);
}

impl Wire for TcpStream {
    fn end_writing(&self) {
        self.shutdown(Shutdown::Write).unwrap();
    }
}

impl Wire for UnixStream {
    fn end_writing(&self) {
        self.shutdown(Shutdown::Write).unwrap();
    }
}

pub(crate) struct Client {
    stream: BufReader<Box<dyn Wire>>,
    /// Whether everything could be sent.
    is_open: bool,
}

/// A reply as it came over the wire.
#[derive(Debug)]
pub(crate) struct RawReply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn tcp(address: std::net::SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::new(Box::new(stream)), is_open: true }
    }

    pub(crate) fn over(wire: impl Wire + 'static) -> Self {
        Self { stream: BufReader::new(Box::new(wire)), is_open: true }
    }

    pub(crate) fn unix(path: &std::path::Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::new(Box::new(stream)), is_open: true }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
        self
    }

    /// Sends as much as the server takes.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.is_open &= self.stream.get_mut().write_all(bytes.as_ref()).is_ok();
        self
    }

    /// Whether the server has taken everything so far.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(crate) fn end_writing(&mut self) -> &mut Self {
        self.stream.get_ref().end_writing();
        self
    }

    /// Reads one reply.
    pub(crate) fn reply(&mut self) -> RawReply {
        self.try_reply().unwrap_or_else(|| panic!("the connection ended without a reply"))
    }

    /// Reads one reply, or returns `None` if the connection ends before its head does.
    pub(crate) fn try_reply(&mut self) -> Option<RawReply> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = RawReply { status, headers, body: Vec::new() };
        let length = reply.header("content-length").map_or(0, |it| it.parse().unwrap());
        reply.body.resize(length, 0);
        if self.stream.read_exact(&mut reply.body).is_err() {
            reply.body.clear();
        }
        Some(reply)
    }

    /// Reads one line.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(err) if is_patience(&err) => panic!("no reply: {err}"),
            Err(_) => None,
        }
    }

    /// Waits until the server ends the connection. Returns what it still sent.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        if let Err(err) = self.stream.read_to_end(&mut rest) {
            assert!(!is_patience(&err), "the server does not end the connection");
        }
        rest
    }
}

fn is_patience(err: &std::io::Error) -> bool {
    matches!(err.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl RawReply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|err| panic!("{err}: {self:?}"))
    }

    /// Checks what holds for every reply.
    #[track_caller]
    pub(crate) fn check_form(&self) {
        let id = self.header("x-request-id").unwrap_or_default();
        assert!((1..=64).contains(&id.len()), "{self:?}");
        let caching = if self.header("etag").is_some() { "no-cache" } else { "no-store" };
        assert_eq!(self.header("cache-control"), Some(caching), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{self:?}");
        assert!(
            !self.headers.iter().any(|(name, _)| name.starts_with("access-control")),
            "{self:?}"
        );
    }

    #[track_caller]
    pub(crate) fn is_ok(&self) -> Value {
        self.check_form();
        assert_eq!(self.status, 200, "{} {self:?}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// Checks that the reply is an error in the form of all errors. Returns its message.
    #[track_caller]
    pub(crate) fn is_error(&self, status: u16, code: &str) -> String {
        self.check_form();
        let json = self.json();
        assert_eq!((self.status, json["error"].as_str()), (status, Some(code)), "{json}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(json["ok"], false);
        let message = json["message"].as_str().unwrap().to_owned();
        assert!(!message.is_empty());
        message
    }
}
