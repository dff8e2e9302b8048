//! Where things are: what the environment says, and what no tool may reach.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolcrib_host::real_place;
use toolcrib_ledger::State;

use super::WiringError;
use crate::settings::key;
use crate::settings::{Settings, SettingsFiles};

/// Returns the environment of this process, as far as its names are UTF-8.
pub(super) fn environment() -> BTreeMap<String, OsString> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .collect()
}

/// Returns where the settings files of the machine and of the user are.
pub(super) fn settings_places(environment: &BTreeMap<String, OsString>) -> SettingsFiles {
    SettingsFiles {
        machine: PathBuf::from("/etc/toolcrib/config.toml"),
        user: folder(environment, "XDG_CONFIG_HOME", ".config")
            .map(|folder| folder.join("toolcrib/config.toml")),
    }
}

/// Returns what no tool may reach: our state and settings, the files they are links to, and the
/// schemas they name.
pub(super) fn own_places(
    places: &SettingsFiles,
    state: &State,
    settings: &Settings,
) -> Vec<PathBuf> {
    let files = [places.user.as_deref(), Some(places.machine.as_path())];
    let files = files.into_iter().flatten();
    let folders = files.clone().filter_map(Path::parent).chain([state.folder()]);
    let schemas = settings.get(key::HIKAI_OUTPUT_TYPES);
    let mut own: Vec<PathBuf> = folders.chain(files).map(real_place).collect();
    own.extend(schemas.files().map(|path| real_place(Path::new(path))));
    own
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, WiringError> {
    std::path::absolute(path)
        .map_err(|err| WiringError(format!("`{}` cannot be a root: {err}", path.display())))
}

/// Returns a folder of the user's, as the XDG rules place it.
fn folder(environment: &BTreeMap<String, OsString>, name: &str, below: &str) -> Option<PathBuf> {
    // A relative path there is to be ignored, say the rules.
    let given = environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || environment.get("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    given.or_else(|| Some(home()?.join(below)))
}

pub(super) fn state_folder(
    environment: &BTreeMap<String, OsString>,
) -> Result<PathBuf, WiringError> {
    if let Some(path) = environment.get("TOOLCRIB_STATE").filter(|path| !path.is_empty()) {
        return absolute(Path::new(path));
    }
    folder(environment, "XDG_STATE_HOME", ".local/state")
        .map(|folder| folder.join("toolcrib"))
        .ok_or_else(|| {
            WiringError("no place for the state folder: set TOOLCRIB_STATE or HOME".to_owned())
        })
}
