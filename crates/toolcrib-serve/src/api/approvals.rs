//! `/api/approvals`: the calls that wait for a person, and the answers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::Caller;
use toolcrib_core::approval::{ApprovalStatus, KeptOutcome, PendingApproval};
use toolcrib_core::policy::Wish;
use toolcrib_runtime::{ApprovalError, Approved, ParkedCall, Runtime};

use super::access::AccessRight;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use crate::body::{JsonBody, fields_of};
use crate::query::QueryParameters;
use crate::reply::ApiError;

/// How long the words of an answer may be.
const LONGEST_WORDS: usize = 4096;

/// An answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    decision: AnswerWord,
    /// What the agent is told with a no.
    #[serde(default)]
    words: String,
    /// The number of the grant that "always" makes, from 0 as the question lists them.
    #[serde(default)]
    grant: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum AnswerWord {
    Approve,
    Always,
    Deny,
}

/// Lists the approvals that are pending, or all of them.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Reply {
    AccessRight::Approve.check(&caller)?;
    let query = QueryParameters::parse(query.as_deref(), &["status"])?;
    let is_known = |text: &str| matches!(text, "pending" | "all").then(|| text.to_owned());
    let shown = query.parsed("status", "`pending` or `all`", is_known)?;
    let mut approvals = Vec::new();
    for pending in api.answers.store.all().map_err(|err| unreadable(&err))? {
        let status = api.answers.store.status(&pending, api.answers.clock.now());
        let status = status.map_err(|err| unreadable(&err))?;
        if shown.as_deref() == Some("all") || status == ApprovalStatus::Pending {
            approvals.push(value(&api, &pending, status));
        }
    }
    Ok(JsonReply::ok(json!({"ok": true, "count": approvals.len(), "approvals": approvals})))
}

/// Shows the question about one call.
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    AccessRight::Approve.check(&caller)?;
    let (pending, status) = api.answers.find(&id).map_err(|err| failure(&id, err))?;
    Ok(JsonReply::ok(json!({"ok": true, "approval": value(&api, &pending, status)})))
}

/// Answers the question about one call. An approved call runs here, and its outcome is kept for the one who asked.
pub(super) async fn answer(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody,
) -> Reply {
    AccessRight::Approve.check(&caller)?;
    let body: AnswerBody = fields_of(body, "{\"decision\": \"approve\", \"always\" or \"deny\"}")?;
    if body.words.len() > LONGEST_WORDS {
        let message = format!("`words` has more than {LONGEST_WORDS} bytes; shorten it");
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Err(ApiError::new(status, "invalid_request", message));
    }
    let by = &caller.principal;
    if body.decision == AnswerWord::Deny {
        api.answers.deny(&id, by, &body.words).map_err(|err| failure(&id, err))?;
        return Ok(JsonReply::ok(json!({"ok": true, "call": id, "status": "denied"})));
    }
    let (pending, _) = api.answers.find(&id).map_err(|err| failure(&id, err))?;
    if pending.is_parked && pending.workspace != api.workspace {
        let message = format!(
            "the call belongs to the workspace `{}`, and this server works in `{}`; run `toolcrib approvals approve {id}` there",
            pending.workspace, api.workspace
        );
        return Err(ApiError::new(StatusCode::CONFLICT, "other_workspace", message));
    }
    let wish = wish(&pending, &body)?;
    match api.answers.approve(&id, by, wish).map_err(|err| failure(&id, err))? {
        Approved::RunsElsewhere => {}
        Approved::RunsHere(parked) => run(&api, *parked),
    }
    Ok(JsonReply::ok(json!({
        "ok": true, "call": id, "status": "approved", "outcome": format!("GET /api/calls/{id}"),
    })))
}

/// Returns the grant that an answer wishes for.
fn wish(pending: &PendingApproval, body: &AnswerBody) -> Result<Option<Wish>, ApiError> {
    if body.decision != AnswerWord::Always {
        return Ok(None);
    }
    let offers = &pending.question.grants;
    if let Some(offer) = offers.get(body.grant.unwrap_or(0)) {
        return Ok(Some(offer.wish.clone()));
    }
    let message = format!(
        "the question offers {} grants; `grant` is the number of one of them, from 0",
        offers.len()
    );
    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "no_such_grant", message))
}

/// Runs an approved call in the background, as the call of the one who asked.
fn run(api: &Arc<Api>, parked: ParkedCall) {
    let ParkedCall { call, approver, .. } = parked;
    let api = Arc::clone(api);
    tokio::spawn(async move {
        let id = call.id.0.clone();
        let running = api.running.start(&call.id, &call.caller.principal);
        let runtime = Runtime { approver, ..api.runtime.clone() };
        let outcome = runtime.call(call, running.cancel()).await;
        // Without it, the one who asked is told that the call runs; the record has the outcome.
        let _ = api.answers.store.keep_outcome(&id, &KeptOutcome::from(&outcome));
        drop(running);
    });
}

fn value(api: &Api, pending: &PendingApproval, status: ApprovalStatus) -> Value {
    let answer = api.answers.store.answer(&pending.id).ok().flatten();
    let mut value = serde_json::to_value(pending).unwrap_or_default();
    // The state of thousands of files says nothing to whoever reads this.
    if let Some(fields) = value.as_object_mut() {
        fields.remove("pins");
    }
    value["status"] = status.as_str().into();
    value["answer"] = json!(answer);
    api.redactor.clean_json(&value)
}

/// Says why an answer does not count.
fn failure(id: &str, err: ApprovalError) -> ApiError {
    match err {
        ApprovalError::NotFound => {
            let message = format!("no call waits or waited for approval as `{id}`");
            ApiError::new(StatusCode::NOT_FOUND, "approval_not_found", message)
        }
        ApprovalError::OwnCall => {
            let message = "the token that asked cannot answer; another person must";
            ApiError::new(StatusCode::FORBIDDEN, "own_call", message)
        }
        ApprovalError::Closed(status) => {
            let why = match status {
                ApprovalStatus::Pending => "somebody else answers it now",
                ApprovalStatus::Approved | ApprovalStatus::TakenUp => "the call was approved",
                ApprovalStatus::Denied => "the call was denied",
                ApprovalStatus::Expired => "nobody answered in time",
            };
            let message = format!("the question is closed: {why}; see GET /api/approvals/{id}");
            let closed = ApiError::new(StatusCode::CONFLICT, "already_answered", message);
            closed.field("status", status.as_str())
        }
        ApprovalError::Store(err) => unreadable(&err),
    }
}

fn unreadable(err: &std::io::Error) -> ApiError {
    let message = format!("the approvals cannot be read: {err}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
}
