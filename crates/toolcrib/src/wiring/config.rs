//! What is to be opened, as the settings and the environment say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use toolcrib_core::Toolset;
use toolcrib_host::Root;
use toolcrib_ledger::Redactor;
use toolcrib_tools::catalogues;

use super::locations::{environment, open_root, settings_files, state_folder};
use super::options::OpenOptions;
use super::plugin_shelf::saved_shelf;
use super::record::redactor;
use super::toolset::toolset;
use crate::error::CliError;
use crate::settings::{Settings, SettingsFiles};

/// What is to be opened. Only the directory of the workspace is open already.
pub struct Config {
    /// The settings in force.
    pub settings: Settings,
    /// The directory of the workspace.
    pub root: Root,
    /// The path of the state folder, or why there is no place for it.
    pub state: Result<PathBuf, CliError>,
    pub(super) files: SettingsFiles,
    pub(super) environment: BTreeMap<String, OsString>,
}

impl Config {
    /// Reads what `options`, the settings files and the environment say.
    pub fn read(options: &OpenOptions) -> Result<Self, CliError> {
        let environment = environment(options);
        let root = open_root(options)?;
        let files = settings_files(&environment);
        let (flags, assignments) = (&options.flags, &options.assignments);
        let settings = Settings::load(&files, Some(&root), &environment, flags, assignments)?;
        let state = state_folder(options, &environment);
        Ok(Self { settings, root, state, files, environment })
    }

    /// Returns the tools on offer, within the operator's limits.
    pub fn toolset(&self) -> Result<Toolset, CliError> {
        let shelf = match &self.state {
            Ok(state) => saved_shelf(&self.settings, state),
            Err(_) => catalogues().into(),
        };
        toolset(&self.settings, shelf)
    }

    /// Returns the redactor, which removes secrets from what is shown.
    pub fn redactor(&self) -> Redactor {
        redactor(&self.settings, &self.environment)
    }
}
