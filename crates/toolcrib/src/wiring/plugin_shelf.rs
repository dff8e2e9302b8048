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
use toolcrib_plugins::plugin_source::PluginSource;
use toolcrib_plugins::plugin_store::PluginStore;
use toolcrib_plugins::program_pool::{ProgramLimits, ProgramPlaces, ProgramPool, ProgramReach};
use toolcrib_plugins::program_run::ProgramResources;
use toolcrib_plugins::program_tool::ProgramTool;
use toolcrib_plugins::propose_tool::ProposeTool;
use toolcrib_plugins::secret_values::SecretValues;
use toolcrib_plugins::version_approval::ApprovalRule;
use toolcrib_plugins::version_hash::VersionHash;
use toolcrib_plugins::version_store::SavedVersion;
use toolcrib_plugins::worker_pool::{PoolLimits, WorkerPool};
use toolcrib_tools::{PLUGINS, catalogues};

use super::bus_tools::bus_tools;
use super::saved_servers::saved_tools;
use crate::settings::{Settings, table};

/// Returns every tool there is, for processes that only list them.
pub fn saved_shelf(settings: &Settings, state: &Path) -> Shelf {
    let pools = PluginPools {
        modules: WorkerPool::new(Arc::new(NoWorkers), PoolLimits::default()),
        programs: ProgramPool::new(
            Arc::new(NoWorkers),
            program_limits(settings),
            SecretValues::default(),
        ),
    };
    let (tools, _) = active_tools(&PluginStore::new(state), settings, &pools, &HashMap::new());
    let proposing = propose_tool(settings, ProposeTool::listed);
    let (of_bus, _) = bus_tools(settings, &Arc::default());
    shelf_with(&tools, proposing, with_bus(saved_tools(settings, state), of_bus)).0
}

/// Adds the tools behind a NATS server to those of mounted servers.
pub(super) fn with_bus(mut mounted: LoadedTools, of_bus: LoadedTools) -> LoadedTools {
    mounted.catalogues.extend(of_bus.catalogues);
    mounted.tools.extend(of_bus.tools);
    mounted
}

/// A version, and the tool that it is.
pub(super) type VersionTool = (VersionHash, Arc<dyn LoadedTool>);

/// What runs tools from other authors.
#[derive(Clone)]
pub(super) struct PluginPools {
    pub(super) modules: Arc<WorkerPool>,
    pub(super) programs: Arc<ProgramPool>,
}

impl PluginPools {
    /// Ends every process.
    pub(super) fn close(&self) {
        self.modules.close();
        self.programs.close();
    }
}

/// Loads the active versions. Those that are in `known` stay as they are.
pub(super) fn active_tools(
    store: &PluginStore,
    settings: &Settings,
    pools: &PluginPools,
    known: &HashMap<VersionHash, Arc<dyn LoadedTool>>,
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
    for version in active.tools {
        let SavedVersion { hash, declaration, .. } = &version;
        if let Some(beyond) = declaration.permissions.beyond(&most).first() {
            let name = &declaration.name;
            let what = format!("{} {}", beyond.list, escape::line(&beyond.entry));
            warnings.push(format!(
                "plugins/{name} is not loaded: `plugins.{}` does not allow {what}",
                beyond.list
            ));
            continue;
        }
        let made = match known.get(hash) {
            Some(tool) => Ok(Arc::clone(tool)),
            None => tool_of(&version, store, settings, pools),
        };
        match made {
            Ok(tool) => tools.push((version.hash, tool)),
            Err(err) => warnings.push(problem(&declaration.name, &err)),
        }
    }
    (tools, warnings)
}

/// Makes a tool of a version.
fn tool_of(
    version: &SavedVersion,
    store: &PluginStore,
    settings: &Settings,
    pools: &PluginPools,
) -> Result<Arc<dyn LoadedTool>, PluginError> {
    let SavedVersion { hash, declaration, source } = version;
    match source {
        PluginSource::Module(code) => {
            let (declaration, pool) = (declaration.clone(), Arc::clone(&pools.modules));
            Ok(ModuleTool::new(hash.short(), code.as_str().into(), declaration, pool)?)
        }
        PluginSource::Program(files) => {
            let manifest = files.manifest()?;
            manifest.run.resources.require_within(most_resources(settings))?;
            let (files, volumes) = (store.files_of(hash), store.volumes_of(&declaration.name));
            let places = ProgramPlaces { files: &files, volumes: &volumes };
            let (reach, pool) = (ProgramReach::Declared, Arc::clone(&pools.programs));
            Ok(ProgramTool::new(hash.short(), &manifest, places, reach, pool)?)
        }
    }
}

/// Puts tools on the shelf, with those of mounted servers, and the tool that proposes others, if there is one. If one has the name of another, none of
/// them is there.
pub(super) fn shelf_with(
    tools: &[VersionTool],
    proposing: Option<ProposeTool>,
    mounted: LoadedTools,
) -> (Shelf, Option<String>) {
    let compiled = Shelf::from(catalogues());
    let plugins = tools.iter().map(|(_, tool)| Arc::clone(tool));
    let proposing = proposing.map(|tool| Arc::new(tool) as Arc<dyn LoadedTool>);
    let shelved = plugins
        .chain(proposing)
        .map(|tool| ShelvedTool { catalogue: &PLUGINS, tool: ToolHandle::Loaded(tool) });
    let LoadedTools { catalogues, tools } = mounted;
    match compiled.with(LoadedTools { catalogues, tools: shelved.chain(tools).collect() }) {
        Ok(shelf) => (shelf, None),
        Err(name) => (compiled, Some(format!("tools of others are not loaded: two are `{name}`"))),
    }
}

/// Returns the tool that proposes others, unless tools of other authors are off.
pub(super) fn propose_tool(
    settings: &Settings,
    make: impl FnOnce() -> Result<ProposeTool, PluginError>,
) -> Option<ProposeTool> {
    if settings.get(table::PLUGINS_ENABLED) { make().ok() } else { None }
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
        hosts: settings.get(table::PLUGINS_HOSTS),
        tools: settings.get(table::PLUGINS_TOOLS),
        secrets: settings.get(table::PLUGINS_SECRETS),
        volumes: Vec::new(),
    }
}

/// Returns the most memory and processors that the operator allows a program.
pub(super) fn most_resources(settings: &Settings) -> ProgramResources {
    ProgramResources {
        memory_bytes: settings.get(table::PLUGINS_PROGRAM_MEMORY_BYTES),
        cpus: settings.get(table::PLUGINS_PROGRAM_CPUS) as f64,
    }
}

pub(super) fn program_limits(settings: &Settings) -> ProgramLimits {
    ProgramLimits {
        processes: settings.get(table::PLUGINS_WORKERS) as usize,
        most_resources: most_resources(settings),
        most_volume_bytes: settings.get(table::PLUGINS_VOLUME_BYTES),
        security_mode: settings.get(table::MODE).as_str().to_owned(),
    }
}

/// Starts no workers: what only lists tools calls none.
struct NoWorkers;

impl Workers for NoWorkers {
    fn start(&self, _: &WorkerRequest) -> Result<StartedWorker, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, "this process only lists tools"))
    }
}
