//! The index of words: for each word, the lines of a shard that have it. So a search for a name, or for words in a row,
//! knows its lines before it has read a text.

use std::ops::Range;

use crate::index::line_list::{LineSet, ListCursor, union};
use crate::index::posting_list::DocId;
use crate::index::word_table::WordTable;
use crate::word_plan::{WordPart, WordPlan};

/// The lines of an inexact plan must be read. Beyond so many, searching whole files is not slower.
const MAX_INEXACT_LINES: usize = 100_000;

/// Immutable postings of the words of a run of documents.
pub(crate) struct WordPostings {
    /// The words, in the order in which the documents have them first.
    pub(super) table: WordTable,
    /// Where the list of each word ends in the lists.
    pub(super) ends: Vec<u32>,
    /// For each word, the distances between the lines that have it, as variable-length numbers. The lines of all
    /// documents are counted as if they were one text.
    pub(super) lists: Vec<u8>,
    /// The first line of each document, and the end.
    pub(super) doc_lines: Vec<u32>,
    /// The documents whose words are not here, in order.
    pub(super) uncovered: Vec<DocId>,
}

/// The words of a shard that match the parts of a plan: for each part, the words' numbers and the bytes of their lists.
pub(crate) struct FoundWords {
    parts: Vec<(Vec<u32>, usize)>,
}

impl FoundWords {
    /// Bytes of the lists that must be read.
    pub(crate) fn list_bytes(&self) -> usize {
        self.parts.iter().map(|(_, bytes)| *bytes).min().unwrap_or(0)
    }
}

/// Lines of documents that have all the words of a plan.
#[derive(Default)]
pub(crate) struct WordLines {
    /// The documents, each with where its lines end among the lines.
    pub(crate) docs: Vec<(DocId, usize)>,
    /// The lines of all these documents, each counted from the beginning of its document. Empty if there are so many
    /// that they are of no use.
    pub(crate) lines: Vec<u32>,
}

impl WordPostings {
    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes()
            + self.lists.len()
            + (self.ends.len() + self.doc_lines.len()) * 4
            + self.uncovered.len() * 2
    }

    /// The documents whose words are not here, in order.
    pub(crate) fn uncovered(&self) -> &[DocId] {
        &self.uncovered
    }

    /// Returns the words that match the parts of a plan.
    pub(crate) fn find_words(&self, plan: &WordPlan) -> FoundWords {
        let parts = plan.parts.iter().map(|part| {
            let mut words = Vec::new();
            self.table.find(part, &self.table.blocks(part), &mut words);
            let bytes = self.list_bytes(&words);
            (words, bytes)
        });
        FoundWords { parts: parts.collect() }
    }

    /// Returns a reader of the lines that have a word which matches a part of a plan.
    pub(crate) fn reader<'a>(&'a self, part: &'a WordPart) -> WordReader<'a> {
        let blocks = self.table.blocks(part);
        let (next_block, next_doc) = (0, 0);
        WordReader {
            postings: self,
            part,
            blocks,
            next_block,
            lists: Vec::new(),
            bytes: 0,
            next_doc,
        }
    }

    fn cursor(&self, word: u32) -> ListCursor {
        ListCursor::new(&self.lists, self.list_range(word))
    }

    fn list_range(&self, word: u32) -> Range<usize> {
        let word = word as usize;
        let start = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[word] as usize
    }

    fn list_bytes(&self, words: &[u32]) -> usize {
        words.iter().map(|word| self.list_range(*word).len()).sum()
    }

    /// Returns how many words the lines before one have.
    fn words_before(&self, line: u32) -> u32 {
        let (mut low, mut high) = (0, self.ends.len() as u32);
        while low < high {
            let middle = u32::midpoint(low, high);
            if self.cursor(middle).line() < line {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the lines that have all the words.
    pub(crate) fn lines(&self, plan: &WordPlan, words: &FoundWords) -> WordLines {
        let mut parts: Vec<&(Vec<u32>, usize)> = words.parts.iter().collect();
        parts.sort_unstable_by_key(|(_, bytes)| *bytes);
        let mut parts = parts.into_iter();
        let Some((rarest, _)) = parts.next() else { return WordLines::default() };
        let mut lines = self.union(rarest);
        for (words, bytes) in parts {
            // A long list is not worth it for a few lines, which are read anyway.
            if lines.is_empty() || *bytes > lines.len() * 1000 {
                break;
            }
            let mut other = LineSet::new(0..self.line_count());
            for word in words {
                self.cursor(*word).read_before(&self.lists, u32::MAX, |line| other.add(line));
            }
            lines.retain(|line| other.has(*line));
        }
        let is_useful = plan.is_exact || lines.len() <= MAX_INEXACT_LINES;
        let mut found = self.by_doc(lines, 0);
        if !is_useful {
            found.lines = Vec::new();
        }
        found
    }

    /// Returns the lines that have one of the words, in order.
    fn union(&self, words: &[u32]) -> Vec<u32> {
        let mut lists: Vec<_> = words.iter().map(|word| self.cursor(*word)).collect();
        union(&self.lists, &mut lists, self.list_bytes(words), 0..self.line_count())
    }

    fn line_count(&self) -> u32 {
        self.doc_lines.last().copied().unwrap_or(0)
    }

    /// Divides lines among their documents, of which none is before `doc`.
    fn by_doc(&self, mut lines: Vec<u32>, mut doc: usize) -> WordLines {
        let mut docs = Vec::new();
        let mut at = 0;
        while let Some(first) = lines.get(at) {
            // The next document is most likely near.
            let mut step = 1;
            while self.doc_lines.get(doc + step).is_some_and(|end| end <= first) {
                step *= 2;
            }
            let near = &self.doc_lines[doc + 1..self.doc_lines.len().min(doc + step)];
            doc += near.partition_point(|end| end <= first);
            let (start, end) = (self.doc_lines[doc], self.doc_lines[doc + 1]);
            while let Some(line) = lines.get_mut(at).filter(|line| **line < end) {
                *line -= start;
                at += 1;
            }
            docs.push((doc as DocId, at));
        }
        WordLines { docs, lines }
    }
}

/// Reads the lines that have a word which matches, from the first document on. Words that occur only in later documents
/// are not looked at.
pub(crate) struct WordReader<'a> {
    postings: &'a WordPostings,
    part: &'a WordPart,
    /// The blocks of words that may match.
    blocks: Vec<DocId>,
    /// The first of them that was not looked at.
    next_block: usize,
    /// The lists of the words that match, so far.
    lists: Vec<ListCursor>,
    /// Bytes of these lists.
    bytes: usize,
    /// The first document that was not read.
    next_doc: usize,
}

impl WordReader<'_> {
    /// Returns the lines of the next documents, up to and without `end`.
    pub(crate) fn read_to(&mut self, end: usize) -> WordLines {
        let postings = self.postings;
        let end = end.min(postings.doc_lines.len() - 1).max(self.next_doc);
        let lines = postings.doc_lines[self.next_doc]..postings.doc_lines[end];
        self.find_words(postings.words_before(lines.end));
        let lines = union(&postings.lists, &mut self.lists, self.bytes, lines);
        postings.by_doc(lines, std::mem::replace(&mut self.next_doc, end))
    }

    /// Finds the words up to and without `end` that match, and maybe some after it.
    fn find_words(&mut self, end: u32) {
        let (postings, mut words) = (self.postings, Vec::new());
        let blocks = &self.blocks[self.next_block..];
        let blocks =
            &blocks[..blocks.partition_point(|block| postings.table.first_word(*block) < end)];
        postings.table.find(self.part, blocks, &mut words);
        self.next_block += blocks.len();
        self.bytes += postings.list_bytes(&words);
        self.lists.extend(words.iter().map(|word| postings.cursor(*word)));
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use grep_matcher::Matcher;
    use toolcrib_core::search::Pattern;

    use super::*;
    use crate::index::word_builder::WordBuilder;
    use crate::pattern::Patterns;

    /// Returns the lines that have the words of a pattern, by document.
    fn find(words: &WordPostings, text: &str) -> Vec<(DocId, Vec<u32>)> {
        let pattern = Pattern { text: text.to_owned(), is_literal: false, ignores_case: false };
        let compiled = Patterns::default().compile(&pattern).unwrap();
        let plan = compiled.words.as_ref().unwrap();
        let found = words.lines(plan, &words.find_words(plan));
        let mut from = 0;
        let docs = found.docs.into_iter().map(|(doc, to)| {
            let lines = found.lines[from..to].to_vec();
            from = to;
            (doc, lines)
        });
        docs.collect()
    }

    /// Returns the lines that a reader finds, so many documents at a time.
    fn read(words: &WordPostings, text: &str, docs_at_a_time: usize) -> Vec<(DocId, Vec<u32>)> {
        let pattern = Pattern { text: text.to_owned(), is_literal: false, ignores_case: false };
        let compiled = Patterns::default().compile(&pattern).unwrap();
        let mut reader = words.reader(&compiled.words.as_ref().unwrap().parts[0]);
        let mut all = Vec::new();
        for end in (0..words.doc_lines.len() + docs_at_a_time).step_by(docs_at_a_time) {
            let found = reader.read_to(end);
            let mut from = 0;
            for (doc, to) in found.docs {
                all.push((doc, found.lines[from..to].to_vec()));
                from = to;
            }
        }
        all
    }

    #[test]
    fn words_are_found_on_their_lines() {
        let mut builder = WordBuilder::new(1 << 20);
        builder.add(Some(b"Pod and PodSpec\nnothing\nPodSpec"));
        builder.add(None);
        builder.add(Some(b""));
        builder.add(Some(b"\n\nmyPod\n"));
        builder.add(Some(b"and podspec\n\xc3\xa9Pod and more\n"));
        let words = builder.build();
        assert_eq!(words.uncovered(), [1]);
        assert_eq!(find(&words, "Pod"), [(0, vec![0, 2]), (3, vec![2]), (4, vec![1])]);
        assert_eq!(find(&words, r"\bPod\b"), [(0, vec![0])]);
        assert_eq!(find(&words, "(?i)podspec"), [(0, vec![0, 2]), (4, vec![0])]);
        assert_eq!(find(&words, r"Pod\W+and"), [(0, vec![0]), (4, vec![1])]);
        assert_eq!(find(&words, "missing"), []);
    }

    #[test]
    fn a_text_that_does_not_fit_is_not_covered() {
        let mut builder = WordBuilder::new(40_000);
        builder.add(Some(b"some words\n"));
        builder.add(Some(&b"some more words\n".repeat(1000)));
        builder.add(Some(b"the last words\n"));
        let words = builder.build();
        assert_eq!(words.uncovered(), [1]);
        assert_eq!(find(&words, "words"), [(0, vec![0]), (2, vec![0])]);
    }

    #[test]
    fn common_and_rare_words_give_the_lines_that_have_them() {
        let mut texts: Vec<String> = Vec::new();
        for doc in 0..40 {
            let mut text = String::new();
            for line in 0..200_usize {
                let word = [doc * 7 + line * line % 600, line * 31 % 450, doc];
                let _ = writeln!(text, "word{} other{} = {};", word[0], word[1], word[2]);
            }
            texts.push(text);
        }
        let mut builder = WordBuilder::new(1 << 24);
        for text in &texts {
            builder.add(Some(text.as_bytes()));
        }
        let words = builder.build();
        for pattern in ["word", "word1", r"word17\b", "other9", "word[0-9]3", "ord449", "her"] {
            let regex = grep_regex::RegexMatcher::new(pattern).unwrap();
            let mut expect: Vec<(DocId, Vec<u32>)> = Vec::new();
            for (doc, text) in texts.iter().enumerate() {
                let lines = text.lines().enumerate();
                let lines = lines.filter(|(_, line)| regex.is_match(line.as_bytes()).unwrap());
                let lines: Vec<u32> = lines.map(|(number, _)| number as u32).collect();
                if !lines.is_empty() {
                    expect.push((doc as DocId, lines));
                }
            }
            assert_eq!(find(&words, pattern), expect, "{pattern}");
            for docs_at_a_time in [1, 7, 39, 100] {
                assert_eq!(read(&words, pattern, docs_at_a_time), expect, "{pattern}");
            }
        }
    }
}
