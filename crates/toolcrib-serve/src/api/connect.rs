//! `/api/connect` and `/api/callers`: how clients are connected, and which are.

use std::sync::Arc;

use axum::extract::State;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::ToolName;
use toolcrib_core::schema::Within;
use toolcrib_ledger::{RecentCaller, recent_use};

use super::access::AccessRight;
use super::blocking::blocking;
use super::client_snippet::ClientSnippet;
use super::context::Api;
use super::fields::QueryFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::rule_uses::hours_ago;
use crate::reply::ApiError;

/// For how many hours callers are listed, unless the request says.
const USUAL_HOURS: u64 = 24;

/// The operations about clients.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/connect", "connect", connect)
            .about(AccessRight::Inspect, "Shows what to add to the file of each MCP client.")
            .replies::<Snippets>(),
        Operation::get("/api/callers", "list_callers", callers)
            .about(
                AccessRight::Inspect,
                "Lists who made calls, through which door and with which client.",
            )
            .query::<CallersQuery>()
            .replies::<CallerList>(),
    ]
}

/// What to add to the files of clients.
#[derive(Serialize, JsonSchema)]
struct Snippets {
    ok: bool,
    /// The workspace of the server.
    workspace: String,
    clients: Vec<ClientSnippet>,
}

/// Which callers are listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallersQuery {
    /// Those with calls in so many hours. (default: 24)
    hours: Option<Within<1, 720>>,
}

/// Who made calls.
#[derive(Serialize, JsonSchema)]
struct CallerList {
    ok: bool,
    /// When the part of the record begins that was read: as wanted, or later if the record is large.
    since: Timestamp,
    /// The latest first.
    callers: Vec<ShownCaller>,
}

/// Somebody who made calls.
#[derive(Serialize, JsonSchema)]
struct ShownCaller {
    /// The name; nothing for the user at a terminal.
    principal: Option<String>,
    role: Option<String>,
    door: Option<String>,
    /// What the client calls itself.
    client: Option<String>,
    calls: u64,
    first_at: Timestamp,
    last_at: Timestamp,
    last_call: String,
    last_tool: ToolName,
}

async fn connect(State(api): State<Arc<Api>>) -> Reply {
    let workspace = api.workspace.clone();
    let clients = blocking(move || api.ports.backend.client_snippets()).await?;
    JsonReply::ok(&Snippets { ok: true, workspace, clients })
}

async fn callers(
    State(api): State<Arc<Api>>,
    QueryFields(query): QueryFields<CallersQuery>,
) -> Reply {
    let since = hours_ago(&api, query.hours.map_or(USUAL_HOURS, Within::get));
    let found = blocking(move || recent_use(&api.state, since)).await?;
    let found =
        found.map_err(|err| ApiError::unavailable(format!("the record cannot be read: {err}")))?;
    let shown = |it: RecentCaller| ShownCaller {
        principal: it.principal,
        role: it.role,
        door: it.door,
        client: it.client,
        calls: it.calls,
        first_at: it.first_at,
        last_at: it.last_at,
        last_call: it.last_call,
        last_tool: it.last_tool,
    };
    let callers = found.callers.into_iter().map(shown).collect();
    JsonReply::ok(&CallerList { ok: true, since: found.since, callers })
}
