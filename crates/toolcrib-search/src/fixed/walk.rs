//! The walk of a tree that never changes: every file that ignore rules let a search see.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::fixed::tree::{FixedDirectory, FixedEntry, FixedEntryKind, FixedTree};
use crate::paths::Paths;
use crate::scan::ignore_rules::{
    self, IgnoreRules, Level, MAX_RULE_FILE_BYTES, PathKind, RuleFiles, Visibility,
};

/// Longer paths cannot be asked for, so that they are not searched either. It also bounds the depth of a tree that
/// was made to exhaust memory.
const LONGEST_PATH_BYTES: usize = 4095;

/// About how many bytes a file takes in the tables of a walk and of an index, beside its path.
const BYTES_PER_FILE: usize = 200;

/// What a walk found, in order of the paths.
pub(crate) struct FixedFiles<I> {
    pub(crate) paths: Paths,
    /// What the tree calls each file.
    pub(crate) ids: Vec<I>,
    /// The places of the files with hidden names, in order.
    pub(crate) hidden: Vec<usize>,
    pub(crate) directories: Vec<Box<[u8]>>,
    /// Directories whose entries are missing.
    pub(crate) unreadable: Vec<Box<[u8]>>,
    bytes: usize,
}

/// A walk.
pub(crate) struct FixedWalk<'a, T> {
    pub(crate) tree: &'a T,
    pub(crate) rules: &'a IgnoreRules,
    /// How many names a path below the start may have.
    pub(crate) depth: usize,
    /// The most memory for what the walk finds.
    pub(crate) max_bytes: usize,
    pub(crate) is_stopped: &'a dyn Fn() -> bool,
    pub(crate) cancel: &'a Cancel,
}

/// A directory that the walk is in.
struct OpenDirectory<I> {
    path: Vec<u8>,
    level: Option<Arc<Level>>,
    entries: std::vec::IntoIter<FixedEntry<I>>,
}

impl<T: FixedTree> FixedWalk<'_, T> {
    /// Walks everything at or below a directory.
    pub(crate) fn run(
        &self,
        start: &FixedDirectory<T::Id>,
    ) -> Result<FixedFiles<T::Id>, ToolError> {
        let mut files = FixedFiles {
            paths: Paths::default(),
            ids: Vec::new(),
            hidden: Vec::new(),
            directories: Vec::new(),
            unreadable: Vec::new(),
            bytes: 0,
        };
        let above = self.level_above(&start.path)?;
        let mut open = Vec::new();
        self.enter(start.path.clone(), start.id, above, &mut open, &mut files)?;
        while let Some(directory) = open.last_mut() {
            let Some(entry) = directory.entries.next() else {
                open.pop();
                continue;
            };
            let path = join(&directory.path, &entry.name);
            let kind = match entry.kind {
                FixedEntryKind::File => PathKind::File,
                FixedEntryKind::Directory => PathKind::Directory,
                FixedEntryKind::Other => continue,
            };
            if path.len() > LONGEST_PATH_BYTES {
                continue;
            }
            let absolute = self.absolute(&path);
            let visibility = self.rules.visibility(directory.level.as_deref(), &absolute, kind);
            match (kind, visibility) {
                (_, Visibility::Unseen) => {}
                (PathKind::Directory, _) => {
                    let level = directory.level.clone();
                    if open.len() < self.depth {
                        self.enter(path, entry.id, level, &mut open, &mut files)?;
                    }
                }
                (PathKind::File, visibility) => {
                    if visibility == Visibility::HiddenName {
                        files.hidden.push(files.ids.len());
                    }
                    files.bytes += path.len() + BYTES_PER_FILE;
                    files.paths.push(b"", &path);
                    files.ids.push(entry.id);
                }
            }
        }
        Ok(files)
    }

    /// Opens a directory of the walk.
    fn enter(
        &self,
        path: Vec<u8>,
        id: T::Id,
        above: Option<Arc<Level>>,
        open: &mut Vec<OpenDirectory<T::Id>>,
        files: &mut FixedFiles<T::Id>,
    ) -> Result<(), ToolError> {
        self.cancel.check()?;
        if (self.is_stopped)() {
            return Err(ToolError::new(ErrorKind::Cancelled, "the walk was stopped"));
        }
        files.bytes += path.len() + 2 * BYTES_PER_FILE;
        if files.bytes > self.max_bytes {
            return Err(too_large(files.ids.len(), self.max_bytes));
        }
        let entries = match self.tree.entries(id, self.cancel) {
            Ok(entries) => entries,
            Err(err) if err.kind == ErrorKind::Unavailable => {
                files.unreadable.push(path.into());
                return Ok(());
            }
            Err(err) => return Err(err),
        };
        let level = self.level(above, &path, &entries);
        files.directories.push(path.as_slice().into());
        open.push(OpenDirectory { path, level, entries: entries.into_iter() });
        Ok(())
    }

    /// Returns the rules in force in a directory with these entries.
    fn level(
        &self,
        above: Option<Arc<Level>>,
        path: &[u8],
        entries: &[FixedEntry<T::Id>],
    ) -> Option<Arc<Level>> {
        let mut files = RuleFiles::default();
        if path.is_empty() {
            // Git's own rules hold in a repository.
            files.add_name(b".git");
        }
        for entry in entries.iter().filter(|entry| entry.kind == FixedEntryKind::File) {
            files.add_name(&entry.name);
        }
        let read = |name: &str| {
            let entry = entries.iter().find(|entry| *entry.name == *name.as_bytes())?;
            let is_file = entry.kind == FixedEntryKind::File;
            let most = MAX_RULE_FILE_BYTES as usize;
            is_file.then(|| self.tree.read(entry.id, most, self.cancel).ok().flatten()).flatten()
        };
        let absolute = self.absolute(path);
        ignore_rules::enter_fixed(above, Path::new(OsStr::from_bytes(&absolute)), files, &read)
    }

    /// Returns the rules in force in the directory that a directory is in.
    fn level_above(&self, path: &[u8]) -> Result<Option<Arc<Level>>, ToolError> {
        let mut level = self.rules.above_root();
        let (mut at, mut id) = (Vec::new(), self.tree.root());
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let entries = self.tree.entries(id, self.cancel)?;
            level = self.level(level, &at, &entries);
            let Some(next) = entries.iter().find(|entry| *entry.name == *name) else { break };
            at = join(&at, name);
            id = next.id;
        }
        Ok(level)
    }

    fn absolute(&self, below: &[u8]) -> Vec<u8> {
        absolute(self.tree.path(), below)
    }
}

/// Returns the absolute path that stands for a path below the root.
pub(crate) fn absolute(root: &Path, below: &[u8]) -> Vec<u8> {
    match below {
        b"" => root.as_os_str().as_bytes().to_vec(),
        below => root.join(OsStr::from_bytes(below)).into_os_string().into_encoded_bytes(),
    }
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// Returns the error for a tree that does not fit into memory.
pub(crate) fn too_large(files: usize, max_bytes: usize) -> ToolError {
    let message = format!(
        "the tree has more than {files} files, which do not fit into {} MB of memory",
        max_bytes >> 20
    );
    ToolError::new(ErrorKind::TooLarge, message)
        .hint("raise `search.memory_bytes`, or connect a folder with a part of the files")
}
