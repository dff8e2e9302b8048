//! Why the file of a client was not changed.

use std::fmt;

/// Why the file of a client was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditError {
    pub(super) kind: EditErrorKind,
    /// The line in the file, from 1 on; nothing if no single line is to blame.
    pub(super) line: Option<usize>,
    pub(super) what: String,
}

/// What kept a file from being changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditErrorKind {
    /// The file cannot be parsed.
    Broken,
    /// The file is written in a way that Toolcrib does not change.
    Unusual,
    /// The entry is that of another server.
    Foreign,
}

impl EditError {
    /// Makes an error about the line that holds the byte at `at`.
    pub(super) fn at(kind: EditErrorKind, text: &str, at: usize, what: impl Into<String>) -> Self {
        let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        Self { kind, line: Some(line), what: what.into() }
    }

    /// Makes an error about the whole file.
    pub(super) fn of_file(kind: EditErrorKind, what: impl Into<String>) -> Self {
        Self { kind, line: None, what: what.into() }
    }

    /// Returns what to do about it.
    pub(super) fn hint(&self) -> &'static str {
        match self.kind {
            EditErrorKind::Broken => "correct the file, and run the command again",
            EditErrorKind::Unusual => {
                "`--print` of `toolcrib mcp install` prints the entry for you to add by hand"
            }
            EditErrorKind::Foreign => "choose another name with --name",
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for EditError {}
