//! Search in a revision: the engine for trees that never change, `toolcrib-search/src/fixed/`, over the objects of a revision.

use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{Cancel, ErrorKind, ToolError};
use toolcrib_search::{
    FixedDirectory, FixedEngine, FixedEngineOptions, FixedEntry, FixedEntryKind, FixedTree,
};

use crate::object_id::ObjectId;
use crate::path_lookup::PlaceKind;
use crate::revision::Revision;
use crate::tree_object::TreeEntryKind;

/// Search in a revision.
pub(crate) type RevisionSearch = FixedEngine<RevisionTree>;

/// Makes search in a revision.
pub(crate) fn search_in(revision: Arc<Revision>, options: FixedEngineOptions) -> RevisionSearch {
    FixedEngine::new(RevisionTree(revision), options)
}

/// A revision as a tree that never changes.
pub(crate) struct RevisionTree(Arc<Revision>);

impl FixedTree for RevisionTree {
    type Id = ObjectId;

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn root(&self) -> ObjectId {
        self.0.root()
    }

    fn directory(
        &self,
        path: &str,
        cancel: &Cancel,
    ) -> Result<FixedDirectory<ObjectId>, ToolError> {
        let place = self.0.find(path, cancel)?;
        match place.kind {
            PlaceKind::Directory => Ok(FixedDirectory { path: place.path(), id: place.id }),
            PlaceKind::File => {
                let message = format!("`{path}` is not a directory");
                Err(ToolError::new(ErrorKind::NotDirectory, message).at(path))
            }
        }
    }

    fn entries(
        &self,
        directory: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<FixedEntry<ObjectId>>, ToolError> {
        let tree = self.0.tree(&directory, cancel)?;
        let entries = tree.entries().map(|entry| FixedEntry {
            name: entry.name.into(),
            kind: match entry.kind {
                TreeEntryKind::File => FixedEntryKind::File,
                TreeEntryKind::Directory => FixedEntryKind::Directory,
                // A search follows no links.
                TreeEntryKind::Link | TreeEntryKind::Submodule => FixedEntryKind::Other,
            },
            id: entry.id,
        });
        Ok(entries.collect())
    }

    fn size(&self, file: ObjectId, cancel: &Cancel) -> Result<u64, ToolError> {
        self.0.source.blob_size(&file, cancel)
    }

    fn read(
        &self,
        file: ObjectId,
        most: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        self.0.small_blob(&file, most, cancel)
    }

    fn read_all(
        &self,
        files: &mut dyn Iterator<Item = ObjectId>,
        most: usize,
        is_stopped: &dyn Fn() -> bool,
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), ToolError> {
        self.0.source.read_blobs(files, most, is_stopped, each)
    }
}
