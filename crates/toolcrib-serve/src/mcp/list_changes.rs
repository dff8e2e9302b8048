//! Tells clients when the tools on offer have changed, because settings or rules did.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionContext};

use tokio::time::timeout;

use super::client_connection::ClientConnection;
use super::offered_tool::OfferedTool;
use super::resource_updates::may_know;
use super::resources::call_in;

/// How often it is looked whether a client is still there.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// How many resources one subscription can have.
const MOST_WATCHED: usize = 1000;

impl ClientConnection {
    /// Returns what of this a client can be told.
    pub(super) fn told_changes(&self, wanted: &SubscriptionFilter) -> SubscriptionFilter {
        let mut told = SubscriptionFilter::builder().tools_list_changed().build();
        let resources = wanted.resource_subscriptions.iter().flatten();
        let watched: Vec<String> =
            resources.filter(|uri| self.can_watch(uri)).take(MOST_WATCHED).cloned().collect();
        told.resource_subscriptions = Some(watched).filter(|watched| !watched.is_empty());
        told
    }

    /// Tells a client of the protocol with sessions, until it is gone.
    pub(super) async fn tell_changes(self, peer: Peer<RoleServer>) {
        let mut changes = self.server.api.runtime.changes();
        let mut known = self.versions();
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
        let mut known = self.versions();
        let watched = subscriber.accepted().resource_subscriptions.clone().unwrap_or_default();
        let mut ends = match self.caller(subscriber.request_context()) {
            Ok(who) if !watched.is_empty() => self.server.api.events.ends().ok().zip(Some(who)),
            _ => None,
        };
        let sink = subscriber.sink();
        loop {
            let ended = async {
                match &mut ends {
                    Some((ends, who)) => match ends.next().await {
                        Some((call, owner)) if may_know(&who.caller, owner.as_ref()) => call,
                        Some(_) => String::new(),
                        None => std::future::pending().await,
                    },
                    None => std::future::pending().await,
                }
            };
            let is_gone = tokio::select! {
                () = subscriber.cancelled() => true,
                changed = changes.changed() => {
                    let must_tell = changed.is_ok() && self.has_changed(&mut known);
                    changed.is_err() || must_tell && sink.notify_tool_list_changed().await.is_err()
                }
                call = ended => {
                    let changed = watched.iter().filter(|uri| call_in(uri) == Some(&*call));
                    let mut is_gone = false;
                    for uri in changed {
                        is_gone |= sink.notify_resource_updated(uri).await.is_err();
                    }
                    is_gone
                }
            };
            if is_gone {
                return;
            }
        }
    }

    fn has_changed(&self, known: &mut Vec<(String, String)>) -> bool {
        let versions = self.versions();
        let is_changed = versions != *known;
        *known = versions;
        is_changed
    }

    /// Returns the name and the version of each tool: another version may take other arguments.
    fn versions(&self) -> Vec<(String, String)> {
        let version = |tool: &OfferedTool| (tool.name.clone(), tool.offer.version().to_owned());
        self.server.offered().iter().map(version).collect()
    }
}
