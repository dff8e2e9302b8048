//! The index of words: for each word, the lines of a shard that have it. So a search for a name, or for words in a row,
//! knows its lines before it has read a text.

use grep_matcher::{LineMatchKind, Matcher};

use crate::index::posting_list::DocId;
use crate::scan::kept_text::KeptText;
use crate::word_plan::{WordPart, WordPlan};

/// The lines of an inexact plan must be read. Beyond so many, searching whole files is not slower.
const MAX_INEXACT_LINES: usize = 20_000;

/// Immutable postings of the words of a run of documents.
pub(crate) struct WordPostings {
    /// The words, one a line. The number of a word is that of its line.
    pub(super) words: KeptText,
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
        self.words.bytes()
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
            let words = self.matching_words(part);
            let bytes = words.iter().map(|word| self.list(*word).len()).sum();
            (words, bytes)
        });
        FoundWords { parts: parts.collect() }
    }

    fn matching_words(&self, part: &WordPart) -> Vec<u32> {
        let text = self.words.text();
        let pieces = self.words.pieces(&part.query, usize::MAX);
        let whole = std::iter::once(0..text.len());
        let pieces: Vec<_> = pieces.unwrap_or_else(|| whole.collect());
        let matcher = &part.matcher;
        let mut found = Vec::new();
        for piece in pieces {
            let mut number = self.words.lines_before(&piece) as u32;
            let mut rest = &text[piece];
            while let Some(at) = next_candidate(matcher, rest) {
                let start = memchr::memrchr(b'\n', &rest[..at]).map_or(0, |end| end + 1);
                let end = memchr::memchr(b'\n', &rest[at..]).map_or(rest.len(), |end| at + end);
                number += memchr::memchr_iter(b'\n', &rest[..start]).count() as u32;
                if matcher.is_match(&rest[start..end]).unwrap_or(false) {
                    found.push(number);
                }
                number += 1;
                rest = rest.get(end + 1..).unwrap_or_default();
            }
        }
        found
    }

    fn list(&self, word: u32) -> &[u8] {
        let word = word as usize;
        let start = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.lists[start as usize..self.ends[word] as usize]
    }

    /// Returns the lines that have all the words.
    pub(crate) fn lines(&self, plan: &WordPlan, mut words: FoundWords) -> WordLines {
        words.parts.sort_unstable_by_key(|(_, bytes)| *bytes);
        let mut parts = words.parts.into_iter();
        let Some((rarest, _)) = parts.next() else { return WordLines::default() };
        let mut lines = self.union(&rarest);
        for (words, bytes) in parts {
            // A long list is not worth it for a few lines, which are read anyway.
            if lines.is_empty() || bytes > lines.len() * 1000 {
                break;
            }
            let other = self.bitmap(&words);
            lines.retain(|line| other[(line >> 6) as usize] & (1 << (line & 63)) != 0);
        }
        let is_useful = plan.is_exact || lines.len() <= MAX_INEXACT_LINES;
        let mut found = self.by_doc(lines);
        if !is_useful {
            found.lines = Vec::new();
        }
        found
    }

    /// Returns the lines that have one of the words, in order.
    fn union(&self, words: &[u32]) -> Vec<u32> {
        if let [one] = words {
            return numbers(self.list(*one)).collect();
        }
        let bytes: usize = words.iter().map(|word| self.list(*word).len()).sum();
        if bytes < self.line_count() / 256 {
            let mut lines = Vec::with_capacity(bytes);
            for word in words {
                lines.extend(numbers(self.list(*word)));
            }
            lines.sort_unstable();
            lines.dedup();
            return lines;
        }
        let mut lines = Vec::with_capacity(bytes);
        for (at, mut bits) in self.bitmap(words).into_iter().enumerate() {
            while bits != 0 {
                lines.push(at as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        lines
    }

    fn bitmap(&self, words: &[u32]) -> Vec<u64> {
        let mut bitmap = vec![0; self.line_count() / 64 + 1];
        for word in words {
            for line in numbers(self.list(*word)) {
                bitmap[(line >> 6) as usize] |= 1 << (line & 63);
            }
        }
        bitmap
    }

    fn line_count(&self) -> usize {
        self.doc_lines.last().map_or(0, |end| *end as usize)
    }

    /// Divides lines among their documents.
    fn by_doc(&self, mut lines: Vec<u32>) -> WordLines {
        let mut docs = Vec::new();
        let (mut doc, mut at) = (0, 0);
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

/// Returns a place on the next line that may match.
fn next_candidate(matcher: &grep_regex::RegexMatcher, words: &[u8]) -> Option<usize> {
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

/// Decodes a list: lines counted from 0.
fn numbers(list: &[u8]) -> impl Iterator<Item = u32> {
    let mut bytes = list.iter();
    let mut last = 0_u32;
    std::iter::from_fn(move || {
        let mut byte = *bytes.next()?;
        let mut number = u32::from(byte & 0x7f);
        let mut shift = 7;
        while byte & 0x80 != 0 {
            byte = *bytes.next()?;
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
        }
        last += number;
        // The first distance is one more than the first line, so that it is never 0.
        Some(last - 1)
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use toolcrib_core::search::Pattern;

    use super::*;
    use crate::index::word_builder::WordBuilder;
    use crate::pattern::Patterns;

    /// Returns the lines that have the words of a pattern, by document.
    fn find(words: &WordPostings, text: &str) -> Vec<(DocId, Vec<u32>)> {
        let pattern = Pattern { text: text.to_owned(), is_literal: false, ignores_case: false };
        let compiled = Patterns::default().compile(&pattern).unwrap();
        let plan = compiled.words.as_ref().unwrap();
        let found = words.lines(plan, words.find_words(plan));
        let mut from = 0;
        let docs = found.docs.into_iter().map(|(doc, to)| {
            let lines = found.lines[from..to].to_vec();
            from = to;
            (doc, lines)
        });
        docs.collect()
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
        }
    }
}
