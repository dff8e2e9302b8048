//! The port to a tree that never changes.

use std::path::Path;

use toolcrib_core::{Cancel, ToolError};

/// A tree of files that never changes.
pub trait FixedTree: Send + Sync + 'static {
    /// What the tree calls a file or a directory.
    type Id: Copy + Send + Sync;

    /// The absolute path that stands for the root where rules and globs are about paths.
    fn path(&self) -> &Path;

    /// The root.
    fn root(&self) -> Self::Id;

    /// Finds the directory that a caller wrote as `path`.
    fn directory(&self, path: &str, cancel: &Cancel)
    -> Result<FixedDirectory<Self::Id>, ToolError>;

    /// Returns the entries of a directory, in order of their names.
    fn entries(
        &self,
        directory: Self::Id,
        cancel: &Cancel,
    ) -> Result<Vec<FixedEntry<Self::Id>>, ToolError>;

    /// Returns the size of a file.
    fn size(&self, file: Self::Id, cancel: &Cancel) -> Result<u64, ToolError>;

    /// Reads a file; returns nothing if it has more than `most` bytes.
    fn read(
        &self,
        file: Self::Id,
        most: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<u8>>, ToolError>;

    /// Reads many files, in the order of their ids, until `is_stopped`. A file with more than `most` bytes, or without
    /// content, is nothing.
    fn read_all(
        &self,
        files: &mut dyn Iterator<Item = Self::Id>,
        most: usize,
        is_stopped: &dyn Fn() -> bool,
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), ToolError>;
}

/// A directory of a tree that never changes.
#[derive(Clone, Debug)]
pub struct FixedDirectory<I> {
    /// The path below the root, without links; empty for the root itself.
    pub path: Vec<u8>,
    /// What the tree calls it.
    pub id: I,
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub struct FixedEntry<I> {
    /// The name.
    pub name: Box<[u8]>,
    /// The kind of entry.
    pub kind: FixedEntryKind,
    /// What the tree calls it.
    pub id: I,
}

/// A kind of entry, as far as a search tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedEntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// What is not searched, such as a link.
    Other,
}
