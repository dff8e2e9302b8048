//! Egress: a proxy that lets one sandbox reach the listed hosts and nothing else. The proxy dials the very address
//! that it checked, and a TLS connection must name the host that was asked for.

mod account;
mod client_hello;
mod host;
mod request;
mod waiting_requests;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use crate::net::global_address;
use account::{ConnectionMeter, Direction, EgressAccount};
pub(crate) use host::is_name as is_host_name;
pub use host::{BadHost, HostRule};
use request::{Refusal, RefusalCause, Request};
use toolcrib_core::command::NetworkAccount;
use toolcrib_core::host_access::{HostGate, HostRequest};
use waiting_requests::WaitingRequests;

/// How long a client may take to send its request, and a server to accept the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_mins(2);
/// How often an idle connection is checked.
const IDLE_CHECK: Duration = Duration::from_secs(5);
/// How many connections one sandbox may have open at once.
const MOST_CONNECTIONS: usize = 64;
/// How many refusals are listed in the answer.
const MOST_REFUSALS: usize = 16;

/// A function that resolves a host name.
pub type Resolver = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The hosts and ports that a sandbox may reach.
pub struct Egress {
    hosts: Vec<HostRule>,
    ports: Vec<u16>,
    resolve: Arc<Resolver>,
    /// Addresses that count as part of the open internet although they are not.
    local: Vec<IpAddr>,
}

impl Egress {
    /// Creates a proxy for these hosts at these ports.
    pub fn new(hosts: Vec<HostRule>, ports: Vec<u16>) -> Self {
        let resolve = |name: &str, port: u16| {
            std::net::ToSocketAddrs::to_socket_addrs(&(name, port)).map(Iterator::collect)
        };
        Self { hosts, ports, resolve: Arc::new(resolve), local: Vec::new() }
    }

    /// Returns the hosts that can be reached, as they are spelt in settings.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(ToString::to_string).collect()
    }

    /// Whether a host can be reached.
    pub(super) fn covers(&self, host: &str) -> bool {
        self.hosts.iter().any(|rule| rule.covers(host))
    }

    /// Returns the proxy with another resolver, and with local addresses that it may connect to. For tests on one
    /// machine: no setting leads here.
    pub fn with_resolver(self, resolve: Box<Resolver>, local: Vec<IpAddr>) -> Self {
        Self { resolve: Arc::from(resolve), local, ..self }
    }

    /// Returns a proxy for other hosts, at the same ports.
    pub(crate) fn for_hosts(&self, hosts: Vec<HostRule>) -> Self {
        let (ports, local) = (self.ports.clone(), self.local.clone());
        Self { hosts, ports, resolve: Arc::clone(&self.resolve), local }
    }

    /// Serves one sandbox until the returned value is dropped. `gate` decides about hosts that are not listed. When
    /// more than `most_bytes` are about to pass, no byte passes any more, and `supervisor` is woken.
    pub(crate) fn serve(
        self: &Arc<Self>,
        listener: OwnedFd,
        gate: Option<Arc<dyn HostGate>>,
        most_bytes: u64,
        supervisor: Waker,
    ) -> ProxyServer {
        let connections = Arc::new(Connections {
            is_closed: AtomicBool::default(),
            open: Mutex::default(),
            next: AtomicU64::default(),
            refused: Mutex::default(),
            waiting: gate.map(|gate| Arc::new(WaitingRequests::new(gate))),
            account: Arc::new(EgressAccount::new(most_bytes, supervisor)),
        });
        let listener = Arc::new(TcpListener::from(listener));
        let egress = Arc::clone(self);
        let (shared, accepting) = (Arc::clone(&connections), Arc::clone(&listener));
        let started = thread::Builder::new()
            .name("egress".to_owned())
            .spawn(move || accept(&egress, &shared, &accepting));
        // Without a thread no connection is accepted, so nothing gets out.
        let thread = started.ok();
        ProxyServer { connections, listener, thread }
    }

    /// Fails if a request may not pass: it names no host, or neither the settings nor anybody allow its host. Nothing
    /// is resolved before that, because a name alone can carry data out.
    fn check(
        &self,
        request: &Request,
        connections: &Connections,
        client: &TcpStream,
    ) -> Result<(), Refusal> {
        let (host, port) = (request.host.as_str(), request.port);
        if !host::is_name(host) {
            return Err(Refusal::BadHost(host.to_owned()));
        }
        let (is_listed, is_port) = (self.covers(host), self.ports.contains(&port));
        match &connections.waiting {
            _ if is_listed && is_port => Ok(()),
            Some(waiting) => {
                waiting.decide(HostRequest { host: host.to_ascii_lowercase(), port }, client)
            }
            None if is_listed => Err(Refusal::PortNotListed(port)),
            None => Err(Refusal::HostNotListed(host.to_owned())),
        }
    }

    /// Connects to the host of a request that may pass. Whoever allowed it, it must be on the open internet.
    fn connect(&self, request: &Request) -> Result<TcpStream, Refusal> {
        let (host, port) = (request.host.as_str(), request.port);
        let found =
            (self.resolve)(host, port).map_err(|err| Refusal::NoAddress(err.to_string()))?;
        if found.is_empty() {
            return Err(Refusal::NoAddress("it has no address".to_owned()));
        }
        let is_open =
            |it: &SocketAddr| global_address::is_global(it.ip()) || self.local.contains(&it.ip());
        let open: Vec<SocketAddr> = found.into_iter().filter(is_open).collect();
        if open.is_empty() {
            return Err(Refusal::LocalAddress(host.to_owned()));
        }
        let mut failed = io::Error::other("no address answered");
        for address in open {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => return Ok(stream),
                Err(err) => failed = err,
            }
        }
        Err(Refusal::Unreachable(failed.to_string()))
    }
}

/// The open connections of one sandbox, its refusals and its account.
struct Connections {
    is_closed: AtomicBool,
    open: Mutex<HashMap<u64, Vec<TcpStream>>>,
    next: AtomicU64,
    refused: Mutex<Vec<ProxyNote>>,
    /// The requests that wait for somebody to decide about their host, if there is somebody.
    waiting: Option<Arc<WaitingRequests>>,
    account: Arc<EgressAccount>,
}

impl Connections {
    /// Takes a slot for a connection, or returns `None` if there are too many.
    fn enter(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_CONNECTIONS || self.is_closed.load(Ordering::Acquire) {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Vec::new());
        Some(ConnectionSlot { connections: Arc::clone(self), number })
    }

    /// Counts a request that did not pass, and lists it for the answer.
    fn refuse(&self, request: &Request, refusal: &Refusal) {
        self.account.refuse(&request.host);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let note = ProxyNote::new(request, refusal);
        if refused.len() < MOST_REFUSALS && !refused.contains(&note) {
            refused.push(note);
        }
    }
}

/// The slot of one connection, given back when it is dropped.
struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
}

impl ConnectionSlot {
    /// Registers a stream, so that closing the proxy closes the stream too.
    fn register(&self, stream: &TcpStream) {
        if let Ok(clone) = stream.try_clone() {
            let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.entry(self.number).or_default().push(clone);
        }
        // The proxy may have been closed in between.
        if self.connections.is_closed.load(Ordering::Acquire) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// The running proxy of one sandbox, closed when it is dropped.
pub(crate) struct ProxyServer {
    connections: Arc<Connections>,
    listener: Arc<TcpListener>,
    thread: Option<thread::JoinHandle<()>>,
}

/// What a proxy has to say about a request that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProxyNote {
    /// The host, as the request named it.
    pub(crate) host: String,
    /// What happened, in a sentence for whoever made the call.
    pub(crate) sentence: String,
}

impl ProxyNote {
    fn new(request: &Request, refusal: &Refusal) -> Self {
        // An agent that reads "refused" asks for a permission that it has.
        let what = match refusal.cause() {
            RefusalCause::Rules => "network access refused",
            RefusalCause::Network => "network access failed",
        };
        let host = request.host.escape_debug().to_string();
        let sentence = format!("{what}: {host}:{}: {refusal}", request.port);
        Self { host, sentence }
    }
}

/// What a proxy has to say at its end.
#[derive(Default)]
pub(crate) struct ClosedProxy {
    /// The requests that did not pass.
    pub(crate) refused: Vec<ProxyNote>,
    /// What passed.
    pub(crate) account: NetworkAccount,
    /// Whether more was about to pass than may.
    pub(crate) is_spent: bool,
}

impl ProxyServer {
    /// Returns whether more was about to pass than may.
    pub(crate) fn is_spent(&self) -> bool {
        self.connections.account.is_spent()
    }

    /// Closes the proxy, and returns what it has to say.
    pub(crate) fn close(self) -> ClosedProxy {
        let connections = Arc::clone(&self.connections);
        drop(self);
        // What a command has sent is passed on until its connections are closed.
        connections.account.wait_until_idle();
        let refused = connections.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let account = connections.account.total();
        ClosedProxy { refused, account, is_spent: connections.account.is_spent() }
    }
}

impl Drop for ProxyServer {
    fn drop(&mut self) {
        self.connections.is_closed.store(true, Ordering::Release);
        self.connections.account.close();
        if let Some(waiting) = &self.connections.waiting {
            waiting.close();
        }
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        let open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(open);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(egress: &Arc<Egress>, connections: &Arc<Connections>, listener: &TcpListener) {
    while !connections.is_closed.load(Ordering::Acquire) {
        let Ok((stream, _)) = listener.accept() else {
            // The end of a command waits for this thread.
            if connections.is_closed.load(Ordering::Acquire) {
                return;
            }
            // Descriptors have run out for a while.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        // One connection too many is closed at once. The others go on.
        let Some(slot) = connections.enter() else {
            connections.account.refuse(account::TOO_MANY);
            continue;
        };
        slot.register(&stream);
        let (egress, connections) = (Arc::clone(egress), Arc::clone(connections));
        let builder = thread::Builder::new().name("egress".to_owned());
        let _ = builder.spawn(move || {
            let _ = answer(&egress, &connections, &slot, stream);
        });
    }
}

fn answer(
    egress: &Egress,
    connections: &Connections,
    slot: &ConnectionSlot,
    mut client: TcpStream,
) -> io::Result<()> {
    let until = Instant::now() + CONNECT_TIMEOUT;
    let request = match Request::read(&mut client, until)? {
        Ok(request) => request,
        Err(refusal) => {
            connections.account.refuse(account::NO_HOST);
            return refuse(&mut client, &refusal);
        }
    };
    let passed = egress.check(&request, connections, &client);
    let mut server = match passed.and_then(|()| egress.connect(&request)) {
        Ok(server) => server,
        Err(refusal) => {
            connections.refuse(&request, &refusal);
            return refuse(&mut client, &refusal);
        }
    };
    slot.register(&server);
    let Some(meter) = connections.account.connect(&request.host) else { return Ok(()) };
    if request.is_tunnel {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        let until = Instant::now() + CONNECT_TIMEOUT;
        let hello = client_hello::read(&mut client, request.early.clone(), until)?;
        match client_hello::server_name(&hello) {
            Some(name) if name.eq_ignore_ascii_case(&request.host) => {}
            // Not TLS, or TLS for another server. The client cannot be told why.
            other => {
                let refusal = Refusal::OtherServerName(other.unwrap_or_default());
                connections.refuse(&request, &refusal);
                return client.shutdown(Shutdown::Both);
            }
        }
        meter.send(Direction::Up, &mut server, &hello)?;
    } else {
        meter.send(Direction::Up, &mut server, &request.head)?;
        client.set_read_timeout(Some(IDLE_TIMEOUT))?;
        request.forward_body(&mut client, |bytes| meter.send(Direction::Up, &mut server, bytes))?;
    }
    let direction =
        if request.is_tunnel { RelayDirection::BothWays } else { RelayDirection::ServerToClient };
    splice(client, server, direction, Arc::new(meter))
}

/// The directions that bytes still have to pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RelayDirection {
    BothWays,
    ServerToClient,
}

fn refuse(client: &mut TcpStream, refusal: &Refusal) -> io::Result<()> {
    let (status, body) = (refusal.status(), format!("toolcrib: {refusal}\n"));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())?;
    client.shutdown(Shutdown::Both)
}

/// Passes bytes on until both sides are done or idle.
fn splice(
    client: TcpStream,
    server: TcpStream,
    direction: RelayDirection,
    meter: Arc<ConnectionMeter>,
) -> io::Result<()> {
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(IDLE_CHECK))?;
        stream.set_write_timeout(Some(IDLE_TIMEOUT))?;
    }
    let last_active = Arc::new(Mutex::new(Instant::now()));
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let (active, metered) = (Arc::clone(&last_active), Arc::clone(&meter));
    let up = if direction == RelayDirection::BothWays {
        let pass_up = move || {
            let send = |bytes: &[u8]| metered.send(Direction::Up, &mut to, bytes);
            let done = pass(&mut from, &active, send);
            to.shutdown(Shutdown::Write).and(done)
        };
        Some(thread::Builder::new().spawn(pass_up)?)
    } else {
        None
    };
    let (mut from, mut to) = (server, client);
    let send = |bytes: &[u8]| meter.send(Direction::Down, &mut to, bytes);
    let done = pass(&mut from, &last_active, send);
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
    if let Some(up) = up {
        let _ = up.join();
    }
    done
}

/// Passes bytes on in one direction until there are no more, as long as bytes move in either direction.
fn pass(
    from: &mut TcpStream,
    last_active: &Mutex<Instant>,
    mut send: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; 32 << 10];
    let last = || *last_active.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let count = match from.read(&mut buffer) {
            Err(err)
                if matches!(err.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                    && last().elapsed() < IDLE_TIMEOUT =>
            {
                continue;
            }
            other => other?,
        };
        if count == 0 {
            return Ok(());
        }
        send(&buffer[..count])?;
        *last_active.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
