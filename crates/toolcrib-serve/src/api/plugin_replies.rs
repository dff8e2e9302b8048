//! What replies about tools from other authors have in common: how their errors and times are told.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use toolcrib_plugins::examination::ProposalFaults;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::{PluginError, PluginErrorKind};

use super::blocking::blocking;
use super::context::Api;
use crate::reply::ApiError;

/// Does something with the tools from other authors, where it may block.
pub(super) async fn with_lifecycle<T: Send + 'static>(
    api: Arc<Api>,
    work: impl FnOnce(&Lifecycle) -> T + Send + 'static,
) -> Result<T, ApiError> {
    blocking(move || work(&api.ports.plugins.lifecycle())).await
}

/// Says why something could not be done with a tool.
pub(super) fn plugin_error(err: &PluginError) -> ApiError {
    let (status, code) = match err.kind {
        PluginErrorKind::NotFound => (StatusCode::NOT_FOUND, err.kind.as_str()),
        PluginErrorKind::NotApproved => (StatusCode::FORBIDDEN, "approval_required"),
        PluginErrorKind::OwnProposal | PluginErrorKind::Off => {
            (StatusCode::FORBIDDEN, err.kind.as_str())
        }
        PluginErrorKind::NameTaken
        | PluginErrorKind::AlreadyPending
        | PluginErrorKind::Closed
        | PluginErrorKind::Changed => (StatusCode::CONFLICT, err.kind.as_str()),
        PluginErrorKind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, err.kind.as_str()),
        PluginErrorKind::BadName
        | PluginErrorKind::BadManifest
        | PluginErrorKind::BadServer
        | PluginErrorKind::BadSchema
        | PluginErrorKind::TooManyPermissions
        | PluginErrorKind::BadModule
        | PluginErrorKind::ExampleFailed => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_tool"),
        PluginErrorKind::Busy | PluginErrorKind::Store => {
            (StatusCode::SERVICE_UNAVAILABLE, err.kind.as_str())
        }
    };
    let message = match err.kind {
        // The contract's way is over HTTP.
        PluginErrorKind::NotApproved => {
            "a tool needs an approval before it is loaded; use POST /api/tools/propose".to_owned()
        }
        _ => match &err.hint {
            Some(hint) => format!("{}; {hint}", err.message),
            None => err.message.clone(),
        },
    };
    ApiError::new(status, code, message)
}

/// Says what is wrong with a proposed tool: the first fault decides the status, and all are listed.
pub(super) fn proposal_faults(faults: &ProposalFaults) -> ApiError {
    let Some(first) = faults.0.first() else { return ApiError::unavailable("nothing was told") };
    let fields = |fault: &PluginError| {
        let mut fields = json!({"code": fault.kind.as_str(), "message": fault.message});
        if let Some(hint) = &fault.hint {
            fields["hint"] = json!(hint);
        }
        if let Some((line, column)) = fault.place {
            fields["line"] = json!(line);
            fields["column"] = json!(column);
        }
        fields
    };
    let all: Vec<Value> = faults.0.iter().map(fields).collect();
    plugin_error(first).field("errors", all)
}
