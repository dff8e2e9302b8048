//! `/api/audit`: the record of calls.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::Caller;
use toolcrib_ledger::{
    CallFilter, CallHistory, CallOutcome, call_summary, entry_summary, find_calls,
};

use super::access::AccessRight;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use crate::query::QueryParameters;
use crate::reply::ApiError;

/// How many calls a search returns, and the most that it can.
const USUAL_LIMIT: usize = 50;
const MOST_LIMIT: usize = 1000;

/// Finds calls, newest first.
pub(super) async fn search(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Reply {
    AccessRight::Inspect.check(&caller)?;
    let known = ["tool", "actor", "outcome", "text", "since", "until", "limit"];
    let query = QueryParameters::parse(query.as_deref(), &known)?;
    let time = |name: &str| {
        query.parsed(name, "a time such as 2027-01-31T12:00:00Z", |it| it.parse::<Timestamp>().ok())
    };
    let words = CallOutcome::ALL.map(CallOutcome::as_str).join(", ");
    let parse = |text: &str| CallOutcome::ALL.into_iter().find(|it| it.as_str() == text);
    let filter = CallFilter {
        since: time("since")?,
        until: time("until")?,
        tool: query.get("tool").map(Into::into),
        actor: query.get("actor").map(str::to_owned),
        outcome: query.parsed("outcome", &format!("one of {words}"), parse)?,
        text: query.get("text").map(str::to_owned),
        call: None,
    };
    let limit = query.number("limit", USUAL_LIMIT, (1, MOST_LIMIT))?;
    let calls: Vec<Value> = find(api, filter, limit, call_summary).await?;
    Ok(JsonReply::ok(json!({"ok": true, "count": calls.len(), "calls": calls})))
}

/// Shows the story of one call.
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    AccessRight::Inspect.check(&caller)?;
    let call = find_call(api, id).await?;
    Ok(JsonReply::ok(json!({"ok": true, "call": call})))
}

/// Returns the story of a call by its whole id.
pub(super) async fn find_call(api: Arc<Api>, id: String) -> Result<Value, ApiError> {
    let unknown = || {
        let message = format!("the record has no call with the id `{id}`");
        ApiError::new(StatusCode::NOT_FOUND, "call_not_found", message)
    };
    // An id begins with its time. Without one, the whole record would be read.
    let since = Some(toolcrib_ledger::call_time(&id).ok_or_else(unknown)?);
    let filter = CallFilter { call: Some(id.clone()), since, ..CallFilter::default() };
    let found = find(api, filter, 1, |history| {
        let mut story = call_summary(history);
        story["moments"] = history.entries.iter().map(entry_summary).collect();
        story
    });
    found.await?.into_iter().find(|story| story["call"] == id.as_str()).ok_or_else(unknown)
}

/// Reads the record on a thread that may block.
async fn find(
    api: Arc<Api>,
    filter: CallFilter,
    limit: usize,
    shown: fn(&CallHistory) -> Value,
) -> Result<Vec<Value>, ApiError> {
    let read = tokio::task::spawn_blocking(move || {
        api.runtime.recorder.flush();
        let calls = find_calls(&api.state, &filter, limit)?;
        Ok(calls.iter().map(shown).collect())
    });
    let found = read.await.map_err(|_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "internal_error", "the record could not be read")
    })?;
    found.map_err(|err| unreadable(&err))
}

fn unreadable(err: &std::io::Error) -> ApiError {
    let message = format!("the record cannot be read: {err}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
}
