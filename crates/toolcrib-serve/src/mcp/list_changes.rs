//! Tells clients when the tools on offer have changed, because settings or rules did.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionContext};

use tokio::time::timeout;

use super::client_connection::McpHandler;

/// How often it is looked whether a client is still there.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

impl McpHandler {
    /// Returns what a client can be told of.
    pub(super) fn told_changes() -> SubscriptionFilter {
        SubscriptionFilter::builder().tools_list_changed().build()
    }

    /// Tells a client of the protocol with sessions, until it is gone.
    pub(super) async fn tell_changes(self, peer: Peer<RoleServer>) {
        let mut changes = self.server.api.runtime.changes();
        let mut known = self.names();
        while !peer.is_transport_closed() {
            // A client that has gone must not be held until the next change.
            let Ok(changed) = timeout(LOOK_INTERVAL, changes.changed()).await else { continue };
            let must_tell = changed.is_ok() && self.has_changed(&mut known);
            if changed.is_err() || must_tell && peer.notify_tool_list_changed().await.is_err() {
                return;
            }
        }
    }

    /// Tells a client that subscribed, until it goes away.
    pub(super) async fn tell_subscriber(&self, subscriber: &SubscriptionContext) {
        let mut changes = self.server.api.runtime.changes();
        let mut known = self.names();
        loop {
            tokio::select! {
                () = subscriber.cancelled() => return,
                changed = changes.changed() => {
                    let must_tell = changed.is_ok() && self.has_changed(&mut known);
                    let sink = subscriber.sink();
                    if changed.is_err() || must_tell && sink.notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn has_changed(&self, known: &mut Vec<String>) -> bool {
        let names = self.names();
        let is_changed = names != *known;
        *known = names;
        is_changed
    }

    fn names(&self) -> Vec<String> {
        self.server.offered().into_iter().map(|tool| tool.name).collect()
    }
}
