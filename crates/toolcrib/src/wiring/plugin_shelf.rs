//! Tools from other authors on the shelf: which versions are loaded, and why others are not.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use toolcrib_core::worker::{StartedWorker, WorkerRequest, Workers};
use toolcrib_core::{
    ErrorKind, LoadedTool, LoadedTools, Shelf, ShelvedTool, ToolError, ToolHandle, escape,
};
use toolcrib_plugins::PluginError;
use toolcrib_plugins::module_tool::ModuleTool;
use toolcrib_plugins::permissions::Permissions;
use toolcrib_plugins::plugin_store::PluginStore;
use toolcrib_plugins::propose_tool::ProposeTool;
use toolcrib_plugins::version_approval::ApprovalRule;
use toolcrib_plugins::version_hash::VersionHash;
use toolcrib_plugins::version_store::SavedVersion;
use toolcrib_plugins::worker_pool::{PoolLimits, WorkerPool};
use toolcrib_tools::{PLUGINS, catalogues};

use crate::settings::{Settings, table};

/// Returns every tool there is, for processes that only list them.
pub fn saved_shelf(settings: &Settings, state: &Path) -> Shelf {
    let pool = WorkerPool::new(Arc::new(NoWorkers), PoolLimits::default());
    let (tools, _) = active_tools(&PluginStore::new(state), settings, &pool, &HashMap::new());
    shelf_with(&tools, None).0
}

/// A version, and the tool that it is.
pub(super) type VersionTool = (VersionHash, Arc<ModuleTool>);

/// Loads the active versions. Those that are in `known` stay as they are.
pub(super) fn active_tools(
    store: &PluginStore,
    settings: &Settings,
    pool: &Arc<WorkerPool>,
    known: &HashMap<VersionHash, Arc<ModuleTool>>,
) -> (Vec<VersionTool>, Vec<String>) {
    if !settings.get(table::PLUGINS_ENABLED) {
        return (Vec::new(), Vec::new());
    }
    let active = match store.active(approval_rule(settings)) {
        Ok(active) => active,
        Err(err) => return (Vec::new(), vec![format!("tools of others are not loaded: {err}")]),
    };
    let problem = |name: &str, err: &PluginError| format!("plugins/{name} is not loaded: {err}");
    let mut warnings: Vec<String> =
        active.problems.iter().map(|it| problem(&it.name, &it.error)).collect();
    let most = most_permissions(settings);
    let mut tools = Vec::new();
    for SavedVersion { hash, declaration, source } in active.tools {
        if let Some(beyond) = declaration.permissions.beyond(&most).first() {
            let name = &declaration.name;
            let what = format!("{} {}", beyond.list, escape::line(&beyond.entry));
            warnings.push(format!(
                "plugins/{name} is not loaded: `plugins.{}` does not allow {what}",
                beyond.list
            ));
            continue;
        }
        let name = declaration.name.clone();
        let made = match known.get(&hash) {
            Some(tool) => Ok(Arc::clone(tool)),
            None => {
                ModuleTool::new(hash.short(), source.code().into(), declaration, Arc::clone(pool))
            }
        };
        match made {
            Ok(tool) => tools.push((hash, tool)),
            Err(err) => warnings.push(problem(&name, &err)),
        }
    }
    (tools, warnings)
}

/// Puts tools on the shelf, and the tool that proposes others, if there is one. If one has the name of another, none of
/// them is there.
pub(super) fn shelf_with(
    tools: &[VersionTool],
    proposing: Option<ProposeTool>,
) -> (Shelf, Option<String>) {
    let compiled = Shelf::from(catalogues());
    let modules = tools.iter().map(|(_, tool)| Arc::clone(tool) as Arc<dyn LoadedTool>);
    let proposing = proposing.map(|tool| Arc::new(tool) as Arc<dyn LoadedTool>);
    let shelved = modules
        .chain(proposing)
        .map(|tool| ShelvedTool { catalogue: &PLUGINS, tool: ToolHandle::Loaded(tool) });
    match compiled.with(LoadedTools { catalogues: Vec::new(), tools: shelved.collect() }) {
        Ok(shelf) => (shelf, None),
        Err(name) => (compiled, Some(format!("tools of others are not loaded: two are `{name}`"))),
    }
}

pub(super) fn approval_rule(settings: &Settings) -> ApprovalRule {
    if settings.get(table::PLUGINS_APPROVAL_REQUIRED) {
        ApprovalRule::Always
    } else {
        ApprovalRule::WithPermissions
    }
}

/// Returns the most that the operator allows a tool to ask for.
pub(super) fn most_permissions(settings: &Settings) -> Permissions {
    Permissions {
        read: settings.get(table::PLUGINS_READ),
        write: settings.get(table::PLUGINS_WRITE),
        tools: settings.get(table::PLUGINS_TOOLS),
        ..Permissions::default()
    }
}

/// Starts no workers: what only lists tools calls none.
struct NoWorkers;

impl Workers for NoWorkers {
    fn start(&self, _: &WorkerRequest) -> Result<StartedWorker, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, "this process only lists tools"))
    }
}
