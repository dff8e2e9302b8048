//! Clients that talk over HTTP, at `/mcp`. The server has checked the token, `Host` and `Origin` before.

use std::sync::Arc;

use axum::Router;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::client_connection::{ClientTransport, McpHandler};
use super::server::McpServer;

/// The path at which clients talk.
const PATH: &str = "/mcp";

/// Returns the route of MCP. `body_bytes` is the longest message.
pub fn mcp_routes(server: Arc<McpServer>, body_bytes: usize) -> Router {
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(body_bytes);
    let sessions = Arc::new(LocalSessionManager::default());
    let handler = move || {
        let server = Arc::clone(&server);
        Ok(McpHandler { server, transport: ClientTransport::Http })
    };
    let service = StreamableHttpService::new(handler, sessions, config);
    Router::new().route_service(PATH, service)
}
