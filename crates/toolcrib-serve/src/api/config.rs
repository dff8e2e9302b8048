//! `/api/tools/config` and `/api/settings`: what holds for everybody, and how it is changed.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_core::Caller;

use super::access::AccessRight;
use super::blocking::blocking;
use super::config_source::{
    ChangedValue, ConfigChanged, ConfigError, ConfigErrorKind, LiveConfig, SettingsReport,
    ToolConfig, ToolConfigChange,
};
use super::context::Api;
use super::fields::BodyFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// The operations about settings.
pub(super) fn operations() -> Vec<Operation> {
    let changes = |operation: Operation, about: &'static str| {
        operation
            .about(AccessRight::Administer, about)
            .replies::<ConfigChangeReply>()
            .fails(StatusCode::UNPROCESSABLE_ENTITY, "A value is wrong. Nothing was changed.")
            .fails(
                StatusCode::CONFLICT,
                "An environment variable, a flag or a project's file decides, or the files on disk have errors. Nothing \
                 was changed.",
            )
    };
    vec![
        Operation::get("/api/tools/config", "show_config", show)
            .about(AccessRight::Any, "Shows the tool configuration.")
            .replies::<ConfigReply>(),
        changes(
            Operation::post("/api/tools/config", "change_config", change),
            "Changes the tool configuration for everybody, at once and in the settings file.",
        )
        .body::<ToolConfigChange>(),
        Operation::get("/api/settings", "show_settings", show_settings)
            .about(AccessRight::Administer, "Shows every setting, and how the settings stand.")
            .replies::<SettingsReply>(),
        changes(
            Operation::post("/api/settings", "change_settings", change_settings),
            "Changes settings by their own names, at once and in the settings file.",
        )
        .body::<SettingsChange>(),
    ]
}

/// Settings to change, by their names. `null` takes one out of the settings file.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct SettingsChange(Map<String, Value>);

/// The reply to `GET /api/tools/config`.
#[derive(Serialize, JsonSchema)]
struct ConfigReply {
    ok: bool,
    config: ToolConfig,
}

/// The reply to `POST /api/tools/config` and `POST /api/settings`.
#[derive(Serialize, JsonSchema)]
struct ConfigChangeReply {
    ok: bool,
    config: ToolConfig,
    /// The values that are not what they were.
    changed: Vec<ChangedValue>,
    /// The settings that are in the file now and hold only after a restart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs_restart: Vec<ChangedValue>,
    /// What the one who changed them should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The reply to `GET /api/settings`.
#[derive(Serialize, JsonSchema)]
struct SettingsReply {
    ok: bool,
    #[serde(flatten)]
    report: SettingsReport,
}

/// Shows the tool configuration. Every role may read it: it says what an agent can call and how much it gets, which the
/// list of tools and their errors say anyway.
async fn show(State(api): State<Arc<Api>>) -> Reply {
    JsonReply::ok(&ConfigReply { ok: true, config: api.ports.config.config() })
}

/// Changes the tool configuration.
async fn change(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(change): BodyFields<ToolConfigChange>,
) -> Reply {
    changed(api, move |config| config.change_config(&change, &caller.principal)).await
}

/// Shows every setting.
async fn show_settings(State(api): State<Arc<Api>>) -> Reply {
    JsonReply::ok(&SettingsReply { ok: true, report: api.ports.config.settings() })
}

/// Changes settings by their own names.
async fn change_settings(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(SettingsChange(change)): BodyFields<SettingsChange>,
) -> Reply {
    changed(api, move |config| config.change_settings(&change, &caller.principal)).await
}

/// Makes a change on a thread that may block: it waits for whoever else changes the file.
async fn changed(
    api: Arc<Api>,
    change: impl FnOnce(&dyn LiveConfig) -> Result<ConfigChanged, ConfigError> + Send + 'static,
) -> Reply {
    let done = blocking(move || change(&*api.ports.config)).await?;
    let ConfigChanged { config, changed, needs_restart, warnings } = done.map_err(refusal)?;
    JsonReply::ok(&ConfigChangeReply { ok: true, config, changed, needs_restart, warnings })
}

fn refusal(error: ConfigError) -> ApiError {
    let ConfigError { kind, message, errors } = error;
    let conflict = |code, message| ApiError::new(StatusCode::CONFLICT, code, message);
    let refused = match kind {
        ConfigErrorKind::Invalid => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_settings", message)
        }
        ConfigErrorKind::WrongFiles => conflict("settings_files_wrong", message),
        ConfigErrorKind::Overridden => conflict("overridden", message),
        ConfigErrorKind::Unavailable => ApiError::unavailable(message),
    };
    refused.field("errors", errors)
}
