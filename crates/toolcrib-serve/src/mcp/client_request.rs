//! Requests of the server to a client, as protocols before 2026-07-28 have them.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CancelledNotificationParam, ClientResult, RequestId, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use tokio::runtime::Handle;

/// Sends a request to a client, and waits for what comes back.
pub(super) async fn ask_client(
    peer: &Peer<RoleServer>,
    request: ServerRequest,
    time: Duration,
) -> Result<ClientResult, ServiceError> {
    let options = PeerRequestOptions::with_timeout(time);
    let handle = peer.send_request_with_option(request, options).await?;
    let mut withdrawal = Withdrawal { peer: peer.clone(), request: Some(handle.id.clone()) };
    let result = handle.await_response().await;
    withdrawal.request = None;
    result
}

/// Withdraws a request to the client if it is dropped first: somebody answered elsewhere, or the call was cancelled.
struct Withdrawal {
    peer: Peer<RoleServer>,
    request: Option<RequestId>,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let (Some(request), Ok(events)) = (self.request.take(), Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        events.spawn(async move {
            let reason = "the question was answered elsewhere, or the call was cancelled";
            let notice = CancelledNotificationParam::new(Some(request), Some(reason.to_owned()));
            let _ = peer.notify_cancelled(notice).await;
        });
    }
}
