//! `/api/tools/write` and `reload`, and `/api/plugins`: the tools from other authors that are loaded.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Caller, escape};
use toolcrib_plugins::examination::ProposalFaults;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::reload::{FoundPlugin, FoundState};
use toolcrib_plugins::{PluginError, PluginErrorKind};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::{BodyFields, OptionalBodyFields};
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::plugin_replies::{plugin_error, proposal_faults, with_lifecycle};
use crate::plugin_views::{PluginDetailFields, PluginFields, stamp};
use crate::reply::ApiError;

/// The operations about loaded tools.
pub(super) fn operations() -> Vec<Operation> {
    let changes = |operation: Operation, about: &'static str| {
        operation
            .about(AccessRight::Administer, about)
            .replies::<ChangedPlugin>()
            .fails(StatusCode::NOT_FOUND, "There is no such tool, or no such version.")
    };
    vec![
        Operation::post("/api/tools/write", "write_tool", write)
            .about(
                AccessRight::Administer,
                "Writes a tool and loads it, if the settings want no approval.",
            )
            .body::<WriteBody>()
            .replies::<WriteReply>()
            .fails(StatusCode::FORBIDDEN, "The settings want an approval.")
            .fails(
                StatusCode::UNPROCESSABLE_ENTITY,
                "The tool has faults. All of them are listed.",
            ),
        Operation::post("/api/tools/reload", "reload_tools", reload)
            .about(
                AccessRight::Administer,
                "Looks through the tools folder, and loads what is approved.",
            )
            .replies::<ReloadReply>(),
        Operation::get("/api/plugins", "list_plugins", list)
            .about(AccessRight::Inspect, "Lists the tools from other authors, with their versions.")
            .replies::<PluginList>(),
        Operation::get("/api/plugins/{tool}", "show_plugin", show)
            .about(AccessRight::Inspect, "Shows a tool from another author, with its code.")
            .replies::<PluginReply>()
            .fails(StatusCode::NOT_FOUND, "There is no such tool."),
        changes(
            Operation::post("/api/plugins/{tool}/rollback", "roll_back_plugin", roll_back),
            "Makes an earlier version of a tool active.",
        )
        .body::<RollBackBody>(),
        changes(
            Operation::post("/api/plugins/{tool}/disable", "disable_plugin", disable),
            "Takes a tool off offer. Its versions stay.",
        ),
        changes(
            Operation::post("/api/plugins/{tool}/enable", "enable_plugin", enable),
            "Puts a tool on offer again.",
        ),
    ]
}

/// A tool to write.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteBody {
    /// The name, which the module must export, too.
    name: String,
    /// The ES module.
    code: String,
}

/// The reply to a write.
#[derive(Serialize, JsonSchema)]
struct WriteReply {
    ok: bool,
    path: String,
    bytes: usize,
    /// The first digits of the hash.
    version: String,
}

/// The reply to a reload.
#[derive(Serialize, JsonSchema)]
struct ReloadReply {
    ok: bool,
    /// How many tools the contract's API has now.
    reloaded: usize,
    timestamp: String,
    /// Files in the tools folder whose version nobody has approved. They are not loaded.
    waiting: Vec<FolderFile>,
    /// Files in the tools folder that cannot be tools.
    errors: Vec<FolderFile>,
}

/// A file in the tools folder.
#[derive(Serialize, JsonSchema)]
struct FolderFile {
    name: String,
    path: String,
    /// The hash of the version that it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The tools from other authors.
#[derive(Serialize, JsonSchema)]
struct PluginList {
    ok: bool,
    count: usize,
    plugins: Vec<PluginFields>,
}

/// One tool from another author.
#[derive(Serialize, JsonSchema)]
struct PluginReply {
    ok: bool,
    plugin: PluginDetailFields,
}

/// A version to go back to.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RollBackBody {
    /// The hash of the version, or its first 12 digits. Without it, the one before.
    version: Option<String>,
}

/// A tool whose state was changed.
#[derive(Serialize, JsonSchema)]
struct ChangedPlugin {
    ok: bool,
    name: String,
    /// Whether anything changed.
    changed: bool,
    /// The hash of the version that is active now, after a roll-back.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

async fn write(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(WriteBody { name, code }): BodyFields<WriteBody>,
) -> Reply {
    let bytes = code.len();
    let writing = Arc::clone(&api);
    let written = blocking(move || {
        let written = writing.ports.plugins.lifecycle().write(&name, &code, &caller.principal)?;
        writing.ports.plugins.take_up().map_err(ProposalFaults::from)?;
        Ok(written)
    });
    let written = written.await?.map_err(|faults: ProposalFaults| proposal_faults(&faults))?;
    let path = written.written.map_err(|err| plugin_error(&err))?;
    JsonReply::ok(&WriteReply {
        ok: true,
        path: path.display().to_string(),
        bytes,
        version: written.hash.short().to_owned(),
    })
}

async fn reload(State(api): State<Arc<Api>>, Extension(caller): Extension<Caller>) -> Reply {
    let now = api.answers.clock.now();
    let done = blocking(move || {
        let found = api.ports.plugins.lifecycle().reload(&caller.principal)?;
        Ok((found, api.ports.plugins.take_up()?))
    });
    let (found, reloaded) = done.await?.map_err(|err: PluginError| plugin_error(&err))?;
    let waits = |it: &&FoundPlugin| matches!(it.state, FoundState::Waiting(_));
    let is_broken = |it: &&FoundPlugin| matches!(it.state, FoundState::Broken(_));
    JsonReply::ok(&ReloadReply {
        ok: true,
        reloaded,
        timestamp: stamp(now),
        waiting: found.iter().filter(waits).map(FolderFile::of).collect(),
        errors: found.iter().filter(is_broken).map(FolderFile::of).collect(),
    })
}

async fn list(State(api): State<Arc<Api>>) -> Reply {
    let tools = with_lifecycle(api, Lifecycle::tools).await?;
    let tools = tools.map_err(|err| plugin_error(&err))?;
    let plugins: Vec<PluginFields> = tools.iter().map(PluginFields::of).collect();
    JsonReply::ok(&PluginList { ok: true, count: plugins.len(), plugins })
}

async fn show(State(api): State<Arc<Api>>, Path(tool): Path<String>) -> Reply {
    let tools = with_lifecycle(api, Lifecycle::tools).await?;
    let tools = tools.map_err(|err| plugin_error(&err))?;
    let found = tools.iter().find(|it| it.name == tool).ok_or_else(|| {
        let message = format!("there is no plugin `{}`", escape::line(&tool));
        ApiError::new(StatusCode::NOT_FOUND, "plugin_not_found", message)
    })?;
    JsonReply::ok(&PluginReply { ok: true, plugin: PluginDetailFields::of(found) })
}

async fn roll_back(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(tool): Path<String>,
    OptionalBodyFields(body): OptionalBodyFields<RollBackBody>,
) -> Reply {
    changed(api, tool, move |lifecycle, tool| {
        let back = lifecycle.roll_back(tool, body.version.as_deref(), &caller.principal)?;
        Ok((true, Some(String::from(back.hash))))
    })
    .await
}

async fn disable(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(tool): Path<String>,
) -> Reply {
    changed(api, tool, move |it, tool| Ok((it.disable(tool, &caller.principal)?, None))).await
}

async fn enable(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(tool): Path<String>,
) -> Reply {
    changed(api, tool, move |it, tool| Ok((it.enable(tool, &caller.principal)?, None))).await
}

/// Changes the state of a tool, and takes that up.
async fn changed(
    api: Arc<Api>,
    tool: String,
    change: impl FnOnce(&Lifecycle, &str) -> Result<(bool, Option<String>), PluginError>
    + Send
    + 'static,
) -> Reply {
    let done = blocking(move || {
        let (is_changed, version) = change(&api.ports.plugins.lifecycle(), &tool)?;
        api.ports.plugins.take_up()?;
        Ok(ChangedPlugin { ok: true, name: tool, changed: is_changed, version })
    });
    let not_found = |err: PluginError| match err.kind {
        PluginErrorKind::NotFound | PluginErrorKind::BadName => {
            ApiError::new(StatusCode::NOT_FOUND, "plugin_not_found", err.message)
        }
        _ => plugin_error(&err),
    };
    JsonReply::ok(&done.await?.map_err(not_found)?)
}

impl FolderFile {
    fn of(found: &FoundPlugin) -> Self {
        let (hash, error) = match &found.state {
            FoundState::Active(hash)
            | FoundState::Loaded(hash)
            | FoundState::Inactive(hash)
            | FoundState::Waiting(hash) => (Some(hash.as_str().to_owned()), None),
            FoundState::Broken(err) => (None, Some(err.to_string())),
        };
        Self { name: found.name.clone(), path: found.path.display().to_string(), hash, error }
    }
}
