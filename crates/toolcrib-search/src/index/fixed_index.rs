//! The index of a tree that never changes. It has no watcher, and its files are read once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use toolcrib_core::FileStamp;

use crate::index::indexed_file::{IndexedContent, IndexedFile};
use crate::index::shard_postings::Postings;
use crate::index::slot_names::SlotNames;
use crate::index::tree_index::{
    Index, IndexEntry, IndexedDirectory, ReadTask, Totals, TreePostings, UnindexedFiles,
};
use crate::paths::{PathKey, Paths};
use crate::scan::ignore_rules::IgnoreRules;
use crate::scan::kept_text::KeptText;

/// The names of a tree that never changes.
pub(crate) struct FixedNames {
    pub(crate) paths: Paths,
    /// The places of the files with hidden names.
    pub(crate) hidden: Vec<usize>,
    pub(crate) directories: Vec<Box<[u8]>>,
    pub(crate) unreadable: Vec<Box<[u8]>>,
}

/// The number of all such indexes: each is the only one of its tree.
const ONLY_GENERATION: u64 = 0;

impl Index {
    /// Makes an index of a tree whose files are still to be read.
    pub(crate) fn fixed(root: &Path, names: FixedNames) -> Self {
        let FixedNames { paths, hidden, directories, unreadable } = names;
        let names = SlotNames::new(paths);
        let slots = || 0..names.len() as u32;
        let mut files = vec![IndexEntry::default(); names.len()];
        for slot in hidden {
            files[slot].is_hidden = true;
        }
        let directory = |path| (PathKey::from(path), IndexedDirectory { level: None, watch: 0 });
        Self {
            watcher: None,
            rules: IgnoreRules::none(root),
            directories: directories.into_iter().map(directory).collect::<BTreeMap<_, _>>(),
            unreadable: unreadable.into_iter().map(PathKey::from).collect(),
            device: 0,
            files,
            postings: TreePostings::default(),
            unindexed: UnindexedFiles { always_scan: slots().collect(), dirty: slots().collect() },
            totals: Totals { files: names.len(), text_bytes: 0 },
            generation: ONLY_GENERATION,
            needs_sweep: false,
            names,
        }
    }

    /// Adds a run of files that were read, in order of their slots.
    pub(crate) fn install_run(
        &mut self,
        postings: Postings,
        run: impl Iterator<Item = (u32, IndexedContent)>,
    ) {
        let read = run.map(|(slot, content)| {
            let task = ReadTask { slot, version: 0, path: Box::default() };
            (task, IndexedFile { stamp: FileStamp::default(), is_racy: false, content })
        });
        self.install_shard(postings, read.collect());
    }

    /// Returns a file's text and its version, if it is in memory.
    pub(crate) fn fixed_text(&self, slot: u32) -> Option<(Arc<KeptText>, u32)> {
        self.text(ONLY_GENERATION, slot)
    }
}
