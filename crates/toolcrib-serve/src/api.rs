//! The API: what each path does. A handler translates a request into an operation of the runtime or the ledger, and
//! decides nothing.

mod access;
mod approvals;
mod audit;
mod calls;
mod context;
mod execute;
mod json_reply;
mod outcome;
mod running_calls;
mod statistics;
mod statistics_source;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use serde_json::json;

pub use context::Api;
use json_reply::{JsonReply, Reply};
pub use running_calls::RunningCalls;
pub use statistics_source::{ReportError, ReportKind, Statistics};

/// The paths of the API, each with its handler.
pub fn routes(api: Arc<Api>) -> Router {
    Router::new()
        .route("/api/tools", get(tools::list))
        .route("/api/tools/execute/{tool}", post(execute::bare_name))
        .route("/api/tools/execute/{catalogue}/{tool}", post(execute::full_name))
        .route("/api/tools/{kind}", get(statistics::all))
        .route("/api/tools/{kind}/{tool}", get(statistics::one))
        .route("/api/tools/{kind}/{tool}/{name}", get(statistics::one_in_catalogue))
        .route("/api/tools/{kind}/{tool}/clear", post(statistics::clear))
        .route("/api/tools/{kind}/{tool}/{name}/clear", post(statistics::clear_in_catalogue))
        .route("/api/calls/{id}", get(calls::show).delete(calls::cancel))
        .route("/api/approvals", get(approvals::list))
        .route("/api/approvals/{id}", get(approvals::show).post(approvals::answer))
        .route("/api/audit", get(audit::search))
        .route("/api/audit/{id}", get(audit::show))
        .route("/api/version", get(version))
        .with_state(api)
}

async fn version() -> Reply {
    let version = env!("CARGO_PKG_VERSION");
    Ok(JsonReply::ok(json!({"ok": true, "name": "toolcrib", "version": version})))
}
