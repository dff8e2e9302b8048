//! `/api/calls/…`: how a call stands, and how it is cancelled.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::approval::ApprovalAnswer;
use toolcrib_core::{Caller, Cancel, Principal, Role, ToolName};
use toolcrib_ledger::{CallHistory, CallStory};

use super::access::{AccessRight, CallVisibility};
use super::audit::{find_call, story};
use super::context::Api;
use super::full_outcome::FileDifference;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// The operations about one call.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/calls/{id}", "call_status", show)
            .about(AccessRight::Any, "Says how a call stands, with the outcome of one that waited.")
            .replies::<CallStatus>()
            .fails(StatusCode::NOT_FOUND, "No call that this token may see has the id."),
        Operation::delete("/api/calls/{id}", "cancel_call", cancel)
            .about(AccessRight::Call, "Cancels a call that runs.")
            .replies::<CallStatus>()
            .fails(StatusCode::NOT_FOUND, "No call that this token may cancel runs by this id."),
    ]
}

/// How a call stands.
#[derive(Default, Serialize, JsonSchema)]
struct CallStatus {
    ok: bool,
    call: String,
    /// `running`, `cancelling`, the status of its approval, or its outcome on the record.
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<ToolName>,
    /// The answer of a person, if the call waited for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<ShownAnswer>,
    /// The outcome of a call that waited for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<ShownOutcome>,
}

/// The answer of a person.
#[derive(Serialize, JsonSchema)]
struct ShownAnswer {
    approved: bool,
    by: String,
    words: String,
}

/// The outcome of a call.
#[derive(Serialize, JsonSchema)]
struct ShownOutcome {
    ok: bool,
    error: Option<ShownError>,
    /// The catalogue's reply.
    reply: Value,
}

/// Why a call failed.
#[derive(Serialize, JsonSchema)]
struct ShownError {
    error: String,
    message: String,
}

impl CallStatus {
    fn of(call: &str, status: &str) -> Self {
        let (call, status) = (call.to_owned(), status.to_owned());
        Self { ok: true, call, status, ..Self::default() }
    }
}

/// Returns who made a call, by the record.
pub(super) fn owner_of(history: &CallHistory) -> Option<Principal> {
    let asked = history.first().and_then(|entry| entry.call.caller.to_caller());
    asked.map(|caller| caller.principal)
}

/// Returns the history of a call that a caller may see: its own, or any for a role that reads the record.
pub(super) async fn visible_call(
    api: &Arc<Api>,
    caller: &Caller,
    id: &str,
) -> Result<CallHistory, ApiError> {
    let history = find_call(Arc::clone(api), id).await.map_err(|_| unknown(id))?;
    let is_visible = CallVisibility::of(caller).includes(owner_of(&history).as_ref());
    if is_visible { Ok(history) } else { Err(unknown(id)) }
}

/// Returns what became of a call that a caller may see, and the difference that each of its changes made.
pub(crate) async fn visible_story(
    api: &Arc<Api>,
    caller: &Caller,
    id: &str,
) -> Result<(CallStory, Vec<Option<FileDifference>>), ApiError> {
    story(api, visible_call(api, caller, id).await?).await
}

/// Shows a call: its status, and the outcome of one that was parked.
async fn show(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    if let Some((principal, _)) = api.running.find(&id)
        && principal == caller.principal
    {
        return JsonReply::ok(&CallStatus::of(&id, "running"));
    }
    let store = &api.answers.store;
    // A question about a host is of a call, and is none.
    let asked_about = store.find(&id).ok().filter(|it| it.question.host.is_none());
    let Some(pending) = asked_about else {
        let history = visible_call(&api, &caller, &id).await?;
        return JsonReply::ok(&CallStatus::of(&id, history.outcome().as_str()));
    };
    let owner = &pending.caller.principal;
    if !CallVisibility::of(&caller).includes(Some(owner)) {
        return Err(unknown(&id));
    }
    let is_own = *owner == caller.principal;
    // Only the one who asked sees the reply with what may be secret in it.
    let shown = |reply: Value| if is_own { reply } else { api.redactor.clean_json(&reply) };
    let status = store.status(&pending, api.answers.clock.now()).map_err(|err| unreadable(&err))?;
    let outcome = store.outcome(&id).map_err(|err| unreadable(&err))?;
    let answer = store.answer(&id).map_err(|err| unreadable(&err))?;
    JsonReply::ok(&CallStatus {
        tool: Some(pending.tool),
        answer: answer.map(|ApprovalAnswer { is_approved, by, words, .. }| ShownAnswer {
            approved: is_approved,
            by,
            words,
        }),
        outcome: outcome.map(|it| ShownOutcome {
            ok: it.error.is_none(),
            error: it.error.map(|it| ShownError { error: it.kind, message: it.message }),
            reply: shown(it.reply),
        }),
        ..CallStatus::of(&id, status.as_str())
    })
}

/// Cancels a call of the caller's own, or any for an admin.
async fn cancel(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    let found = api.running.find(&id);
    let is_admin = caller.principal.role == Role::Admin;
    let may_cancel =
        |(principal, _): &(Principal, Cancel)| *principal == caller.principal || is_admin;
    let Some((_, cancel)) = found.filter(may_cancel) else {
        let message = format!("no call of this token runs as `{id}`; it may have ended");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "call_not_found", message));
    };
    cancel.cancel();
    JsonReply::ok(&CallStatus::of(&id, "cancelling"))
}

fn unknown(id: &str) -> ApiError {
    let message = format!("no call of this token has the id `{id}`");
    ApiError::new(StatusCode::NOT_FOUND, "call_not_found", message)
}

fn unreadable(err: &std::io::Error) -> ApiError {
    let message = format!("the state of the call cannot be read: {err}");
    ApiError::unavailable(message)
}
