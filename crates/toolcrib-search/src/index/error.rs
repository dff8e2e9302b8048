//! Why a tree has no index.

use std::fmt;

use rustix::io::Errno;
use toolcrib_core::ToolError;

/// Why a tree has no index. Searches then scan, so this is never an error for a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexError {
    /// What kind of reason it is.
    pub kind: IndexErrorKind,
    /// The reason, in a sentence.
    pub message: String,
    /// What the operator can do about it, if anything.
    pub hint: Option<&'static str>,
}

/// Kinds of reasons for a tree to have no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexErrorKind {
    /// The system refused something the index needs: a thread, a handle, a directory.
    System,
    /// The system's limit on watched directories is reached.
    WatchLimit,
    /// The file system may change without an event.
    FileSystem,
    /// The tree does not fit into the memory that the index may use.
    TooLarge,
    /// Sweep follows sweep, and none of them leaves the index certain.
    Unstable,
}

impl IndexError {
    pub(crate) fn new(kind: IndexErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Returns the error for something that the system refused.
    pub(crate) fn system(what: &str, errno: Errno) -> Self {
        let why = std::io::Error::from(errno);
        Self::new(IndexErrorKind::System, format!("{what}: {why}"))
    }
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for IndexError {}

/// A walk for the index fails with an error of the index, also where a directory cannot be listed.
impl From<ToolError> for IndexError {
    fn from(err: ToolError) -> Self {
        Self::new(IndexErrorKind::System, err.message)
    }
}
