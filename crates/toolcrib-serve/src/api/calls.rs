//! `/api/calls/…`: how a call stands, and how it is cancelled.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};
use toolcrib_core::{Caller, Cancel, Principal, Role};

use super::access::AccessRight;
use super::audit::find_call;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use crate::reply::ApiError;

/// Shows a call: its status, and the outcome of one that was parked.
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    if let Some((principal, _)) = api.running.find(&id)
        && principal == caller.principal
    {
        return Ok(JsonReply::ok(json!({"ok": true, "call": id, "status": "running"})));
    }
    let store = &api.answers.store;
    let Ok(pending) = store.find(&id) else {
        let call = find_call(Arc::clone(&api), id.clone()).await.map_err(|_| unknown(&id))?;
        let Principal { name, role } = &caller.principal;
        let is_own = call["principal"] == name.as_str() && call["role"] == role.as_str();
        if !is_own {
            AccessRight::Inspect.check(&caller).map_err(|_| unknown(&id))?;
        }
        return Ok(JsonReply::ok(json!({"ok": true, "call": id, "status": call["outcome"]})));
    };
    let is_own = pending.caller.principal == caller.principal;
    if !is_own {
        AccessRight::Inspect.check(&caller).map_err(|_| unknown(&id))?;
    }
    // Only the one who asked sees the reply with what may be secret in it.
    let shown = |reply: Value| if is_own { reply } else { api.redactor.clean_json(&reply) };
    let status = store.status(&pending, api.answers.clock.now()).map_err(|err| unreadable(&err))?;
    let outcome = store.outcome(&id).map_err(|err| unreadable(&err))?;
    let answer = store.answer(&id).map_err(|err| unreadable(&err))?;
    Ok(JsonReply::ok(json!({
        "ok": true, "call": id, "tool": pending.tool, "status": status.as_str(),
        "answer": answer.map(|it| json!({"approved": it.is_approved, "by": it.by, "words": it.words})),
        "outcome": outcome.map(|it| json!({
            "ok": it.error.is_none(),
            "error": it.error.map_or(Value::Null, |error| json!({"error": error.kind, "message": error.message})),
            "reply": shown(it.reply),
        })),
    })))
}

/// Cancels a call of the caller's own, or any for an admin.
pub(super) async fn cancel(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    AccessRight::Call.check(&caller)?;
    let found = api.running.find(&id);
    let is_admin = caller.principal.role == Role::Admin;
    let may_cancel =
        |(principal, _): &(Principal, Cancel)| *principal == caller.principal || is_admin;
    let Some((_, cancel)) = found.filter(may_cancel) else {
        let message = format!("no call of this token runs as `{id}`; it may have ended");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "call_not_found", message));
    };
    cancel.cancel();
    Ok(JsonReply::ok(json!({"ok": true, "call": id, "status": "cancelling"})))
}

fn unknown(id: &str) -> ApiError {
    let message = format!("no call of this token has the id `{id}`");
    ApiError::new(StatusCode::NOT_FOUND, "call_not_found", message)
}

fn unreadable(err: &std::io::Error) -> ApiError {
    let message = format!("the state of the call cannot be read: {err}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
}
