//! Opens each part on its own, so that `toolcrib doctor` can name everything that is broken. Every other
//! command stops at the first part that cannot be opened.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::Clock;
use toolcrib_host::{Root, SandboxFinding, SystemClock, UndoStore, Workspace};
use toolcrib_ledger::{Journal, StateFolder};
use toolcrib_shell::BashReader;

use super::crib::Crib;
use super::locations::{environment, open_root, own_paths, settings_files, state_folder};
use super::options::OpenOptions;
use super::roots::RootOpener;
use super::state_access::undo_store;
use super::{rules, sandbox};
use crate::error::{CliError, CliErrorKind};
use crate::settings::{Settings, SettingsFiles};

/// What each part says when it is opened on its own.
pub struct Diagnosis {
    /// The settings; the defaults, if the settings cannot be loaded.
    pub settings: Settings,
    /// Why the settings cannot be loaded.
    pub settings_error: Option<CliError>,
    /// The directory of the workspace.
    pub workspace: Result<PathBuf, CliError>,
    /// The path of the state folder, which can be written.
    pub state: Result<PathBuf, CliError>,
    /// How many rules are in force.
    pub rules: Result<usize, CliError>,
    /// What was found out about the sandbox.
    pub sandbox: Result<Vec<SandboxFinding>, CliError>,
    /// Whether a call could begin: everything opened together, as for a call.
    pub start: Result<(), CliError>,
}

impl Diagnosis {
    /// Opens each part, and goes on where one cannot be opened.
    pub fn make(options: &OpenOptions) -> Self {
        let environment = environment(options);
        let files = settings_files(&environment);
        let root = open_root(options);
        let (flags, assignments) = (&options.flags, &options.assignments);
        let loaded = Settings::load(&files, root.as_ref().ok(), &environment, flags, assignments);
        let (mut settings, settings_error) = match loaded {
            Ok(settings) => (settings, None),
            Err(err) => (Settings::defaults(), Some(CliError::from(err))),
        };
        let mut warnings = Vec::new();
        let shell = BashReader::default();
        let rules = rules::load(&settings, &files, root.as_ref().ok(), &shell, &mut warnings)
            .map(|rules| rules.policy.rules().len());
        let state = state_folder(options, &environment).and_then(|it| Ok(StateFolder::open(&it)?));
        let crib = Crib::open(options);
        let (workspace, sandbox) = match (root, &crib, &state) {
            (Ok(root), Ok(crib), _) => {
                settings.warnings.clone_from(&crib.settings.warnings);
                (Ok(root.path().to_owned()), Ok(crib.sandbox().examine()))
            }
            (Ok(root), Err(_), Ok(state)) => {
                settings.warnings.append(&mut warnings);
                Opened { settings: &settings, environment, files, state }.examine(root, options)
            }
            // Without a state folder it is not known whether the workspace overlaps it.
            (Ok(root), Err(_), Err(_)) => {
                (Ok(root.path().to_owned()), Err(not_checked("the state folder")))
            }
            (Err(err), _, Ok(state)) => {
                let opened = Opened { settings: &settings, environment, files, state };
                (Err(err), opened.examine_in_empty_folder(options))
            }
            (Err(err), _, Err(_)) => (Err(err), Err(not_checked("the state folder"))),
        };
        let state = state.map(|state| state.folder().to_owned());
        let start = crib.map(|_| ());
        Self { settings, settings_error, workspace, state, rules, sandbox, start }
    }
}

/// Returns why a part was not checked: another part that it needs is broken.
fn not_checked(needed: &str) -> CliError {
    let message = format!("not checked, because it needs {needed}");
    CliError::new(CliErrorKind::System, message)
}

/// The parts that could be opened, for opening the workspace and the sandbox.
struct Opened<'a> {
    settings: &'a Settings,
    environment: BTreeMap<String, OsString>,
    files: SettingsFiles,
    state: &'a StateFolder,
}

impl Opened<'_> {
    /// Opens the workspace, and examines its sandbox.
    fn examine(
        &self,
        root: Root,
        options: &OpenOptions,
    ) -> (Result<PathBuf, CliError>, Result<Vec<SandboxFinding>, CliError>) {
        let path = root.path().to_owned();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let undo = undo_store(self.state, &Arc::new(Journal::new(self.state)));
        match self.roots(&undo, &clock).open(root) {
            Ok(workspace) => (Ok(path), self.examine_sandbox(&workspace, &clock, options)),
            Err(err) => (Err(err), self.examine_in_empty_folder(options)),
        }
    }

    /// Examines the sandbox in an empty folder: it is the same in every workspace.
    fn examine_in_empty_folder(
        &self,
        options: &OpenOptions,
    ) -> Result<Vec<SandboxFinding>, CliError> {
        let folder = EmptyFolder::make()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let undo = undo_store(self.state, &Arc::new(Journal::new(self.state)));
        let workspace = self.roots(&undo, &clock).workspace(vec![Root::open(&folder.0)?]);
        self.examine_sandbox(&Arc::new(workspace), &clock, options)
    }

    fn roots<'o>(&'o self, undo: &'o UndoStore, clock: &'o Arc<dyn Clock>) -> RootOpener<'o> {
        RootOpener {
            settings: self.settings,
            undo,
            clock,
            home: self.environment.get("HOME").map(PathBuf::from),
            hidden: own_paths(&self.files, self.state.folder(), self.settings),
        }
    }

    fn examine_sandbox(
        &self,
        workspace: &Arc<Workspace>,
        clock: &Arc<dyn Clock>,
        options: &OpenOptions,
    ) -> Result<Vec<SandboxFinding>, CliError> {
        let (environment, state) = (&self.environment, self.state.folder());
        let sandbox = sandbox::open(self.settings, environment, workspace, clock, state, options)?;
        let findings = sandbox.examine();
        sandbox.close();
        Ok(findings)
    }
}

/// An empty folder, which is removed when nobody needs it any more.
struct EmptyFolder(PathBuf);

impl EmptyFolder {
    fn make() -> io::Result<Self> {
        let name = format!("toolcrib-doctor-{}", toolcrib_ledger::new_call_id());
        let path = std::fs::canonicalize(std::env::temp_dir())?.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}
