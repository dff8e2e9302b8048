//! Why settings cannot be used.

use std::fmt;

/// Why the settings cannot be used.
#[derive(Debug)]
pub struct SettingsError {
    /// What is wrong, for programs.
    pub kind: SettingsErrorKind,
    /// What is wrong and where, as one sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What else is wrong.
    pub others: Vec<SettingsError>,
}

/// What is wrong with settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsErrorKind {
    /// A setting of that name does not exist.
    Unknown,
    /// The value is not valid for its setting.
    Value,
    /// The text is not TOML, or not `KEY=VALUE`.
    Syntax,
    /// The file cannot be read.
    File,
    /// Somebody else could have written the file.
    Untrusted,
}

impl SettingsError {
    pub(super) fn new(kind: SettingsErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, others: Vec::new() }
    }

    /// Adds what to do about the error.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the first of several errors, which has the others; nothing if there are none.
    pub(super) fn all(errors: Vec<Self>) -> Result<(), Self> {
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
    pub(super) fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsError {}
