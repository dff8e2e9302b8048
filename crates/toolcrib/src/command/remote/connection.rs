//! Connections to a server: over TLS, a Unix socket, or in plain text where nobody is on the way.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_rustls::TlsConnector;

use super::address::{HttpScheme, ServerAddress};
use super::authority_file::TrustedAuthorities;
use super::server_error::not_reached;
use super::tls_error;
use crate::error::CliError;

/// How long a connection may take to be made.
const CONNECT_TIME: Duration = Duration::from_secs(12);

/// How long a TLS handshake may take, within the time of a connection.
const HANDSHAKE_TIME: Duration = Duration::from_secs(8);

/// A connection to a server.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// What makes connections to a server.
pub(super) struct Connector {
    pub(super) address: ServerAddress,
    /// How the server shows who it is, if it is spoken to over TLS.
    tls: Option<TlsIdentity>,
}

struct TlsIdentity {
    name: ServerName<'static>,
    authorities: TrustedAuthorities,
    connector: TlsConnector,
}

impl Connector {
    /// Makes the connector of a server. The authorities are for one that speaks TLS.
    pub(super) fn new(
        address: ServerAddress,
        authorities: TrustedAuthorities,
    ) -> Result<Self, CliError> {
        let tls = match &address {
            ServerAddress::Host { scheme: HttpScheme::Tls, host, .. } => {
                let name = ServerName::try_from(host.clone()).map_err(|_| {
                    let message = format!("`{host}` can be no name in a certificate");
                    CliError::usage(message).hint("write the host's DNS name or its IP address")
                })?;
                let connector = TlsConnector::from(authorities.client_config()?);
                Some(TlsIdentity { name, authorities, connector })
            }
            ServerAddress::Host { scheme: HttpScheme::Plain, .. } | ServerAddress::Unix(_) => None,
        };
        Ok(Self { address, tls })
    }

    /// Connects. Nothing is sent before it is certain that only the server can read it.
    pub(super) async fn connect(&self) -> Result<Box<dyn ByteStream>, CliError> {
        let opened = tokio::time::timeout(CONNECT_TIME, self.open()).await;
        opened.unwrap_or_else(|_| {
            let seconds = CONNECT_TIME.as_secs();
            Err(not_reached(&self.address, &format!("no answer within {seconds} seconds")))
        })
    }

    async fn open(&self) -> Result<Box<dyn ByteStream>, CliError> {
        let failed = |err: io::Error| not_reached(&self.address, &err.to_string());
        let (host, port) = match &self.address {
            ServerAddress::Host { host, port, .. } => (host.as_str(), *port),
            ServerAddress::Unix(path) => {
                return Ok(Box::new(UnixStream::connect(path).await.map_err(failed)?));
            }
        };
        let found: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(failed)?.collect();
        let Some(tls) = &self.tls else {
            // Looked up once: the addresses that were checked are those that are connected to.
            if !found.iter().all(is_loopback) {
                return Err(would_be_readable(&self.address));
            }
            return Ok(Box::new(TcpStream::connect(&found[..]).await.map_err(failed)?));
        };
        let stream = TcpStream::connect(&found[..]).await.map_err(failed)?;
        let handshake = tls.connector.connect(tls.name.clone(), stream);
        match tokio::time::timeout(HANDSHAKE_TIME, handshake).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            // Some servers without TLS wait for the rest of what they take for a request.
            Err(_) => Err(tls_error::no_tls(&self.address)),
            Ok(Err(err)) => Err(tls_error::explain(&self.address, &tls.authorities, &err)),
        }
    }
}

/// Whether what is sent to an address stays on this machine.
fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Returns the error for a server to which the token would be sent in plain text.
fn would_be_readable(address: &ServerAddress) -> CliError {
    let message = format!(
        "{address} is no loopback address, and without TLS anyone on the way could read the token; nothing was sent"
    );
    let https = address.with_other_scheme().unwrap_or_default();
    CliError::usage(message).hint(format!(
        "use {https} if the server has a certificate, or a tunnel: `ssh -L 7766:127.0.0.1:7766 HOST` and \
         --server http://127.0.0.1:7766"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_stay_on_this_machine() {
        for (address, expected) in [
            ("127.0.0.1:1", true),
            ("127.255.0.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.168.1.1:1", false),
            ("[::ffff:10.0.0.1]:1", false),
            ("[fe80::1]:1", false),
        ] {
            assert_eq!(is_loopback(&address.parse().unwrap()), expected, "{address}");
        }
    }
}
