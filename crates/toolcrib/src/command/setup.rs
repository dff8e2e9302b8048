//! Opens what a subcommand needs, as the options of the command line say.

use crate::cli::Global;
use crate::error::CliError;
use crate::settings::{FlagValue, Settings, table};
use crate::terminal::Terminal;
use crate::wiring::{Config, Crib, OpenOptions, StateAccess};

/// Opens everything for a process that answers one call.
pub(super) fn open(global: &Global, terminal: Terminal) -> Result<Crib, CliError> {
    let crib = Crib::open(&open_options(global))?;
    warn(terminal, &crib.settings);
    Ok(crib)
}

/// Opens everything for a process that answers many calls.
pub(super) fn open_long_lived(global: &Global, terminal: Terminal) -> Result<Crib, CliError> {
    let crib = Crib::open(&OpenOptions { is_long_lived: true, ..open_options(global) })?;
    warn(terminal, &crib.settings);
    Ok(crib)
}

/// Opens the state folder, for subcommands about past calls. They work where no call could run.
pub(super) fn open_state(global: &Global, terminal: Terminal) -> Result<StateAccess, CliError> {
    let access = StateAccess::open(&open_options(global))?;
    warn(terminal, &access.settings);
    Ok(access)
}

/// Reads what would be opened, for subcommands that need no more.
pub(super) fn read_config(global: &Global, terminal: Terminal) -> Result<Config, CliError> {
    let config = Config::read(&open_options(global))?;
    warn(terminal, &config.settings);
    Ok(config)
}

/// Prints the warnings about settings.
pub(super) fn warn(terminal: Terminal, settings: &Settings) {
    for warning in &settings.warnings {
        terminal.warn(warning);
    }
}

/// Returns what the options of the command line ask for.
pub(super) fn open_options(global: &Global) -> OpenOptions {
    let mut flags = Vec::new();
    if let Some(mode) = &global.mode {
        flags.push(FlagValue::new("--mode", table::MODE, mode.clone()));
    }
    if let Some(toolset) = &global.toolset {
        flags.push(FlagValue::new("--toolset", table::TOOLSET, toolset.clone()));
    }
    let (workspace, assignments) = (global.workspace.clone(), global.set.clone());
    OpenOptions { workspace, flags, assignments, ..OpenOptions::default() }
}
