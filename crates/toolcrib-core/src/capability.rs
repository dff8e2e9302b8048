//! What a tool can reach, as traits. Tools see nothing else of the world.

use std::time::Duration;

use jiff::Timestamp;

use crate::change::Change;
use crate::command::Usage;
use crate::error::ToolError;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;
    /// A clock that never goes back, for measuring.
    fn elapsed(&self) -> Duration;
    /// What the thread that asks has used so far; memory is that of its whole process.
    fn used(&self) -> Usage;
}

/// Files that can be looked at: a workspace, a connected repository. Paths are as callers write
/// them: relative to the root, or absolute inside one.
pub trait Tree: Send + Sync {
    /// Returns what is at `path`, links followed.
    fn stat(&self, path: &str) -> Result<Meta, ToolError>;

    /// Reads a regular file, at most `most` bytes of it.
    fn read(&self, path: &str, most: u64) -> Result<Content, ToolError>;

    /// Lists a directory: the first `most` entries by name, and how many there are of each kind.
    fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError>;
}

/// What a file held when it was read.
#[derive(Clone, Debug)]
pub struct Content {
    /// Its first bytes, up to the limit asked for.
    pub bytes: Vec<u8>,
    /// How large the whole file is.
    pub size: u64,
}

impl Content {
    /// Whether the limit cut it.
    pub fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.size
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path without any link, absolute.
    pub path: String,
    /// Whether that is in the workspace.
    pub is_inside: bool,
    /// Whether links were followed.
    pub has_links: bool,
}

/// One thing in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, spelt by [`crate::escape::name`].
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: EntryKind,
    /// Bytes, for files.
    pub size: u64,
}

/// What a thing in a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, a socket, a device.
    Special,
}

/// A directory's entries.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Sorted by name.
    pub entries: Vec<Entry>,
    /// How many directories there are in all.
    pub directories: usize,
    /// How many other things there are in all.
    pub files: usize,
}

impl Listing {
    /// How many entries there are in all.
    pub fn total(&self) -> usize {
        self.directories + self.files
    }
}

/// Files that can be changed. Every change is atomic, leaves a pre-image, and is refused when the
/// file is not what a person approved.
pub trait Files: Tree {
    /// Returns the absolute place that `path` stands for, for people to see.
    fn absolute(&self, path: &str) -> Result<String, ToolError>;

    /// Where a path leads for someone who follows every link, as commands do.
    fn resolve(&self, path: &str) -> Resolved;

    /// Fails if a write to `path` would: outside, protected, not a file, read-only.
    fn check_write(&self, path: &str) -> Result<(), ToolError>;

    /// Fails if removing `path` would: outside, protected, a directory, not there.
    fn check_remove(&self, path: &str) -> Result<(), ToolError>;

    /// Writes a whole file, making missing parents.
    fn write(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, ToolError>;

    /// Copies a file of at most `most` bytes, its mode, owner and attributes with it.
    fn copy(&self, from: &str, to: &str, most: u64) -> Result<Written, ToolError>;

    /// Replaces a file's content with what `edit` makes of it. No other change by this runtime
    /// comes in between, and one by another program is noticed.
    fn update(&self, path: &str, most: u64, edit: &mut EditFn<'_>) -> Result<(), ToolError>;

    /// Makes a directory and its missing parents; returns those it made, outermost first.
    fn make_directory(&self, path: &str) -> Result<Vec<String>, ToolError>;

    /// Removes a file or a link, never a directory.
    fn remove(&self, path: &str) -> Result<(), ToolError>;

    /// Remembers what these paths hold: a later change through this handle is refused if they hold
    /// something else by then.
    fn pin(&self, paths: &[String]) -> Result<(), ToolError>;

    /// Returns the changes made through this handle so far.
    fn changes(&self) -> Vec<Change>;

    /// Takes snapshots of these paths before a command that may change them, as far as there is room. The command is
    /// known to write or remove the first `known` of them. Returns how many existing files have no snapshot.
    fn take_snapshots(&self, paths: &[String], known: usize) -> u64;

    /// Records which files differ from their snapshots, and discards the snapshots.
    fn resolve_snapshots(&self);
}

/// Makes new content of old.
pub type EditFn<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, ToolError> + 'a;

/// Whether a file may be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It must not be.
    New,
    /// It is replaced if it is.
    Replace,
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file was not there before.
    Created,
    /// The file was there before.
    Replaced,
}
