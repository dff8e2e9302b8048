//! The files of a tree that never changes, as files to search.

use toolcrib_core::Cancel;

use crate::fixed::tree::FixedTree;
use crate::fixed::walk::FixedFiles;
use crate::index::candidate_targets::QuestionFiles;
use crate::index::tree_index::Index;
use crate::scan::file_search::TargetText;
use crate::scan::open::Unsearched;
use crate::scan::parallel_search::Targets;

/// Larger files are not searched, and the answer says so.
pub(crate) const MAX_FIXED_FILE_BYTES: usize = 64 << 20;

/// Files that the index could not rule out.
pub(crate) struct IndexedTargets<'a, T: FixedTree> {
    pub(crate) tree: &'a T,
    pub(crate) index: &'a Index,
    pub(crate) ids: &'a [T::Id],
    pub(crate) files: QuestionFiles,
    pub(crate) cancel: &'a Cancel,
}

impl<T: FixedTree> Targets for IndexedTargets<'_, T> {
    fn len(&self) -> usize {
        self.files.candidates.len()
    }

    fn path(&self, index: usize) -> &[u8] {
        self.files.candidates.path(index)
    }

    fn text(&self, index: usize) -> Option<TargetText<'_>> {
        let text = self.index.fixed_text(self.files.candidates.slot(index))?;
        self.files.text_of(index, text)
    }

    fn content(&self, index: usize) -> Option<Result<Vec<u8>, Unsearched>> {
        let id = self.ids[self.files.candidates.slot(index) as usize];
        Some(read(self.tree, id, self.cancel))
    }

    fn known_count(&self, index: usize) -> Option<u64> {
        self.files.known_count(index)
    }

    fn is_little_work(&self) -> bool {
        self.files.is_little_work()
    }
}

/// Files that a walk found.
pub(crate) struct WalkedTargets<'a, T: FixedTree> {
    pub(crate) tree: &'a T,
    pub(crate) files: &'a FixedFiles<T::Id>,
    /// The places of the files that are meant.
    pub(crate) chosen: Vec<usize>,
    pub(crate) cancel: &'a Cancel,
}

impl<T: FixedTree> Targets for WalkedTargets<'_, T> {
    fn len(&self) -> usize {
        self.chosen.len()
    }

    fn path(&self, index: usize) -> &[u8] {
        self.files.paths.get(self.chosen[index])
    }

    fn text(&self, _: usize) -> Option<TargetText<'_>> {
        None
    }

    fn content(&self, index: usize) -> Option<Result<Vec<u8>, Unsearched>> {
        Some(read(self.tree, self.files.ids[self.chosen[index]], self.cancel))
    }

    fn known_count(&self, _: usize) -> Option<u64> {
        None
    }

    fn is_little_work(&self) -> bool {
        false
    }
}

fn read<T: FixedTree>(tree: &T, id: T::Id, cancel: &Cancel) -> Result<Vec<u8>, Unsearched> {
    match tree.read(id, MAX_FIXED_FILE_BYTES, cancel) {
        Ok(Some(content)) => Ok(content),
        Ok(None) => {
            let most = MAX_FIXED_FILE_BYTES >> 20;
            Err(Unsearched::Refused(format!("it is larger than {most} MB")))
        }
        Err(_) if cancel.is_cancelled() => Err(Unsearched::Stopped),
        Err(err) => Err(Unsearched::Refused(err.message)),
    }
}
