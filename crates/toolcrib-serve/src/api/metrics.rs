//! `GET /metrics`: the metrics of the server in the OpenMetrics format.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use toolcrib_core::approval::ApprovalStatus;
use toolcrib_ledger::record_length;

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::operation::Operation;
use crate::observation::MetricReadings;
use crate::reply::ApiError;

/// The type of the reply.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The operation that shows the metrics.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/metrics", "metrics", show)
            .about(AccessRight::Inspect, "Returns the metrics of the server.")
            .replies_as(OPENMETRICS),
    ]
}

async fn show(State(api): State<Arc<Api>>) -> Result<Response, ApiError> {
    // The readings come from files.
    let text = blocking(move || api.observer.metrics(&readings(&api))).await?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(OPENMETRICS));
    Ok(response)
}

/// Reads what is not counted. What cannot be read is left out.
fn readings(api: &Api) -> MetricReadings {
    let store = &api.answers.store;
    let now = api.answers.clock.now();
    let is_pending = |status| matches!(status, Ok(ApprovalStatus::Pending));
    let approvals = store.all().ok();
    let waiting =
        approvals.map(|all| all.iter().filter(|it| is_pending(store.status(it, now))).count());
    MetricReadings {
        approvals_waiting: waiting.map(|count| count as u64),
        record_lines: record_length(&api.state).ok(),
    }
}
