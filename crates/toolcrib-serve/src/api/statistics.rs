//! `/api/tools/errors`, `regression` and `resources`: how healthy tools are, in the contract's form.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::Value;
use toolcrib_core::Caller;

use super::access::AccessRight;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use super::statistics_source::{ReportError, ReportKind};
use crate::reply::ApiError;

/// Reports on all tools.
pub(super) async fn all(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(kind): Path<String>,
) -> Reply {
    report(api, &caller, &kind, None).await
}

/// Reports on one tool by its bare name.
pub(super) async fn one(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path((kind, tool)): Path<(String, String)>,
) -> Reply {
    report(api, &caller, &kind, Some(tool)).await
}

/// Reports on one tool by its full name.
pub(super) async fn one_in_catalogue(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path((kind, catalogue, tool)): Path<(String, String, String)>,
) -> Reply {
    report(api, &caller, &kind, Some(format!("{catalogue}/{tool}"))).await
}

/// Clears the figures of a tool by its bare name.
pub(super) async fn clear(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path((kind, tool)): Path<(String, String)>,
) -> Reply {
    clear_named(api, caller, &kind, tool).await
}

/// Clears the figures of a tool by its full name.
pub(super) async fn clear_in_catalogue(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path((kind, catalogue, tool)): Path<(String, String, String)>,
) -> Reply {
    clear_named(api, caller, &kind, format!("{catalogue}/{tool}")).await
}

async fn report(api: Arc<Api>, caller: &Caller, kind: &str, tool: Option<String>) -> Reply {
    let kind = kind_of(kind)?;
    AccessRight::Inspect.check(caller)?;
    blocking(move || api.statistics.report(kind, tool.as_deref())).await
}

async fn clear_named(api: Arc<Api>, caller: Caller, kind: &str, tool: String) -> Reply {
    let kind = kind_of(kind)?;
    AccessRight::Administer.check(&caller)?;
    blocking(move || api.statistics.clear(kind, &tool, &caller.principal)).await
}

/// Reads the statistics on a thread that may block.
async fn blocking(work: impl FnOnce() -> Result<Value, ReportError> + Send + 'static) -> Reply {
    let done = tokio::task::spawn_blocking(work).await.map_err(|_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "internal_error", "the statistics could not be read")
    })?;
    done.map(JsonReply::ok).map_err(|err| {
        let status = match err {
            ReportError::NotFound(_) | ReportError::NeverCalled(_) => StatusCode::NOT_FOUND,
            ReportError::Ambiguous(_) => StatusCode::BAD_REQUEST,
            ReportError::Unreadable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        ApiError::new(status, err.code(), err.message())
    })
}

fn kind_of(word: &str) -> Result<ReportKind, ApiError> {
    ReportKind::parse(word).ok_or_else(ApiError::not_found)
}
