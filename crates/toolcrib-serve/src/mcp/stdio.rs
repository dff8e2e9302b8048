//! A client that started this process, and talks with it over its stdin and stdout.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Principal, SessionId};

use super::client_connection::{ClientConnection, ClientTransport};
use super::line_transport::{LineInput, LineOutput, LineTransport};
use super::server::McpServer;
use super::server_slot::ServerSlot;

/// Why a server over pipes has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdioEnd {
    /// The client closed the connection.
    Closed,
    /// The process was told to end.
    Stopped,
}

/// Serves the client at stdin and stdout, until it goes away or `stop` is ready. Calls that still run are cancelled, and
/// have ended and are recorded when this returns. The first message of the client is answered while `opening` opens the
/// server; fails as `opening` does.
pub async fn serve_stdio<E>(
    opening: impl Future<Output = Result<Arc<McpServer>, E>>,
    principal: Principal,
    session: SessionId,
    stop: impl Future<Output = ()>,
) -> Result<io::Result<StdioEnd>, E> {
    let slot = ServerSlot::default();
    let transport = ClientTransport::Pipes { principal, session };
    let handler = ClientConnection::new(slot.clone(), transport);
    let (stopped, opened) = (CancellationToken::new(), CancellationToken::new());
    let (mut opening, mut stop) = (pin!(opening), pin!(stop));
    let mut serving = pin!(serve_lines(handler, stopped.clone(), opened.clone()));
    let end = loop {
        tokio::select! {
            end = &mut serving => break end,
            () = &mut stop => break Ok(StdioEnd::Stopped),
            server = &mut opening, if slot.get().is_none() => {
                slot.fill(server?);
                opened.cancel();
            }
        }
    };
    stopped.cancel();
    if slot.get().is_none() {
        slot.fill(opening.await?);
    }
    slot.api.running.finish_or_cancel(Instant::now()).await;
    Ok(end)
}

/// Answers the lines of a client until it goes away.
async fn serve_lines(
    handler: ClientConnection,
    stopped: CancellationToken,
    opened: CancellationToken,
) -> io::Result<StdioEnd> {
    let _flags = KeptFlags::keep()?;
    let lines = LineTransport::new(reader()?, writer()?, Arc::clone(&handler.gate), opened);
    match serve_server_with_ct(handler, lines, stopped).await {
        Ok(running) => {
            let _ = running.waiting().await;
            Ok(StdioEnd::Closed)
        }
        // A client may go away before it says anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(StdioEnd::Closed)
        }
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => Err(io::Error::other(
            "its first message is neither `initialize` nor a request of 2026-07-28",
        )),
        Err(err) => Err(io::Error::other(err.to_string())),
    }
}

/// Returns what reads from stdin.
fn reader() -> io::Result<LineInput> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match PipeKind::of(&input)? {
        PipeKind::Pipe => Box::new(pipe::Receiver::from_owned_fd(input)?),
        PipeKind::Socket => Box::new(socket(input)?),
        PipeKind::Other => Box::new(tokio::io::stdin()),
    })
}

/// Returns what writes to stdout.
fn writer() -> io::Result<LineOutput> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match PipeKind::of(&output)? {
        PipeKind::Pipe => Box::new(pipe::Sender::from_owned_fd(output)?),
        PipeKind::Socket => Box::new(socket(output)?),
        PipeKind::Other => Box::new(tokio::io::stdout()),
    })
}

/// What stdin or stdout is. The event loop waits for pipes and sockets itself: a thread that waits would cost every message
/// two switches of threads.
enum PipeKind {
    Pipe,
    Socket,
    /// A file or a terminal, which the event loop cannot wait for.
    Other,
}

impl PipeKind {
    fn of(pipe: &OwnedFd) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(fstat(pipe)?.st_mode);
        let is_local = || socket_domain(pipe).is_ok_and(|domain| domain == AddressFamily::UNIX);
        Ok(match kind {
            FileType::Fifo => Self::Pipe,
            FileType::Socket if is_local() => Self::Socket,
            _ => Self::Other,
        })
    }
}

fn socket(socket: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Gives stdin and stdout their flags back: other processes may have the same pipes.
struct KeptFlags([OFlags; 2]);

impl KeptFlags {
    fn keep() -> io::Result<Self> {
        Ok(Self([fcntl_getfl(io::stdin())?, fcntl_getfl(io::stdout())?]))
    }
}

impl Drop for KeptFlags {
    fn drop(&mut self) {
        let _ = fcntl_setfl(io::stdin(), self.0[0]);
        let _ = fcntl_setfl(io::stdout(), self.0[1]);
    }
}
