//! The index of one tree: its names, what is known of each file, and postings; kept true by events.

mod care;
mod choose;
mod events;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub(crate) use choose::Candidates;

use crate::file::Stamp;
use crate::gram::Gram;
use crate::paths::{Paths, is_below, order};
use crate::rules::{Level, Rules, Source};
use crate::segment::{Doc, Segment};
use crate::walk::Walked;
use crate::watch::{Watch, Watched};

/// What is known of a tree.
pub(crate) struct Index {
    pub(crate) watch: Watch,
    watched: Watched,
    rules: Rules,
    sources: Vec<Source>,
    directories: BTreeMap<Name, Directory>,
    /// The files of the last walk, in order; a file's place here is its slot.
    names: Arc<Paths>,
    /// Files that came since, by path; their slots follow.
    added: BTreeMap<Name, u32>,
    added_names: Vec<Name>,
    files: Vec<File>,
    parts: Vec<Part>,
    fresh: HashMap<u32, Box<[Gram]>>,
    /// Directories that could not be entered.
    barred: BTreeSet<Name>,
    /// The file system of the root.
    device: u64,
    /// Files to look at whatever is asked.
    loose: BTreeSet<u32>,
    /// Files to be read again, all of them loose.
    dirty: BTreeSet<u32>,
    live: usize,
    text_bytes: usize,
    /// Tells this index from those before it.
    generation: u64,
    /// Set when events were lost or rules changed: only a new walk can tell what is true.
    pub(crate) is_in_doubt: bool,
}

struct Directory {
    level: Option<Arc<Level>>,
    watch: i32,
}

/// A path that sorts as walks do.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Name(Box<[u8]>);

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, Default)]
struct File {
    /// Counts what happened to it, so that what was read before is not taken for what is.
    version: u32,
    state: State,
    is_racy: bool,
    stamp: Stamp,
    text: Option<Arc<[u8]>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    Gone,
    #[default]
    Dirty,
    Binary,
    Odd,
    Fresh,
    /// In this part, at this place.
    Part(u16, Doc),
}

/// Postings of a run of files.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) segment: Arc<Segment>,
    /// Whose postings they are.
    pub(crate) slots: Vec<u32>,
    live: usize,
}

/// What was known of a file before a new walk.
pub(crate) struct Known {
    pub(crate) stamp: Stamp,
    pub(crate) is_racy: bool,
    pub(crate) state: State,
    pub(crate) text: Option<Arc<[u8]>>,
}

/// Everything that was known before a new walk.
#[derive(Default)]
pub(crate) struct Past {
    pub(crate) files: HashMap<Box<[u8]>, Known>,
    pub(crate) parts: Vec<Arc<Segment>>,
}

impl Index {
    /// Makes an index of what a walk found, and of what is still true of the past.
    pub(crate) fn new(
        watch: Watch,
        rules: Rules,
        walked: Walked,
        past: &Past,
        now: &Stamps,
        (generation, device): (u64, u64),
    ) -> Self {
        let names = Arc::new(walked.paths());
        let mut index = Self {
            watch,
            watched: Watched::default(),
            rules,
            sources: walked.sources,
            directories: BTreeMap::new(),
            files: vec![File::default(); names.len()],
            names,
            added: BTreeMap::new(),
            added_names: Vec::new(),
            parts: Vec::new(),
            fresh: HashMap::new(),
            barred: walked.barred.into_iter().map(Name).collect(),
            device,
            loose: BTreeSet::new(),
            dirty: BTreeSet::new(),
            live: 0,
            text_bytes: 0,
            generation,
            is_in_doubt: false,
        };
        for directory in walked.directories.into_iter().flatten() {
            index.note_directory(&directory.path, directory.level, directory.mark);
        }
        index.live = index.files.len();
        index.recall(past, now);
        index
    }

    fn recall(&mut self, past: &Past, now: &Stamps) {
        self.parts = past
            .parts
            .iter()
            .map(|segment| Part {
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
                self.loose.insert(slot);
                self.dirty.insert(slot);
                continue;
            };
            file.stamp = known.stamp;
            file.state = known.state;
            file.text.clone_from(&known.text);
            self.text_bytes += known.text.as_ref().map_or(0, |text| text.len());
            match known.state {
                State::Part(part, doc) => {
                    let part = &mut self.parts[usize::from(part)];
                    part.slots[usize::from(doc)] = slot;
                    part.live += 1;
                }
                State::Binary => {}
                State::Odd => {
                    self.loose.insert(slot);
                }
                State::Gone | State::Dirty | State::Fresh => {
                    file.state = State::Dirty;
                    file.text = None;
                    self.loose.insert(slot);
                    self.dirty.insert(slot);
                }
            }
        }
    }

    /// Returns what is known, for the index after this one.
    pub(crate) fn past(&self) -> Past {
        let parts = self.parts.iter().map(|part| Arc::clone(&part.segment)).collect();
        let mut past = Past { parts, ..Past::default() };
        for (path, slot) in self.slots() {
            let file = &self.files[slot as usize];
            if matches!(file.state, State::Binary | State::Odd | State::Part(..)) {
                let (stamp, is_racy, state) = (file.stamp, file.is_racy, file.state);
                let known = Known { stamp, is_racy, state, text: file.text.clone() };
                past.files.insert(path.into(), known);
            }
        }
        past
    }

    /// All files that are there, in no order.
    fn slots(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let listed = (0..self.names.len()).map(|slot| (self.names.get(slot), slot as u32));
        let added = self.added.iter().map(|(name, slot)| (&*name.0, *slot));
        listed.chain(added).filter(|(_, slot)| self.files[*slot as usize].state != State::Gone)
    }

    fn note_directory(&mut self, path: &[u8], level: Option<Arc<Level>>, watch: i32) {
        // The same directory under two names: events could not be told apart.
        self.is_in_doubt |= !self.watched.insert(watch, path);
        self.directories.insert(Name(path.into()), Directory { level, watch });
    }

    fn find(&self, path: &[u8]) -> Option<u32> {
        let slot = match self.names.find(path) {
            Ok(slot) => slot as u32,
            Err(_) => *self.added.get(&Name(path.into()))?,
        };
        (self.files[slot as usize].state != State::Gone).then_some(slot)
    }

    fn add(&mut self, path: &[u8]) {
        let slot = match self.names.find(path) {
            Ok(slot) => slot as u32,
            Err(_) => {
                if let Some(slot) = self.added.get(&Name(path.into())) {
                    *slot
                } else {
                    let slot = self.files.len() as u32;
                    self.files.push(File { state: State::Gone, ..File::default() });
                    self.added.insert(Name(path.into()), slot);
                    self.added_names.push(Name(path.into()));
                    slot
                }
            }
        };
        if self.files[slot as usize].state == State::Gone {
            self.files[slot as usize].state = State::Dirty;
            self.live += 1;
        }
        self.soil(slot);
    }

    fn remove(&mut self, path: &[u8]) {
        if let Some(slot) = self.find(path) {
            self.detach(slot);
            self.files[slot as usize].state = State::Gone;
            self.loose.remove(&slot);
            self.dirty.remove(&slot);
            self.live -= 1;
        }
    }

    /// What a file held is not known any more.
    fn soil(&mut self, slot: u32) {
        self.detach(slot);
        self.files[slot as usize].state = State::Dirty;
        self.loose.insert(slot);
        self.dirty.insert(slot);
    }

    fn detach(&mut self, slot: u32) {
        let file = &mut self.files[slot as usize];
        file.version = file.version.wrapping_add(1);
        self.text_bytes -= file.text.take().map_or(0, |text| text.len());
        match file.state {
            State::Part(part, _) => self.parts[usize::from(part)].live -= 1,
            State::Fresh => {
                self.fresh.remove(&slot);
            }
            State::Gone | State::Dirty | State::Binary | State::Odd => {}
        }
    }

    /// Returns which of the listed names are below a directory.
    fn listed_below(&self, directory: &[u8]) -> (usize, usize) {
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
    pub(crate) loose: usize,
    /// In bytes.
    pub(crate) texts: usize,
}

/// Stamps of the files of a walk, by their place in it; nothing where they are not wanted.
pub(crate) type Stamps = Vec<Option<Stamp>>;

/// A file that must be read.
pub(crate) struct Task {
    pub(crate) slot: u32,
    pub(crate) version: u32,
    pub(crate) path: Box<[u8]>,
}
