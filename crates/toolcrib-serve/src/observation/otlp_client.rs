//! Sends spans to a collector: OTLP over HTTP, with a connection for each batch.

use std::fmt;
use std::time::Duration;

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;

use crate::http_client::{ExchangeError, HttpTarget, PlainText, TargetError};

/// How long one batch may take.
const SEND_TIME: Duration = Duration::from_secs(10);

/// How much of a reply is read.
const MOST_REPLY_BYTES: usize = 64 << 10;

/// What collectors append to their address for spans.
const SPANS_PATH: &str = "/v1/traces";

/// Where spans are sent, and with which headers.
#[derive(Clone)]
pub struct OtlpEndpoint {
    target: HttpTarget,
    headers: HeaderMap,
}

/// Why nothing can be sent to an endpoint.
#[derive(Debug)]
pub enum EndpointError {
    /// The URL is not one of a collector.
    BadUrl(TargetError),
    /// A line of the headers is no header.
    BadHeader(usize),
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadUrl(why) => write!(f, "{why}"),
            Self::BadHeader(line) => write!(f, "line {line} is no header `Name: value`"),
        }
    }
}

impl std::error::Error for EndpointError {}

impl OtlpEndpoint {
    /// Reads the URL of a collector, such as `http://127.0.0.1:4318`, and the headers to send, one on each line.
    pub fn new(url: &str, headers: &str) -> Result<Self, EndpointError> {
        let bad = |why: &'static str| EndpointError::BadUrl(TargetError::BadUrl(why));
        if url.contains('?') {
            return Err(bad("it has a query"));
        }
        let base = HttpTarget::parse(url, PlainText::Anywhere).map_err(EndpointError::BadUrl)?;
        let path = format!("{}{SPANS_PATH}", base.path().trim_end_matches('/'));
        Ok(Self { target: base.with_path(path), headers: parse_headers(headers)? })
    }
}

/// Reads headers, one on each line. Empty lines and those that begin with `#` are skipped.
fn parse_headers(text: &str) -> Result<HeaderMap, EndpointError> {
    let mut headers = HeaderMap::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let header = line.split_once(':').and_then(|(name, value)| {
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value))
        });
        let (name, value) = header.ok_or(EndpointError::BadHeader(place + 1))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// Why a batch was not taken.
#[derive(Debug)]
pub(super) enum SendError {
    /// The collector cannot be reached, or does not answer.
    Exchange(ExchangeError),
    /// The collector refused it.
    Status(StatusCode),
}

impl SendError {
    /// Whether the same batch may be taken later.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Exchange(_) => true,
            // The statuses that the protocol names.
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange(ExchangeError::Timeout) => {
                f.write_str("the collector did not answer in time")
            }
            Self::Exchange(err) => write!(f, "{err}"),
            Self::Status(status) => write!(f, "the collector answered {status}"),
        }
    }
}

/// Sends the body of one batch.
pub(super) async fn send(endpoint: &OtlpEndpoint, body: &str) -> Result<(), SendError> {
    let mut request = Request::new(Full::new(Bytes::from(body.to_owned())));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, body.len().into());
    headers.extend(endpoint.headers.clone());
    let reply = endpoint.target.send(request, MOST_REPLY_BYTES, SEND_TIME).await;
    let status = reply.map_err(SendError::Exchange)?.status;
    if status.is_success() { Ok(()) } else { Err(SendError::Status(status)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_collector_is_read_strictly() {
        for (url, expected) in [
            ("http://127.0.0.1:4318", Some(("127.0.0.1:4318", "/v1/traces"))),
            ("http://collector/", Some(("collector", "/v1/traces"))),
            ("http://[::1]:9/otlp/", Some(("[::1]:9", "/otlp/v1/traces"))),
            ("127.0.0.1:4318", None),
            ("ftp://host", None),
            ("http://user:secret@host", None),
            ("http://host?token=secret", None),
            ("", None),
        ] {
            let got = OtlpEndpoint::new(url, "");
            let got = got.as_ref().ok().map(|it| (it.target.authority(), it.target.path()));
            assert_eq!(got, expected, "{url}");
        }
    }

    #[test]
    fn headers_are_lines_and_never_shown() {
        let endpoint =
            OtlpEndpoint::new("http://h", "# mine\n\nX-Key: s3cret\nX-Team:a\n").unwrap();
        assert_eq!(endpoint.headers.get("x-key").unwrap(), "s3cret");
        assert!(!format!("{:?}", endpoint.headers).contains("s3cret"));
        let bad = OtlpEndpoint::new("http://h", "X-Key: a\ns3cret\n").err().unwrap().to_string();
        assert_eq!(bad, "line 2 is no header `Name: value`");
    }
}
