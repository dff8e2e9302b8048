//! Our side of a connection to an MCP server, as far as the server can ask and tell. A server may tell how far a call is
//! and that its tools changed. It gets no model, no folders and no person, and that it asked for one is on the record.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, Implementation, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::mpsc;
use toolcrib_core::calling_client::ProgressReport;

use super::pin_store::PinStore;

/// The longest message of a progress report, in characters.
const MAX_PROGRESS_MESSAGE: usize = 1_000;

/// The longest name of a request that the record has, in characters.
const MAX_METHOD: usize = 100;

/// How many requests of a server the record has for each call. Over HTTP, nothing else limits them.
const MAX_RECORDED_REQUESTS: usize = 100;

/// Our side of a connection.
pub(crate) struct ClientSide {
    server: String,
    pins: PinStore,
    /// How many requests were refused since the last call began.
    refused: AtomicUsize,
    followers: Mutex<HashMap<ProgressToken, mpsc::Sender<ProgressReport>>>,
    has_other_tools: AtomicBool,
}

impl ClientSide {
    /// Prepares our side of the connection to a server.
    pub(crate) fn new(server: &str, pins: PinStore) -> Self {
        Self {
            server: server.to_owned(),
            pins,
            refused: AtomicUsize::new(0),
            followers: Mutex::default(),
            has_other_tools: AtomicBool::new(false),
        }
    }

    /// Returns the name of the server.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Records what the server asked for and does not get. Returns the answer.
    pub(crate) fn refuse(&self, method: &str) -> ErrorData {
        let method: String = method.chars().take(MAX_METHOD).collect();
        if self.refused.fetch_add(1, Ordering::Relaxed) < MAX_RECORDED_REQUESTS {
            self.pins.note_refused(&self.server, &method);
        }
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
    }

    /// Passes the progress of a call on, until [`Self::unfollow`].
    pub(crate) fn follow(&self, token: ProgressToken, follower: mpsc::Sender<ProgressReport>) {
        self.refused.store(0, Ordering::Relaxed);
        self.followers().insert(token, follower);
    }

    /// Passes the progress of a call on no longer.
    pub(crate) fn unfollow(&self, token: &ProgressToken) {
        self.followers().remove(token);
    }

    /// Whether the server said since the last look that its tools changed.
    pub(crate) fn take_changed(&self) -> bool {
        self.has_other_tools.swap(false, Ordering::AcqRel)
    }

    fn followers(&self) -> MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<ProgressReport>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for ClientSide {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("toolcrib", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }

    #[expect(deprecated, reason = "servers of earlier versions of the protocol ask for roots")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(self.refuse("roots/list"))
    }

    #[expect(deprecated, reason = "servers of earlier versions of the protocol ask for a model")]
    async fn create_message(
        &self,
        _: rmcp::model::CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        Err(self.refuse("sampling/createMessage"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(self.refuse("elicitation/create"))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        Err(self.refuse(&request.method))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let follower = self.followers().get(&params.progress_token).cloned();
        let Some(follower) = follower else { return };
        let message = params.message.map(|text| text.chars().take(MAX_PROGRESS_MESSAGE).collect());
        // A report that nobody has read yet is more than enough.
        let _ = follower.try_send(ProgressReport {
            done: params.progress,
            total: params.total,
            message,
        });
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.has_other_tools.store(true, Ordering::Release);
    }
}
