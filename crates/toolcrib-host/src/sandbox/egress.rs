//! The way out: a proxy that opens the listed hosts to one sandbox and nothing else. The address that
//! was checked is the one that is dialled, and what is said there is said to that host.

mod address;
mod client_hello;
mod host;
mod request;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use host::{BadHost, HostRule};
use request::{Refusal, Request};

/// How long a client may take to say what it wants, and a server to be reached.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may be silent.
const IDLE: Duration = Duration::from_mins(2);
/// How often a silent connection is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Connections of one sandbox at once.
const MOST_CONNECTIONS: usize = 64;
/// Bytes through one connection in each direction.
const MOST_BYTES: u64 = 8 << 30;
/// Refusals that are remembered for the answer.
const MOST_REFUSALS: usize = 16;

/// Looks a name up.
pub type Resolver = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// What may be reached.
pub struct Egress {
    hosts: Vec<HostRule>,
    ports: Vec<u16>,
    resolve: Box<Resolver>,
    /// Addresses that count as of the open internet although they are not.
    local: Vec<IpAddr>,
}

impl Egress {
    /// Opens these hosts at these ports.
    pub fn new(hosts: Vec<HostRule>, ports: Vec<u16>) -> Self {
        let resolve = |name: &str, port: u16| {
            std::net::ToSocketAddrs::to_socket_addrs(&(name, port)).map(Iterator::collect)
        };
        Self { hosts, ports, resolve: Box::new(resolve), local: Vec::new() }
    }

    /// The same with another way to look names up, and with local addresses it may lead to: for
    /// trying it on one machine. No setting leads here.
    pub fn with_resolver(self, resolve: Box<Resolver>, local: Vec<IpAddr>) -> Self {
        Self { resolve, local, ..self }
    }

    /// Serves one sandbox until the returned value is dropped.
    pub(crate) fn serve(self: &Arc<Self>, listener: OwnedFd) -> Serving {
        let line = Arc::new(Line::default());
        let listener = Arc::new(TcpListener::from(listener));
        let (egress, shared, door) = (Arc::clone(self), Arc::clone(&line), Arc::clone(&listener));
        let started = thread::Builder::new()
            .name("egress".to_owned())
            .spawn(move || accept(&egress, &shared, &door));
        // Without a thread nothing is accepted, so nothing gets out.
        let thread = started.ok();
        Serving { line, listener, thread }
    }

    fn reach(&self, request: &Request) -> Result<TcpStream, Refusal> {
        let (host, port) = (request.host.as_str(), request.port);
        if !host::is_name(host) {
            return Err(Refusal::BadHost(host.to_owned()));
        }
        if !self.hosts.iter().any(|rule| rule.covers(host)) {
            return Err(Refusal::HostNotListed(host.to_owned()));
        }
        if !self.ports.contains(&port) {
            return Err(Refusal::PortNotListed(port));
        }
        let found =
            (self.resolve)(host, port).map_err(|err| Refusal::NoAddress(err.to_string()))?;
        let is_open =
            |it: &SocketAddr| address::is_global(it.ip()) || self.local.contains(&it.ip());
        let open: Vec<SocketAddr> = found.into_iter().filter(is_open).collect();
        if open.is_empty() {
            return Err(Refusal::LocalAddress(host.to_owned()));
        }
        let mut failed = io::Error::other("no address answered");
        for address in open {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => return Ok(stream),
                Err(err) => failed = err,
            }
        }
        Err(Refusal::Unreachable(failed.to_string()))
    }
}

/// What is shared by the connections of one sandbox.
#[derive(Default)]
struct Line {
    is_closed: AtomicBool,
    open: Mutex<HashMap<u64, Vec<TcpStream>>>,
    next: AtomicU64,
    refused: Mutex<Vec<String>>,
}

impl Line {
    /// Makes room for a connection; nothing if there are too many.
    fn enter(self: &Arc<Self>) -> Option<Place> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_CONNECTIONS || self.is_closed.load(Ordering::Acquire) {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Vec::new());
        Some(Place { line: Arc::clone(self), number })
    }

    fn refuse(&self, request: &Request, refusal: &Refusal) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{}:{}: {refusal}", request.host.escape_debug(), request.port);
        if refused.len() < MOST_REFUSALS && !refused.contains(&line) {
            refused.push(line);
        }
    }
}

/// One connection's place, given back when it is dropped.
struct Place {
    line: Arc<Line>,
    number: u64,
}

impl Place {
    /// Keeps a stream within reach of whoever closes the line.
    fn remember(&self, stream: &TcpStream) {
        if let Ok(clone) = stream.try_clone() {
            let mut open = self.line.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.entry(self.number).or_default().push(clone);
        }
        // Whoever closes it all may have been here in between.
        if self.line.is_closed.load(Ordering::Acquire) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// A sandbox's way out, open until this is dropped.
pub(crate) struct Serving {
    line: Arc<Line>,
    listener: Arc<TcpListener>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Serving {
    /// What was refused, each in a line.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.line.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.line.is_closed.store(true, Ordering::Release);
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        let open = self.line.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(open);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(egress: &Arc<Egress>, line: &Arc<Line>, listener: &TcpListener) {
    while !line.is_closed.load(Ordering::Acquire) {
        let Ok((stream, _)) = listener.accept() else {
            // Closed, or out of descriptors for a while.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        // One too many is closed at once; the others go on.
        let Some(place) = line.enter() else { continue };
        place.remember(&stream);
        let (egress, line) = (Arc::clone(egress), Arc::clone(line));
        let builder = thread::Builder::new().name("egress".to_owned());
        let _ = builder.spawn(move || {
            let _ = answer(&egress, &line, &place, stream);
        });
    }
}

fn answer(egress: &Egress, line: &Line, place: &Place, mut client: TcpStream) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let request = match Request::read(&mut client, until)? {
        Ok(request) => request,
        Err(refusal) => return refuse(&mut client, &refusal),
    };
    let mut server = match egress.reach(&request) {
        Ok(server) => server,
        Err(refusal) => {
            line.refuse(&request, &refusal);
            return refuse(&mut client, &refusal);
        }
    };
    place.remember(&server);
    if request.is_tunnel {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        let until = Instant::now() + PATIENCE;
        let hello = client_hello::read(&mut client, request.early.clone(), until)?;
        match client_hello::server_name(&hello) {
            Some(name) if name.eq_ignore_ascii_case(&request.host) => {}
            // Not TLS, or TLS for someone else: there is no way to say so in words.
            other => {
                let refusal = Refusal::OtherName(other.unwrap_or_default());
                line.refuse(&request, &refusal);
                return client.shutdown(Shutdown::Both);
            }
        }
        server.write_all(&hello)?;
    } else {
        server.write_all(&request.head)?;
        request.forward_body(&mut client, &mut server, IDLE)?;
    }
    splice(client, server, request.is_tunnel)
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

/// Passes bytes on until both sides are done or silent.
fn splice(client: TcpStream, server: TcpStream, both_ways: bool) -> io::Result<()> {
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(IDLE))?;
    }
    let pulse = Arc::new(Mutex::new(Instant::now()));
    let (mut from, mut to, beats) = (client.try_clone()?, server.try_clone()?, Arc::clone(&pulse));
    let up = if both_ways {
        Some(thread::Builder::new().spawn(move || pass(&mut from, &mut to, &beats))?)
    } else {
        None
    };
    let (mut from, mut to) = (server, client);
    let done = pass(&mut from, &mut to, &pulse);
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
    if let Some(up) = up {
        let _ = up.join();
    }
    done
}

/// Passes bytes on in one direction, for as long as anything moves in either.
fn pass(from: &mut TcpStream, to: &mut TcpStream, pulse: &Mutex<Instant>) -> io::Result<()> {
    let mut buffer = vec![0; 32 << 10];
    let mut total = 0;
    let last = || *pulse.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let count = match from.read(&mut buffer) {
            Err(err)
                if matches!(err.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                    && last().elapsed() < IDLE =>
            {
                continue;
            }
            other => other?,
        };
        total += count as u64;
        if count == 0 || total > MOST_BYTES {
            return to.shutdown(Shutdown::Write);
        }
        to.write_all(&buffer[..count])?;
        *pulse.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
