//! The index of one tree: its names, what is known of each file, and postings; kept true by events.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, statat};
use toolcrib_core::{ErrorKind, Ground, ToolError};

use crate::file::{Learned, Nature, Stamp};
use crate::filter::Filter;
use crate::gram::Gram;
use crate::paths::{Paths, is_below, order};
use crate::plan::Query;
use crate::rules::{Level, RULE_FILES, Rules, Source};
use crate::segment::{Doc, Segment};
use crate::walk::{Walk, Walked, absolute, open_directory};
use crate::watch::{Event, Refused, Watch, Watched, What, unwatch, watch};

/// How many files a new directory may bring before the whole tree is walked again instead.
const MAX_NEW: usize = 5000;

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

/// The files that a question has to look at, in order.
pub(crate) struct Candidates {
    names: Arc<Paths>,
    slots: Vec<u32>,
    /// The paths of those that were added, by slot.
    added: HashMap<u32, Box<[u8]>>,
    /// How many files are meant, whether or not they must be looked at.
    pub(crate) meant: usize,
    /// Which index the slots are of.
    pub(crate) generation: u64,
}

impl Candidates {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, index: usize) -> u32 {
        self.slots[index]
    }

    pub(crate) fn path(&self, index: usize) -> &[u8] {
        let slot = self.slots[index];
        if (slot as usize) < self.names.len() {
            return self.names.get(slot as usize);
        }
        self.added.get(&slot).map_or(b"", |path| path)
    }
}

impl Index {
    /// Makes an index of what a walk found, and of what is still true of the past.
    pub(crate) fn new(
        watch: Watch,
        rules: Rules,
        walked: Walked,
        past: &Past,
        now: &Stamps,
        generation: u64,
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
        let mut past = Past::default();
        past.parts = self.parts.iter().map(|part| Arc::clone(&part.segment)).collect();
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

    /// Takes the events that have happened by now; returns whether the index is true.
    pub(crate) fn refresh(&mut self, ground: &dyn Ground) -> bool {
        for event in self.watch.take() {
            if self.is_in_doubt {
                // All will be walked again; but the queue must not fill up meanwhile.
                continue;
            }
            self.apply(ground, &event);
        }
        if !self.rules.are_fresh() || !self.sources.iter().all(Source::is_same) {
            self.is_in_doubt = true;
        }
        !self.is_in_doubt
    }

    fn apply(&mut self, ground: &dyn Ground, event: &Event) {
        if event.what == What::Doubt {
            self.is_in_doubt = true;
            return;
        }
        if event.what == What::Ended {
            self.watched.remove(event.watch);
            return;
        }
        let Some(directory) = self.watched.path(event.watch).map(<[u8]>::to_vec) else { return };
        if event.name.is_empty() {
            // The directory itself: its mode may have changed.
            self.is_in_doubt = true;
            return;
        }
        if RULE_FILES.contains(&&*event.name) {
            self.is_in_doubt |= !event.is_directory || event.what != What::Changed;
            return;
        }
        let mut path = directory.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&event.name);
        match (event.is_directory, event.what) {
            (true, What::Came) => self.enter(ground, &directory, &event.name, &path),
            (true, What::Went) => self.leave(&path),
            (true, _) => self.is_in_doubt |= self.directories.contains_key(&Name(path.into())),
            (false, What::Went) => self.remove(&path),
            (false, What::Came) => self.meet(ground, &directory, &event.name, &path),
            (false, _) => {
                if let Some(slot) = self.find(&path) {
                    self.soil(slot);
                } else {
                    self.meet(ground, &directory, &event.name, &path);
                }
            }
        }
    }

    fn find(&self, path: &[u8]) -> Option<u32> {
        let slot = match self.names.find(path) {
            Ok(slot) => slot as u32,
            Err(_) => *self.added.get(&Name(path.into()))?,
        };
        (self.files[slot as usize].state != State::Gone).then_some(slot)
    }

    fn is_hidden(
        &self,
        ground: &dyn Ground,
        directory: &[u8],
        name: &[u8],
        is_directory: bool,
    ) -> bool {
        let Some(known) = self.directories.get(&Name(directory.into())) else { return true };
        let mut path = absolute(ground, directory);
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        self.rules.hide(known.level.as_deref(), &path, is_directory)
            || ground.hides(Path::new(OsStr::from_bytes(directory)), OsStr::from_bytes(name))
    }

    /// A file came, or something took its place.
    fn meet(&mut self, ground: &dyn Ground, directory: &[u8], name: &[u8], path: &[u8]) {
        let there = open_directory(ground, directory)
            .and_then(|handle| statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW));
        let is_file =
            there.is_ok_and(|meta| FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile);
        if !is_file {
            self.remove(path);
        } else if let Some(slot) = self.find(path) {
            self.soil(slot);
        } else if !self.is_hidden(ground, directory, name, false) {
            self.add(path);
        }
    }

    fn add(&mut self, path: &[u8]) {
        let slot = match self.names.find(path) {
            Ok(slot) => slot as u32,
            Err(_) => match self.added.get(&Name(path.into())) {
                Some(slot) => *slot,
                None => {
                    let slot = self.files.len() as u32;
                    self.files.push(File { state: State::Gone, ..File::default() });
                    self.added.insert(Name(path.into()), slot);
                    self.added_names.push(Name(path.into()));
                    slot
                }
            },
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

    /// A directory came, with all that is in it.
    fn enter(&mut self, ground: &dyn Ground, directory: &[u8], name: &[u8], path: &[u8]) {
        if self.is_hidden(ground, directory, name, true) {
            return;
        }
        let level = self.directories.get(&Name(directory.into())).and_then(|it| it.level.clone());
        let inotify = self.watch.handle();
        let walk = Walk {
            ground,
            rules: &self.rules,
            threads: 1,
            depth: usize::MAX,
            stops: &|| false,
            visit: &|handle| match watch(inotify, handle) {
                Ok(number) => Ok(number),
                Err(Refused::Gone) => Ok(-1),
                Err(Refused::Limit(why)) => Err(ToolError::new(ErrorKind::Unavailable, why)),
            },
        };
        let Ok(walked) = walk.run(path, level) else {
            self.is_in_doubt = true;
            return;
        };
        let files = walked.paths();
        if files.len() > MAX_NEW {
            self.is_in_doubt = true;
            return;
        }
        self.sources.extend(walked.sources);
        for directory in walked.directories.into_iter().flatten() {
            self.note_directory(&directory.path, directory.level, directory.mark);
        }
        for path in files.iter() {
            self.add(path);
        }
    }

    /// A directory went, with all that was in it.
    fn leave(&mut self, path: &[u8]) {
        let from = Name(path.into());
        let gone: Vec<Name> = self
            .directories
            .range(from.clone()..)
            .take_while(|(name, _)| is_below(&name.0, path))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            if let Some(directory) = self.directories.remove(name) {
                unwatch(self.watch.handle(), directory.watch);
                self.watched.remove(directory.watch);
            }
        }
        if gone.is_empty() {
            return;
        }
        let (start, end) = self.listed_below(path);
        let listed = (start..end).map(|slot| self.names.get(slot).to_vec());
        let added = self.added.range(from..).map(|(name, _)| &*name.0);
        let added = added.take_while(|name| is_below(name, path)).map(<[u8]>::to_vec);
        for path in listed.chain(added).collect::<Vec<_>>() {
            self.remove(&path);
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
                low = middle + 1
            } else {
                high = middle
            }
        }
        (start, low)
    }

    /// Whether a directory is one that the walk entered.
    pub(crate) fn covers(&self, directory: &[u8]) -> bool {
        self.directories.contains_key(&Name(directory.into()))
    }

    /// Returns the files below `directory` that pass the filter and may have what `query` asks for.
    pub(crate) fn candidates(
        &self,
        query: &Query,
        directory: &[u8],
        filter: &Filter,
        counts: bool,
    ) -> Candidates {
        let (from, to) = self.listed_below(directory);
        let is_whole = filter.is_open();
        let mut listed = self.chosen(query, from as u32, to as u32, filter);
        listed.sort_unstable();
        let added = self.added.iter().filter(|(name, slot)| {
            let state = self.files[**slot as usize].state;
            state != State::Gone && is_below(&name.0, directory) && filter.passes(&name.0)
        });
        let added: Vec<(&Name, u32)> = added.map(|(name, slot)| (name, *slot)).collect();
        let meant = if !counts {
            0
        } else if is_whole && directory.is_empty() {
            self.live
        } else {
            let all = filter.select(&self.names, from, to);
            let there = all.iter().filter(|slot| self.files[**slot].state != State::Gone).count();
            there + added.len()
        };
        let added = added.into_iter().filter(|(_, slot)| self.may_have(*slot, query));
        self.merge(listed, added.collect(), meant)
    }

    /// Returns the files below `directory` that pass the filter.
    pub(crate) fn names(&self, directory: &[u8], filter: &Filter) -> Candidates {
        let (from, to) = self.listed_below(directory);
        let is_there = |slot: u32| self.files[slot as usize].state != State::Gone;
        let listed = filter.select(&self.names, from, to).into_iter().map(|slot| slot as u32);
        let listed: Vec<u32> = listed.filter(|slot| is_there(*slot)).collect();
        let added = self.added.iter().filter(|(name, slot)| {
            is_there(**slot) && is_below(&name.0, directory) && filter.passes(&name.0)
        });
        let added = added.map(|(name, slot)| (name, *slot)).collect();
        self.merge(listed, added, 0)
    }

    /// The listed slots in a range that must be looked at, in no order.
    fn chosen(&self, query: &Query, from: u32, to: u32, filter: &Filter) -> Vec<u32> {
        let range = from..to;
        let is_meant = |slot: u32| {
            range.contains(&slot)
                && (filter.is_open() || filter.passes(self.names.get(slot as usize)))
        };
        if *query == Query::All {
            let is_searched =
                |slot: &usize| !matches!(self.files[*slot].state, State::Gone | State::Binary);
            let all = if filter.is_open() {
                (from as usize..to as usize).filter(is_searched).map(|slot| slot as u32).collect()
            } else {
                let all = filter.select(&self.names, from as usize, to as usize).into_iter();
                all.filter(is_searched).map(|slot| slot as u32).collect()
            };
            return all;
        }
        let mut chosen = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let mut consider = |doc: Doc| {
                let slot = part.slots[usize::from(doc)];
                let is_current = self
                    .files
                    .get(slot as usize)
                    .is_some_and(|file| file.state == State::Part(number as u16, doc));
                if is_current && is_meant(slot) {
                    chosen.push(slot);
                }
            };
            match part.segment.find(query) {
                Some(docs) => docs.into_iter().for_each(&mut consider),
                None => (0..part.slots.len()).for_each(|doc| consider(doc as Doc)),
            }
        }
        let others = self.fresh.keys().chain(self.loose.iter()).copied();
        chosen.extend(others.filter(|slot| is_meant(*slot) && self.may_have(*slot, query)));
        chosen
    }

    fn may_have(&self, slot: u32, query: &Query) -> bool {
        match self.files[slot as usize].state {
            State::Gone | State::Binary => false,
            State::Dirty | State::Odd => true,
            State::Fresh => self
                .fresh
                .get(&slot)
                .is_none_or(|grams| query.admits(&|gram| grams.binary_search(&gram).is_ok())),
            State::Part(part, doc) => {
                let docs = self.parts[usize::from(part)].segment.find(query);
                docs.is_none_or(|docs| docs.binary_search(&doc).is_ok())
            }
        }
    }

    /// Puts listed and added files in one order.
    fn merge(&self, listed: Vec<u32>, added: Vec<(&Name, u32)>, meant: usize) -> Candidates {
        let paths = added.iter().map(|(name, slot)| (*slot, name.0.clone())).collect();
        let slots = if added.is_empty() {
            listed
        } else {
            let mut slots = Vec::with_capacity(listed.len() + added.len());
            let mut added = added.into_iter().peekable();
            for slot in listed {
                let path = self.names.get(slot as usize);
                while let Some((_, other)) =
                    added.next_if(|(name, _)| order(&name.0, path) == Ordering::Less)
                {
                    slots.push(other);
                }
                slots.push(slot);
            }
            slots.extend(added.map(|(_, slot)| slot));
            slots
        };
        let names = Arc::clone(&self.names);
        Candidates { names, slots, added: paths, meant, generation: self.generation }
    }

    /// Returns a file's text, if it is kept and the slot is one of this index.
    pub(crate) fn text(&self, generation: u64, slot: u32) -> Option<Arc<[u8]>> {
        if generation != self.generation {
            return None;
        }
        self.files.get(slot as usize)?.text.clone()
    }

    /// Returns up to `most` files that must be read, in order of their slots.
    pub(crate) fn dirty(&self, most: usize) -> Vec<Task> {
        let task = |slot: &u32| Task {
            slot: *slot,
            version: self.files[*slot as usize].version,
            path: self.path_of(*slot).into(),
        };
        self.dirty.iter().take(most).map(task).collect()
    }

    fn path_of(&self, slot: u32) -> &[u8] {
        match (slot as usize).checked_sub(self.names.len()) {
            None => self.names.get(slot as usize),
            Some(added) => &self.added_names[added].0,
        }
    }

    /// Adds postings of files that were read.
    pub(crate) fn install(&mut self, segment: Segment, docs: Vec<(Task, Learned)>) {
        let free = self.parts.iter().position(|part| part.slots.is_empty());
        let number = free.unwrap_or(self.parts.len()) as u16;
        let mut part = Part { segment: Arc::new(segment), slots: Vec::new(), live: 0 };
        let mut doc = 0;
        for (task, learned) in docs {
            let is_plain = matches!(learned.what, Nature::Plain(_));
            if self.files[task.slot as usize].version == task.version {
                let state = match learned.what {
                    Nature::Plain(_) => State::Part(number, doc),
                    Nature::Binary => State::Binary,
                    Nature::Odd => State::Odd,
                };
                part.live += usize::from(is_plain);
                self.settle(task.slot, learned, state);
            }
            if is_plain {
                part.slots.push(task.slot);
                doc += 1;
            }
        }
        match free {
            Some(at) => self.parts[at] = part,
            None => self.parts.push(part),
        }
    }

    /// Notes one file that was read, its trigrams apart.
    pub(crate) fn install_fresh(&mut self, task: &Task, learned: Learned, grams: Box<[Gram]>) {
        if self.files[task.slot as usize].version != task.version {
            return;
        }
        let state = match learned.what {
            Nature::Plain(_) => {
                self.fresh.insert(task.slot, grams);
                State::Fresh
            }
            Nature::Binary => State::Binary,
            Nature::Odd => State::Odd,
        };
        self.settle(task.slot, learned, state);
    }

    fn settle(&mut self, slot: u32, learned: Learned, state: State) {
        let file = &mut self.files[slot as usize];
        file.state = state;
        file.stamp = learned.stamp;
        file.is_racy = learned.is_racy;
        if let Nature::Plain(text) = learned.what {
            self.text_bytes += text.as_ref().map_or(0, |text| text.len());
            file.text = text;
        }
        self.dirty.remove(&slot);
        if state != State::Odd {
            self.loose.remove(&slot);
        }
    }

    /// Bytes of postings.
    pub(crate) fn posting_bytes(&self) -> usize {
        let fresh: usize = self.fresh.values().map(|grams| grams.len() * 4).sum();
        fresh
            + self
                .parts
                .iter()
                .map(|part| part.segment.bytes() + part.slots.len() * 4)
                .sum::<usize>()
    }

    /// Bytes of everything else but texts.
    pub(crate) fn table_bytes(&self) -> usize {
        self.names.bytes()
            + self.files.capacity() * size_of::<File>()
            + self.added.len() * 120
            + self.directories.len() * 200
            + (self.loose.len() + self.dirty.len()) * 12
    }

    /// Bytes of everything.
    pub(crate) fn bytes(&self) -> usize {
        self.table_bytes() + self.posting_bytes() + self.text_bytes
    }

    /// Lets go of all texts.
    pub(crate) fn drop_texts(&mut self) {
        self.files.iter_mut().for_each(|file| file.text = None);
        self.text_bytes = 0;
    }

    /// Lets go of all postings: every file must then be looked at.
    pub(crate) fn drop_postings(&mut self) {
        self.parts.clear();
        self.fresh.clear();
        self.dirty.clear();
        for slot in 0..self.files.len() as u32 {
            let file = &mut self.files[slot as usize];
            if matches!(file.state, State::Part(..) | State::Fresh | State::Dirty) {
                file.state = State::Odd;
                self.loose.insert(slot);
            }
        }
    }

    /// Makes files dirty whose postings are scattered, so that they are packed anew.
    pub(crate) fn gather_scattered(&mut self, max_fresh: usize, max_parts: usize) {
        if self.fresh.len() > max_fresh {
            for slot in self.fresh.keys().copied().collect::<Vec<_>>() {
                self.soil(slot);
            }
        }
        let crowded = self.parts.len() > max_parts;
        for number in 0..self.parts.len() {
            let part = &self.parts[number];
            let is_scattered = part.live * 2 < part.slots.len() || (crowded && part.live < 8192);
            if !part.slots.is_empty() && is_scattered {
                for (doc, slot) in part.slots.clone().into_iter().enumerate() {
                    let state = State::Part(number as u16, doc as Doc);
                    if self.files.get(slot as usize).is_some_and(|file| file.state == state) {
                        self.soil(slot);
                    }
                }
                let part = &mut self.parts[number];
                part.slots = Vec::new();
                part.segment = Arc::new(Segment::empty());
            }
        }
    }

    pub(crate) fn has_scattered_names(&self) -> bool {
        let gone = self.files.len() - self.live;
        self.added.len() > 1000 || gone > 1000 + self.files.len() / 4
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            texts: self.text_bytes,
            files: self.live,
            directories: self.watched.len(),
            dirty: self.dirty.len(),
            loose: self.loose.len() - self.dirty.len(),
        }
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
