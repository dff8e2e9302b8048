//! Everything, opened: what subcommands and doors work with.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::policy::Policy;
use toolcrib_core::{Clock, Recorder, SessionId, ToolName, Toolset};
use toolcrib_host::{Root, Sandbox, SystemClock, UndoStore, Workspace};
use toolcrib_ledger::{GrantFile, Journal, Redactor, SnapshotStore, Spans, StateFolder};
use toolcrib_runtime::{Approver, Judge, Runtime, World};
use toolcrib_search::Engine;
use toolcrib_shell::BashReader;

use super::capabilities::{AreaOpener, Capabilities};
use super::config::Config;
use super::locations::own_paths;
use super::maintenance::{Quarantined, RecordMaintenance};
use super::options::OpenOptions;
use super::roots::RootOpener;
use super::toolset::{limits_of, toolset};
use super::{quota, record, recovery, rules, sandbox};
use crate::error::CliError;
use crate::settings::Settings;

/// Everything, opened.
pub struct Crib {
    /// The settings in force.
    pub settings: Settings,
    /// The state folder.
    pub state: StateFolder,
    /// The journal of changes.
    pub journal: Arc<Journal>,
    /// What workspaces keep for undo: the journal and the snapshots.
    undo: UndoStore,
    /// The record of calls.
    pub recorder: Arc<dyn Recorder>,
    /// The redactor, which removes secrets from what is shown.
    pub redactor: Redactor,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The rules in force.
    pub rules: RulesInForce,
    /// The maintenance of the record.
    pub maintenance: RecordMaintenance,
    quarantined: Quarantined,
    capabilities: Arc<Capabilities>,
    /// Our own folders, which no call may reach.
    hidden: Vec<PathBuf>,
}

/// The rules in force, and what they are applied with.
pub struct RulesInForce {
    /// The policy that the rules make.
    pub policy: Arc<Policy>,
    /// The parser that reads commands.
    pub shell: Arc<BashReader>,
    /// Where the user's own rules are, if there is a place for them.
    pub user_file: Option<PathBuf>,
}

impl Crib {
    /// Opens everything that `options`, the settings and the environment name.
    pub fn open(options: &OpenOptions) -> Result<Self, CliError> {
        let Config { mut settings, root, files, state, environment } = Config::read(options)?;
        let (state, missing) = StateFolder::open_if_possible(&state?)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let journal = Arc::new(Journal::new(&state));
        let undo = undo_store(&state, &journal);
        let hidden = own_paths(&files, &state, &settings);
        let roots = RootOpener {
            settings: &settings,
            undo: &undo,
            clock: &clock,
            home: environment.get("HOME").map(PathBuf::from),
            hidden: hidden.clone(),
        };
        let mut warnings: Vec<String> =
            missing.map(|missing| missing.to_string()).into_iter().collect();
        let shell = Arc::new(BashReader::default());
        let rules = rules::load(&settings, &files, Some(&root), &*shell, &mut warnings)?;
        let workspace = roots.open(root)?;
        let redactor = record::redactor(&settings, &environment);
        let recorder = record::recorder(&settings, &rules.files, redactor.clone(), &state);
        warnings.extend(recovery::recover(&workspace, &state, &*recorder, &*clock));
        let sandbox_for = |workspace: &Arc<Workspace>| {
            let quota = quota::user_quota(&settings, &state);
            let state = state.folder();
            sandbox::open(&settings, &environment, workspace, &clock, state, options)
                .map(|it| sandbox::record_tasks(it, &recorder, &clock, workspace, quota))
        };
        let areas = AreaOpener {
            roots: &roots,
            sandbox_for: &sandbox_for,
            index_state: options.is_long_lived.then(|| state.folder()),
        };
        let capabilities = Arc::new(areas.open(&workspace, &mut warnings)?);
        settings.warnings.append(&mut warnings);
        let quarantined = Quarantined::default();
        let maintenance =
            RecordMaintenance::new(&settings, &state, &recorder, &clock, &quarantined);
        if options.is_long_lived {
            maintenance.start()?;
        } else {
            maintenance.start_once()?;
        }
        let rules = RulesInForce {
            policy: Arc::new(rules.policy),
            shell,
            user_file: files.user.map(|path| path.with_file_name("rules.toml")),
        };
        Ok(Self {
            settings,
            state,
            journal,
            undo,
            recorder,
            redactor,
            clock,
            rules,
            maintenance,
            quarantined,
            capabilities,
            hidden,
        })
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.capabilities.workspace().files
    }

    /// Returns search in the workspace.
    pub fn search(&self) -> &Arc<Engine> {
        &self.capabilities.workspace().search
    }

    /// Returns the sandbox that commands in the workspace run in.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        self.capabilities.sandbox()
    }

    /// Returns the runtime, with `approver` to ask.
    pub fn runtime(&self, approver: Arc<dyn Approver>) -> Result<Runtime, CliError> {
        self.runtime_with(Arc::clone(&self.rules.policy), approver)
    }

    /// Returns the runtime under another policy.
    pub fn runtime_with(
        &self,
        policy: Arc<Policy>,
        approver: Arc<dyn Approver>,
    ) -> Result<Runtime, CliError> {
        let grants = Arc::new(GrantFile::new(&self.state));
        Ok(Runtime {
            toolset: self.toolset()?,
            judge: Arc::new(
                Judge::new(policy, Arc::clone(&self.rules.shell) as _, grants)
                    .with_limits(quota::session_limits(&self.settings))
                    .with_quarantine(Arc::clone(&self.quarantined))
                    .with_user_quota(quota::user_quota(&self.settings, &self.state)),
            ),
            world: Arc::clone(&self.capabilities) as Arc<dyn World>,
            approver,
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
        })
    }

    /// Returns the tools on offer, within the operator's limits.
    pub fn toolset(&self) -> Result<Toolset, CliError> {
        toolset(&self.settings)
    }

    /// Returns the spans of time that are compared to find tools that got worse.
    pub fn spans(&self) -> Spans {
        record::spans(&self.settings)
    }

    /// Returns the limits of a tool as reports show them.
    pub fn limits_of(&self, tool: &ToolName) -> Value {
        limits_of(&self.settings, self.toolset().ok().as_ref(), tool)
    }

    /// Returns a workspace of other roots under the same rules, to undo changes that were made there.
    pub fn workspace_of(&self, roots: Vec<Root>) -> Arc<Workspace> {
        let opener = RootOpener {
            settings: &self.settings,
            undo: &self.undo,
            clock: &self.clock,
            home: None,
            hidden: self.hidden.clone(),
        };
        Arc::new(opener.workspace(roots))
    }
}

impl Drop for Crib {
    fn drop(&mut self) {
        // No command outlives the process that started it.
        self.capabilities.close();
    }
}

/// Returns where workspaces keep what undo needs.
pub(super) fn undo_store(state: &StateFolder, journal: &Arc<Journal>) -> UndoStore {
    let snapshots = Arc::new(SnapshotStore::new(state, Arc::clone(journal)));
    UndoStore { journal: Arc::clone(journal) as _, snapshots }
}

/// Returns a new session for the calls of this process.
pub fn session() -> SessionId {
    SessionId(format!("cli-{}", toolcrib_ledger::new_call_id()))
}
