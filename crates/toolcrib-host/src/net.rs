//! The net for real: one request to one host, whose address is looked up, checked and dialled once. No proxy of the
//! environment is used.

mod exchange;
pub(crate) mod global_address;
mod patient_stream;
mod target;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use toolcrib_core::net::{FetchMethod, FetchReply, FetchRequest, Net};
use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::Resolver;
use exchange::{RawReply, RawRequest, check_headers, exchange};
use patient_stream::{LOOK, PatientStream};
use target::FetchTarget;

/// How often a redirect is followed.
const MAX_REDIRECTS: usize = 5;

/// How long one address may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The headers that are not sent to another origin.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Returns how the certificates of servers are checked.
pub type TlsConfigSource = dyn Fn() -> io::Result<Arc<ClientConfig>> + Send + Sync;

/// Fetches from hosts on the open internet.
pub struct NetClient {
    ports: Vec<u16>,
    tls: Box<TlsConfigSource>,
    resolve: Arc<Resolver>,
    /// Addresses that count as part of the open internet although they are not.
    local: Vec<IpAddr>,
}

impl NetClient {
    /// Makes a client for these ports. `tls` is asked when the first host wants TLS.
    pub fn new(ports: Vec<u16>, tls: Box<TlsConfigSource>) -> Self {
        let resolve = |name: &str, port: u16| {
            std::net::ToSocketAddrs::to_socket_addrs(&(name, port)).map(Iterator::collect)
        };
        Self { ports, tls, resolve: Arc::new(resolve), local: Vec::new() }
    }

    /// Returns the client with another resolver, and with local addresses that it may connect to. For tests on one
    /// machine: no setting leads here.
    pub fn with_resolver(self, resolve: Box<Resolver>, local: Vec<IpAddr>) -> Self {
        Self { resolve: Arc::from(resolve), local, ..self }
    }

    fn send(
        &self,
        target: &FetchTarget,
        request: &RawRequest<'_>,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<RawReply, ToolError> {
        let failed = |err: io::Error| told(target, &err, cancel);
        let stream = self.connect(target, until, cancel)?;
        let mut stream = PatientStream::new(stream, until, cancel.clone()).map_err(failed)?;
        let reply = if target.is_tls() {
            let config = (self.tls)().map_err(|err| {
                let message = format!("the certificates of servers cannot be checked: {err}");
                ToolError::new(ErrorKind::Unavailable, message)
            })?;
            let name = ServerName::try_from(target.host().to_owned()).map_err(|_| {
                let message = format!("`{}` can be no name in a certificate", target.host());
                ToolError::new(ErrorKind::BadArgs, message)
            })?;
            let connection =
                ClientConnection::new(config, name).map_err(|err| failed(io::Error::other(err)))?;
            exchange(&mut StreamOwned::new(connection, stream), request)
        } else {
            exchange(&mut stream, request)
        };
        reply.map_err(failed)
    }

    /// Looks up the addresses of a name. The system's resolver knows no deadline, so it runs on a thread that is left
    /// alone when the time is over.
    fn look_up(
        &self,
        target: &FetchTarget,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<io::Result<Vec<SocketAddr>>, ToolError> {
        let (resolve, host, port) =
            (Arc::clone(&self.resolve), target.host().to_owned(), target.port());
        let (found, finding) = mpsc::sync_channel(1);
        let look_up = move || {
            // Nobody waits any more, if this fails.
            let _ = found.send(resolve(&host, port));
        };
        let started = thread::Builder::new().name("look-up".to_owned()).spawn(look_up);
        started.map_err(|err| told(target, &err, cancel))?;
        loop {
            if cancel.is_cancelled() || Instant::now() >= until {
                return Err(told(target, &io::ErrorKind::TimedOut.into(), cancel));
            }
            match finding.recv_timeout(LOOK) {
                Ok(found) => return Ok(found),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Ok(Err(io::Error::other("the look-up failed")));
                }
            }
        }
    }

    /// Connects to an address of the target that was checked.
    fn connect(
        &self,
        target: &FetchTarget,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<TcpStream, ToolError> {
        let host = target.host();
        let unreachable = |why: &str| {
            ToolError::new(ErrorKind::Io, format!("`{host}` cannot be reached: {why}"))
                .with("reason", "unreachable")
        };
        let found = match target.address() {
            Some(address) => vec![SocketAddr::new(address, target.port())],
            None => self
                .look_up(target, until, cancel)?
                .map_err(|err| unreachable(&format!("its name has no address: {err}")))?,
        };
        let is_open =
            |it: &SocketAddr| global_address::is_global(it.ip()) || self.local.contains(&it.ip());
        let open: Vec<SocketAddr> = found.into_iter().filter(is_open).collect();
        if open.is_empty() {
            let message = format!("`{host}` is not on the open internet, and was not connected to");
            return Err(ToolError::new(ErrorKind::Refused, message)
                .with("reason", "private_address")
                .hint("name a host of the open internet"));
        }
        let mut why = "no address answered".to_owned();
        for address in open {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || cancel.is_cancelled() {
                return Err(told(target, &io::ErrorKind::TimedOut.into(), cancel));
            }
            match TcpStream::connect_timeout(&address, left.min(CONNECT_TIME)) {
                Ok(stream) => return Ok(stream),
                Err(err) => why = err.to_string(),
            }
        }
        Err(unreachable(&why))
    }
}

/// Returns the error of a request that failed on its way.
fn told(target: &FetchTarget, err: &io::Error, cancel: &Cancel) -> ToolError {
    let host = target.host();
    if cancel.is_cancelled() {
        return ToolError::new(ErrorKind::Cancelled, "the call was cancelled");
    }
    if err.kind() == io::ErrorKind::TimedOut {
        let message = format!("`{host}` did not answer in time");
        return ToolError::new(ErrorKind::Timeout, message)
            .with("reason", "deadline")
            .hint("try again later, or give it more time");
    }
    let tls = err.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    if let Some(tls) = tls {
        let message = format!("`{host}` could not prove who it is: {tls}");
        return ToolError::new(ErrorKind::Refused, message)
            .with("reason", "tls_error")
            .hint("nothing was sent; there is no way around the check");
    }
    ToolError::new(ErrorKind::Io, format!("the answer of `{host}` failed: {err}"))
        .with("reason", "bad_answer")
}

impl Net for NetClient {
    fn fetch(&self, request: &FetchRequest, cancel: &Cancel) -> Result<FetchReply, ToolError> {
        let until = Instant::now() + request.time;
        let mut target = FetchTarget::parse(&request.url, &self.ports)?;
        check_headers(&request.headers)?;
        let mut headers = request.headers.clone();
        let (mut method, mut body) = (request.method, request.body.as_deref());
        for _ in 0..=MAX_REDIRECTS {
            let raw = RawRequest {
                method,
                target: &target,
                headers: &headers,
                body,
                most_bytes: request.most_bytes,
            };
            let reply = self.send(&target, &raw, until, cancel)?;
            let Some(location) = reply.location() else {
                return Ok(reply.into_reply(&target, None));
            };
            let next = match target.join(location, &self.ports) {
                Ok(next) if next.host() == target.host() => next,
                // Another host, or one that is not allowed at all: whoever wants to go there must ask.
                Ok(next) => {
                    let redirect = Some(next.as_str().to_owned());
                    return Ok(reply.into_reply(&target, redirect));
                }
                Err(err) => return Err(err.with("redirected_from", target.as_str())),
            };
            if target.is_tls() && !next.is_tls() {
                let message = format!("`{}` leads from https to http", target.host());
                return Err(ToolError::new(ErrorKind::Refused, message)
                    .with("reason", "downgrade")
                    .hint("fetch the http URL itself, if that is wanted"));
            }
            if !next.has_origin_of(&target) {
                headers.retain(|(name, _)| {
                    !CREDENTIALS.iter().any(|it| it.eq_ignore_ascii_case(name))
                });
            }
            if reply.status == 303
                || (matches!(reply.status, 301 | 302) && method == FetchMethod::Post)
            {
                (method, body) = (FetchMethod::Get, None);
            }
            target = next;
        }
        let message = format!("`{}` leads on more than {MAX_REDIRECTS} times", target.host());
        Err(ToolError::new(ErrorKind::Failed, message).with("reason", "too_many_redirects"))
    }
}
