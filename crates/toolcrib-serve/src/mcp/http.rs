//! Clients that talk over HTTP, at `/mcp`. The server has checked the token, `Host` and `Origin` before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use toolcrib_core::Caller;

use super::client_connection::{ClientConnection, ClientTransport};
use super::server::McpServer;
use crate::api::AccessRight;
use crate::reply::ApiError;

/// The path at which clients talk.
const PATH: &str = "/mcp";

/// The header that has the id of a session, in protocols before 2026-07-28.
const SESSION_HEADER: &str = "mcp-session-id";

/// How many sessions one token can have. The oldest makes room for a new one.
const MOST_SESSIONS_EACH: usize = 64;

/// How long a session may be idle. A person may come back to a client after a night.
const LONGEST_IDLE_TIME: Duration = Duration::from_hours(24);

/// Returns the route of MCP. `body_bytes` is the longest message.
pub fn mcp_routes(server: Arc<McpServer>, body_bytes: usize) -> Router {
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_cancellation_token(server.stopping.clone())
        .with_max_request_body_bytes(body_bytes);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(LONGEST_IDLE_TIME);
    let sessions = Arc::new(sessions);
    let owners =
        Arc::new(SessionOwners { sessions: Arc::clone(&sessions), open: Mutex::default() });
    let handler = move || {
        let server = Arc::clone(&server);
        Ok(ClientConnection::new(server.into(), ClientTransport::Http))
    };
    let service = StreamableHttpService::new(handler, sessions, config);
    Router::new().route_service(PATH, service).layer(from_fn_with_state(owners, check_owner))
}

/// Who opened which session. A session belongs to the token that opened it: another one must not read its messages, answer
/// its questions or close it.
struct SessionOwners {
    sessions: Arc<LocalSessionManager>,
    open: Mutex<Vec<OpenSession>>,
}

/// A session that is open, oldest first in the list.
struct OpenSession {
    id: String,
    owner: String,
}

impl SessionOwners {
    fn open(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_of(&self, id: &str, caller: &Caller) -> bool {
        self.open().iter().any(|it| it.id == id && it.owner == caller.principal.name)
    }

    fn forget(&self, id: &str) {
        self.open().retain(|it| it.id != id);
    }

    /// Adds a session. Returns the one that makes room for it.
    fn add(&self, id: String, owner: &str) -> Option<String> {
        let mut open = self.open();
        open.push(OpenSession { id, owner: owner.to_owned() });
        let is_own = |it: &&OpenSession| it.owner == owner;
        let is_full = open.iter().filter(is_own).count() > MOST_SESSIONS_EACH;
        let oldest = open.iter().position(|it| it.owner == owner).filter(|_| is_full)?;
        Some(open.remove(oldest).id)
    }
}

/// Lets a request pass if its session is one of its own token.
async fn check_owner(
    State(owners): State<Arc<SessionOwners>>,
    mut request: Request,
    next: Next,
) -> Response {
    // Clients that can get a token with another scope look at the status.
    if let Err(err) = AccessRight::Call.admit(request.extensions_mut()) {
        return err.into_response();
    }
    let Some(caller) = request.extensions().get::<Caller>().cloned() else {
        return ApiError::not_found().into_response();
    };
    let session = session_in(request.headers());
    if let Some(id) = &session
        && !owners.is_of(id, &caller)
    {
        let message = "no session of this token has this id; begin a new one with `initialize`";
        return ApiError::new(StatusCode::NOT_FOUND, "session_not_found", message).into_response();
    }
    let is_end = request.method() == Method::DELETE;
    let response = next.run(request).await;
    match session {
        Some(id) => {
            if is_end || response.status() == StatusCode::NOT_FOUND {
                owners.forget(&id);
            }
        }
        None => {
            if let Some(id) = session_in(response.headers())
                && let Some(oldest) = owners.add(id, &caller.principal.name)
            {
                let _ = owners.sessions.close_session(&Arc::from(oldest)).await;
            }
        }
    }
    response
}

fn session_in(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION_HEADER)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_session_of_a_token_makes_room_and_those_of_others_stay() {
        let owners = SessionOwners { sessions: Arc::default(), open: Mutex::default() };
        assert_eq!(owners.add("other".to_owned(), "b"), None);
        for at in 0..MOST_SESSIONS_EACH {
            assert_eq!(owners.add(format!("s{at}"), "a"), None);
        }
        assert_eq!(owners.add("new".to_owned(), "a").as_deref(), Some("s0"));
        let ids: Vec<String> = owners.open().iter().map(|it| it.id.clone()).collect();
        assert!(ids.contains(&"other".to_owned()) && ids.contains(&"new".to_owned()));
    }
}
