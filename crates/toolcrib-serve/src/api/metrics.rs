//! `GET /metrics`: the metrics of the server in the OpenMetrics format.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use toolcrib_ledger::record_length;

use super::access::AccessRight;
use super::approvals::waiting_count;
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
    MetricReadings {
        approvals_waiting: waiting_count(api),
        record_lines: record_length(&api.state).ok(),
    }
}
