//! Tools from other authors, as this process has loaded them.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use toolcrib_core::{Cancel, Clock, Limits, Recorder, Shelf, ToolError};
use toolcrib_host::{Sandbox, WorkerSandbox};
use toolcrib_plugins::examination::{Examiner, StaticChecks};
use toolcrib_plugins::host_uses::NoUses;
use toolcrib_plugins::lifecycle::{Lifecycle, LifecycleRules};
use toolcrib_plugins::module_tool::ModuleTool;
use toolcrib_plugins::plugin_declaration::PluginDeclaration;
use toolcrib_plugins::plugin_store::PluginStore;
use toolcrib_plugins::propose_tool::ProposeTool;
use toolcrib_plugins::schema_check::CheckedSchema;
use toolcrib_plugins::version_hash::VersionHash;
use toolcrib_plugins::worker_pool::{PoolLimits, WorkerPool};
use toolcrib_plugins::{PluginError, PluginErrorKind, name_check};
use toolcrib_tools::catalogues;

use super::options::OpenOptions;
use super::plugin_shelf::{active_tools, approval_rule, most_permissions, shelf_with};
use super::state_access::StateAccess;
use crate::settings::{Settings, SettingsFiles, table};

/// The limits of one example.
const EXAMPLE_LIMITS: Limits = Limits { deadline_ms: 2000, ..Limits::DEFAULT };

/// The tools from other authors that this process has loaded.
pub struct Plugins {
    store: PluginStore,
    pool: Arc<WorkerPool>,
    /// The workers of what nobody has approved yet, so that proposals take none from calls.
    examining: Arc<WorkerPool>,
    /// Whether a worker is kept ready for a module that is called for the first time.
    keeps_spare: bool,
    /// Where their files are.
    tools_folder: PathBuf,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    loaded: Mutex<Loaded>,
}

/// What is loaded now.
struct Loaded {
    shelf: Shelf,
    /// The tools by their versions. One that stays keeps its workers.
    tools: HashMap<VersionHash, Arc<ModuleTool>>,
    /// What the store's generation was.
    generation: Option<Vec<u8>>,
}

impl Plugins {
    /// Prepares to load tools. Nothing is started before the first call of one.
    pub(super) fn new(
        access: &StateAccess,
        files: &SettingsFiles,
        sandbox: &Arc<Sandbox>,
        options: &OpenOptions,
    ) -> Self {
        let settings = &access.settings;
        let own = || std::env::current_exe().and_then(fs::canonicalize).unwrap_or_default();
        let program = options.worker_program.clone().unwrap_or_else(own);
        let workers = Arc::new(WorkerSandbox::new(Arc::clone(sandbox), program));
        let limits = PoolLimits { has_spare: options.is_long_lived, ..pool_limits(settings) };
        Self {
            store: PluginStore::new(access.state.folder()),
            examining: WorkerPool::new(
                Arc::clone(&workers) as _,
                PoolLimits { workers: 1, ..pool_limits(settings) },
            ),
            pool: WorkerPool::new(workers, limits),
            keeps_spare: options.is_long_lived,
            tools_folder: tools_folder(settings, files),
            recorder: Arc::clone(&access.recorder),
            clock: Arc::clone(&access.clock),
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

    /// Returns what proposes, answers and switches tools under these settings.
    pub fn lifecycle(&self, settings: &Settings) -> Lifecycle {
        self.lifecycle_on(self.shelf(), settings)
    }

    /// Returns the same. Names are compared with those on a shelf.
    fn lifecycle_on(&self, shelf: Shelf, settings: &Settings) -> Lifecycle {
        Lifecycle {
            store: self.store.clone(),
            rules: LifecycleRules {
                max: most_permissions(settings),
                proposal_lifetime: settings.get(table::PLUGINS_PROPOSAL_MS),
                approval: approval_rule(settings),
                tools_folder: self.tools_folder.clone(),
            },
            checks: Arc::new(ShelfChecks(shelf)),
            examiner: Arc::new(SandboxExaminer(Arc::clone(&self.examining))),
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
        }
    }

    /// Loads the versions that are active now, and drops the others. Returns a warning for each that does not run.
    pub(super) fn load(&self, settings: &Settings) -> Vec<String> {
        let generation = fs::read(self.store.generation_file()).ok();
        let mut loaded = self.loaded();
        let (tools, mut warnings) = active_tools(&self.store, settings, &self.pool, &loaded.tools);
        let (modules, shared) = shelf_with(&tools, None);
        warnings.extend(shared);
        let proposing = ProposeTool::new(self.lifecycle_on(modules, settings));
        let (shelf, shared) = shelf_with(&tools, proposing.ok());
        warnings.extend(shared);
        if self.keeps_spare && !tools.is_empty() {
            self.start_spare();
        }
        *loaded = Loaded { shelf, tools: tools.into_iter().collect(), generation };
        warnings
    }

    /// Starts a worker on a thread of its own, if none is ready: the first call of a module then waits for no process.
    fn start_spare(&self) {
        let pool = Arc::clone(&self.pool);
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

    /// Ends the workers.
    pub(super) fn close(&self) {
        self.examining.close();
        self.pool.close();
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

/// Runs what nobody has approved in workers, which can do no harm: they reach nothing, and `ctx` answers nothing.
struct SandboxExaminer(Arc<WorkerPool>);

impl Examiner for SandboxExaminer {
    fn describe(&self, file: &str, source: &str) -> Result<PluginDeclaration, PluginError> {
        self.0.describe(file, &source.into(), &Cancel::default())
    }

    fn run_example(
        &self,
        source: &str,
        declaration: &PluginDeclaration,
        args: &Value,
    ) -> Result<Value, PluginError> {
        let failed = |err: ToolError| PluginError::new(PluginErrorKind::ExampleFailed, err.message);
        CheckedSchema::new(declaration.parameters.clone())?.check_args(args).map_err(failed)?;
        let pool = Arc::clone(&self.0);
        let tool = ModuleTool::new("", source.into(), declaration.clone(), pool)?;
        tool.run(args, EXAMPLE_LIMITS, &Cancel::default(), &NoUses).map_err(failed)
    }
}
