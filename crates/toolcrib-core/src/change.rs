//! What a call did to a file, and the ports that keep what was there before and put it back.

use std::collections::BTreeMap;
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
    /// The root, absolute, each name spelt by [`crate::escape::name`].
    pub root: String,
    /// Which directory the root was, whatever has its name by now.
    pub root_id: FileId,
    /// The path below the root with no link in it, each name spelt by [`crate::escape::name`].
    pub path: String,
    /// What was there before.
    pub before: Option<Image>,
    /// What is there after.
    pub after: Option<Image>,
    /// The directory that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<FileId>,
    /// Why it is not sure that the call made this change, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// Why it is not sure that a call made a change, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Another call changed the same file while its command ran.
    Others,
    /// Nobody saw the end of its command.
    Lost,
    /// What the file is now was not looked at.
    Unseen,
    /// The words of its command name the file, and do not show that it is written.
    Named,
}

impl Doubt {
    /// It in words, behind what it is about.
    pub fn words(self) -> &'static str {
        match self {
            Self::Others => "another call changed it at the same time",
            Self::Lost => "nobody saw the end of the command, so someone else may have changed it",
            Self::Unseen => "what it is since was not looked at",
            Self::Named => "its command names it, which does not show who changed it",
        }
    }
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
    /// An empty directory was removed.
    RemovedDirectory,
}

impl Change {
    /// The whole path, spelt as its parts are.
    pub fn place(&self) -> String {
        format!("{}/{}", self.root.trim_end_matches('/'), self.path)
    }
}

impl ChangeKind {
    /// Whether it was done to a directory.
    pub fn is_of_directory(self) -> bool {
        match self {
            Self::MadeDirectory | Self::RemovedDirectory => true,
            Self::Created | Self::Replaced | Self::Removed => false,
        }
    }
}

/// Tells one file or directory from every other on the machine, those that are gone included where
/// the file system remembers when a file was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    /// The device it is on.
    pub device: u64,
    /// Its number there, which another may get when it is gone.
    pub inode: u64,
    /// When it was made, in nanoseconds; 0 if the file system does not know.
    #[serde(default)]
    pub born: i64,
}

/// A file's content, mode and owner; the content by hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// SHA-256 of the content, or of a link's target.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Whether it is a symbolic link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_link: bool,
    /// Extended attributes of its own and its access list, in hexadecimal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

impl Image {
    /// Whether both are the same kind of thing with the same content.
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
    /// Changes already recorded for the call itself: whoever resolved its snapshots before us died half way.
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

/// Looks at and puts back what a change changed. Implemented by the host, used for undo.
pub trait Restore: Send + Sync {
    /// Returns what is at the place of `change` now, for changes of files.
    fn current(&self, change: &Change) -> Result<Option<Image>, ToolError>;

    /// Makes the place of `change` what it was before; `content` is that of `change.before`.
    /// Nothing is done if the place does not hold what is expected.
    fn put_back(
        &self,
        change: &Change,
        content: Option<&[u8]>,
        expected: Expected<'_>,
    ) -> Result<PutBack, ToolError>;
}

/// What a place must hold for a change to be put back.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// This content, or nothing at all.
    Exactly(Option<&'a Image>),
    /// Whatever it holds.
    Anything,
}

/// What putting back came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutBack {
    /// It is as it was.
    Done,
    /// A directory was kept: it is another one, or holds something by now.
    Kept,
}
