//! Why a subcommand cannot do its work: a kind, a sentence, and a hint.

use std::fmt;
use std::io;

use toolcrib_core::policy::{GrantError, RulesError};
use toolcrib_core::toolset::ToolsetError;
use toolcrib_host::RootError;
use toolcrib_ledger::{StateError, StatsError, TokenError};
use toolcrib_plugins::PluginError;

use crate::settings::SettingsError;

/// Why a subcommand cannot do its work.
#[derive(Clone, Debug)]
pub struct CliError {
    /// What went wrong, for programs.
    pub kind: CliErrorKind,
    /// What went wrong and with what, as one sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What else is wrong. `toolcrib doctor` names all of it; other commands stop at the first.
    pub others: Vec<CliError>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CliErrorKind {
    /// The command line asks for something that cannot be.
    Usage,
    /// The settings cannot be used.
    Settings,
    /// The rules cannot be used.
    Rules,
    /// A directory cannot be the workspace or another root.
    Workspace,
    /// The state folder, or the record in it, cannot be used.
    State,
    /// The system refused something.
    System,
    /// A server cannot be reached, or does not do what it was asked for.
    Server,
    /// The process was told to end.
    Interrupted,
}

impl CliError {
    /// Makes an error without a hint.
    pub fn new(kind: CliErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, others: Vec::new() }
    }

    /// Makes an error about the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(CliErrorKind::Usage, message)
    }

    /// Makes an error about the settings.
    pub(crate) fn settings(message: impl Into<String>) -> Self {
        Self::new(CliErrorKind::Settings, message)
    }

    /// Adds what to do about the error.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the first of several errors, which has the others; nothing if there are none.
    pub(crate) fn all(errors: Vec<Self>) -> Result<(), Self> {
        let mut errors = errors.into_iter();
        let Some(mut first) = errors.next() else { return Ok(()) };
        for mut other in errors {
            let more = std::mem::take(&mut other.others);
            first.others.push(other);
            first.others.extend(more);
        }
        Err(first)
    }

    /// Puts the place of the error before the message.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CliError {}

impl From<SettingsError> for CliError {
    fn from(err: SettingsError) -> Self {
        let others = err.others.into_iter().map(Self::from).collect();
        Self { kind: CliErrorKind::Settings, message: err.message, hint: err.hint, others }
    }
}

impl From<ToolsetError> for CliError {
    fn from(err: ToolsetError) -> Self {
        Self::new(CliErrorKind::Settings, err.to_string())
    }
}

impl From<RulesError> for CliError {
    fn from(err: RulesError) -> Self {
        let mut all = Self::new(CliErrorKind::Rules, err.to_string());
        all.others.extend(err.others.into_iter().map(Self::from));
        all
    }
}

impl From<PluginError> for CliError {
    fn from(err: PluginError) -> Self {
        Self { hint: err.hint, ..Self::new(CliErrorKind::Usage, err.message) }
    }
}

impl From<GrantError> for CliError {
    fn from(err: GrantError) -> Self {
        Self::new(CliErrorKind::System, err.to_string())
    }
}

impl From<TokenError> for CliError {
    fn from(err: TokenError) -> Self {
        Self::new(CliErrorKind::System, err.to_string())
    }
}

impl From<RootError> for CliError {
    fn from(err: RootError) -> Self {
        Self::new(CliErrorKind::Workspace, err.to_string())
    }
}

impl From<StateError> for CliError {
    fn from(err: StateError) -> Self {
        Self::new(CliErrorKind::State, err.message).hint(err.hint)
    }
}

impl From<StatsError> for CliError {
    fn from(err: StatsError) -> Self {
        Self { hint: err.hint, ..Self::new(CliErrorKind::State, err.message) }
    }
}

impl From<io::Error> for CliError {
    fn from(err: io::Error) -> Self {
        Self::new(CliErrorKind::System, err.to_string())
    }
}

impl From<serde_json::Error> for CliError {
    fn from(err: serde_json::Error) -> Self {
        Self::new(CliErrorKind::System, err.to_string())
    }
}
