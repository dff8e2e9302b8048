//! Where a connection finds its server. Over pipes, a client's first message is answered while the server is still being
//! opened.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::server::McpServer;

/// Where a connection finds its server.
#[derive(Clone, Default)]
pub(super) struct ServerSlot(Arc<OnceLock<Arc<McpServer>>>);

impl ServerSlot {
    /// Puts the server there.
    pub(super) fn fill(&self, server: Arc<McpServer>) {
        let _ = self.0.set(server);
    }

    /// Returns the server, if it is there.
    pub(super) fn get(&self) -> Option<&Arc<McpServer>> {
        self.0.get()
    }
}

impl From<Arc<McpServer>> for ServerSlot {
    fn from(server: Arc<McpServer>) -> Self {
        let slot = Self::default();
        slot.fill(server);
        slot
    }
}

impl Deref for ServerSlot {
    type Target = Arc<McpServer>;

    /// Returns the server. Nobody waits here: messages that need it come only after it is there.
    fn deref(&self) -> &Arc<McpServer> {
        self.0.wait()
    }
}
