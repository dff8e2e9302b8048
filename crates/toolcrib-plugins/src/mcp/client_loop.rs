//! The event loop of the connections to MCP servers. It has a thread of its own, because a connection outlives the call
//! that opened it, and calls are made from many threads. It knows every server that was started, so that none is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use toolcrib_core::worker::WorkerControl;
use toolcrib_core::{ErrorKind, ToolError};

/// How long the end of the loop waits for what it has under way.
const END_TIME: Duration = Duration::from_secs(5);

/// The event loop of all connections. Nothing is started before the first one.
#[derive(Default)]
pub struct ClientLoop {
    state: Mutex<LoopState>,
    /// The servers that were started. One that nobody holds has ended.
    servers: Mutex<Vec<Weak<dyn WorkerControl>>>,
}

#[derive(Default)]
enum LoopState {
    #[default]
    NotStarted,
    Runs {
        handle: Handle,
        stop: oneshot::Sender<()>,
        thread: JoinHandle<()>,
    },
    Closed,
}

impl ClientLoop {
    /// Returns the handle of the loop. Starts it, if nobody has.
    pub(crate) fn handle(&self) -> Result<Handle, ToolError> {
        let mut state = self.state();
        match &*state {
            LoopState::Runs { handle, .. } => return Ok(handle.clone()),
            LoopState::Closed => {
                let message = "Toolcrib is ending, and calls no MCP server any more";
                return Err(ToolError::new(ErrorKind::Unavailable, message));
            }
            LoopState::NotStarted => {}
        }
        let failed = |err: std::io::Error| {
            ToolError::new(ErrorKind::Io, format!("no MCP server can be called: {err}"))
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("mcp-client".to_owned());
        let thread = thread.spawn(move || {
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(END_TIME);
        });
        let thread = thread.map_err(failed)?;
        *state = LoopState::Runs { handle: handle.clone(), stop, thread };
        Ok(handle)
    }

    /// Remembers a server that was started, so that it ends with the loop, whoever still holds its connection.
    pub(crate) fn keep(&self, server: &Arc<dyn WorkerControl>) {
        let mut servers = self.servers();
        servers.retain(|server| server.strong_count() > 0);
        servers.push(Arc::downgrade(server));
    }

    /// Ends the loop and everything on it: connections, and every server.
    pub fn close(&self) {
        let state = std::mem::replace(&mut *self.state(), LoopState::Closed);
        let LoopState::Runs { stop, thread, .. } = state else { return };
        self.kill_servers();
        let _ = stop.send(());
        // What was the last to hold the loop may be a task on it.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
        // One may have been started meanwhile.
        self.kill_servers();
    }

    fn kill_servers(&self) {
        let servers = std::mem::take(&mut *self.servers());
        for server in servers.iter().filter_map(Weak::upgrade) {
            server.kill();
        }
    }

    fn state(&self) -> MutexGuard<'_, LoopState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Weak<dyn WorkerControl>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientLoop {
    fn drop(&mut self) {
        self.close();
    }
}
