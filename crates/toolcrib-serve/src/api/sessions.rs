//! `GET /api/sessions`: the work of each agent, by conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Within;
use toolcrib_ledger::{CallFilter, CallHistory, CallOutcome, call_summary, find_calls};

use super::access::AccessRight;
use super::audit;
use super::context::Api;
use super::fields::QueryFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;

/// How far back is looked, unless the query says.
pub(super) const USUAL_SPAN: SignedDuration = SignedDuration::from_hours(24);

/// How many calls are looked at, at most. Each takes some kilobytes of memory meanwhile.
const MOST_CALLS: usize = 10_000;

/// The operation about sessions.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/sessions", "list_sessions", list)
            .about(AccessRight::Inspect, "Lists the sessions of agents, the newest first.")
            .query::<SessionsQuery>()
            .replies::<SessionList>(),
    ]
}

/// Which sessions are listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionsQuery {
    /// Sessions with calls since this time. Without it, those of the last 24 hours.
    since: Option<Timestamp>,
    /// The most sessions to return.
    limit: Option<Within<1, 1000>>,
}

/// The sessions.
#[derive(Serialize, JsonSchema)]
struct SessionList {
    ok: bool,
    count: usize,
    /// Whether there are more calls than were looked at, so that sessions can be missing.
    truncated: bool,
    sessions: Vec<SessionSummary>,
}

/// The calls of one principal in one conversation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SessionSummary {
    session: String,
    pub(super) principal: Option<String>,
    pub(super) role: Option<String>,
    door: Option<String>,
    client: Option<String>,
    /// The connections that its calls chose. Without one, a call reads that of the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connections: Vec<String>,
    /// When its first call in this span was made.
    first: String,
    /// When its last call was made.
    last: String,
    calls: u64,
    failed: u64,
    refused: u64,
    /// How many of its calls have not ended.
    open: u64,
}

async fn list(
    State(api): State<Arc<Api>>,
    QueryFields(query): QueryFields<SessionsQuery>,
) -> Reply {
    let now = api.answers.clock.now();
    let since = query.since.or_else(|| now.checked_sub(USUAL_SPAN).ok());
    let filter = CallFilter { since, ..CallFilter::default() };
    let calls = audit::read(api, move |api| find_calls(&api.state, &filter, MOST_CALLS)).await?;
    let truncated = calls.len() >= MOST_CALLS;
    let mut sessions = sessions_of(&calls);
    sessions.truncate(query.limit.map_or(100, Within::get) as usize);
    JsonReply::ok(&SessionList { ok: true, count: sessions.len(), truncated, sessions })
}

/// Puts calls, newest first, together by session. Returns the newest session first.
pub(super) fn sessions_of(calls: &[CallHistory]) -> Vec<SessionSummary> {
    let mut sessions: BTreeMap<(String, Option<String>), SessionSummary> = BTreeMap::new();
    for call in calls {
        let summary = call_summary(call);
        let session = summary.session.unwrap_or_default();
        let caller = summary.caller;
        let one =
            sessions.entry((session.clone(), caller.principal.clone())).or_insert_with(|| {
                SessionSummary {
                    session,
                    principal: caller.principal,
                    role: caller.role,
                    door: caller.door,
                    client: caller.client,
                    connections: Vec::new(),
                    first: String::new(),
                    last: summary.at.clone(),
                    calls: 0,
                    failed: 0,
                    refused: 0,
                    open: 0,
                }
            });
        if let Some(connection) = caller.connection
            && !one.connections.contains(&connection)
        {
            one.connections.push(connection);
        }
        one.first = summary.at;
        one.calls += 1;
        match call.outcome() {
            CallOutcome::Ok => {}
            CallOutcome::CommandFailed | CallOutcome::Failed | CallOutcome::Unknown => {
                one.failed += 1;
            }
            CallOutcome::Refused => one.refused += 1,
            CallOutcome::Open => one.open += 1,
        }
    }
    let mut sessions: Vec<SessionSummary> = sessions.into_values().collect();
    sessions.sort_by(|one, other| other.last.cmp(&one.last));
    sessions
}
