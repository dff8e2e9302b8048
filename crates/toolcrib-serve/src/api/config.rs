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
    ChangeWay, ChangedValue, ConfigChanged, ConfigError, ConfigErrorKind, EditedSettings,
    LiveConfig, SettingsReport, ToolConfig, ToolConfigChange,
};
use super::context::Api;
use super::fields::{BodyFields, QueryFields};
use super::full_outcome::FileDifference;
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
                "An environment variable, a flag or a project's file decides, the files on disk have errors, or somebody \
                 else has changed the file. Nothing was changed.",
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
        .query::<SettingsQuery>()
        .body::<SettingsChange>(),
    ]
}

/// Settings to change, by their names. `null` takes one out of the settings file.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct SettingsChange(Map<String, Value>);

/// What is done with a change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SettingsQuery {
    /// Whether the change is checked and shown, and not made. (default: false)
    dry_run: Option<bool>,
    /// The version of the settings file that a dry run told. If somebody has changed the file since then, nothing is
    /// changed.
    version: Option<String>,
}

/// The settings file, and what a change does to it.
#[derive(Serialize, JsonSchema)]
struct ChangedSettingsFile {
    path: String,
    /// The version before the change.
    version: String,
    /// What the change does; nothing if the file stays as it is.
    difference: Option<FileDifference>,
}

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
    /// Whether the change was not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    /// The settings file. `POST /api/settings` tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<ChangedSettingsFile>,
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
    let made = move |config: &dyn LiveConfig| config.change_config(&change, &caller.principal);
    let ConfigChanged { config, changed, needs_restart, warnings, .. } =
        changed(Arc::clone(&api), made).await?;
    let (dry_run, file) = (None, None);
    let reply =
        ConfigChangeReply { ok: true, config, changed, needs_restart, warnings, dry_run, file };
    JsonReply::ok(&reply)
}

/// Shows every setting.
async fn show_settings(State(api): State<Arc<Api>>) -> Reply {
    JsonReply::ok(&SettingsReply { ok: true, report: api.ports.config.settings() })
}

/// Changes settings by their own names.
async fn change_settings(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    QueryFields(query): QueryFields<SettingsQuery>,
    BodyFields(SettingsChange(change)): BodyFields<SettingsChange>,
) -> Reply {
    let is_trial = query.dry_run == Some(true);
    let way = if is_trial { ChangeWay::Try } else { ChangeWay::Make { version: query.version } };
    let made =
        move |config: &dyn LiveConfig| config.change_settings(&change, &way, &caller.principal);
    let ConfigChanged { config, changed, needs_restart, warnings, file } =
        changed(Arc::clone(&api), made).await?;
    let EditedSettings { path, version, before, after } = file;
    let difference = blocking(move || api.ports.backend.text_difference(&before, &after)).await?;
    let (dry_run, file) =
        (is_trial.then_some(true), Some(ChangedSettingsFile { path, version, difference }));
    let reply =
        ConfigChangeReply { ok: true, config, changed, needs_restart, warnings, dry_run, file };
    JsonReply::ok(&reply)
}

/// Makes a change on a thread that may block: it waits for whoever else changes the file.
async fn changed(
    api: Arc<Api>,
    change: impl FnOnce(&dyn LiveConfig) -> Result<ConfigChanged, ConfigError> + Send + 'static,
) -> Result<ConfigChanged, ApiError> {
    blocking(move || change(&*api.ports.config)).await?.map_err(refusal)
}

fn refusal(error: ConfigError) -> ApiError {
    let ConfigError { kind, message, errors } = error;
    let conflict = |code, message| ApiError::new(StatusCode::CONFLICT, code, message);
    let refused = match kind {
        ConfigErrorKind::Invalid => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_settings", message)
        }
        ConfigErrorKind::WrongFiles => conflict("settings_files_wrong", message),
        ConfigErrorKind::ChangedMeanwhile => conflict("changed_meanwhile", message),
        ConfigErrorKind::Overridden => conflict("overridden", message),
        ConfigErrorKind::Unavailable => ApiError::unavailable(message),
    };
    refused.field("errors", errors)
}
