//! `/api/grants`: what people allowed with "always".

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use toolcrib_core::policy::{Grant, GrantError};
use toolcrib_core::{Caller, Note};
use toolcrib_ledger::{Act, EventKind};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// The operations about grants. An answer of "always" makes one.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/grants", "list_grants", list)
            .about(AccessRight::Inspect, "Lists the grants, which answers of \"always\" make.")
            .replies::<GrantList>(),
        Operation::delete("/api/grants/{id}", "revoke_grant", revoke)
            .about(AccessRight::Approve, "Revokes a grant.")
            .replies::<RevokedGrant>()
            .fails(StatusCode::NOT_FOUND, "There is no grant with this id."),
    ]
}

/// The grants.
#[derive(Serialize, JsonSchema)]
struct GrantList {
    ok: bool,
    count: usize,
    grants: Vec<Grant>,
}

/// A grant that was revoked.
#[derive(Serialize, JsonSchema)]
struct RevokedGrant {
    ok: bool,
    revoked: String,
}

async fn list(State(api): State<Arc<Api>>) -> Reply {
    let grants = Arc::clone(&api.ports.grants);
    let grants = blocking(move || grants.all()).await?.map_err(|err| unusable(&err))?;
    JsonReply::ok(&GrantList { ok: true, count: grants.len(), grants })
}

async fn revoke(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Reply {
    let (grants, wanted) = (Arc::clone(&api.ports.grants), id.clone());
    let is_gone = blocking(move || grants.revoke(&wanted)).await?.map_err(|err| unusable(&err))?;
    if !is_gone {
        let message = format!("there is no grant `{id}`; GET /api/grants lists them");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "grant_not_found", message));
    }
    let note = Note {
        at: api.answers.clock.now(),
        actor: caller.principal.role.as_str(),
        act: Act::Grant.as_str(),
        event: EventKind::Revoked.as_str(),
        tool: None,
        call: "",
        detail: json!({"id": id, "by": caller.principal.name}),
    };
    if let Err(err) = api.runtime.current().recorder.note(&note) {
        let message = format!("the grant was revoked, but that could not be recorded: {err}");
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unrecorded", message));
    }
    JsonReply::ok(&RevokedGrant { ok: true, revoked: id })
}

fn unusable(err: &GrantError) -> ApiError {
    ApiError::unavailable(err.message.clone())
}
