//! The distinct words of a shard. The trigrams of each block of words say which blocks a search has to look at.

use std::ops::Range;

use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::RegexMatcher;

use crate::index::posting_list::DocId;
use crate::index::shard_postings::{MAX_DOCS, Postings, PostingsBuilder};
use crate::word_plan::{WordMatcher, WordPart};

/// How many words a block has, unless there would be too many blocks.
const WORDS_PER_BLOCK: usize = 8;

/// How many entries of a trigram's list are read to rule out one block. Looking at a block takes about as long.
const LIST_ENTRIES_PER_BLOCK: usize = 12;

/// The distinct words of a shard, numbered from 0.
pub(super) struct WordTable {
    /// The words, one a line.
    text: Box<[u8]>,
    words_per_block: usize,
    /// Where each block ends in the text.
    block_ends: Vec<u32>,
    /// The trigrams of the blocks, which are the documents of these postings.
    trigrams: Postings,
}

impl WordTable {
    /// Makes a table of `count` words, one a line.
    pub(super) fn new(text: Box<[u8]>, count: usize) -> Self {
        let words_per_block = count.div_ceil(MAX_DOCS).max(WORDS_PER_BLOCK);
        let mut block_ends = Vec::with_capacity(count.div_ceil(words_per_block));
        let mut trigrams = PostingsBuilder::new();
        let mut from = 0;
        while from < text.len() {
            let mut ends = memchr::memchr_iter(b'\n', &text[from..]);
            let end = ends.nth(words_per_block - 1).map_or(text.len(), |end| from + end + 1);
            trigrams.add(&text[from..end]);
            trigrams.end();
            block_ends.push(end as u32);
            from = end;
        }
        Self { text, words_per_block, block_ends, trigrams: trigrams.build() }
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.block_ends.len() * 4 + self.trigrams.bytes()
    }

    /// Returns the blocks that may have words that match a part of a pattern, in order.
    pub(super) fn blocks(&self, part: &WordPart) -> Vec<DocId> {
        let found = self.trigrams.find(&part.query, LIST_ENTRIES_PER_BLOCK);
        found.unwrap_or_else(|| (0..self.block_ends.len()).map(|block| block as DocId).collect())
    }

    /// Returns the first word of a block.
    pub(super) fn first_word(&self, block: DocId) -> u32 {
        (usize::from(block) * self.words_per_block) as u32
    }

    /// Adds the words of some blocks that match a part of a pattern to `found`, in order.
    pub(super) fn find(&self, part: &WordPart, blocks: &[DocId], found: &mut Vec<u32>) {
        for run in blocks.chunk_by(|a, b| usize::from(*a) + 1 == usize::from(*b)) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let range = self.start(first)..self.block_ends[usize::from(last)] as usize;
            let words = RunOfWords { text: &self.text, range, number: self.first_word(first) };
            match &part.matcher {
                WordMatcher::Literal(literal) => words.find(
                    found,
                    |text| literal.finder.find(text),
                    |word| literal.admits_all() || literal.admits(word),
                ),
                WordMatcher::Regex(matcher) => words.find(
                    found,
                    |text| next_candidate(matcher, text),
                    |word| matcher.is_match(word).unwrap_or(false),
                ),
            }
        }
    }

    fn start(&self, block: DocId) -> usize {
        let before = usize::from(block).checked_sub(1);
        before.map_or(0, |before| self.block_ends[before] as usize)
    }
}

/// Words in a row.
struct RunOfWords<'a> {
    text: &'a [u8],
    range: Range<usize>,
    /// The number of the first word.
    number: u32,
}

impl RunOfWords<'_> {
    /// Adds the numbers of the words that match: `next` returns a place in the next word that may, and `is_match`
    /// whether it does.
    fn find(
        self,
        found: &mut Vec<u32>,
        next: impl Fn(&[u8]) -> Option<usize>,
        is_match: impl Fn(&[u8]) -> bool,
    ) {
        let mut rest = &self.text[self.range];
        let mut number = self.number;
        while let Some(at) = next(rest) {
            let start = memchr::memrchr(b'\n', &rest[..at]).map_or(0, |end| end + 1);
            let end = memchr::memchr(b'\n', &rest[at..]).map_or(rest.len(), |end| at + end);
            number += memchr::memchr_iter(b'\n', &rest[..start]).count() as u32;
            if is_match(&rest[start..end]) {
                found.push(number);
            }
            number += 1;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }
}

/// Returns a place in the next word that may match.
fn next_candidate(matcher: &RegexMatcher, words: &[u8]) -> Option<usize> {
    if words.is_empty() {
        return None;
    }
    match matcher.find_candidate_line(words) {
        Ok(Some(LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at))) => {
            Some(at.min(words.len() - 1))
        }
        Ok(None) => None,
        // This cannot happen; if it does, the word is looked at alone.
        Err(_) => Some(0),
    }
}
