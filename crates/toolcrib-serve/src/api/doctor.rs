//! `GET /api/doctor`: what works on the server's machine, what does not, and why.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;

/// The operation that examines the machine.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/doctor", "doctor", doctor)
            .about(
                AccessRight::Inspect,
                "Says what works on the server's machine, and what does not.",
            )
            .replies::<DoctorReply>(),
    ]
}

/// What works and what does not.
#[derive(Serialize, JsonSchema)]
struct DoctorReply {
    ok: bool,
    /// Each part with its finding, as `toolcrib doctor --json` prints it.
    parts: Value,
}

async fn doctor(State(api): State<Arc<Api>>) -> Reply {
    let parts = blocking(move || api.ports.backend.diagnosis()).await?;
    JsonReply::ok(&DoctorReply { ok: true, parts })
}
