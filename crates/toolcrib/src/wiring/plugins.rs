//! Tools from other authors, as this process has loaded them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use toolcrib_core::policy::grant::Grants;
use toolcrib_core::worker::Workers;
use toolcrib_core::{Cancel, Clock, Limits, LoadedTool, Recorder, Shelf, ToolError, ToolName};
use toolcrib_host::{Sandbox, WorkerSandbox};
use toolcrib_ledger::GrantFile;
use toolcrib_nats::RunnerLine;
use toolcrib_plugins::examination::{Examiner, RunnablePlugin, StaticChecks};
use toolcrib_plugins::example_uses::ExampleUses;
use toolcrib_plugins::lifecycle::{Lifecycle, LifecycleRules};
use toolcrib_plugins::mcp::imported_servers::ImportedServer;
use toolcrib_plugins::mcp::pin_store::PinStore;
use toolcrib_plugins::mcp::server_spec::ServerSpec;
use toolcrib_plugins::module_tool::ModuleTool;
use toolcrib_plugins::plugin_declaration::{PluginDeclaration, PluginExample};
use toolcrib_plugins::plugin_store::PluginStore;
use toolcrib_plugins::program_pool::{ProgramPlaces, ProgramPool, ProgramReach};
use toolcrib_plugins::program_tool::{ProgramCall, ProgramTool};
use toolcrib_plugins::propose_tool::ProposeTool;
use toolcrib_plugins::schema_check::CheckedSchema;
use toolcrib_plugins::secret_values::SecretValues;
use toolcrib_plugins::version_hash::VersionHash;
use toolcrib_plugins::worker_pool::{PoolLimits, WorkerPool};
use toolcrib_plugins::{PluginError, PluginErrorKind, name_check};
use toolcrib_serve::{WorkerGroup, WorkerKind};
use toolcrib_tools::catalogues;

use super::bus_tools::bus_tools;
use super::mounted_servers::{MountedServers, WhichServers};
use super::options::OpenOptions;
use super::plugin_shelf::{
    PluginPools, active_tools, approval_rule, most_permissions, most_resources, program_limits,
    propose_tool, shelf_with, with_bus,
};
use super::state_access::StateAccess;
use crate::settings::{Settings, SettingsFiles, table};

/// The limits of one example.
const EXAMPLE_LIMITS: Limits = Limits { deadline_ms: 2000, ..Limits::DEFAULT };

/// The tools from other authors that this process has loaded.
pub struct Plugins {
    store: PluginStore,
    pools: PluginPools,
    /// What runs what nobody has approved yet, so that proposals take no worker from calls.
    examining: PluginPools,
    /// Whether a worker is kept ready for a module that is called for the first time.
    keeps_spare: bool,
    servers: MountedServers,
    /// Reaches the runners of tools behind a NATS server.
    runners: Arc<RunnerLine>,
    /// Where their files are.
    tools_folder: PathBuf,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    grants: Arc<dyn Grants>,
    loaded: Mutex<Loaded>,
}

/// What is loaded now.
struct Loaded {
    shelf: Shelf,
    /// The tools by their versions. One that stays keeps its workers.
    tools: HashMap<VersionHash, Arc<dyn LoadedTool>>,
    /// What the store's generation was.
    generation: Option<Vec<u8>>,
}

impl Plugins {
    /// Prepares to load tools. Nothing is started before the first call of one.
    pub(super) fn new(
        access: &StateAccess,
        files: &SettingsFiles,
        sandbox: &Arc<Sandbox>,
        environment: &BTreeMap<String, OsString>,
        options: &OpenOptions,
    ) -> Self {
        let settings = &access.settings;
        let own = || std::env::current_exe().and_then(fs::canonicalize).unwrap_or_default();
        let program = options.worker_program.clone().unwrap_or_else(own);
        let workers: Arc<dyn Workers> = Arc::new(WorkerSandbox::new(Arc::clone(sandbox), program));
        let limits = PoolLimits { has_spare: options.is_long_lived, ..pool_limits(settings) };
        Self {
            store: PluginStore::new(access.state.folder()),
            servers: MountedServers::new(access, Arc::clone(&workers), options, environment),
            pools: PluginPools {
                modules: WorkerPool::new(Arc::clone(&workers), limits),
                programs: ProgramPool::new(
                    Arc::clone(&workers),
                    program_limits(settings),
                    secrets(environment),
                ),
            },
            examining: PluginPools {
                modules: WorkerPool::new(
                    Arc::clone(&workers),
                    PoolLimits { workers: 1, ..pool_limits(settings) },
                ),
                programs: ProgramPool::new(
                    workers,
                    program_limits(settings),
                    SecretValues::default(),
                ),
            },
            keeps_spare: options.is_long_lived,
            runners: Arc::default(),
            tools_folder: tools_folder(settings, files),
            recorder: Arc::clone(&access.recorder),
            clock: Arc::clone(&access.clock),
            grants: Arc::new(GrantFile::new(&access.state)),
            loaded: Mutex::new(Loaded {
                shelf: Shelf::from(catalogues()),
                tools: HashMap::new(),
                generation: None,
            }),
        }
    }

    /// Returns every tool there is.
    pub fn shelf(&self) -> Shelf {
        self.loaded().shelf.clone()
    }

    /// Returns what reaches the runners of tools behind a NATS server.
    pub fn runners(&self) -> &Arc<RunnerLine> {
        &self.runners
    }

    /// Returns what proposes, answers and switches tools under these settings.
    pub fn lifecycle(&self, settings: &Settings) -> Lifecycle {
        self.lifecycle_on(self.shelf(), settings)
    }

    /// Returns the same. Names are compared with those on a shelf.
    fn lifecycle_on(&self, shelf: Shelf, settings: &Settings) -> Lifecycle {
        Lifecycle {
            store: self.store.clone(),
            rules: LifecycleRules {
                is_enabled: settings.get(table::PLUGINS_ENABLED),
                max: most_permissions(settings),
                most_resources: most_resources(settings),
                proposal_lifetime: settings.get(table::PLUGINS_PROPOSAL_MS),
                approval: approval_rule(settings),
                tools_folder: self.tools_folder.clone(),
            },
            checks: Arc::new(ShelfChecks(shelf)),
            examiner: Arc::new(SandboxExaminer(self.examining.clone())),
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
            grants: Arc::clone(&self.grants),
        }
    }

    /// Loads the versions that are active now, and drops the others. Returns a warning for each that does not run.
    pub(super) fn load(&self, settings: &Settings) -> Vec<String> {
        let (mounted, of_servers) = self.servers.load(settings);
        let (of_bus, of_manifests) = bus_tools(settings, &self.runners);
        let mounted = with_bus(mounted, of_bus);
        let generation = fs::read(self.store.generation_file()).ok();
        let mut loaded = self.loaded();
        let (tools, mut warnings) = active_tools(&self.store, settings, &self.pools, &loaded.tools);
        warnings.extend(of_servers.into_iter().chain(of_manifests));
        let (plugins, shared) = shelf_with(&tools, None, mounted.clone());
        warnings.extend(shared);
        let proposing =
            propose_tool(settings, || ProposeTool::new(self.lifecycle_on(plugins, settings)));
        let (shelf, shared) = shelf_with(&tools, proposing, mounted);
        warnings.extend(shared);
        if self.keeps_spare && !tools.is_empty() {
            self.start_spare();
        }
        *loaded = Loaded { shelf, tools: tools.into_iter().collect(), generation };
        warnings
    }

    /// Starts a worker on a thread of its own, if none is ready: the first call of a module then waits for no process.
    fn start_spare(&self) {
        let pool = Arc::clone(&self.pools.modules);
        let start = std::thread::Builder::new().name("spare-worker".to_owned());
        // Without a thread, the first call starts its worker itself.
        let _ = start.spawn(move || pool.warm());
    }

    /// Whether another process has changed what is active.
    pub(super) fn is_outdated(&self) -> bool {
        fs::read(self.store.generation_file()).ok() != self.loaded().generation
    }

    /// Returns the file that changes with what is active.
    pub(super) fn generation_file(&self) -> PathBuf {
        self.store.generation_file()
    }

    /// Counts the processes that run tools.
    pub(super) fn workers(&self) -> Vec<WorkerGroup> {
        let PluginPools { modules, programs } = &self.pools;
        vec![
            WorkerGroup::new(WorkerKind::Module, modules.counts()),
            WorkerGroup::new(WorkerKind::Program, programs.counts()),
        ]
    }

    /// Returns the MCP servers that are mounted.
    pub fn servers(&self, settings: &Settings) -> Vec<ServerSpec> {
        self.servers.specs(settings).specs
    }

    /// Returns the servers of imported files that wait until somebody accepts them.
    pub fn waiting_imports(&self, settings: &Settings) -> Vec<ImportedServer> {
        self.servers.specs(settings).waiting
    }

    /// Mounts MCP servers, waits for them, and loads what they have. Returns a warning for each that cannot be mounted.
    pub fn mount(&self, settings: &Settings, which: &WhichServers<'_>) -> Vec<String> {
        let warnings = self.servers.mount(settings, which);
        self.load(settings);
        warnings
    }

    /// Mounts the MCP servers that a tool can be of which nobody knows, and waits for them. A call of a tool that is
    /// known waits for none.
    pub fn mount_for(&self, settings: &Settings, tool: &ToolName) -> Vec<String> {
        if self.shelf().has(tool) {
            return Vec::new();
        }
        let which = tool.asked_parts().0.map_or(WhichServers::New, WhichServers::Named);
        self.mount(settings, &which)
    }

    /// Returns the tools of MCP servers that were accepted.
    pub fn pins(&self) -> &PinStore {
        self.servers.pins()
    }

    /// Ends the workers.
    pub(super) fn close(&self) {
        self.examining.close();
        self.servers.close();
        self.pools.close();
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns where the files of tools from other authors are.
fn tools_folder(settings: &Settings, files: &SettingsFiles) -> PathBuf {
    let set = settings.get(table::PLUGINS_FOLDER);
    if !set.is_empty() {
        return PathBuf::from(set);
    }
    files.user.as_deref().unwrap_or(&files.machine).with_file_name("tools")
}

/// Returns every value of the environment, of which a program gets those that it was approved with.
fn secrets(environment: &BTreeMap<String, OsString>) -> SecretValues {
    let text =
        |(name, value): (&String, &OsString)| Some((name.clone(), value.to_str()?.to_owned()));
    SecretValues::new(environment.iter().filter_map(text))
}

fn pool_limits(settings: &Settings) -> PoolLimits {
    PoolLimits {
        workers: settings.get(table::PLUGINS_WORKERS) as usize,
        memory_bytes: settings.get(table::PLUGINS_MEMORY_BYTES) as usize,
        ..PoolLimits::default()
    }
}

/// Checks names against the tools that are on the shelf.
struct ShelfChecks(Shelf);

impl StaticChecks for ShelfChecks {
    fn check_name(&self, name: &str, others: &[String]) -> Result<(), PluginError> {
        name_check::check(name, &self.0, others)
    }

    fn check_schema(&self, schema: &Value) -> Result<(), PluginError> {
        CheckedSchema::new(schema.clone())?.compile()
    }
}

/// Runs what nobody has approved in workers, which can do no harm: they reach nothing, and `ctx` answers what the example
/// says.
struct SandboxExaminer(PluginPools);

impl Examiner for SandboxExaminer {
    fn describe(&self, file: &str, source: &str) -> Result<PluginDeclaration, PluginError> {
        self.0.modules.describe(file, &source.into(), &Cancel::default())
    }

    fn run_example(
        &self,
        plugin: RunnablePlugin<'_>,
        declaration: &PluginDeclaration,
        example: &PluginExample,
    ) -> Result<Value, PluginError> {
        let args = &example.args;
        let failed = |err: ToolError| PluginError::new(PluginErrorKind::ExampleFailed, err.message);
        CheckedSchema::new(declaration.parameters.clone())?.check_args(args).map_err(failed)?;
        let cancel = Cancel::default();
        match plugin {
            RunnablePlugin::Module(code) => {
                let pool = Arc::clone(&self.0.modules);
                let tool = ModuleTool::new("", code.into(), declaration.clone(), pool)?;
                let uses = ExampleUses::new(&declaration.permissions, &example.ctx);
                let reply = tool.run(args, EXAMPLE_LIMITS, &cancel, &uses).map_err(failed)?;
                match uses.unused() {
                    Some(unused) => Err(PluginError::new(PluginErrorKind::ExampleFailed, unused)),
                    None => Ok(reply),
                }
            }
            RunnablePlugin::Program { manifest, folder, volumes } => {
                let (reach, pool) = (ProgramReach::Nothing, Arc::clone(&self.0.programs));
                let places = ProgramPlaces { files: folder, volumes };
                let tool = ProgramTool::new("", manifest, places, reach, pool)?;
                let call = ProgramCall { session: "example", call: "example" };
                tool.run(args, call, EXAMPLE_LIMITS, &cancel).map_err(failed)
            }
        }
    }
}
