//! The index of one tree: its names, what is known of each file, and postings; kept true by events.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use toolcrib_core::FileStamp;

use crate::index::posting_list::DocId;
use crate::index::postings::Postings;
use crate::index::watcher::{Watch, Watched};
use crate::paths::{Paths, is_below, order};
use crate::scan::ignore_rules::{IgnoreRules, Level, RuleSource};
use crate::scan::walk::Walked;
use crate::trigram::Trigram;

/// What is known of a tree.
pub(crate) struct Index {
    pub(crate) watch: Watch,
    pub(super) watched: Watched,
    pub(super) rules: IgnoreRules,
    pub(super) sources: Vec<RuleSource>,
    pub(super) directories: BTreeMap<PathKey, IndexedDirectory>,
    /// The files of the last walk, in order; a file's place here is its slot.
    pub(super) names: Arc<Paths>,
    /// Files that came since, by path; their slots follow.
    pub(super) added: BTreeMap<PathKey, u32>,
    pub(super) added_names: Vec<PathKey>,
    pub(super) files: Vec<FileEntry>,
    pub(super) parts: Vec<Shard>,
    pub(super) fresh: HashMap<u32, Box<[Trigram]>>,
    /// Directories that could not be entered.
    pub(super) unreadable: BTreeSet<PathKey>,
    /// The file system of the root.
    pub(super) device: u64,
    /// Files to look at whatever is asked.
    pub(super) always_scan: BTreeSet<u32>,
    /// Files to be read again, all of them always_scan.
    pub(super) dirty: BTreeSet<u32>,
    pub(super) live: usize,
    pub(super) text_bytes: usize,
    /// Tells this index from those before it.
    pub(super) generation: u64,
    /// Set when events were lost or rules changed: only a new walk can tell what is true.
    pub(crate) needs_sweep: bool,
}

pub(super) struct IndexedDirectory {
    pub(super) level: Option<Arc<Level>>,
    pub(super) watch: i32,
}

/// A path that sorts as walks do.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PathKey(pub(super) Box<[u8]>);

impl Ord for PathKey {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for PathKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, Default)]
pub(super) struct FileEntry {
    /// Counts what happened to it, so that what was read before is not taken for what is.
    pub(super) version: u32,
    pub(super) state: FileState,
    pub(super) is_racy: bool,
    pub(super) stamp: FileStamp,
    pub(super) text: Option<Arc<[u8]>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileState {
    Gone,
    #[default]
    Dirty,
    Binary,
    AlwaysScan,
    Fresh,
    /// In this part, at this place.
    Packed(u16, DocId),
}

/// Postings of a run of files.
#[derive(Clone)]
pub(crate) struct Shard {
    pub(crate) segment: Arc<Postings>,
    /// Whose postings they are.
    pub(crate) slots: Vec<u32>,
    pub(super) live: usize,
}

/// What was known of a file before a new walk.
pub(crate) struct KnownFile {
    pub(crate) stamp: FileStamp,
    pub(crate) is_racy: bool,
    pub(crate) state: FileState,
    pub(crate) text: Option<Arc<[u8]>>,
}

/// Everything that was known before a new walk.
#[derive(Default)]
pub(crate) struct IndexSnapshot {
    pub(crate) files: HashMap<Box<[u8]>, KnownFile>,
    pub(crate) parts: Vec<Arc<Postings>>,
}

impl Index {
    /// Makes an index of what a walk found, and of what is still true of the past.
    pub(crate) fn new(
        watch: Watch,
        rules: IgnoreRules,
        walked: Walked,
        past: &IndexSnapshot,
        now: &WalkStamps,
        (generation, device): (u64, u64),
    ) -> Self {
        let names = Arc::new(walked.paths());
        let mut index = Self {
            watch,
            watched: Watched::default(),
            rules,
            sources: walked.sources,
            directories: BTreeMap::new(),
            files: vec![FileEntry::default(); names.len()],
            names,
            added: BTreeMap::new(),
            added_names: Vec::new(),
            parts: Vec::new(),
            fresh: HashMap::new(),
            unreadable: walked.unreadable.into_iter().map(PathKey).collect(),
            device,
            always_scan: BTreeSet::new(),
            dirty: BTreeSet::new(),
            live: 0,
            text_bytes: 0,
            generation,
            needs_sweep: false,
        };
        for directory in walked.directories.into_iter().flatten() {
            index.note_directory(&directory.path, directory.level, directory.mark);
        }
        index.live = index.files.len();
        index.recall(past, now);
        index
    }

    pub(super) fn recall(&mut self, past: &IndexSnapshot, now: &WalkStamps) {
        self.parts = past
            .parts
            .iter()
            .map(|segment| Shard {
                segment: Arc::clone(segment),
                slots: vec![u32::MAX; segment.docs()],
                live: 0,
            })
            .collect();
        for slot in 0..self.files.len() as u32 {
            let known = past.files.get(self.names.get(slot as usize));
            let known = known.filter(|known| {
                !known.is_racy && now.get(slot as usize) == Some(&Some(known.stamp))
            });
            let file = &mut self.files[slot as usize];
            let Some(known) = known else {
                self.always_scan.insert(slot);
                self.dirty.insert(slot);
                continue;
            };
            file.stamp = known.stamp;
            file.state = known.state;
            file.text.clone_from(&known.text);
            self.text_bytes += known.text.as_ref().map_or(0, |text| text.len());
            match known.state {
                FileState::Packed(part, doc) => {
                    let part = &mut self.parts[usize::from(part)];
                    part.slots[usize::from(doc)] = slot;
                    part.live += 1;
                }
                FileState::Binary => {}
                FileState::AlwaysScan => {
                    self.always_scan.insert(slot);
                }
                FileState::Gone | FileState::Dirty | FileState::Fresh => {
                    file.state = FileState::Dirty;
                    file.text = None;
                    self.always_scan.insert(slot);
                    self.dirty.insert(slot);
                }
            }
        }
    }

    /// Returns what is known, for the index after this one.
    pub(crate) fn past(&self) -> IndexSnapshot {
        let parts = self.parts.iter().map(|part| Arc::clone(&part.segment)).collect();
        let mut past = IndexSnapshot { parts, ..IndexSnapshot::default() };
        for (path, slot) in self.slots() {
            let file = &self.files[slot as usize];
            if matches!(
                file.state,
                FileState::Binary | FileState::AlwaysScan | FileState::Packed(..)
            ) {
                let (stamp, is_racy, state) = (file.stamp, file.is_racy, file.state);
                let known = KnownFile { stamp, is_racy, state, text: file.text.clone() };
                past.files.insert(path.into(), known);
            }
        }
        past
    }

    /// All files that are there, in no order.
    pub(super) fn slots(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let listed = (0..self.names.len()).map(|slot| (self.names.get(slot), slot as u32));
        let added = self.added.iter().map(|(name, slot)| (&*name.0, *slot));
        listed.chain(added).filter(|(_, slot)| self.files[*slot as usize].state != FileState::Gone)
    }

    pub(super) fn note_directory(&mut self, path: &[u8], level: Option<Arc<Level>>, watch: i32) {
        // The same directory under two names: events could not be told apart.
        self.needs_sweep |= !self.watched.insert(watch, path);
        self.directories.insert(PathKey(path.into()), IndexedDirectory { level, watch });
    }

    pub(super) fn find(&self, path: &[u8]) -> Option<u32> {
        let slot = match self.names.find(path) {
            Ok(slot) => slot as u32,
            Err(_) => *self.added.get(&PathKey(path.into()))?,
        };
        (self.files[slot as usize].state != FileState::Gone).then_some(slot)
    }

    pub(super) fn add(&mut self, path: &[u8]) {
        let slot = match self.names.find(path) {
            Ok(slot) => slot as u32,
            Err(_) => {
                if let Some(slot) = self.added.get(&PathKey(path.into())) {
                    *slot
                } else {
                    let slot = self.files.len() as u32;
                    self.files.push(FileEntry { state: FileState::Gone, ..FileEntry::default() });
                    self.added.insert(PathKey(path.into()), slot);
                    self.added_names.push(PathKey(path.into()));
                    slot
                }
            }
        };
        if self.files[slot as usize].state == FileState::Gone {
            self.files[slot as usize].state = FileState::Dirty;
            self.live += 1;
        }
        self.mark_dirty(slot);
    }

    pub(super) fn remove(&mut self, path: &[u8]) {
        if let Some(slot) = self.find(path) {
            self.detach(slot);
            self.files[slot as usize].state = FileState::Gone;
            self.always_scan.remove(&slot);
            self.dirty.remove(&slot);
            self.live -= 1;
        }
    }

    /// What a file held is not known any more.
    pub(super) fn mark_dirty(&mut self, slot: u32) {
        self.detach(slot);
        self.files[slot as usize].state = FileState::Dirty;
        self.always_scan.insert(slot);
        self.dirty.insert(slot);
    }

    fn detach(&mut self, slot: u32) {
        let file = &mut self.files[slot as usize];
        file.version = file.version.wrapping_add(1);
        self.text_bytes -= file.text.take().map_or(0, |text| text.len());
        match file.state {
            FileState::Packed(part, _) => self.parts[usize::from(part)].live -= 1,
            FileState::Fresh => {
                self.fresh.remove(&slot);
            }
            FileState::Gone | FileState::Dirty | FileState::Binary | FileState::AlwaysScan => {}
        }
    }

    /// Returns which of the listed names are below a directory.
    pub(super) fn listed_below(&self, directory: &[u8]) -> (usize, usize) {
        if directory.is_empty() {
            return (0, self.names.len());
        }
        let start = self.names.find(directory).unwrap_or_else(|at| at);
        let (mut low, mut high) = (start, self.names.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_below(self.names.get(middle), directory) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (start, low)
    }
}

/// How many things an index holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) files: usize,
    pub(crate) directories: usize,
    pub(crate) dirty: usize,
    pub(crate) always_scan: usize,
    /// In bytes.
    pub(crate) texts: usize,
}

/// WalkStamps of the files of a walk, by their place in it; nothing where they are not wanted.
pub(crate) type WalkStamps = Vec<Option<FileStamp>>;

/// A file that must be read.
pub(crate) struct ReadTask {
    pub(crate) slot: u32,
    pub(crate) version: u32,
    pub(crate) path: Box<[u8]>,
}
