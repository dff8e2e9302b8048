//! Where things are: what the environment says, and which folders no tool may reach.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolcrib_host::{Root, real_place};
use toolcrib_tools::catalogues;

use super::catalogue;
use super::options::OpenOptions;
use crate::error::{CliError, CliErrorKind};
use crate::settings::{SchemaTable, Settings, SettingsFiles, table};

/// Returns the environment that `options` give, or that of this process, except for variables whose names
/// are not UTF-8.
pub(super) fn environment(options: &OpenOptions) -> BTreeMap<String, OsString> {
    options.environment.clone().unwrap_or_else(|| {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect()
    })
}

/// Returns the paths of the settings files of the machine and of the user.
pub(super) fn settings_files(environment: &BTreeMap<String, OsString>) -> SettingsFiles {
    SettingsFiles {
        machine: PathBuf::from("/etc/toolcrib/config.toml"),
        user: xdg_folder(environment, "XDG_CONFIG_HOME", ".config")
            .map(|folder| folder.join("toolcrib/config.toml")),
        user_text: None,
        project: None,
    }
}

/// Returns the path of the user's settings file.
pub fn user_settings_file(options: &OpenOptions) -> Result<PathBuf, CliError> {
    settings_files(&environment(options)).user.ok_or_else(|| {
        CliError::settings("Toolcrib cannot tell where your settings file belongs")
            .hint("set XDG_CONFIG_HOME or HOME")
    })
}

/// Opens the directory that is to be the workspace.
pub(super) fn open_root(options: &OpenOptions) -> Result<Root, CliError> {
    let given = absolute(options.workspace.as_deref().unwrap_or(Path::new(".")))?;
    Ok(Root::open(&given)?)
}

/// Returns the paths that no tool may reach: the state folder, the settings folders and files with the
/// targets of their links, and the schema files that the settings name.
pub(super) fn own_paths(files: &SettingsFiles, state: &Path, settings: &Settings) -> Vec<PathBuf> {
    let files = [files.user.as_deref(), Some(files.machine.as_path())];
    let files = files.into_iter().flatten();
    let folders = files.clone().filter_map(Path::parent).chain([state]);
    let registered = catalogues().iter().filter_map(|catalogue| catalogue.settings.output_types);
    let schemas: Vec<SchemaTable> =
        registered.map(|name| catalogue::schemas(settings, name)).collect();
    let mut own: Vec<PathBuf> = folders.chain(files).map(real_place).collect();
    // Whoever can change the keys of the authorization server can be anybody.
    let keys = [table::SERVE_TLS_KEY, table::OAUTH_JWKS_FILE].map(|key| settings.get(key));
    own.extend(keys.iter().filter(|key| !key.is_empty()).map(|key| real_place(Path::new(key))));
    // What is proposed here waits for a person, who reads it here too.
    let plugins = Some(settings.get(table::PLUGINS_FOLDER)).filter(|folder| !folder.is_empty());
    own.extend(plugins.map(|folder| real_place(Path::new(&folder))));
    own.extend(schemas.iter().flat_map(SchemaTable::files).map(|path| real_place(Path::new(path))));
    own
}

/// Returns `path` as an absolute path.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    std::path::absolute(path).map_err(|err| {
        let message = format!("`{}` cannot be used as a directory: {err}", path.display());
        CliError::new(CliErrorKind::Workspace, message)
    })
}

/// Returns a folder of the user as the XDG rules place it: where the variable `name` says, or at `below` in
/// the home directory.
fn xdg_folder(
    environment: &BTreeMap<String, OsString>,
    name: &str,
    below: &str,
) -> Option<PathBuf> {
    // The XDG rules say that a relative path there is to be ignored.
    let given = environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || environment.get("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    given.or_else(|| Some(home()?.join(below)))
}

/// Returns the path of the state folder.
pub(super) fn state_folder(
    options: &OpenOptions,
    environment: &BTreeMap<String, OsString>,
) -> Result<PathBuf, CliError> {
    if let Some(folder) = &options.state {
        return Ok(folder.clone());
    }
    if let Some(path) = environment.get("TOOLCRIB_STATE").filter(|path| !path.is_empty()) {
        return absolute(Path::new(path));
    }
    xdg_folder(environment, "XDG_STATE_HOME", ".local/state")
        .map(|folder| folder.join("toolcrib"))
        .ok_or_else(|| {
            CliError::new(
                CliErrorKind::State,
                "Toolcrib cannot tell where the state folder belongs",
            )
            .hint("set TOOLCRIB_STATE or HOME")
        })
}
