//! One HTTP request to another server, over a connection of its own. Nothing follows redirects or uses a proxy.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::header::{HOST, USER_AGENT};
use axum::http::uri::Scheme;
use axum::http::{HeaderValue, Request, StatusCode, Uri};
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

/// Where requests may go without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainText {
    Anywhere,
    /// Only to this machine, because whoever changes the reply on its way would be believed.
    ToThisMachine,
}

/// Another server, and the path there.
#[derive(Clone)]
pub(crate) struct HttpTarget {
    host: String,
    port: u16,
    /// The host as it is written in `Host`.
    authority: String,
    path: String,
    tls: Option<TlsConnector>,
    plain_text: PlainText,
}

/// Why no request can be sent to a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    /// The URL cannot be used.
    BadUrl(&'static str),
    /// The system has no certificates to trust.
    NoCertificates(String),
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadUrl(why) => f.write_str(why),
            Self::NoCertificates(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for TargetError {}

/// What another server answered.
pub(crate) struct TargetReply {
    pub(crate) status: StatusCode,
    /// The body, unless it was too long or broke off.
    pub(crate) body: Option<Bytes>,
}

/// Why there is no reply.
#[derive(Debug)]
pub enum ExchangeError {
    /// The server cannot be reached.
    Io(io::Error),
    /// The exchange failed.
    Http(hyper::Error),
    /// The server did not answer in time.
    Timeout,
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(err) => write!(f, "{err}"),
            Self::Http(err) => write!(f, "{err}"),
            Self::Timeout => f.write_str("it did not answer in time"),
        }
    }
}

impl std::error::Error for ExchangeError {}

impl From<io::Error> for ExchangeError {
    fn from(err: io::Error) -> Self {
        Self::Io(err)
    }
}

impl From<hyper::Error> for ExchangeError {
    fn from(err: hyper::Error) -> Self {
        Self::Http(err)
    }
}

impl HttpTarget {
    /// Reads a URL. Errors do not repeat it, because it may hold secrets.
    pub(crate) fn parse(url: &str, plain_text: PlainText) -> Result<Self, TargetError> {
        let bad = TargetError::BadUrl;
        let uri: Uri = url.parse().map_err(|_| bad("it is no URL"))?;
        let authority = uri.authority().ok_or(bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("it has a user in it"));
        }
        if url.contains('#') {
            return Err(bad("it has a `#`"));
        }
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(bad("it begins neither with http:// nor with https://")),
        };
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        if !is_tls && plain_text == PlainText::ToThisMachine && !is_this_machine(&host) {
            return Err(bad(
                "it begins with http://, which only a loopback address may; use https://",
            ));
        }
        Ok(Self {
            host,
            port: authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            authority: authority.to_string(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            tls: if is_tls { Some(connector()?) } else { None },
            plain_text,
        })
    }

    /// Returns the path, with the query if there is one.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the host with its port, as the URL has it.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the same server with another path.
    pub(crate) fn with_path(self, path: String) -> Self {
        Self { path, ..self }
    }

    /// Sends a request. At most `most_bytes` of the reply are read.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        most_bytes: usize,
        within: Duration,
    ) -> Result<TargetReply, ExchangeError> {
        let sending = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            match &self.tls {
                None => {
                    // A name such as `localhost` says where it leads only now.
                    let is_here = stream.peer_addr()?.ip().to_canonical().is_loopback();
                    if self.plain_text == PlainText::ToThisMachine && !is_here {
                        return Err(
                            io::Error::other("without TLS, it must be on this machine").into()
                        );
                    }
                    self.exchange(stream, request, most_bytes).await
                }
                Some(connector) => {
                    let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
                    self.exchange(connector.connect(name, stream).await?, request, most_bytes).await
                }
            }
        };
        timeout(within, sending).await.unwrap_or(Err(ExchangeError::Timeout))
    }

    async fn exchange<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        mut request: Request<Full<Bytes>>,
        most_bytes: usize,
    ) -> Result<TargetReply, ExchangeError> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = AbortOnDrop(tokio::spawn(async { drop(connection.await) }));
        *request.uri_mut() = self.path.parse().map_err(io::Error::other)?;
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::from_str(&self.authority).map_err(io::Error::other)?);
        let own_name = concat!("toolcrib/", env!("CARGO_PKG_VERSION"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(own_name));
        let response = sender.send_request(request).await?;
        let status = response.status();
        // Read to its end, so that the other server does not see a connection that breaks off.
        let body = Limited::new(response.into_body(), most_bytes).collect().await;
        drop(connection);
        Ok(TargetReply { status, body: body.ok().map(http_body_util::Collected::to_bytes) })
    }
}

/// A task that does not outlive the exchange, also if that takes too long.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether a host is written as one of this machine.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let address = host.parse::<IpAddr>().map(|it| it.to_canonical());
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
}

/// Returns what makes TLS connections, with the certificates that the system trusts.
fn connector() -> Result<TlsConnector, TargetError> {
    let config = client_config(TrustedRoots::OfSystem);
    let config = config.map_err(|err| TargetError::NoCertificates(err.to_string()))?;
    Ok(TlsConnector::from(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_only_this_machine_is_trusted() {
        let refused = |url: &str, plain| HttpTarget::parse(url, plain).is_err();
        for url in ["http://127.0.0.1:9/keys", "http://[::1]/", "http://localhost:8080/a?b=c"] {
            assert!(!refused(url, PlainText::ToThisMachine), "{url}");
        }
        for url in ["http://keys.example/", "http://10.0.0.1/", "http://localhost.evil.example/"] {
            assert!(refused(url, PlainText::ToThisMachine), "{url}");
            assert!(!refused(url, PlainText::Anywhere), "{url}");
        }
        for url in ["", "/keys", "ftp://127.0.0.1/", "http://me@127.0.0.1/", "http://127.0.0.1/#a"]
        {
            assert!(refused(url, PlainText::ToThisMachine), "{url}");
        }
    }
}
