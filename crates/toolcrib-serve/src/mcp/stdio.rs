//! A client that started this process, and talks with it over its stdin and stdout.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client_connection::{ClientConnection, ClientTransport, PipedClient};
use super::client_pipes::ClientPipes;
use super::line_transport::LineTransport;
use super::reader_thread::ReaderThread;
use super::server::McpServer;
use super::server_slot::ServerSlot;

/// How many lines of a client wait until the event loop takes them.
const MOST_HANDED: usize = 64;

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
    client: PipedClient,
    stop: impl Future<Output = ()>,
) -> Result<io::Result<StdioEnd>, E> {
    let slot = ServerSlot::default();
    let transport = ClientTransport::Pipes(client);
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
    let pipes = Arc::new(ClientPipes::of_process()?);
    let (event_loop, handed) = mpsc::channel(MOST_HANDED);
    let lines =
        LineTransport::new(Arc::clone(&pipes), handed, Arc::clone(&handler.gate), opened.clone());
    let connection = Arc::new(handler.clone());
    let can_watch = pipes.watch.can_watch();
    if !can_watch {
        pipes.hand_all_over(event_loop.clone());
    }
    match serve_server_with_ct(handler, lines, stopped).await {
        Ok(running) => {
            opened.cancelled().await;
            let reader = ReaderThread {
                pipes,
                event_loop,
                peer: running.peer().clone(),
                connection: Arc::downgrade(&connection),
                watchdog: Arc::default(),
            };
            if can_watch {
                reader.start();
            }
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
