//! `/api/workers`: the processes of this server that run tools from other authors.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::access::AccessRight;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::plugin_source::WorkerGroup;

/// The operation that tells of workers.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/workers", "list_workers", list)
            .about(
                AccessRight::Inspect,
                "Counts the processes of this server that run tools from other authors.",
            )
            .replies::<WorkerList>(),
    ]
}

/// The processes that run tools from other authors.
#[derive(Serialize, JsonSchema)]
struct WorkerList {
    ok: bool,
    workers: Vec<WorkerGroup>,
}

async fn list(State(api): State<Arc<Api>>) -> Reply {
    JsonReply::ok(&WorkerList { ok: true, workers: api.ports.plugins.workers() })
}
