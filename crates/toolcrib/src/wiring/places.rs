//! Where things are: what the environment says, and what no tool may reach.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolcrib_host::real_place;
use toolcrib_ledger::State;
use toolcrib_tools::CATALOGUES;

use super::WiringError;
use crate::settings::{Places, Settings};

/// Returns what no tool may reach: our state and settings, the files they are links to, and the
/// schemas they name.
pub(super) fn own_places(places: &Places, state: &State, settings: &Settings) -> Vec<PathBuf> {
    let files = [places.user.as_deref(), Some(places.machine.as_path())];
    let files = files.into_iter().flatten();
    let folders = files.clone().filter_map(Path::parent).chain([state.folder()]);
    let registered = CATALOGUES.iter().filter_map(|catalogue| catalogue.settings.output_types);
    let schemas: Vec<String> =
        registered.flat_map(|setting| settings.schema_files(setting)).collect();
    let mut own: Vec<PathBuf> = folders.chain(files).map(real_place).collect();
    own.extend(schemas.iter().map(|path| real_place(Path::new(path))));
    own
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, WiringError> {
    std::path::absolute(path)
        .map_err(|err| WiringError(format!("`{}` cannot be a root: {err}", path.display())))
}

/// Returns a folder of the user's, as the XDG rules place it.
pub(super) fn folder(
    environment: &BTreeMap<String, OsString>,
    name: &str,
    below: &str,
) -> Option<PathBuf> {
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
