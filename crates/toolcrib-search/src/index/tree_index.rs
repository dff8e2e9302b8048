//! The index of one tree: its names, the state of each file, and its postings. File events keep it current.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use toolcrib_core::FileStamp;

use crate::index::posting_list::DocId;
use crate::index::shard_postings::Postings;
use crate::index::slot_names::SlotNames;
use crate::index::watcher::Watcher;
use crate::index::word_postings::WordPostings;
use crate::paths::{PathKey, Paths};
use crate::scan::ignore_rules::{IgnoreRules, Level, Visibility};
use crate::scan::kept_text::KeptText;
use crate::scan::walk::Walked;
use crate::trigram::Trigram;

/// What is known of a tree.
pub(crate) struct Index {
    /// The source of file events; nothing for a tree that never changes.
    pub(super) watcher: Option<Watcher>,
    pub(super) rules: IgnoreRules,
    pub(super) directories: BTreeMap<PathKey, IndexedDirectory>,
    /// Directories that could not be entered.
    pub(super) unreadable: BTreeSet<PathKey>,
    /// The device of the root.
    pub(super) device: u64,
    pub(super) names: SlotNames,
    /// The files, by slot.
    pub(super) files: Vec<IndexEntry>,
    pub(super) postings: TreePostings,
    pub(super) unindexed: UnindexedFiles,
    pub(super) totals: Totals,
    /// The number of the sweep that made this index: it tells this index from those before it.
    pub(super) generation: u64,
    /// Set when events were lost or rules changed: only a new sweep can tell what the tree holds.
    pub(crate) needs_sweep: bool,
}

/// A directory that is indexed and watched.
pub(super) struct IndexedDirectory {
    /// The ignore rules in force in it.
    pub(super) level: Option<Arc<Level>>,
    /// Its watch descriptor.
    pub(super) watch: i32,
}

/// The postings of all files that have some.
#[derive(Default)]
pub(super) struct TreePostings {
    pub(super) shards: Vec<Shard>,
    /// The trigrams of files that were indexed one by one, by slot.
    pub(super) fresh: HashMap<u32, Box<[Trigram]>>,
}

/// Slots of files that the postings cannot answer for.
#[derive(Default)]
pub(super) struct UnindexedFiles {
    /// Files to open for every question.
    pub(super) always_scan: BTreeSet<u32>,
    /// The files among them that are to be read again.
    pub(super) dirty: BTreeSet<u32>,
}

/// Running totals over all files.
#[derive(Default)]
pub(super) struct Totals {
    /// Files that are there.
    pub(super) files: usize,
    /// Bytes of texts that are kept in memory.
    pub(super) text_bytes: usize,
}

/// A file of the index.
#[derive(Clone, Default)]
pub(super) struct IndexEntry {
    /// Counts what happened to the file, so that content that was read before a change is not taken for the content
    /// after it.
    pub(super) version: u32,
    pub(super) state: FileState,
    /// Whether the file has a hidden name, so that only a search for a file type sees it.
    pub(super) is_hidden: bool,
    pub(super) is_racy: bool,
    pub(super) stamp: FileStamp,
    pub(super) text: Option<Arc<KeptText>>,
}

/// What the index knows of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileState {
    /// The file was removed.
    Gone,
    /// The file is to be read.
    #[default]
    Dirty,
    /// The file is binary: no line of it ever matches.
    Binary,
    /// The index cannot answer for the file.
    AlwaysScan,
    /// The file's trigrams are in the table of files indexed one by one.
    Fresh,
    /// The file's trigrams are in this shard, under this number.
    Packed(u16, DocId),
}

/// Postings of a run of files.
pub(crate) struct Shard {
    pub(super) tables: ShardTables,
    /// The slot of each document in the postings. A document that is not current may have any.
    pub(super) slots: Vec<u32>,
    /// Whether the slots are in order.
    pub(super) is_in_order: bool,
    /// How many of the documents are still current.
    pub(super) live: usize,
}

impl Shard {
    pub(super) fn new(tables: ShardTables, slots: Vec<u32>) -> Self {
        Self { tables, slots, is_in_order: false, live: 0 }
    }

    /// Finds out whether the slots are in order. A document without a slot gets the one before it, which does not make
    /// it current.
    pub(super) fn find_order(&mut self) {
        let mut last = 0;
        for slot in &mut self.slots {
            if *slot == u32::MAX {
                *slot = last;
            }
            last = *slot;
        }
        self.is_in_order = self.slots.is_sorted();
    }
}

/// What the files of a shard contain, whatever slots they have.
#[derive(Clone)]
pub(crate) struct ShardTables {
    pub(crate) postings: Arc<Postings>,
    /// The words of the files, once they have been collected.
    pub(crate) words: OnceLock<Arc<WordPostings>>,
}

impl From<Postings> for ShardTables {
    fn from(postings: Postings) -> Self {
        Self { postings: Arc::new(postings), words: OnceLock::new() }
    }
}

/// A file as a snapshot knows it.
pub(crate) struct KnownFile {
    pub(crate) stamp: FileStamp,
    pub(crate) is_racy: bool,
    pub(crate) state: FileState,
    pub(crate) text: Option<Arc<KeptText>>,
}

/// What an index knew at one moment: for the index after it, and for the disk.
#[derive(Default)]
pub(crate) struct IndexSnapshot {
    pub(crate) files: HashMap<Box<[u8]>, KnownFile>,
    pub(crate) shards: Vec<ShardTables>,
}

/// Stamps of the files of a walk, by their place in it; nothing where a file is gone.
pub(crate) type WalkStamps = Vec<Option<FileStamp>>;

/// A file that is to be read.
pub(crate) struct ReadTask {
    pub(crate) slot: u32,
    pub(crate) version: u32,
    pub(crate) path: Box<[u8]>,
}

/// What a sweep found out about a tree.
pub(crate) struct SweepResult<'a> {
    pub(crate) watcher: Watcher,
    pub(crate) rules: IgnoreRules,
    pub(crate) walked: Walked,
    /// The paths of the files, hidden names included.
    pub(crate) paths: Paths,
    pub(crate) stamps: WalkStamps,
    /// What was known before the sweep.
    pub(crate) before: &'a IndexSnapshot,
    pub(crate) generation: u64,
    pub(crate) device: u64,
}

impl Index {
    /// Makes an index of the tree that a sweep found, and of what is still true of the snapshot before it.
    pub(crate) fn new(sweep: SweepResult<'_>) -> Self {
        let SweepResult { watcher, mut rules, walked, paths, stamps, before, generation, device } =
            sweep;
        let names = SlotNames::new(paths);
        let hidden = walked.hidden_places();
        rules.add_sources(walked.sources);
        let mut index = Self {
            watcher: Some(watcher),
            rules,
            directories: BTreeMap::new(),
            unreadable: walked.unreadable.into_iter().map(PathKey::from).collect(),
            device,
            files: vec![IndexEntry::default(); names.len()],
            totals: Totals { files: names.len(), text_bytes: 0 },
            names,
            postings: TreePostings::default(),
            unindexed: UnindexedFiles::default(),
            generation,
            needs_sweep: false,
        };
        for slot in hidden {
            index.files[slot].is_hidden = true;
        }
        for directory in walked.directories.into_iter().flatten() {
            index.add_directory(&directory.path, directory.level, directory.visitor_answer);
        }
        index.restore(before, &stamps);
        index
    }

    /// Takes over what a snapshot knows of files that have not changed since.
    fn restore(&mut self, before: &IndexSnapshot, now: &WalkStamps) {
        self.postings.shards = before
            .shards
            .iter()
            .map(|tables| Shard::new(tables.clone(), vec![u32::MAX; tables.postings.docs()]))
            .collect();
        for slot in 0..self.files.len() as u32 {
            let known = before.files.get(self.names.path(slot));
            let known = known.filter(|known| {
                !known.is_racy && now.get(slot as usize) == Some(&Some(known.stamp))
            });
            let file = &mut self.files[slot as usize];
            let Some(known) = known else {
                self.unindexed.always_scan.insert(slot);
                self.unindexed.dirty.insert(slot);
                continue;
            };
            file.stamp = known.stamp;
            file.state = known.state;
            file.text.clone_from(&known.text);
            self.totals.text_bytes += known.text.as_ref().map_or(0, |text| text.bytes());
            match known.state {
                FileState::Packed(shard, doc) => {
                    let shard = &mut self.postings.shards[usize::from(shard)];
                    shard.slots[usize::from(doc)] = slot;
                    shard.live += 1;
                }
                FileState::Binary => {}
                FileState::AlwaysScan => {
                    self.unindexed.always_scan.insert(slot);
                }
                FileState::Gone | FileState::Dirty | FileState::Fresh => {
                    file.state = FileState::Dirty;
                    file.text = None;
                    self.unindexed.always_scan.insert(slot);
                    self.unindexed.dirty.insert(slot);
                }
            }
        }
        self.postings.shards.iter_mut().for_each(Shard::find_order);
    }

    /// Returns what is known, for the index after this one and for the disk.
    pub(crate) fn snapshot(&self) -> IndexSnapshot {
        let shards = self.postings.shards.iter().map(|shard| shard.tables.clone()).collect();
        let mut snapshot = IndexSnapshot { shards, ..IndexSnapshot::default() };
        for (path, slot) in self.names.iter() {
            let file = &self.files[slot as usize];
            if matches!(
                file.state,
                FileState::Binary | FileState::AlwaysScan | FileState::Packed(..)
            ) {
                let (stamp, is_racy, state) = (file.stamp, file.is_racy, file.state);
                let known = KnownFile { stamp, is_racy, state, text: file.text.clone() };
                snapshot.files.insert(path.into(), known);
            }
        }
        snapshot
    }

    pub(super) fn add_directory(&mut self, path: &[u8], level: Option<Arc<Level>>, watch: i32) {
        // One directory under two paths: its events could not be told apart.
        let is_new = self.watcher.as_mut().is_none_or(|watcher| watcher.insert(watch, path));
        self.needs_sweep |= !is_new;
        self.directories.insert(PathKey::new(path), IndexedDirectory { level, watch });
    }

    /// Returns the slot of a file that is there.
    pub(super) fn find(&self, path: &[u8]) -> Option<u32> {
        self.names.slot(path).filter(|slot| self.is_there(*slot))
    }

    pub(super) fn is_there(&self, slot: u32) -> bool {
        self.files[slot as usize].state != FileState::Gone
    }

    /// Adds a file that is to be read, with a hidden name or not.
    pub(super) fn add(&mut self, path: &[u8], visibility: Visibility) {
        let slot = self.names.slot(path).unwrap_or_else(|| {
            self.files.push(IndexEntry { state: FileState::Gone, ..IndexEntry::default() });
            self.names.add(path)
        });
        self.files[slot as usize].is_hidden = visibility == Visibility::HiddenName;
        if !self.is_there(slot) {
            self.files[slot as usize].state = FileState::Dirty;
            self.totals.files += 1;
        }
        self.mark_dirty(slot);
    }

    pub(super) fn remove(&mut self, path: &[u8]) {
        if let Some(slot) = self.find(path) {
            self.detach(slot);
            self.files[slot as usize].state = FileState::Gone;
            self.unindexed.always_scan.remove(&slot);
            self.unindexed.dirty.remove(&slot);
            self.totals.files -= 1;
        }
    }

    /// Marks a file dirty: its content is not known any more, so it is opened for every question until it was read.
    pub(super) fn mark_dirty(&mut self, slot: u32) {
        self.detach(slot);
        self.files[slot as usize].state = FileState::Dirty;
        self.unindexed.always_scan.insert(slot);
        self.unindexed.dirty.insert(slot);
    }

    /// Takes a file's text and trigrams away.
    fn detach(&mut self, slot: u32) {
        let file = &mut self.files[slot as usize];
        file.version = file.version.wrapping_add(1);
        self.totals.text_bytes -= file.text.take().map_or(0, |text| text.bytes());
        match file.state {
            FileState::Packed(shard, _) => self.postings.shards[usize::from(shard)].live -= 1,
            FileState::Fresh => {
                self.postings.fresh.remove(&slot);
            }
            FileState::Gone | FileState::Dirty | FileState::Binary | FileState::AlwaysScan => {}
        }
    }
}
