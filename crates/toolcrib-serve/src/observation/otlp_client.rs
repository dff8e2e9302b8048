//! Sends spans to a collector: OTLP over HTTP, with a connection for each batch.

use std::fmt;
use std::io;
use std::time::Duration;

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::tls::{TrustedRoots, client_config};

/// How long one batch may take.
const SEND_TIME: Duration = Duration::from_secs(10);

/// How much of a reply is read.
const MOST_REPLY_BYTES: usize = 64 << 10;

/// What collectors append to their address for spans.
const SPANS_PATH: &str = "/v1/traces";

/// Where spans are sent, and with which headers.
#[derive(Clone)]
pub struct OtlpEndpoint {
    host: String,
    port: u16,
    /// The host as it is written in `Host`.
    authority: String,
    path: String,
    headers: HeaderMap,
    tls: Option<TlsConnector>,
}

/// Why nothing can be sent to an endpoint.
#[derive(Debug)]
pub enum EndpointError {
    /// The URL is not one of a collector.
    BadUrl(String),
    /// A line of the headers is no header.
    BadHeader(usize),
    /// The system has no certificates to trust.
    NoCertificates(String),
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadUrl(why) | Self::NoCertificates(why) => f.write_str(why),
            Self::BadHeader(line) => write!(f, "line {line} is no header `Name: value`"),
        }
    }
}

impl std::error::Error for EndpointError {}

impl OtlpEndpoint {
    /// Reads the URL of a collector, such as `http://127.0.0.1:4318`, and the headers to send, one on each line.
    pub fn new(url: &str, headers: &str) -> Result<Self, EndpointError> {
        let bad = |why: &str| EndpointError::BadUrl(why.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad("it is no URL"))?;
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("it has a user in it; secrets belong into the file of headers"));
        }
        if uri.query().is_some() {
            return Err(bad("it has a query"));
        }
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(bad("it begins neither with http:// nor with https://")),
        };
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port,
            authority: authority.to_string(),
            path: format!("{}{SPANS_PATH}", uri.path().trim_end_matches('/')),
            headers: parse_headers(headers)?,
            tls: if is_tls { Some(connector()?) } else { None },
        })
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

/// Returns what makes TLS connections, with the certificates that the system trusts.
fn connector() -> Result<TlsConnector, EndpointError> {
    let config = client_config(TrustedRoots::OfSystem);
    let config = config.map_err(|err| EndpointError::NoCertificates(err.to_string()))?;
    Ok(TlsConnector::from(config))
}

/// Why a batch was not taken.
#[derive(Debug)]
pub(super) enum SendError {
    /// The collector cannot be reached.
    Io(io::Error),
    /// The exchange failed.
    Http(hyper::Error),
    /// The collector did not answer in time.
    Timeout,
    /// The collector refused it.
    Status(StatusCode),
}

impl SendError {
    /// Whether the same batch may be taken later.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Io(_) | Self::Http(_) | Self::Timeout => true,
            // The statuses that the protocol names.
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(err) => write!(f, "{err}"),
            Self::Http(err) => write!(f, "{err}"),
            Self::Timeout => f.write_str("the collector did not answer in time"),
            Self::Status(status) => write!(f, "the collector answered {status}"),
        }
    }
}

impl From<io::Error> for SendError {
    fn from(err: io::Error) -> Self {
        Self::Io(err)
    }
}

impl From<hyper::Error> for SendError {
    fn from(err: hyper::Error) -> Self {
        Self::Http(err)
    }
}

/// Sends the body of one batch.
pub(super) async fn send(endpoint: &OtlpEndpoint, body: &str) -> Result<(), SendError> {
    let sending = async {
        let stream = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await?;
        match &endpoint.tls {
            None => exchange(stream, endpoint, body).await,
            Some(connector) => {
                let name = ServerName::try_from(endpoint.host.clone());
                let name = name.map_err(io::Error::other)?;
                exchange(connector.connect(name, stream).await?, endpoint, body).await
            }
        }
    };
    timeout(SEND_TIME, sending).await.unwrap_or(Err(SendError::Timeout))
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    endpoint: &OtlpEndpoint,
    body: &str,
) -> Result<(), SendError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let mut request = Request::new(Full::new(Bytes::from(body.to_owned())));
    *request.method_mut() = axum::http::Method::POST;
    *request.uri_mut() = endpoint.path.parse().map_err(io::Error::other)?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&endpoint.authority).map_err(io::Error::other)?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, body.len().into());
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("toolcrib/", env!("CARGO_PKG_VERSION"))),
    );
    headers.extend(endpoint.headers.clone());
    let response = sender.send_request(request).await?;
    let status = response.status();
    // Read to its end, so that the collector does not see a connection that breaks off.
    let _ = Limited::new(response.into_body(), MOST_REPLY_BYTES).collect().await;
    connection.abort();
    if status.is_success() { Ok(()) } else { Err(SendError::Status(status)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_collector_is_read_strictly() {
        for (url, expected) in [
            ("http://127.0.0.1:4318", Some(("127.0.0.1", 4318, "/v1/traces"))),
            ("http://collector/", Some(("collector", 80, "/v1/traces"))),
            ("http://[::1]:9/otlp/", Some(("::1", 9, "/otlp/v1/traces"))),
            ("127.0.0.1:4318", None),
            ("ftp://host", None),
            ("http://user:secret@host", None),
            ("http://host?token=secret", None),
            ("", None),
        ] {
            let got = OtlpEndpoint::new(url, "");
            let got = got.as_ref().ok().map(|it| (it.host.as_str(), it.port, it.path.as_str()));
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
