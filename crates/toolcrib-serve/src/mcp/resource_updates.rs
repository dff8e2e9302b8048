//! Tells clients that subscribed to resources when they change: what belongs to a call changes when the call or its
//! command ends.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::json;
use tokio::time::timeout;
use toolcrib_core::{Caller, Principal, Role};

use super::client_connection::ClientConnection;
use super::resources::call_in;

/// How many resources a client can subscribe to.
const MOST_SUBSCRIBED: usize = 1000;

/// How often it is looked whether a client is still there.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

impl ClientConnection {
    /// Subscribes a client to a resource.
    pub(super) fn subscribe_to(
        &self,
        uri: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let who = self.caller(context)?;
        if !self.can_watch(&uri) {
            let message = format!("`{uri}` cannot be watched; read it again when you need it");
            return Err(ErrorData::invalid_params(message, Some(json!({"uri": uri}))));
        }
        let mut subscribed = self.subscribed.lock();
        if subscribed.uris.len() >= MOST_SUBSCRIBED {
            let message = format!("more than {MOST_SUBSCRIBED} resources; unsubscribe from some");
            return Err(ErrorData::invalid_params(message, None));
        }
        subscribed.uris.insert(uri);
        if !std::mem::replace(&mut subscribed.has_teller, true) {
            tokio::spawn(self.clone().tell_updates(context.peer.clone(), who.caller));
        }
        Ok(())
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe_from(&self, uri: &str) {
        self.subscribed.lock().uris.remove(uri);
    }

    /// Whether a client can be told when a resource changes.
    pub(super) fn can_watch(&self, uri: &str) -> bool {
        call_in(uri).is_some() || self.server.has_catalogue_resource(uri)
    }

    /// Tells a client that subscribed, until it is gone.
    async fn tell_updates(self, peer: Peer<RoleServer>, caller: Arc<Caller>) {
        let Ok(mut ends) = self.server.api.events.ends() else { return };
        while !peer.is_transport_closed() {
            let Ok(ended) = timeout(LOOK_INTERVAL, ends.next()).await else { continue };
            let Some((call, owner)) = ended else { return };
            let changed: Vec<String> = {
                let subscribed = self.subscribed.lock();
                subscribed.uris.iter().filter(|uri| call_in(uri) == Some(&*call)).cloned().collect()
            };
            for uri in changed.into_iter().filter(|_| may_know(&caller, owner.as_ref())) {
                let notice = ResourceUpdatedNotificationParam::new(uri);
                if peer.notify_resource_updated(notice).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Whether a caller may know that a call of this owner ended.
pub(super) fn may_know(caller: &Caller, owner: Option<&Principal>) -> bool {
    let is_admin = caller.principal.role == Role::Admin;
    is_admin || owner.is_some_and(|owner| owner.name == caller.principal.name)
}
