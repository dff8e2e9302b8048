//! One request to one host, whose address is looked up, checked and dialled once.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use toolcrib_core::net::AllowedAddresses;
use toolcrib_core::{ErrorKind, ToolError};

use super::bad_reply::CompressionBomb;
use super::exchange::{BrokenExchange, RawReply, RawRequest, exchange};
use super::global_address;
use super::patience::{POLL_INTERVAL, Patience};
use super::patient_stream::PatientStream;
use super::target::FetchTarget;
use crate::Resolver;

/// How long one address may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Returns how the certificates of servers are checked.
pub type TlsConfigSource = dyn Fn() -> io::Result<Arc<ClientConfig>> + Send + Sync;

/// Sends single requests.
pub(super) struct Dialer {
    pub(super) tls: Box<TlsConfigSource>,
    pub(super) resolve: Arc<Resolver>,
    /// Addresses that count as part of the open internet although they are not.
    pub(super) local: Vec<IpAddr>,
}

/// A request that brought no reply.
pub(super) struct FailedAttempt {
    pub(super) error: ToolError,
    /// Whether the host may answer if it is asked again, because it broke off before it replied.
    pub(super) is_passing: bool,
}

impl From<ToolError> for FailedAttempt {
    fn from(error: ToolError) -> Self {
        Self { error, is_passing: false }
    }
}

impl Dialer {
    /// Sends one request, and returns the reply.
    pub(super) fn send(
        &self,
        request: &RawRequest<'_>,
        patience: &Patience,
    ) -> Result<RawReply, FailedAttempt> {
        let target = request.target;
        let failed = |err: io::Error| told(target, &err, patience);
        let stream = self.connect(request, patience)?;
        let mut stream = PatientStream::new(stream, patience.clone()).map_err(failed)?;
        let (reply, is_proven) = if target.is_tls() {
            let config = (self.tls)().map_err(|err| {
                let message = format!("the certificates of servers cannot be checked: {err}");
                ToolError::new(ErrorKind::Unavailable, message)
            })?;
            let name = ServerName::try_from(target.host().to_owned()).map_err(|_| {
                let message = format!("`{}` can be no name in a certificate", target.host());
                ToolError::new(ErrorKind::BadArgs, message)
            })?;
            let connection =
                ClientConnection::new(config, name).map_err(|err| unproven(target, &err))?;
            let mut stream = StreamOwned::new(connection, stream);
            (exchange(&mut stream, request), !stream.conn.is_handshaking())
        } else {
            (exchange(&mut stream, request), true)
        };
        reply.map_err(|BrokenExchange { err, has_begun }| {
            let tls = err.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>());
            if let Some(tls) = tls.filter(|_| !is_proven) {
                return unproven(target, tls).into();
            }
            let is_passing = !has_begun && is_broken_off(&err);
            FailedAttempt { error: failed(err), is_passing }
        })
    }

    /// Looks up the addresses of a name. The system's resolver knows no deadline, so it runs on a thread that is left
    /// alone when the time is over.
    fn look_up(
        &self,
        target: &FetchTarget,
        patience: &Patience,
    ) -> Result<io::Result<Vec<SocketAddr>>, ToolError> {
        let (resolve, host, port) =
            (Arc::clone(&self.resolve), target.host().to_owned(), target.port());
        let (found, finding) = mpsc::sync_channel(1);
        let look_up = move || {
            // Nobody waits any more, if this fails.
            let _ = found.send(resolve(&host, port));
        };
        let started = thread::Builder::new().name("look-up".to_owned()).spawn(look_up);
        started.map_err(|err| told(target, &err, patience))?;
        loop {
            if patience.is_over() {
                return Err(patience.ended(target.host()));
            }
            match finding.recv_timeout(POLL_INTERVAL.min(patience.left())) {
                Ok(found) => return Ok(found),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Ok(Err(io::Error::other("the look-up failed")));
                }
            }
        }
    }

    /// Returns the addresses of the target that the request may connect to.
    fn addresses(
        &self,
        request: &RawRequest<'_>,
        patience: &Patience,
    ) -> Result<Vec<SocketAddr>, ToolError> {
        let target = request.target;
        let found = match target.address() {
            Some(address) => vec![SocketAddr::new(address, target.port())],
            None => self
                .look_up(target, patience)?
                .map_err(|err| unreachable(target, &format!("its name has no address: {err}")))?,
        };
        let is_open = |it: &SocketAddr| match request.addresses {
            AllowedAddresses::Operator => true,
            AllowedAddresses::OpenInternet => {
                global_address::is_global(it.ip()) || self.local.contains(&it.ip())
            }
        };
        let open: Vec<SocketAddr> = found.into_iter().filter(is_open).collect();
        if open.is_empty() {
            let message = format!(
                "`{}` is not on the open internet, and was not connected to",
                target.host()
            );
            return Err(ToolError::new(ErrorKind::Refused, message)
                .with("reason", "private_address")
                .hint("name a host of the open internet"));
        }
        Ok(open)
    }

    /// Connects to an address of the target that was checked.
    fn connect(
        &self,
        request: &RawRequest<'_>,
        patience: &Patience,
    ) -> Result<TcpStream, FailedAttempt> {
        let target = request.target;
        let mut failed = FailedAttempt::from(unreachable(target, "no address answered"));
        for address in self.addresses(request, patience)? {
            if patience.is_over() {
                return Err(patience.ended(target.host()).into());
            }
            match TcpStream::connect_timeout(&address, patience.left().min(CONNECT_TIME)) {
                Ok(stream) => return Ok(stream),
                Err(err) => {
                    let is_passing = is_broken_off(&err);
                    failed =
                        FailedAttempt { error: unreachable(target, &err.to_string()), is_passing };
                }
            }
        }
        Err(failed)
    }
}

/// Whether a connection was refused, or broken off by the other side.
fn is_broken_off(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}

fn unreachable(target: &FetchTarget, why: &str) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("`{}` cannot be reached: {why}", target.host()))
        .with("reason", "unreachable")
        .hint("check the name of the host, and that this machine reaches it")
}

fn unproven(target: &FetchTarget, err: &rustls::Error) -> ToolError {
    let message = format!("`{}` could not prove who it is: {err}", target.host());
    ToolError::new(ErrorKind::Refused, message)
        .with("reason", "tls_error")
        .hint("nothing was sent; there is no way around the check")
}

/// Returns the error of a request that failed on its way.
fn told(target: &FetchTarget, err: &io::Error, patience: &Patience) -> ToolError {
    let host = target.host();
    if patience.is_cancelled() || err.kind() == io::ErrorKind::TimedOut {
        return patience.ended(host);
    }
    let inner = err.get_ref();
    if let Some(bomb) = inner.and_then(|it| it.downcast_ref::<CompressionBomb>()) {
        let message = format!("the answer of `{host}` is a compression bomb: {bomb}");
        return ToolError::new(ErrorKind::Failed, message)
            .with("reason", "compression_bomb")
            .with("encoded_bytes", bomb.encoded)
            .hint("fetch something else; the rest was not read");
    }
    ToolError::new(ErrorKind::Io, format!("the answer of `{host}` failed: {err}"))
        .with("reason", "bad_answer")
}
