//! The builder of an index of words: collects the words of texts, line by line.

use std::hash::Hasher;

use crate::index::posting_list::{DocId, push_number};
use crate::index::word_postings::WordPostings;
use crate::index::word_table::WordTable;
use crate::word_plan::is_word_byte;

/// Stands for the end of a line in the stream of words.
const LINE_END: u32 = u32::MAX;

/// Stands for no word in the table of words.
const NO_WORD: u32 = u32::MAX;

/// How many places the table of words has at first: a power of two.
const FIRST_TABLE_LEN: usize = 1 << 12;

/// Which bytes belong to words.
static WORD_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_word_byte(byte as u8);
        byte += 1;
    }
    table
};

/// Collects the words of documents, one after the other.
pub(crate) struct WordBuilder {
    /// The words, one a line, in the order in which they were met.
    text: Vec<u8>,
    words: Vec<CollectedWord>,
    /// The words by hash: a power of two of places, half of them free.
    table: Vec<u32>,
    /// The words of each line, once each.
    stream: Vec<u32>,
    /// How many lines there are so far.
    line: u32,
    /// The first line of each document.
    doc_lines: Vec<u32>,
    uncovered: Vec<DocId>,
    /// The most bytes that the builder may take.
    room: usize,
}

struct CollectedWord {
    hash: u32,
    /// Where the word begins and ends in the text of all words.
    start: u32,
    end: u32,
    /// One more than the last line that has the word.
    last: u32,
    /// How many bytes the word's list takes.
    bytes: u32,
}

impl WordBuilder {
    /// Makes a builder that takes up to about `room` bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self {
            text: Vec::new(),
            words: Vec::new(),
            table: vec![NO_WORD; FIRST_TABLE_LEN],
            stream: Vec::new(),
            line: 0,
            doc_lines: vec![0],
            uncovered: Vec::new(),
            room,
        }
    }

    /// Adds the next document: its text, if there is one and it fits.
    pub(crate) fn add(&mut self, text: Option<&[u8]>) {
        match text.filter(|text| self.has_room_for(text)) {
            Some(text) => self.add_text(text),
            None => self.uncovered.push((self.doc_lines.len() - 1) as DocId),
        }
        self.doc_lines.push(self.line);
    }

    /// Whether a text surely fits. A text of `n` bytes has at most `n` words and line ends. Each takes four bytes, or
    /// more than that if it is a new word and as many bytes long.
    fn has_room_for(&self, text: &[u8]) -> bool {
        let used = self.text.len()
            + self.words.len() * size_of::<CollectedWord>()
            + (self.table.len() + self.stream.len()) * 4;
        used + text.len().saturating_mul(4) <= self.room
    }

    fn add_text(&mut self, text: &[u8]) {
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            if !WORD_BYTES[usize::from(*byte)] {
                if *byte == b'\n' {
                    self.stream.push(LINE_END);
                    self.line += 1;
                }
                at += 1;
                continue;
            }
            let rest = &text[at..];
            let length = rest.iter().position(|byte| !WORD_BYTES[usize::from(*byte)]);
            let length = length.unwrap_or(rest.len());
            self.add_word(&rest[..length]);
            at += length;
        }
        // The last line may have no end of its own.
        self.stream.push(LINE_END);
        self.line += 1;
    }

    fn add_word(&mut self, word: &[u8]) {
        let number = self.number(word);
        let known = &mut self.words[number as usize];
        let distance = self.line + 1 - known.last;
        if distance > 0 {
            known.last = self.line + 1;
            known.bytes += number_len(distance);
            self.stream.push(number);
        }
    }

    /// Returns the number of a word, which is new if it was not met before.
    fn number(&mut self, word: &[u8]) -> u32 {
        let hash = hash(word);
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let number = self.table[place];
            if number == NO_WORD {
                break;
            }
            let known = &self.words[number as usize];
            if known.hash == hash && self.text[known.start as usize..known.end as usize] == *word {
                return number;
            }
            place = (place + 1) & mask;
        }
        let number = self.words.len() as u32;
        self.table[place] = number;
        let start = self.text.len() as u32;
        self.text.extend_from_slice(word);
        let end = self.text.len() as u32;
        self.text.push(b'\n');
        self.words.push(CollectedWord { hash, start, end, last: 0, bytes: 0 });
        if self.words.len() * 2 > self.table.len() {
            self.grow_table();
        }
        number
    }

    fn grow_table(&mut self) {
        let mask = self.table.len() * 2 - 1;
        self.table = vec![NO_WORD; mask + 1];
        for (number, word) in self.words.iter().enumerate() {
            let mut place = word.hash as usize & mask;
            while self.table[place] != NO_WORD {
                place = (place + 1) & mask;
            }
            self.table[place] = number as u32;
        }
    }

    /// Makes postings of what was collected.
    pub(crate) fn build(mut self) -> WordPostings {
        let mut ends = Vec::with_capacity(self.words.len());
        let mut sum = 0;
        for word in &mut self.words {
            // From now on, this is where the next number goes.
            sum += std::mem::replace(&mut word.bytes, sum);
            word.last = 0;
            ends.push(sum);
        }
        let mut lists = vec![0; sum as usize];
        let mut line = 1;
        let mut encoded = Vec::with_capacity(5);
        for number in std::mem::take(&mut self.stream) {
            if number == LINE_END {
                line += 1;
                continue;
            }
            let word = &mut self.words[number as usize];
            encoded.clear();
            push_number(&mut encoded, line - word.last);
            let at = word.bytes as usize;
            lists[at..at + encoded.len()].copy_from_slice(&encoded);
            word.bytes += encoded.len() as u32;
            word.last = line;
        }
        WordPostings {
            table: WordTable::new(self.text.into(), ends.len()),
            ends,
            lists,
            doc_lines: self.doc_lines,
            uncovered: self.uncovered,
        }
    }
}

/// Returns how many bytes a variable-length number takes.
fn number_len(number: u32) -> u32 {
    (number.max(1).ilog2() + 7) / 7
}

fn hash(word: &[u8]) -> u32 {
    let mut hasher = WordHasher(word.len() as u64);
    hasher.write(word);
    hasher.finish() as u32
}

/// A fast hash of short texts. Nobody gains by making words collide: that costs the time of one search at most.
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        let mut add = |chunk: u64| {
            let mixed = u128::from(self.0 ^ chunk) * 0x9e37_79b9_7f4a_7c15;
            self.0 = (mixed >> 64) as u64 ^ mixed as u64;
        };
        for chunk in &mut chunks {
            add(u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        }
        let mut last = [0; 8];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        add(u64::from_le_bytes(last));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
