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

/// What a file held before a command that may change it, kept until it is known what the command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// What becomes a change if the file is not what it was: without anything after it.
    pub change: Change,
    /// What the file held, if it was there.
    pub content: Vec<u8>,
}

/// What others did to files, and may be doing.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// What is noted of the call itself: somebody died at it.
    pub own: Vec<Change>,
    /// What they did, oldest first.
    pub changes: Vec<Change>,
    /// The files that are set aside for commands of theirs that run, each by its whole path.
    pub held: Vec<String>,
}

/// Keeps what files held before a call changed them. Implemented by the ledger, used by the host.
pub trait Changes: Send + Sync {
    /// Stores content durably and returns its SHA-256 and size.
    fn keep(&self, content: &mut dyn io::Read) -> io::Result<(String, u64)>;

    /// Notes a change: that of a file before it is made, that of a directory after.
    fn note(&self, change: &Change) -> io::Result<()>;

    /// Notes that a change was not made after all.
    fn forget(&self, change: &Change) -> io::Result<()>;

    /// Keeps what the command of this call may change, durably, and shows others that it is needed. `mark` is how
    /// much was noted before any of it was read.
    fn set_aside(&self, call: &CallId, held: &[SetAside], mark: u64) -> io::Result<()> {
        let _ = (call, held, mark);
        Ok(())
    }

    /// How much is noted so far.
    fn mark(&self) -> u64 {
        0
    }

    /// Returns what is kept for this call.
    fn aside(&self, call: &CallId) -> io::Result<Vec<SetAside>> {
        let _ = call;
        Ok(Vec::new())
    }

    /// Lets it go.
    fn let_go(&self, call: &CallId) -> io::Result<()> {
        let _ = call;
        Ok(())
    }

    /// Leaves it to whoever comes next.
    fn leave_aside(&self, call: &CallId) {
        let _ = call;
    }

    /// Returns the calls that something is kept for and that nobody sees to any more; from here on we do.
    fn left_aside(&self) -> Vec<CallId> {
        Vec::new()
    }

    /// What others did, and may be doing, to files since some were set aside for this call.
    fn others(&self, call: &CallId) -> io::Result<Others> {
        let _ = call;
        Ok(Others::default())
    }

    /// Notes several changes.
    fn note_all(&self, changes: &[Change]) -> io::Result<()> {
        changes.iter().try_for_each(|change| self.note(change))
    }

    /// Keeps no more than this of what is kept for a call.
    fn keep_only(&self, call: &CallId, held: &[SetAside]) -> io::Result<()> {
        let _ = (call, held);
        Ok(())
    }
}

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
