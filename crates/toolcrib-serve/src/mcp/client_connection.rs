//! One client: who it is, how it is connected, and how far it is trusted.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{Implementation, LoggingLevel, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use toolcrib_core::{Caller, Door, Principal, SessionId};

use super::call_gate::CallGate;
use super::server::{ClientTrust, TrustedAnswers};
use super::server_slot::ServerSlot;
use super::subscribed_resources::SubscribedResources;
use crate::api::AccessRight;

/// The most characters of a client's name that are recorded.
const LONGEST_CLIENT_NAME: usize = 128;

/// One connection to a client.
#[derive(Clone)]
pub(super) struct ClientConnection {
    pub(super) server: ServerSlot,
    pub(super) transport: ClientTransport,
    /// Whether something tells the client of changes.
    pub(super) has_teller: Arc<AtomicBool>,
    /// What the client wants to be told, in protocols before 2026-07-28.
    pub(super) least_log_level: Arc<Mutex<LoggingLevel>>,
    /// Holds back calls of a client that makes more than it reads.
    pub(super) gate: Arc<CallGate>,
    /// The resources that it subscribed to, in protocols before 2026-07-28.
    pub(super) subscribed: Arc<SubscribedResources>,
}

/// Who makes a call, and in which session.
pub(super) struct McpCaller {
    pub(super) caller: Arc<Caller>,
    pub(super) session: SessionId,
}

/// A client at stdin and stdout.
#[derive(Clone, Debug)]
pub struct PipedClient {
    /// Who started it.
    pub principal: Principal,
    /// The session of its calls.
    pub session: SessionId,
    /// The connection that whoever started it chose, by its name.
    pub connection: Option<String>,
}

/// How a client is connected.
#[derive(Clone, Debug)]
pub(super) enum ClientTransport {
    /// Over pipes: the client was started by the user of this machine, or by a program of theirs.
    Pipes(PipedClient),
    /// Over HTTP: each request has its own token.
    Http,
}

impl ClientConnection {
    pub(super) fn new(server: ServerSlot, transport: ClientTransport) -> Self {
        let least_log_level = Arc::new(Mutex::new(LoggingLevel::Info));
        Self {
            server,
            transport,
            has_teller: Arc::default(),
            least_log_level,
            gate: Arc::default(),
            subscribed: Arc::default(),
        }
    }

    /// Returns the least level of messages that the client wants to be told.
    pub(super) fn log_level(&self) -> LoggingLevel {
        *self.least_log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the least level of messages that the client wants to be told.
    pub(super) fn set_log_level(&self, level: LoggingLevel) {
        *self.least_log_level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// Returns who makes a request. What a client calls itself is recorded, and decides nothing.
    pub(super) fn caller(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<McpCaller, ErrorData> {
        let client = context.client_info().map(|client| client_name(&client));
        match &self.transport {
            ClientTransport::Pipes(PipedClient { principal, session, connection }) => {
                let (principal, connection) = (principal.clone(), connection.clone());
                let caller = Caller { principal, door: Door::Mcp, client, connection, via: None };
                Ok(McpCaller { caller: Arc::new(caller), session: session.clone() })
            }
            ClientTransport::Http => {
                let parts = context.extensions.get::<axum::http::request::Parts>();
                let Some(known) = parts.and_then(|parts| parts.extensions.get::<Caller>()) else {
                    return Err(ErrorData::internal_error("the request has no caller", None));
                };
                AccessRight::Call
                    .check(known)
                    .map_err(|err| ErrorData::invalid_request(err.message().to_owned(), None))?;
                let session = SessionId(format!("mcp-{}", known.principal.name));
                let client = client.or_else(|| known.client.clone());
                let caller = Caller { door: Door::Mcp, client, ..known.clone() };
                Ok(McpCaller { caller: Arc::new(caller), session })
            }
        }
    }

    /// Returns how far the answers of this client count.
    pub(super) fn trust(&self) -> ClientTrust {
        let trust = self.server.config.trust;
        match &self.transport {
            ClientTransport::Http if !trust.over_http => {
                ClientTrust { answers: TrustedAnswers::None, ..trust }
            }
            ClientTransport::Http | ClientTransport::Pipes(_) => trust,
        }
    }
}

/// Whether a request is of the protocol in which a server asks by its reply and not by a request of its own.
pub(super) fn asks_by_reply(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns what a client calls itself, in a form that fits into the record.
fn client_name(client: &Implementation) -> String {
    let text = format!("{}/{}", client.name, client.version);
    text.chars().filter(|it| !it.is_control()).take(LONGEST_CLIENT_NAME).collect()
}
