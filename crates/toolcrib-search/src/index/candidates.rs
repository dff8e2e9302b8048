//! The candidates of a question: the files that the index cannot rule out.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::index::known_lines::{ContentQuery, KnownLines, LinesOfFile};
use crate::index::posting_list::DocId;
use crate::index::tree_index::{FileState, Index};
use crate::paths::{PathKey, Paths, is_below, order};
use crate::plan::Query;
use crate::scan::filter::Filter;
use crate::scan::kept_text::KeptText;
use crate::scan::walk::HiddenNames;
use crate::trigram::Trigram;

/// The files that must be opened for a question, in order of their paths.
pub(crate) struct CandidateFiles {
    listed: Arc<Paths>,
    slots: Vec<u32>,
    /// The paths of the files that came since the last walk, by slot.
    added: HashMap<u32, Box<[u8]>>,
    /// All files that the question is about, those that the index rules out included, in the same order. Empty if
    /// the question does not ask how many there are.
    meant: Vec<u32>,
    lines: KnownLines,
    /// Directories that could not be entered.
    pub(crate) unreadable: Vec<Box<[u8]>>,
    /// How many files below the directory policy denies, whatever the question.
    pub(crate) denied: u64,
    /// The generation of the index that the slots are of.
    pub(crate) generation: u64,
}

impl CandidateFiles {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, index: usize) -> u32 {
        self.slots[index]
    }

    /// Returns the lines of a candidate that may match, if the index of words knows them.
    pub(crate) fn lines(&self, index: usize) -> Option<LinesOfFile<'_>> {
        self.lines.of_candidate(index)
    }

    /// Returns of how many candidates the lines that may match are not known, and how many lines are known.
    pub(crate) fn unknown(&self) -> (usize, usize) {
        (self.slots.len() - self.lines.files_len(), self.lines.lines_len())
    }

    /// Whether files after these were left out, because these have enough results.
    pub(crate) fn is_cut(&self) -> bool {
        self.lines.is_cut
    }

    /// Returns how many files the index rules out: in all, or before one of the candidates.
    pub(crate) fn ruled_out_len(&self, end: Option<usize>) -> usize {
        let meant = |slot: u32| self.meant.iter().position(|known| *known == slot);
        match end {
            None => self.meant.len().saturating_sub(self.slots.len()),
            Some(end) => meant(self.slots[end]).map_or(0, |at| at.saturating_sub(end)),
        }
    }

    pub(crate) fn path(&self, index: usize) -> &[u8] {
        let slot = self.slots[index];
        if (slot as usize) < self.listed.len() {
            return self.listed.get(slot as usize);
        }
        self.added.get(&slot).map_or(b"", |path| path)
    }
}

/// How many entries of a trigram's list are read to rule out one file, because opening a file takes about as long.
const LIST_ENTRIES_PER_FILE: usize = 200;

/// Whether to count the files that the index rules out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuledOutCount {
    /// They are counted, which takes a look at every name.
    Exact,
    /// They are not; the count is 0.
    Skip,
}

impl Index {
    /// Whether a directory is one that the walk entered.
    pub(crate) fn covers(&self, directory: &[u8]) -> bool {
        self.directories.contains_key(&PathKey::new(directory))
    }

    /// Returns the files below `directory` that pass the filter and may have what `content` asks for.
    pub(crate) fn candidates(
        &self,
        content: &ContentQuery<'_>,
        directory: &[u8],
        filter: &Filter,
        count: RuledOutCount,
    ) -> CandidateFiles {
        let (from, to) = self.names.listed_below(directory);
        let is_meant = |slot: u32| {
            let (path, is_below) = match self.names.added_path(slot) {
                None => (self.names.path(slot), (from..to).contains(&(slot as usize))),
                Some(path) => (path.bytes(), is_below(path.bytes(), directory)),
            };
            is_below
                && self.is_seen(slot, filter)
                && (filter.is_unrestricted() || filter.passes(path))
        };
        let (chosen, lines) = if *content.query == Query::All {
            (self.all_texts(from..to, filter, &is_meant), KnownLines::default())
        } else {
            self.matching(content, &is_meant)
        };
        let mut candidates = self.in_order(chosen);
        candidates.lines = lines;
        candidates.lines.find_places(&candidates.slots);
        if count == RuledOutCount::Exact {
            candidates.meant = self.in_order(self.all_texts(from..to, filter, &is_meant)).slots;
        }
        let unreadable = self.unreadable.iter().filter(|path| is_below(path.bytes(), directory));
        candidates.unreadable = unreadable.map(|path| path.bytes().into()).collect();
        candidates.denied = self.count_denied(directory, filter);
        candidates
    }

    /// Returns how many files below `directory` policy denies.
    fn count_denied(&self, directory: &[u8], filter: &Filter) -> u64 {
        let Some(denied) = filter.denied() else { return 0 };
        let (from, to) = self.names.listed_below(directory);
        let slots = self.names.denied_slots(denied);
        let before = |end: usize| slots.partition_point(|slot| (*slot as usize) < end);
        let listed = slots[before(from)..before(to)].iter();
        let is_there = |slot: u32| self.is_there(slot) && self.is_seen(slot, filter);
        let listed = listed.filter(|slot| is_there(**slot)).count();
        let added = self.names.added().filter(|(path, slot)| {
            is_there(*slot) && is_below(path.bytes(), directory) && denied.has(path.bytes())
        });
        (listed + added.count()) as u64
    }

    /// Returns the files below `directory` that pass the filter.
    pub(crate) fn names(&self, directory: &[u8], filter: &Filter) -> CandidateFiles {
        let (from, to) = self.names.listed_below(directory);
        let listed = filter.select(self.names.listed(), from, to);
        let listed = listed.into_iter().map(|slot| slot as u32);
        let is_there = |slot: u32| self.is_there(slot) && self.is_seen(slot, filter);
        let listed: Vec<u32> = listed.filter(|slot| is_there(*slot)).collect();
        let added = self.names.added().filter(|(path, slot)| {
            is_there(*slot) && is_below(path.bytes(), directory) && filter.passes(path.bytes())
        });
        let added = added.collect();
        let mut names = self.merge(listed, added);
        names.denied = self.count_denied(directory, filter);
        names
    }

    /// Whether a question with this filter sees a file at all.
    fn is_seen(&self, slot: u32, filter: &Filter) -> bool {
        !self.files[slot as usize].is_hidden || filter.hidden_names() == HiddenNames::Included
    }

    /// Whether a file is there and could have a line that matches.
    fn is_text(&self, slot: u32) -> bool {
        !matches!(self.files[slot as usize].state, FileState::Gone | FileState::Binary)
    }

    /// Returns all files that are meant and could have a line that matches, in no order.
    fn all_texts(
        &self,
        listed: std::ops::Range<usize>,
        filter: &Filter,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> Vec<u32> {
        let added = self.names.added().map(|(_, slot)| slot).filter(|slot| is_meant(*slot));
        let listed = if filter.is_unrestricted() {
            listed.collect()
        } else {
            filter.select(self.names.listed(), listed.start, listed.end)
        };
        let listed = listed.into_iter().map(|slot| slot as u32);
        let listed = listed.filter(|slot| self.is_seen(*slot, filter));
        listed.chain(added).filter(|slot| self.is_text(*slot)).collect()
    }

    /// Returns the files that are meant and may have what is asked for, in no order, and what is known of their lines.
    fn matching(
        &self,
        content: &ContentQuery<'_>,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> (Vec<u32>, KnownLines) {
        let query = content.query;
        let known = self.known_lines(content, is_meant);
        let mut chosen: Vec<u32> = known.slots().collect();
        for (number, shard) in self.postings.shards.iter().enumerate() {
            // The trigrams answer for the files whose words are not known.
            let words = shard.tables.words.get().filter(|_| known.has_asked(number));
            let uncovered = words.map(|words| words.uncovered());
            if uncovered.is_some_and(<[DocId]>::is_empty) {
                continue;
            }
            let is_uncovered =
                |doc: &DocId| uncovered.is_none_or(|docs| docs.binary_search(doc).is_ok());
            let all = || (0..shard.slots.len()).map(|doc| doc as DocId).collect();
            let docs = shard.tables.postings.find(query, LIST_ENTRIES_PER_FILE);
            let docs: Vec<DocId> = docs.unwrap_or_else(all);
            let docs = docs.into_iter().filter(is_uncovered);
            let slots = docs.filter_map(|doc| self.current(number, shard, doc));
            chosen.extend(slots.filter(|slot| is_meant(*slot)));
        }
        let admits =
            |known: &[Trigram]| query.admits(&|trigram| known.binary_search(&trigram).is_ok());
        let fresh = self.postings.fresh.iter().filter(|(_, trigrams)| admits(trigrams));
        let fresh = fresh.map(|(slot, _)| *slot);
        let always = self.unindexed.always_scan.iter().copied();
        chosen.extend(fresh.chain(always).filter(|slot| is_meant(*slot)));
        (chosen, known)
    }

    /// Puts files in order of their paths.
    #[expect(
        clippy::stable_sort_primitive,
        reason = "a stable sort is faster for a few runs in order"
    )]
    fn in_order(&self, mut slots: Vec<u32>) -> CandidateFiles {
        slots.sort();
        let listed_len = self.names.listed().len();
        let added = slots.partition_point(|slot| (*slot as usize) < listed_len);
        let added = slots.split_off(added).into_iter();
        let mut added: Vec<(&PathKey, u32)> =
            added.filter_map(|slot| Some((self.names.added_path(slot)?, slot))).collect();
        added.sort_unstable_by_key(|(path, _)| *path);
        self.merge(slots, added)
    }

    /// Merges files of the walk and files that came since into one order of paths.
    fn merge(&self, listed: Vec<u32>, added: Vec<(&PathKey, u32)>) -> CandidateFiles {
        let paths = added.iter().map(|(path, slot)| (*slot, path.bytes().into())).collect();
        let slots = if added.is_empty() {
            listed
        } else {
            let mut slots = Vec::with_capacity(listed.len() + added.len());
            let mut added = added.into_iter().peekable();
            for slot in listed {
                let path = self.names.path(slot);
                while let Some((_, other)) =
                    added.next_if(|(added, _)| order(added.bytes(), path) == Ordering::Less)
                {
                    slots.push(other);
                }
                slots.push(slot);
            }
            slots.extend(added.map(|(_, slot)| slot));
            slots
        };
        CandidateFiles {
            listed: Arc::clone(self.names.listed()),
            slots,
            added: paths,
            meant: Vec::new(),
            lines: KnownLines::default(),
            unreadable: Vec::new(),
            denied: 0,
            generation: self.generation,
        }
    }

    /// Returns a file's text and version, if the text is in memory and the slot is one of this index.
    pub(crate) fn text(&self, generation: u64, slot: u32) -> Option<(Arc<KeptText>, u32)> {
        if generation != self.generation {
            return None;
        }
        let file = self.files.get(slot as usize)?;
        Some((file.text.clone()?, file.version))
    }
}
