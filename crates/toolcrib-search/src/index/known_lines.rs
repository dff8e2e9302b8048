//! The lines that may match, as far as the index of words knows them without reading a text.

use std::sync::Arc;

use toolcrib_core::search::{Grep, Want};

use crate::index::posting_list::DocId;
use crate::index::tree_index::{FileState, Index, Shard};
use crate::index::word_postings::{FoundWords, WordLines, WordPostings, WordReader};
use crate::plan::Query;
use crate::word_plan::{WordPart, WordPlan};

/// What a question asks of the content of files.
#[derive(Clone, Copy)]
pub(crate) struct ContentQuery<'a> {
    pub(crate) query: &'a Query,
    pub(crate) words: Option<&'a WordPlan>,
    /// Whether lines around matches are wanted.
    pub(crate) has_context: bool,
    pub(crate) enough: EnoughResults,
}

/// The results after which a search stops: when there are more lines and more files than these.
#[derive(Clone, Copy)]
pub(crate) struct EnoughResults {
    lines: usize,
    files: usize,
}

impl EnoughResults {
    /// Never: all results count.
    pub(crate) const NEVER: Self = Self { lines: usize::MAX, files: usize::MAX };

    /// Returns how many results are enough to answer a question.
    pub(crate) fn of(ask: &Grep) -> Self {
        let page_end = ask.page.skip.saturating_add(ask.page.most);
        let counted = usize::try_from(ask.count_limit).unwrap_or(usize::MAX);
        match ask.want {
            Want::Lines { .. } => Self { lines: page_end.max(counted), files: 0 },
            Want::Files => Self { lines: 0, files: page_end.max(counted) },
            Want::Counts => Self { lines: counted, files: page_end },
        }
    }
}

/// The lines of candidates that may match, as far as the index of words knows them.
#[derive(Default)]
pub(super) struct KnownLines {
    /// The files, in order of their slots.
    files: Vec<KnownLinesPlace>,
    lines: Vec<u32>,
    /// For each candidate, its place among the files; [`UNKNOWN_LINES`] if its lines are not known.
    places: Vec<u32>,
    /// The slots of files that have the words, but whose lines are not known.
    others: Vec<u32>,
    /// For each shard, whether its words were asked.
    shards: Vec<bool>,
    /// Whether files after these were left out, because these have enough results.
    pub(super) is_cut: bool,
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

/// Stands for a candidate whose lines are not known.
const UNKNOWN_LINES: u32 = u32::MAX;

/// Lists of the index of words are read up to so many bytes for each result that is wanted, if the lines must be read,
/// too. Where a word is more common than that, searching the first files finds enough of them sooner.
const LIST_BYTES_PER_RESULT: usize = 64;

/// The first share of the files whose lines are looked up.
const FIRST_SHARE_OF_FILES: usize = 16;

impl KnownLines {
    pub(super) fn files_len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn lines_len(&self) -> usize {
        self.lines.len()
    }

    /// Returns the slots of the files that have the words.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.files.iter().map(|file| file.slot).chain(self.others.iter().copied())
    }

    /// Whether the words of a shard were asked.
    pub(super) fn has_asked(&self, shard: usize) -> bool {
        self.shards.get(shard).is_some_and(|is_asked| *is_asked)
    }

    /// Finds the places of candidates. Nearly all of them are in order of their slots.
    pub(super) fn find_places(&mut self, slots: &[u32]) {
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

    /// Returns the lines of a candidate.
    pub(super) fn of_candidate(&self, index: usize) -> Option<LinesOfFile<'_>> {
        let file = self.files.get(*self.places.get(index)? as usize)?;
        Some(LinesOfFile { lines: &self.lines[file.start..file.end], version: file.version })
    }

    fn has_enough(&self, enough: EnoughResults) -> bool {
        self.lines.len() > enough.lines && self.files.len() > enough.files
    }
}

impl Index {
    /// Looks up the lines that may match.
    pub(super) fn known_lines(
        &self,
        content: &ContentQuery<'_>,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> KnownLines {
        let mut known = match content.words {
            None => KnownLines::default(),
            Some(plan) if plan.is_exact => self.matching_lines(content, &plan.parts[0], is_meant),
            Some(plan) => self.lines_to_read(content, plan, is_meant),
        };
        // The files of each shard are in order.
        known.files.sort_by_key(|file| file.slot);
        known
    }

    /// Returns the lines that match, if a word that matches `part` is all it takes. Files are looked up in order of
    /// their paths, until there are enough results.
    fn matching_lines(
        &self,
        content: &ContentQuery<'_>,
        part: &WordPart,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> KnownLines {
        let mut known = KnownLines::default();
        let shards = self.postings.shards.iter();
        let words = shards.map(|shard| shard.tables.words.get().map(|words| &**words));
        let mut readers: Vec<Option<WordReader<'_>>> =
            words.map(|words| words.map(|words| words.reader(part))).collect();
        known.shards = readers.iter().map(Option::is_some).collect();
        let all = self.names.listed().len();
        let mut from = 0;
        while from < usize::MAX {
            let to = match from {
                _ if !self.is_in_order() => usize::MAX,
                0 => all / FIRST_SHARE_OF_FILES + 1,
                from => next_end(&known, content.enough, from, all),
            };
            let readers = self.postings.shards.iter().zip(&mut readers).enumerate();
            for (number, (shard, reader)) in readers {
                let Some(reader) = reader else { continue };
                let end = shard.slots.partition_point(|slot| (*slot as usize) < to);
                let found = reader.read_to(end);
                self.add_known(content, &found, (number, shard), is_meant, &mut known);
            }
            from = to;
            if known.has_enough(content.enough) {
                known.is_cut = from < all;
                break;
            }
        }
        known
    }

    /// Whether the documents of all shards are in order of their paths.
    fn is_in_order(&self) -> bool {
        let listed = self.names.listed().len();
        let mut shards = self.postings.shards.iter();
        shards.all(|shard| {
            shard.is_in_order && shard.slots.last().is_none_or(|last| (*last as usize) < listed)
        })
    }

    /// Returns the lines that have all words of a plan and may match. If the words are too common, returns nothing.
    fn lines_to_read(
        &self,
        content: &ContentQuery<'_>,
        plan: &WordPlan,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> KnownLines {
        let mut known = KnownLines::default();
        let shards = self.postings.shards.iter().map(|shard| shard.tables.words.get());
        let found = shards.map(|words| words.map(|words| (words, words.find_words(plan))));
        let found: Vec<Option<(&Arc<WordPostings>, FoundWords)>> = found.collect();
        let bytes: usize = found.iter().flatten().map(|(_, found)| found.list_bytes()).sum();
        let most = content.enough.lines.max(content.enough.files);
        if bytes > most.saturating_mul(LIST_BYTES_PER_RESULT) {
            return known;
        }
        known.shards = found.iter().map(Option::is_some).collect();
        for (number, shard) in self.postings.shards.iter().enumerate() {
            let Some((words, found)) = &found[number] else { continue };
            let found = words.lines(plan, found);
            self.add_known(content, &found, (number, shard), is_meant, &mut known);
        }
        known
    }

    /// Returns the slot of a document, if the document is still current.
    pub(super) fn current(&self, number: usize, shard: &Shard, doc: DocId) -> Option<u32> {
        let slot = *shard.slots.get(usize::from(doc))?;
        let file = self.files.get(slot as usize)?;
        (file.state == FileState::Packed(number as u16, doc)).then_some(slot)
    }

    /// Adds the files that have the words, and their lines if these are known.
    fn add_known(
        &self,
        content: &ContentQuery<'_>,
        found: &WordLines,
        (number, shard): (usize, &Shard),
        is_meant: &dyn Fn(u32) -> bool,
        known: &mut KnownLines,
    ) {
        let mut from = 0;
        for (doc, to) in &found.docs {
            let lines = found.lines.get(from..*to);
            from = *to;
            let slot = self.current(number, shard, *doc).filter(|slot| is_meant(*slot));
            let Some(slot) = slot else { continue };
            let file = &self.files[slot as usize];
            // With lines around them, other lines of such a file are searched.
            let is_other =
                content.has_context && file.text.as_ref().is_some_and(|it| it.is_beginning);
            let Some(lines) = lines.filter(|_| !is_other) else {
                known.others.push(slot);
                continue;
            };
            let start = known.lines.len();
            known.lines.extend_from_slice(lines);
            let (version, end) = (file.version, known.lines.len());
            known.files.push(KnownLinesPlace { slot, version, start, end });
        }
    }
}

/// Returns up to which file lines are looked up next, so that there are most likely enough then.
fn next_end(known: &KnownLines, enough: EnoughResults, from: usize, all: usize) -> usize {
    let end = |found: usize, enough: usize| from.saturating_mul(enough) / found.max(1);
    let end = end(known.lines.len(), enough.lines).max(end(known.files.len(), enough.files));
    let end = end.saturating_add(end / 4).max(from * 2);
    // The rest is soon looked up.
    if end > all / 2 { usize::MAX } else { end }
}
