//! `/api/servers`: the mounted MCP servers, and what of their tools waits until somebody accepts it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::Caller;
use toolcrib_plugins::{PluginError, PluginErrorKind};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::BodyFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::plugin_replies::plugin_error;
use crate::reply::ApiError;
use crate::server_views::ServerFields;

/// The operations about mounted MCP servers.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/servers", "list_servers", list)
            .about(AccessRight::Inspect, "Lists the mounted MCP servers, with what waits of them.")
            .replies::<ServerList>(),
        Operation::post("/api/servers/{name}/accept", "accept_server", accept)
            .about(
                AccessRight::Approve,
                "Accepts the new and changed tools of an MCP server, or a server of an imported file.",
            )
            .body::<AcceptBody>()
            .replies::<AcceptedServer>()
            .fails(StatusCode::NOT_FOUND, "There is no such server, or it was never mounted.")
            .fails(StatusCode::CONFLICT, "What waits is not what was shown, or nothing waits."),
    ]
}

/// The mounted MCP servers.
#[derive(Serialize, JsonSchema)]
struct ServerList {
    ok: bool,
    count: usize,
    servers: Vec<ServerFields>,
}

/// What is accepted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcceptBody {
    /// The `waiting_hash` of what was shown. Nothing else is accepted.
    hash: String,
}

/// What was accepted.
#[derive(Serialize, JsonSchema)]
struct AcceptedServer {
    ok: bool,
    server: String,
    /// The names of the tools, or the server's own if it was one of an imported file.
    accepted: Vec<String>,
}

async fn list(State(api): State<Arc<Api>>) -> Reply {
    let plugins = Arc::clone(&api);
    let servers = blocking(move || plugins.ports.plugins.servers()).await?;
    let servers = servers.map_err(|err| plugin_error(&err))?;
    // A file of another client can have secrets in it.
    JsonReply::redacted(&api.redactor, &ServerList { ok: true, count: servers.len(), servers })
}

async fn accept(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    BodyFields(body): BodyFields<AcceptBody>,
) -> Reply {
    let server = name.clone();
    let done = blocking(move || {
        let plugins = &api.ports.plugins;
        let accepted = plugins.accept_server(&server, &body.hash, &caller.principal)?;
        plugins.take_up()?;
        Ok(accepted)
    });
    let not_found = |err: PluginError| match err.kind {
        PluginErrorKind::NotFound => {
            ApiError::new(StatusCode::NOT_FOUND, "server_not_found", err.message)
        }
        _ => plugin_error(&err),
    };
    let accepted = done.await?.map_err(not_found)?;
    JsonReply::ok(&AcceptedServer { ok: true, server: name, accepted })
}
