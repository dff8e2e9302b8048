//! Capabilities: the ports through which a tool reaches the world. A tool has no other way.

use std::time::Duration;

use jiff::Timestamp;

use crate::change::Change;
use crate::command::Usage;
use crate::error::ToolError;
use crate::pin::FolderState;
use crate::policy::DeniedPaths;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Returns the time of day.
    fn now(&self) -> Timestamp;
    /// Returns the time of a monotonic clock, for measuring.
    fn elapsed(&self) -> Duration;
    /// Returns the resources that the calling thread has used so far; the memory is that of its whole process.
    fn used(&self) -> Usage;
}

/// Files that can be read: a workspace, a connected repository. Paths are as callers write them: relative to the
/// root, or absolute inside one.
pub trait Tree: Send + Sync {
    /// Returns the metadata of the file at `path`, following links.
    fn stat(&self, path: &str) -> Result<Meta, ToolError>;

    /// Returns the metadata of several files, in their order. Some trees learn it with one question.
    fn stat_each(&self, paths: &[String]) -> Vec<Result<Meta, ToolError>> {
        paths.iter().map(|path| self.stat(path)).collect()
    }

    /// Reads a regular file, `most` bytes of it at most.
    fn read(&self, path: &str, most: u64) -> Result<Content, ToolError>;

    /// Counts the lines of a regular file, however long it is. The last one need not end.
    fn count_lines(&self, path: &str) -> Result<u64, ToolError>;

    /// Lists a directory: the first `most` entries by name, and the number of entries of each kind.
    fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError>;

    /// Denies these paths from now on: they are not listed, and opening one fails.
    fn deny(&self, denied: DeniedPaths);
}

/// The content of a file when it was read.
#[derive(Clone, Debug)]
pub struct Content {
    /// The first bytes, up to the limit asked for.
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
}

impl Content {
    /// Whether the limit cut the content.
    pub fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.size
    }
}

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path without any link, absolute.
    pub path: String,
    /// Whether the target is in the workspace.
    pub is_inside: bool,
    /// Whether links were followed.
    pub has_links: bool,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, spelt by [`crate::escape::name`].
    pub name: String,
    /// The kind of entry.
    pub kind: EntryKind,
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The kind of file.
    pub kind: EntryKind,
    /// The size in bytes, for regular files.
    pub size: u64,
}

/// A kind of directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, whatever its target.
    Link,
    /// A pipe, a socket, a device.
    Special,
}

/// The entries of a directory.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The entries, sorted by name.
    pub entries: Vec<Entry>,
    /// The number of all directories.
    pub directories: usize,
    /// The number of all other entries.
    pub files: usize,
    /// How many entries are left out because policy denies them.
    pub denied: u64,
}

impl Listing {
    /// Returns the number of all entries, without those that are left out.
    pub fn total(&self) -> usize {
        self.directories + self.files
    }

    /// Returns a sentence about the entries that are left out; nothing if none are.
    pub fn denied_sentence(&self) -> Option<String> {
        denied_sentence(self.denied, "entry", "entries")
    }
}

/// Returns a sentence about things that are left out because policy denies them; nothing if none are.
pub(crate) fn denied_sentence(count: u64, one: &str, many: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one} is left out: policy denies it")),
        count => Some(format!("{count} {many} are left out: policy denies them")),
    }
}

/// Files that can be changed. Every change is atomic, stores the old content for undo, and is refused when the file
/// is not what a person approved.
pub trait Files: Tree {
    /// Returns the absolute path that `path` stands for, to show to people.
    fn absolute(&self, path: &str) -> Result<String, ToolError>;

    /// Resolves a path as commands do, following every link.
    fn resolve(&self, path: &str) -> Resolved;

    /// Fails if a write to `path` would fail: it is outside, protected, not a file, read-only.
    fn check_write(&self, path: &str) -> Result<(), ToolError>;

    /// Fails if removing `path` would fail: it is outside, protected, a directory, missing.
    fn check_remove(&self, path: &str) -> Result<(), ToolError>;

    /// Writes a whole file, and makes missing parent directories.
    fn write(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, ToolError>;

    /// Copies a file of at most `most` bytes, with its mode, owner and attributes.
    fn copy(&self, from: &str, to: &str, most: u64) -> Result<Written, ToolError>;

    /// Replaces a file's content by what `edit` returns for it. No other change by this runtime comes in between,
    /// and a change by another program is noticed.
    fn update(&self, path: &str, most: u64, edit: &mut EditFn<'_>) -> Result<(), ToolError>;

    /// Makes a directory and its missing parents; returns those that it made, the outermost first.
    fn make_directory(&self, path: &str) -> Result<Vec<String>, ToolError>;

    /// Removes a file or a link, never a directory.
    fn remove(&self, path: &str) -> Result<(), ToolError>;

    /// Pins the content of these paths: a later change through this handle is refused if they hold something else
    /// by then.
    fn pin(&self, paths: &[String]) -> Result<(), ToolError>;

    /// Returns which folder is at `path`, and the state of the first `most` entries below it. Fails if there is no
    /// folder.
    fn folder_state(&self, path: &str, most: usize) -> Result<FolderState, ToolError>;

    /// Holds each of these paths to where it led when the call was decided on: if it leads elsewhere by then,
    /// opening it fails. With each path goes the absolute path that [`Files::absolute`] returned.
    fn hold(&self, decided: Vec<(String, String)>);

    /// Returns the changes that were made through this handle so far.
    fn changes(&self) -> Vec<Change>;

    /// Takes snapshots of these paths before a command that may change them, as far as there is room. The command
    /// is known to write or remove the first `known` of them. Returns how many existing files have no snapshot.
    fn take_snapshots(&self, paths: &[String], known: usize) -> u64;

    /// Records which files differ from their snapshots, and discards the snapshots.
    fn resolve_snapshots(&self);
}

/// Computes new content from the old.
pub type EditFn<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, ToolError> + 'a;

/// Whether a write may replace a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// The file must not exist.
    New,
    /// An existing file is replaced.
    Replace,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file did not exist before.
    Created,
    /// The file existed before.
    Replaced,
}
