//! Opens each part on its own, so that `toolcrib doctor` can name everything that is broken. Everything
//! else stops at the first part that cannot be opened.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::Clock;
use toolcrib_host::{Finding, Root, SystemClock};
use toolcrib_ledger::{Journal, State};
use toolcrib_shell::Bash;

use super::places::{environment, own_places, settings_places, state_folder};
use super::{Crib, Opener, WiringError, Wishes, commands, open_root, policy};
use crate::settings::{Settings, SettingsFiles};

/// What each part says when it is opened on its own.
pub struct Diagnosis {
    /// The settings; the defaults, if they cannot be loaded.
    pub settings: Settings,
    /// Why the settings cannot be loaded.
    pub settings_error: Option<WiringError>,
    /// The directory of the workspace.
    pub workspace: Result<PathBuf, WiringError>,
    /// The state folder, which can be written.
    pub state: Result<PathBuf, WiringError>,
    /// How many rules hold.
    pub rules: Result<usize, WiringError>,
    /// What was found out about the sandbox.
    pub sandbox: Result<Vec<Finding>, WiringError>,
    /// Whether a call could begin: everything opened together, as for a call.
    pub start: Result<(), WiringError>,
}

impl Diagnosis {
    /// Opens each part, and goes on where one cannot be opened.
    pub fn make(wishes: &Wishes) -> Self {
        let environment = environment();
        let places = settings_places(&environment);
        let root = open_root(wishes);
        let loaded = Settings::load(
            &places,
            root.as_ref().ok(),
            &environment,
            &wishes.flags,
            &wishes.assignments,
        );
        let (mut settings, settings_error) = match loaded {
            Ok(settings) => (settings, None),
            Err(err) => (Settings::defaults(), Some(WiringError::from(err))),
        };
        let shell = Bash::default();
        let mut warnings = Vec::new();
        let rules = policy::policy(&settings, &places, root.as_ref().ok(), &shell, &mut warnings)
            .map(|rules| rules.policy.rules().len());
        let folder = wishes.state.clone().map_or_else(|| state_folder(&environment), Ok);
        let state = folder.and_then(|folder| Ok(State::open(&folder)?));
        let crib = Crib::open(wishes);
        let (workspace, sandbox) = match (root, &crib) {
            (Ok(root), Ok(crib)) => {
                settings.warnings.clone_from(&crib.settings.warnings);
                (Ok(root.path().to_owned()), Ok(crib.sandbox.examine()))
            }
            (Ok(root), Err(_)) => {
                settings.warnings.append(&mut warnings);
                match &state {
                    Ok(state) => {
                        let parts = Parts { settings: &settings, environment, places, state };
                        parts.examine(root, wishes)
                    }
                    // Whether the workspace is apart from the state folder cannot be told either.
                    Err(_) => (Ok(root.path().to_owned()), Err(needs("the state folder"))),
                }
            }
            (Err(err), _) => (Err(err), Err(needs("the workspace"))),
        };
        let state = state.map(|state| state.folder().to_owned());
        let start = crib.map(|_| ());
        Self { settings, settings_error, workspace, state, rules, sandbox, start }
    }
}

/// Returns why a part was not looked at: another one that it needs is broken.
fn needs(other: &str) -> WiringError {
    WiringError(format!("not checked, because it needs {other}"))
}

/// What the workspace and the sandbox are opened with.
struct Parts<'a> {
    settings: &'a Settings,
    environment: BTreeMap<String, OsString>,
    places: SettingsFiles,
    state: &'a State,
}

impl Parts<'_> {
    /// Opens the workspace, and examines the sandbox if it can be opened.
    fn examine(
        &self,
        root: Root,
        wishes: &Wishes,
    ) -> (Result<PathBuf, WiringError>, Result<Vec<Finding>, WiringError>) {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let opener = Opener {
            settings: self.settings,
            journal: &Arc::new(Journal::new(self.state)),
            clock: &clock,
            home: self.environment.get("HOME").map(PathBuf::from),
            hidden: own_places(&self.places, self.state, self.settings),
            index_state: None,
        };
        let path = root.path().to_owned();
        let workspace = match opener.open(root) {
            Ok(workspace) => workspace,
            Err(err) => return (Err(err), Err(needs("the workspace"))),
        };
        let folder = self.state.folder();
        let sandbox =
            commands::sandbox(self.settings, &self.environment, &workspace, &clock, folder, wishes);
        let findings = sandbox.map(|sandbox| {
            let findings = sandbox.examine();
            sandbox.close();
            findings
        });
        (Ok(path), findings)
    }
}
