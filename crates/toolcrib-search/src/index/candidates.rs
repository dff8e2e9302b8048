//! The candidates of a question: the files that the index cannot rule out.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::index::posting_list::DocId;
use crate::index::tree_index::{FileState, Index};
use crate::index::word_postings::WordLines;
use crate::paths::{PathKey, Paths, is_below, order};
use crate::plan::Query;
use crate::scan::filter::Filter;
use crate::scan::kept_text::KeptText;
use crate::scan::walk::HiddenNames;
use crate::trigram::Trigram;
use crate::word_plan::WordPlan;

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
        let file = self.lines.files.get(*self.lines.places.get(index)? as usize)?;
        let lines = &self.lines.lines[file.start..file.end];
        Some(LinesOfFile { lines, version: file.version })
    }

    /// Returns of how many candidates the lines that may match are not known, and how many lines are known.
    pub(crate) fn unknown(&self) -> (usize, usize) {
        (self.slots.len() - self.lines.files.len(), self.lines.lines.len())
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

/// What a question asks of the content of files.
pub(crate) struct ContentQuery<'a> {
    pub(crate) query: &'a Query,
    pub(crate) words: Option<&'a WordPlan>,
    /// How many results are counted or shown at most.
    pub(crate) most: usize,
}

/// The lines of candidates that may match, as far as the index of words knows them.
#[derive(Default)]
struct KnownLines {
    /// The files, in order of their slots.
    files: Vec<KnownLinesPlace>,
    lines: Vec<u32>,
    /// For each candidate, its place among the files; [`UNKNOWN_LINES`] if its lines are not known.
    places: Vec<u32>,
}

/// Stands for a candidate whose lines are not known.
const UNKNOWN_LINES: u32 = u32::MAX;

impl KnownLines {
    /// Finds the places of candidates. Nearly all of them are in order of their slots.
    fn find_places(&mut self, slots: &[u32]) {
        let mut next = 0;
        let places = slots.iter().map(|slot| {
            let known = &self.files;
            if known.get(next).is_none_or(|file| file.slot != *slot) {
                let Ok(at) = known.binary_search_by_key(slot, |file| file.slot) else {
                    return UNKNOWN_LINES;
                };
                next = at;
            }
            next += 1;
            next as u32 - 1
        });
        self.places = places.collect();
    }
}

/// Where the lines of a file are among all known lines.
struct KnownLinesPlace {
    slot: u32,
    version: u32,
    start: usize,
    end: usize,
}

/// The lines of a file that may match, counted from 0, and the version of the file that they are of.
pub(crate) struct LinesOfFile<'a> {
    pub(crate) lines: &'a [u32],
    pub(crate) version: u32,
}

/// Lists of the index of words are read up to so many bytes for each result that is wanted. Where a word is more common
/// than that, searching the first files finds enough of them sooner.
const LIST_BYTES_PER_RESULT: usize = 64;

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
        let mut chosen = Vec::new();
        let mut known = KnownLines::default();
        let mut by_words = self.word_lines(content).into_iter();
        for (number, shard) in self.postings.shards.iter().enumerate() {
            let current = |doc: DocId| {
                let slot = *shard.slots.get(usize::from(doc))?;
                let file = self.files.get(slot as usize)?;
                let is_current = file.state == FileState::Packed(number as u16, doc);
                (is_current && is_meant(slot)).then_some(slot)
            };
            let found = by_words.next().flatten();
            if let Some(found) = &found {
                self.add_known(found, &current, &mut chosen, &mut known);
            }
            // The trigrams answer for the files whose words are not known.
            let words = shard.tables.words.as_ref().filter(|_| found.is_some());
            let uncovered = words.map(|words| words.uncovered());
            if uncovered.is_some_and(<[DocId]>::is_empty) {
                continue;
            }
            let is_uncovered =
                |doc: &DocId| uncovered.is_none_or(|docs| docs.binary_search(doc).is_ok());
            let all = || (0..shard.slots.len()).map(|doc| doc as DocId).collect();
            let docs: Vec<DocId> = shard.tables.postings.find(query).unwrap_or_else(all);
            chosen.extend(docs.into_iter().filter(is_uncovered).filter_map(current));
        }
        // The files of each shard are in order.
        known.files.sort_by_key(|file| file.slot);
        let admits =
            |known: &[Trigram]| query.admits(&|trigram| known.binary_search(&trigram).is_ok());
        let fresh = self.postings.fresh.iter().filter(|(_, trigrams)| admits(trigrams));
        let fresh = fresh.map(|(slot, _)| *slot);
        let always = self.unindexed.always_scan.iter().copied();
        chosen.extend(fresh.chain(always).filter(|slot| is_meant(*slot)));
        (chosen, known)
    }

    /// Returns the lines that have the words of a question, by shard; nothing for a shard whose words are not known,
    /// and nothing at all if the words say nothing or are too common.
    fn word_lines(&self, content: &ContentQuery<'_>) -> Vec<Option<WordLines>> {
        let Some(plan) = content.words else { return Vec::new() };
        let shards = self.postings.shards.iter().map(|shard| shard.tables.words.as_deref());
        let found = shards.map(|words| words.map(|words| (words, words.find_words(plan))));
        let found: Vec<_> = found.collect();
        let bytes: usize = found.iter().flatten().map(|(_, found)| found.list_bytes()).sum();
        if bytes > content.most.saturating_mul(LIST_BYTES_PER_RESULT) {
            return Vec::new();
        }
        found
            .into_iter()
            .map(|shard| shard.map(|(words, found)| words.lines(plan, found)))
            .collect()
    }

    /// Adds the files that have the words of a question, and their lines.
    fn add_known(
        &self,
        found: &WordLines,
        current: &dyn Fn(DocId) -> Option<u32>,
        chosen: &mut Vec<u32>,
        known: &mut KnownLines,
    ) {
        let mut from = 0;
        for (doc, to) in &found.docs {
            let lines = from..*to;
            from = *to;
            let Some(slot) = current(*doc) else { continue };
            chosen.push(slot);
            if let Some(lines) = found.lines.get(lines) {
                let start = known.lines.len();
                known.lines.extend_from_slice(lines);
                let version = self.files[slot as usize].version;
                known.files.push(KnownLinesPlace { slot, version, start, end: known.lines.len() });
            }
        }
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
