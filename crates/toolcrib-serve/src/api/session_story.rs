//! `/api/sessions/…`: one agent's work, what it used of its limits, and what it would do to take all of it back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::schema::Within;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Effect, Principal, Role};
use toolcrib_ledger::{
    CallFilter, CallHistory, CallSummary, CallerFilter, EventKind, call_summary, find_calls, report,
};

use super::access::AccessRight;
use super::audit;
use super::backend::{ChangedCall, ChangesScope, WantedChanges};
use super::blocking::blocking;
use super::context::{Api, session_of};
use super::fields::QueryFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::{LineNumber, Operation};
use super::outcome::failed;
use super::session_budget::SessionBudget;
use super::sessions::{SessionSummary, USUAL_SPAN, sessions_of};
use super::undo_preview::UndoPreview;
use crate::reply::ApiError;

/// How many calls are returned, unless the query says.
const USUAL_CALLS: u64 = 300;

/// How many of the newest calls that changed files are shown at most.
const MOST_CHANGED_CALLS: usize = 200;

/// The operations about one session.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/sessions/{session}", "show_session", show)
            .about(AccessRight::Inspect, "Shows the calls of one session, newest first.")
            .query::<SessionQuery>()
            .replies::<OneSession>()
            .fails(StatusCode::NOT_FOUND, "The session made no call in this time."),
        Operation::get("/api/sessions/{session}/changes", "preview_undo_of_session", changes)
            .about(
                AccessRight::Inspect,
                "Lists the calls of a session that changed files, newest first, with what it would do to undo them.",
            )
            .query::<SessionQuery>()
            .replies::<SessionChanges>(),
    ]
}

/// Which calls of a session are meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionQuery {
    /// Whose session it is. Two principals can give their sessions the same name.
    principal: Option<String>,
    /// Calls since this time. Without it, those of the last 24 hours.
    since: Option<Timestamp>,
    /// Only calls that began before this line of the record.
    before: Option<LineNumber>,
    /// The most calls to return.
    limit: Option<Within<1, 1000>>,
}

/// One session.
#[derive(Serialize, JsonSchema)]
struct OneSession {
    ok: bool,
    /// The time of the server.
    at: String,
    /// The session, as far as its calls are in `calls`.
    session: SessionSummary,
    /// Whether there are older calls since that time.
    truncated: bool,
    calls: Vec<SessionCall>,
    /// The limits of its principal. There is none for calls at a terminal, which no server counts.
    budget: Option<SessionBudget>,
}

/// A call of a session.
#[derive(Serialize, JsonSchema)]
struct SessionCall {
    #[serde(flatten)]
    summary: CallSummary,
    lane: CallLane,
    /// When a person was asked, and when they answered.
    waits: Vec<PersonWait>,
}

/// What kind of work a call is.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CallLane {
    Read,
    Edit,
    Command,
    /// It neither reads nor changes anything.
    Other,
}

/// A time for which a call waited for a person.
#[derive(Serialize, JsonSchema)]
struct PersonWait {
    from: String,
    /// When it was answered. Without an answer, the call waits or nobody answered in time.
    to: Option<String>,
    by: Option<String>,
}

/// The calls of a session that changed files.
#[derive(Serialize, JsonSchema)]
struct SessionChanges {
    ok: bool,
    /// Whether there are more than are shown.
    truncated: bool,
    changes: Vec<SessionChange>,
}

/// A call of a session that changed files.
#[derive(Serialize, JsonSchema)]
struct SessionChange {
    #[serde(flatten)]
    changed: ChangedCall,
    /// What it would do to undo this call alone.
    alone: UndoPreview,
    /// What it would do to undo this call after all newer ones of the list that can be undone.
    in_order: UndoPreview,
}

/// Returns the calls of a session, newest first.
async fn calls_of(
    api: Arc<Api>,
    session: String,
    query: &SessionQuery,
    limit: usize,
) -> Result<Vec<CallHistory>, ApiError> {
    let now = api.answers.clock.now();
    let since = query.since.or_else(|| now.checked_sub(USUAL_SPAN).ok());
    let filter = CallFilter {
        session: Some(session),
        caller: CallerFilter { principal: query.principal.clone(), door: None },
        since,
        before: query.before.map(Within::get),
        ..CallFilter::default()
    };
    audit::read(api, move |api| find_calls(&api.state, &filter, limit)).await
}

async fn show(
    State(api): State<Arc<Api>>,
    Path(session): Path<String>,
    QueryFields(query): QueryFields<SessionQuery>,
) -> Reply {
    let limit = query.limit.map_or(USUAL_CALLS, Within::get) as usize;
    let found = calls_of(Arc::clone(&api), session.clone(), &query, limit).await?;
    let Some(summary) = sessions_of(&found).into_iter().next() else {
        let message = format!("the session `{session}` made no call in this time");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "session_not_found", message));
    };
    let budget = budget_of(&api, &summary).await?;
    let calls: Vec<SessionCall> = found.iter().map(|call| session_call(&api, call)).collect();
    JsonReply::ok(&OneSession {
        ok: true,
        at: report::stamp(api.answers.clock.now()),
        session: summary,
        truncated: calls.len() >= limit,
        calls,
        budget,
    })
}

fn session_call(api: &Api, call: &CallHistory) -> SessionCall {
    let mut waits: Vec<PersonWait> = Vec::new();
    for entry in &call.entries {
        match (&entry.event, entry.answered_by().or(entry.decision.by.as_deref())) {
            (EventKind::Waits, _) if waits.last().is_none_or(|wait| wait.to.is_some()) => {
                waits.push(PersonWait { from: report::stamp(entry.at), to: None, by: None });
            }
            (_, Some(by)) => {
                if let Some(wait) = waits.last_mut().filter(|wait| wait.to.is_none()) {
                    (wait.to, wait.by) = (Some(report::stamp(entry.at)), Some(by.to_owned()));
                }
            }
            _ => {}
        }
    }
    // A call that was parked is asked about again when it runs, and answered at once.
    waits.retain(|wait| wait.to.as_ref() != Some(&wait.from));
    SessionCall { lane: lane_of(api, call), summary: call_summary(call), waits }
}

fn lane_of(api: &Api, call: &CallHistory) -> CallLane {
    let runtime = api.runtime.current();
    let offer = runtime.toolset.find(&call.tool()).ok();
    let has_command = call.last(&EventKind::Started).is_some_and(|it| it.start.terms.is_some());
    if has_command || offer.is_some_and(Offer::runs_commands) {
        return CallLane::Command;
    }
    let effect = call.first().and_then(|entry| entry.call.effect.as_deref());
    match effect {
        Some(effect) if effect == Effect::Write.as_str() => CallLane::Edit,
        Some(effect) if effect == Effect::Read.as_str() => CallLane::Read,
        _ => CallLane::Other,
    }
}

async fn budget_of(
    api: &Arc<Api>,
    session: &SessionSummary,
) -> Result<Option<SessionBudget>, ApiError> {
    let role = session.role.as_deref().and_then(Role::parse);
    let (Some(name), Some(role)) = (session.principal.clone(), role) else { return Ok(None) };
    if role == Role::User {
        return Ok(None);
    }
    let counted = session_of(&Principal { name, role });
    let (api, backend) = (Arc::clone(api), Arc::clone(&api.ports.backend));
    let used = blocking(move || {
        let runtime = api.runtime.current();
        let tasks = backend.spent_by_tasks();
        runtime.judge.session_use(&counted.0, &tasks, runtime.clock.elapsed())
    });
    Ok(Some(used.await?.into()))
}

async fn changes(
    State(api): State<Arc<Api>>,
    Path(session): Path<String>,
    QueryFields(query): QueryFields<SessionQuery>,
) -> Reply {
    let limit = query.limit.map_or(1000, Within::get) as usize;
    let found = calls_of(Arc::clone(&api), session, &query, limit).await?;
    let mine: HashSet<String> = found.iter().map(|call| call.id().to_owned()).collect();
    let backend = Arc::clone(&api.ports.backend);
    let gathered = blocking(move || {
        let scope = ChangesScope::Workspace;
        let wanted = WantedChanges { scope, limit: usize::MAX, with_commands: false };
        let mut changed = backend.changed_calls(&wanted)?.calls;
        changed.retain(|call| mine.contains(&call.call.0));
        let truncated = changed.len() > MOST_CHANGED_CALLS || found.len() >= limit;
        changed.truncate(MOST_CHANGED_CALLS);
        let ids: Vec<String> = changed.iter().map(|call| call.call.0.clone()).collect();
        let in_order = backend.preview_undo(&ids)?;
        let in_order = in_order.into_iter().map(|it| (it.call.clone(), it));
        let mut in_order: HashMap<_, _> = in_order.collect();
        let mut changes = Vec::new();
        for changed in changed {
            let alone = backend.preview_undo(std::slice::from_ref(&changed.call.0))?;
            if let (Some(alone), Some(in_order)) =
                (alone.into_iter().next(), in_order.remove(&changed.call))
            {
                changes.push(SessionChange { changed, alone, in_order });
            }
        }
        Ok((truncated, changes))
    });
    let (truncated, changes) = gathered.await?.map_err(|err| failed(&err))?;
    JsonReply::redacted(&api.redactor, &SessionChanges { ok: true, truncated, changes })
}
