//! What a call did to a file, and the port that keeps what was there before.

use std::io;

use serde::{Deserialize, Serialize};

use crate::call::CallId;
use crate::error::ToolError;

/// One change to one file or directory, as kept for undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The call that made it.
    pub call: CallId,
    /// The tool, `catalogue/name`.
    pub tool: String,
    /// When, as RFC 3339.
    pub at: String,
    /// What was done.
    pub kind: ChangeKind,
    /// The root, absolute.
    pub root: String,
    /// The path below the root with no link in it, each name spelt by [`crate::escape::name`].
    pub path: String,
    /// What was there before.
    pub before: Option<Image>,
    /// What is there after.
    pub after: Option<Image>,
}

/// What was done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A file was made.
    Created,
    /// A file got new content.
    Replaced,
    /// A file or link was removed.
    Removed,
    /// A directory was made.
    MadeDirectory,
}

/// A file's content and mode, by hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// SHA-256 of the content, or of a link's target.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Permission bits, with the file type for links.
    pub mode: u32,
}

/// Keeps what files held before a call changed them. Implemented by the ledger, used by the host.
pub trait Changes: Send + Sync {
    /// Stores content durably and returns its SHA-256 and size.
    fn keep(&self, content: &mut dyn io::Read) -> io::Result<(String, u64)>;

    /// Notes a change that is about to be made.
    fn note(&self, change: &Change) -> io::Result<()>;
}

/// Looks at and puts back what a change changed. Implemented by the host, used for undo.
pub trait Restore: Send + Sync {
    /// Returns what is at the place of `change` now.
    fn current(&self, change: &Change) -> Result<Option<Image>, ToolError>;

    /// Makes the place of `change` what it was before; `content` is that of `change.before`.
    fn put_back(&self, change: &Change, content: Option<&[u8]>) -> Result<(), ToolError>;
}
