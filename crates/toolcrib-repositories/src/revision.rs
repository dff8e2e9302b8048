//! A revision: the files of one commit, whose objects never change.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::object_id::ObjectId;
use crate::objects::ObjectSource;
use crate::tree_cache::TreeCache;
use crate::tree_object::{TreeEntryKind, TreeObject};

/// How many directories are read when one of them is listed.
const TREES_READ_AHEAD: usize = 32;

/// A revision of a repository.
pub(crate) struct Revision {
    pub(crate) source: Box<dyn ObjectSource>,
    /// The tree of the commit.
    root: ObjectId,
    /// The absolute path that stands for the root where rules are about paths.
    path: PathBuf,
    trees: TreeCache,
}

impl Revision {
    pub(crate) fn new(source: Box<dyn ObjectSource>, root: ObjectId, path: PathBuf) -> Self {
        Self { source, root, path, trees: TreeCache::default() }
    }

    /// The tree of the commit.
    pub(crate) fn root(&self) -> ObjectId {
        self.root
    }

    /// The absolute path that stands for the root.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the absolute path that stands for a file or directory below the root.
    pub(crate) fn absolute(&self, names: &[Vec<u8>]) -> PathBuf {
        let names = names.iter().map(|name| std::ffi::OsStr::from_bytes(name));
        self.path.join(names.collect::<PathBuf>())
    }

    /// Reads a tree, or takes it from the cache.
    pub(crate) fn tree(
        &self,
        id: &ObjectId,
        cancel: &Cancel,
    ) -> Result<Arc<TreeObject>, ToolError> {
        if let Some(known) = self.trees.get(id) {
            return Ok(known);
        }
        let tree = Arc::new(self.source.tree(id, cancel)?);
        self.trees.add(*id, &tree);
        Ok(tree)
    }

    /// Reads the tree of a directory that is listed. If it is not cached, the directories after it are read, too: whoever
    /// lists one directory after the other then asks the source less often.
    pub(crate) fn tree_to_list(
        &self,
        id: &ObjectId,
        above: Option<&ObjectId>,
        cancel: &Cancel,
    ) -> Result<Arc<TreeObject>, ToolError> {
        if let Some(known) = self.trees.get(id) {
            return Ok(known);
        }
        let Some(above) = above else { return self.tree(id, cancel) };
        let siblings = self.tree(above, cancel)?;
        let siblings = siblings
            .entries()
            .filter(|entry| entry.kind == TreeEntryKind::Directory)
            .skip_while(|entry| entry.id != *id)
            .map(|entry| entry.id)
            .take(TREES_READ_AHEAD)
            .filter(|id| self.trees.get(id).is_none());
        let ids: Vec<ObjectId> = siblings.collect();
        let trees = self.source.trees(&ids, cancel)?;
        for (id, tree) in ids.into_iter().zip(trees) {
            if let Some(tree) = tree {
                self.trees.add(id, &Arc::new(tree));
            }
        }
        self.tree(id, cancel)
    }

    /// Reads a whole blob of at most `most` bytes; nothing if it has more.
    pub(crate) fn small_blob(
        &self,
        id: &ObjectId,
        most: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        let mut bytes = Vec::new();
        let size = self.source.read_blob(id, cancel, &mut |piece| {
            bytes.extend_from_slice(piece);
            if bytes.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((size <= most as u64).then_some(bytes))
    }
}

/// Returns the error for an object that is not what it should be.
pub(crate) fn malformed(id: &ObjectId, what: &str) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("the object {id} of the repository {what}"))
        .hint("check the repository with `git fsck`")
}
