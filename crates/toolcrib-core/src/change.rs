//! Changes that calls made to files, and the ports that store the content before a change and restore it.

use std::collections::BTreeMap;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::CallId;
use crate::error::ToolError;
use crate::tool_name::ToolName;

/// One change to one file or directory, as recorded for undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The call that made the change.
    pub call: CallId,
    /// The tool, as `catalogue/name`.
    pub tool: ToolName,
    /// The time of the change, as RFC 3339.
    pub at: String,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The absolute path of the root, each name spelt by [`crate::escape::name`].
    pub root: String,
    /// The identity of the root's directory, whatever has its path by now.
    pub root_id: FileId,
    /// The path below the root, with no link in it, each name spelt by [`crate::escape::name`].
    pub path: String,
    /// The file before the change; nothing if there was none.
    pub before: Option<Image>,
    /// The file after the change; nothing if there is none.
    pub after: Option<Image>,
    /// The identity of the directory, if the change made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<FileId>,
    /// Why it is uncertain that the call made this change, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// Why it is uncertain that a call made a change, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Another call changed the same file while the command ran.
    Others,
    /// Toolcrib did not see the command end.
    Lost,
    /// The file was not looked at after the command.
    Unseen,
    /// The command line names the file, but does not show that the command writes it.
    Named,
}

impl Doubt {
    /// Returns the reason as a clause that follows the file's path.
    pub fn words(self) -> &'static str {
        match self {
            Self::Others => "another call changed it at the same time",
            Self::Lost => {
                "Toolcrib did not see the command end, so another program may have changed it"
            }
            Self::Unseen => "Toolcrib could not check it after the command",
            Self::Named => {
                "the command line names it, but does not show that the command changed it"
            }
        }
    }
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// An empty directory was removed.
    RemovedDirectory,
}

impl Change {
    /// Returns the absolute path, spelt as its parts are.
    pub fn place(&self) -> String {
        format!("{}/{}", self.root.trim_end_matches('/'), self.path)
    }
}

impl ChangeKind {
    /// Whether the change is one of a directory.
    pub fn is_of_directory(self) -> bool {
        match self {
            Self::MadeDirectory | Self::RemovedDirectory => true,
            Self::Created | Self::Replaced | Self::Removed => false,
        }
    }
}

/// The identity of a file or directory. It tells the file from every other on the machine. Where the file system
/// stores when a file was made, it also tells it from files that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct FileId {
    /// The device that the file is on.
    pub device: u64,
    /// The inode number, which another file may get when this one is gone.
    pub inode: u64,
    /// When the file was made, in nanoseconds since 1970; 0 if the file system does not know.
    #[serde(default)]
    pub born: i64,
}

/// A file at one moment: its content (by hash), mode, owner and attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// SHA-256 of the content, or of a link's target.
    pub sha256: String,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: u32,
    /// The owner's user id.
    pub uid: u32,
    /// The owner's group id.
    pub gid: u32,
    /// Whether the file is a symbolic link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_link: bool,
    /// The file's own extended attributes and its access control list, in hexadecimal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

impl Image {
    /// Whether both files are of the same kind and have the same content.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.sha256, self.is_link) == (&other.sha256, other.is_link)
    }
}

/// A file's content before a command that may change the file, kept until it is known what the command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The change to record if the file differs afterwards. Its `after` is empty until then.
    pub change: Change,
    /// The file's content; empty if there was no file.
    pub content: Vec<u8>,
}

/// What other calls did to files since a snapshot was taken, and may still be doing.
#[derive(Clone, Debug, Default)]
pub struct ConcurrentChanges {
    /// Changes already recorded for the call itself: the process that resolved its snapshots before died half way.
    pub own: Vec<Change>,
    /// Changes by other calls, oldest first.
    pub others: Vec<Change>,
    /// The whole paths of files in snapshots of other commands that still run.
    pub in_progress: Vec<String>,
}

/// The journal of changes, and the store of the content they replaced. Implemented by the ledger, used by the host.
pub trait ChangeJournal: Send + Sync {
    /// Stores content durably and returns its SHA-256 and size.
    fn store(&self, content: &mut dyn io::Read) -> io::Result<(String, u64)>;

    /// Records a change: that of a file before it is made, that of a directory after.
    fn append(&self, change: &Change) -> io::Result<()>;

    /// Records several changes.
    fn append_all(&self, changes: &[Change]) -> io::Result<()>;

    /// Records that a change was not made after all.
    fn retract(&self, change: &Change) -> io::Result<()>;

    /// Returns where the journal ends now.
    fn position(&self) -> u64;
}

/// Snapshots of the files that running commands may change. Implemented by the ledger, used by the host.
pub trait Snapshots: Send + Sync {
    /// Takes the snapshots of one call, durably, and shows other processes that they are in use. `position` is where
    /// the journal ended before any of the files was read.
    fn take(&self, call: &CallId, snapshots: &[Snapshot], position: u64) -> io::Result<()>;

    /// Returns the snapshots of a call.
    fn load(&self, call: &CallId) -> io::Result<Vec<Snapshot>>;

    /// Replaces the snapshots of a call by these.
    fn replace(&self, call: &CallId, snapshots: &[Snapshot]) -> io::Result<()>;

    /// Removes the snapshots of a call.
    fn discard(&self, call: &CallId) -> io::Result<()>;

    /// Leaves the snapshots of a call to the next process that looks for orphaned ones.
    fn release(&self, call: &CallId);

    /// Returns the calls whose snapshots no process holds any more. This process holds them from now on.
    fn orphaned(&self) -> Vec<CallId>;

    /// Returns what other calls did, and may be doing, since the snapshots of this call were taken.
    fn concurrent(&self, call: &CallId) -> io::Result<ConcurrentChanges>;
}

/// A call that was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneCall {
    /// The call that was undone.
    pub call: CallId,
    /// The undo that did it, which can be undone in turn.
    pub by: CallId,
}

/// What undo reads of the journal, and writes to it. Implemented by the ledger.
pub trait UndoLog: Send + Sync {
    /// Locks the journal against another undo until the guard is dropped.
    fn lock(&self) -> io::Result<Box<dyn UndoLock>>;

    /// Returns all changes, oldest first, and all calls that were undone.
    fn history(&self) -> io::Result<(Vec<Change>, Vec<UndoneCall>)>;

    /// Returns stored content by its SHA-256.
    fn content(&self, sha256: &str) -> io::Result<Vec<u8>>;

    /// Records that a call was undone.
    fn record_undo(&self, undone: &UndoneCall) -> io::Result<()>;
}

/// A guard that unlocks when it is dropped.
pub trait UndoLock {}

/// Restores files to what they were before a change. Implemented by the host, used for undo.
pub trait Restore: Send + Sync {
    /// Returns the file that is at the path of `change` now, for changes of files.
    fn current(&self, change: &Change) -> Result<Option<Image>, ToolError>;

    /// Restores the path of `change` to what it was before; `content` is the content of `change.before`. Does
    /// nothing if the path does not hold what is expected.
    fn put_back(
        &self,
        change: &Change,
        content: Option<&[u8]>,
        expected: Expected<'_>,
    ) -> Result<PutBack, ToolError>;

    /// Returns the changes that restoring has made so far.
    fn restored(&self) -> Vec<Change>;
}

/// What a path must hold for a change to be undone.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// This content; with `None`, no file at all.
    Exactly(Option<&'a Image>),
    /// Anything.
    Anything,
}

/// The result of restoring a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutBack {
    /// The path is as it was before the change.
    Done,
    /// The directory was left in place: it is another one by now, or is not empty.
    Kept,
}
