//! What an operator can set about the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::tls::TlsFiles;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where the server listens.
    pub address: ListenAddress,
    /// Values of `Host` that are accepted beside those of the loopback address, with their port.
    pub host_names: Vec<String>,
    /// The files of TLS, which a TCP address then speaks.
    pub tls: Option<TlsFiles>,
    /// The bounds of connections.
    pub connections: ConnectionBounds,
    /// The bounds of requests.
    pub requests: RequestBounds,
    /// How long running requests may go on after the server was told to stop.
    pub stop_within: Duration,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A TCP address. Without TLS, it must be of the loopback interface. Port 0 means any free port.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// How clients speak to a TCP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Returns the port that clients leave out.
    pub(crate) fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The bounds of connections.
#[derive(Clone, Debug)]
pub struct ConnectionBounds {
    /// How many connections can be open at once.
    pub most_open: usize,
    /// How long a connection may stay open without a request.
    pub idle_time: Duration,
    /// How long the head of a request may take, from its first byte to its last.
    pub head_time: Duration,
    /// How many bytes the head of a request may have.
    pub head_bytes: usize,
    /// How long a client may read nothing of a reply that waits for it.
    pub stalled_time: Duration,
}

/// The bounds of requests.
#[derive(Clone, Debug)]
pub struct RequestBounds {
    /// How many bytes a body may have.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How long the reply may take to begin, the time for the body included.
    pub answer_time: Duration,
    /// How many requests can run at once.
    pub in_flight: usize,
    /// How many requests of one principal can run at once.
    pub in_flight_each: usize,
    /// How many requests a principal may make. `None` means that nothing is counted.
    pub rate_each: Option<RequestRate>,
    /// How many wrong tokens are answered with 401 before all of them get 429.
    pub wrong_tokens: RequestRate,
}

/// A rate of requests with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRate {
    /// How many requests a second in the long run.
    pub per_second: u32,
    /// How many requests at once after a pause.
    pub burst: u32,
}

impl ServerConfig {
    /// Returns the default settings of a server at `address`.
    pub fn new(address: ListenAddress) -> Self {
        Self {
            address,
            host_names: Vec::new(),
            tls: None,
            connections: ConnectionBounds::default(),
            requests: RequestBounds::default(),
            stop_within: Duration::from_secs(30),
        }
    }

    /// Returns the address as clients write it.
    pub fn url(&self) -> String {
        self.address.url(self.scheme())
    }

    pub(crate) fn scheme(&self) -> Scheme {
        if self.tls.is_some() { Scheme::Https } else { Scheme::Http }
    }
}

impl Default for ConnectionBounds {
    fn default() -> Self {
        Self {
            most_open: 1024,
            idle_time: Duration::from_secs(75),
            head_time: Duration::from_secs(10),
            head_bytes: 64 << 10,
            stalled_time: Duration::from_secs(30),
        }
    }
}

impl Default for RequestBounds {
    fn default() -> Self {
        Self {
            body_bytes: 2 << 20,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_hours(1),
            in_flight: 512,
            in_flight_each: 64,
            rate_each: Some(RequestRate { per_second: 1000, burst: 2000 }),
            wrong_tokens: RequestRate { per_second: 5, burst: 50 },
        }
    }
}

impl ListenAddress {
    pub(crate) fn url(&self, scheme: Scheme) -> String {
        match self {
            Self::Tcp(address) => format!("{}://{address}", scheme.as_str()),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}
