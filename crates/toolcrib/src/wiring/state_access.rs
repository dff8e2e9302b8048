//! The state folder, opened with what reads and writes it: all that commands about past calls need.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{Clock, Recorder, ToolName, Toolset};
use toolcrib_host::{Root, SystemClock, UndoStore, Workspace};
use toolcrib_ledger::{Journal, RecordWriter, Redactor, SnapshotStore, Spans, StateFolder};

use super::locations::{environment, open_root, own_paths, settings_files, state_folder};
use super::maintenance::{Quarantined, RecordMaintenance};
use super::options::OpenOptions;
use super::plugin_shelf::saved_shelf;
use super::roots::RootOpener;
use super::toolset::{limits_of, toolset};
use super::{record, recovery, rules};
use crate::error::CliError;
use crate::settings::{Settings, SettingsFiles};

/// The state folder and what reads and writes it. It works where no call could run: it needs no workspace.
pub struct StateAccess {
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
    /// The maintenance of the record.
    pub maintenance: RecordMaintenance,
    pub(super) quarantined: Quarantined,
    /// The directory that the command was given or started in, if it can be opened.
    directory: Option<PathBuf>,
    closed: ClosedPlaces,
    /// The same as `recorder`.
    pub(super) writer: Arc<RecordWriter>,
}

/// What no root may contain.
struct ClosedPlaces {
    /// The home directory.
    home: Option<PathBuf>,
    /// Our own folders, which no call may reach.
    hidden: Vec<PathBuf>,
}

/// What the state folder is opened with.
pub(super) struct StateSources<'a> {
    pub(super) settings: Settings,
    pub(super) files: &'a SettingsFiles,
    pub(super) environment: &'a BTreeMap<String, OsString>,
    pub(super) state: StateFolder,
    /// The path and the hash of each rules file.
    pub(super) rules: &'a [(String, String)],
    pub(super) root: Option<&'a Root>,
}

impl StateAccess {
    /// Opens the state folder that `options` and the environment name.
    pub fn open(options: &OpenOptions) -> Result<Self, CliError> {
        let environment = environment(options);
        let root = match open_root(options) {
            Ok(root) => Some(root),
            // The current directory may be gone; a directory that somebody names must be there.
            Err(_) if options.workspace.is_none() => None,
            Err(err) => return Err(err),
        };
        let files = settings_files(&environment);
        let (flags, assignments) = (&options.flags, &options.assignments);
        let settings = Settings::load(&files, root.as_ref(), &environment, flags, assignments)?;
        let folder = state_folder(options, &environment)?;
        let (state, missing) = StateFolder::open_if_possible(&folder)?;
        let rules = rules::hashes(&files, root.as_ref())?;
        let mut access = Self::new(StateSources {
            settings,
            files: &files,
            environment: &environment,
            state,
            rules: &rules,
            root: root.as_ref(),
        });
        let mut warnings: Vec<String> =
            missing.map(|missing| missing.to_string()).into_iter().collect();
        // Undo needs what a crashed command left in this workspace.
        if let Some(workspace) = root.and_then(|root| access.roots().open(root).ok()) {
            warnings.extend(access.recover(&workspace));
        }
        access.settings.warnings.append(&mut warnings);
        Ok(access)
    }

    pub(super) fn new(sources: StateSources<'_>) -> Self {
        let StateSources { settings, files, environment, state, rules, root } = sources;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let journal = Arc::new(Journal::new(&state));
        let redactor = record::redactor(&settings, environment);
        let writer = record::recorder(&settings, rules, redactor.clone(), &state);
        let recorder = Arc::clone(&writer) as Arc<dyn Recorder>;
        let quarantined = Quarantined::default();
        let maintenance =
            RecordMaintenance::new(&settings, &state, &recorder, &clock, &quarantined);
        Self {
            undo: undo_store(&state, &journal),
            closed: ClosedPlaces {
                home: environment.get("HOME").map(PathBuf::from),
                hidden: own_paths(files, state.folder(), &settings),
            },
            directory: root.map(|root| root.path().to_owned()),
            settings,
            state,
            journal,
            recorder,
            writer,
            redactor,
            clock,
            maintenance,
            quarantined,
        }
    }

    /// Returns what opens roots under the rules of this process.
    pub(super) fn roots(&self) -> RootOpener<'_> {
        self.roots_under(&self.settings)
    }

    /// Returns what opens roots under other settings.
    pub(super) fn roots_under<'a>(&'a self, settings: &'a Settings) -> RootOpener<'a> {
        RootOpener {
            settings,
            undo: &self.undo,
            clock: &self.clock,
            home: self.closed.home.clone(),
            hidden: self.closed.hidden.clone(),
        }
    }

    /// Puts calls whose process died on the record, and returns a warning for each.
    pub(super) fn recover(&self, workspace: &Arc<Workspace>) -> Vec<String> {
        recovery::recover(workspace, &self.state, &*self.recorder, &*self.clock)
    }

    /// Returns the directory that the command was given or started in, if it can be opened.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the tools on offer, within the operator's limits.
    pub fn toolset(&self) -> Result<Toolset, CliError> {
        toolset(&self.settings, saved_shelf(&self.settings, self.state.folder()))
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
        Arc::new(self.roots().workspace(roots))
    }
}

/// Returns where workspaces keep what undo needs.
pub(super) fn undo_store(state: &StateFolder, journal: &Arc<Journal>) -> UndoStore {
    let snapshots = Arc::new(SnapshotStore::new(state, Arc::clone(journal)));
    UndoStore { journal: Arc::clone(journal) as _, snapshots }
}
