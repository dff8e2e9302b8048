//! A text that is kept in memory. A long text has a Bloom filter for each of its parts, which says what the part does
//! not contain: a long file has almost every trigram somewhere, so that the index alone hardly ever rules it out.

use std::ops::Range;

use crate::plan::Query;
use crate::scan::mixed_text::searched_lines;
use crate::trigram::{BYTE_CLASSES, CLASS_BITS, TRIGRAM_MASK, Trigram};

/// How long a part is, up to the end of its last line.
const PART_BYTES: usize = 16 << 10;

/// Longer texts have Bloom filters.
const MAX_BYTES_WITHOUT_BLOOM: usize = 2 * PART_BYTES;

/// Log2 of the bits of a Bloom filter: about as many as the part has bytes, so that it takes an eighth of the part's
/// memory.
const BLOOM_BITS: u32 = 14;

/// The words of 64 bits that a Bloom filter has.
const BLOOM_WORDS: usize = 1 << (BLOOM_BITS - 6);

/// A plain text in memory, or the plain beginning of a text.
pub(crate) struct KeptText {
    text: Box<[u8]>,
    parts: Vec<TextPart>,
    /// Whether the file has more than this, which is not searched if no lines around matches are wanted.
    pub(crate) is_beginning: bool,
}

/// A part of a long text: whole lines.
struct TextPart {
    /// Where the part ends in the text.
    end: u32,
    /// How many lines end before that.
    lines: u32,
    /// A bit for each trigram, by its hash. Different trigrams can share a bit.
    bloom: Box<[u64; BLOOM_WORDS]>,
}

impl KeptText {
    pub(crate) fn new(text: &[u8]) -> Self {
        let mut parts = Vec::new();
        let (mut from, mut lines) = (0, 0);
        while text.len() > MAX_BYTES_WITHOUT_BLOOM && from < text.len() {
            let least = text.len().min(from + PART_BYTES);
            let end = memchr::memchr(b'\n', &text[least..]).map_or(text.len(), |at| least + at + 1);
            lines += memchr::memchr_iter(b'\n', &text[from..end]).count() as u32;
            parts.push(TextPart { end: end as u32, lines, bloom: bloom(&text[from..end]) });
            from = end;
        }
        Self { text: text.into(), parts, is_beginning: false }
    }

    /// Keeps the lines of a mixed text that are searched.
    pub(crate) fn of_mixed(text: &[u8]) -> Option<Self> {
        Some(Self { is_beginning: true, ..Self::new(searched_lines(text)?) })
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.parts.len() * (size_of::<TextPart>() + BLOOM_WORDS * 8)
    }

    /// Returns the pieces of the text where lines may have what `query` asks for: whole lines, and no longer than
    /// `most` bytes unless a part is. Returns nothing if the text has no Bloom filters.
    pub(crate) fn pieces(&self, query: &Query, most: usize) -> Option<Vec<Range<usize>>> {
        if self.parts.is_empty() {
            return None;
        }
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut from = 0;
        for part in &self.parts {
            let end = part.end as usize;
            let has = |trigram: Trigram| {
                let bit = bit(trigram);
                part.bloom[bit >> 6] & (1 << (bit & 63)) != 0
            };
            if query.admits(&has) {
                match pieces.last_mut() {
                    Some(last) if last.end == from && end - last.start <= most => last.end = end,
                    _ => pieces.push(from..end),
                }
            }
            from = end;
        }
        Some(pieces)
    }

    /// Returns a finder of lines by their numbers.
    pub(crate) fn line_finder(&self) -> LineFinder<'_> {
        LineFinder { kept: self, at: 0, number: 0 }
    }
}

/// Finds lines by their numbers, one after the other.
pub(crate) struct LineFinder<'a> {
    kept: &'a KeptText,
    /// Where in the text the finder is: at the beginning of a line.
    at: usize,
    number: u32,
}

impl LineFinder<'_> {
    /// Returns where a line is, with its end. Lines count from 0. Each line must come after the one before. Returns
    /// nothing if the text has no such line.
    pub(crate) fn find(&mut self, number: u32) -> Option<Range<usize>> {
        let parts = &self.kept.parts;
        // The last line may have no end, so the last part can have one line more than it has line ends.
        let part = parts.partition_point(|part| part.lines <= number).min(parts.len().max(1) - 1);
        if let Some(before) = part.checked_sub(1).map(|before| &parts[before])
            && before.end as usize > self.at
        {
            (self.at, self.number) = (before.end as usize, before.lines);
        }
        let rest = self.kept.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at + after_lines(rest, number.checked_sub(self.number)? as usize)?;
        let rest = &self.kept.text[start..];
        let end = memchr::memchr(b'\n', rest).map_or(self.kept.text.len(), |end| start + end + 1);
        (self.at, self.number) = (end, number + 1);
        (start < end).then_some(start..end)
    }
}

/// Returns where a text goes on after so many lines. Counting line ends takes a fraction of the time of finding each.
fn after_lines(text: &[u8], mut lines: usize) -> Option<usize> {
    const CHUNK_BYTES: usize = 512;
    let mut at = 0;
    while let Some(chunk) = text.get(at..at + CHUNK_BYTES).filter(|_| lines > 8) {
        let ends = memchr::memchr_iter(b'\n', chunk).count();
        if ends >= lines {
            break;
        }
        lines -= ends;
        at += CHUNK_BYTES;
    }
    match lines {
        0 => Some(at),
        more => memchr::memchr_iter(b'\n', &text[at..]).nth(more - 1).map(|end| at + end + 1),
    }
}

fn bloom(part: &[u8]) -> Box<[u64; BLOOM_WORDS]> {
    let mut bloom = Box::new([0; BLOOM_WORDS]);
    let mut trigram = 0;
    for (at, byte) in part.iter().enumerate() {
        trigram = (trigram << CLASS_BITS | u32::from(BYTE_CLASSES[*byte as usize])) & TRIGRAM_MASK;
        if at >= 2 {
            let bit = bit(trigram);
            bloom[bit >> 6] |= 1 << (bit & 63);
        }
    }
    bloom
}

/// Returns the bit of a trigram in a Bloom filter.
fn bit(trigram: Trigram) -> usize {
    (trigram.wrapping_mul(0x9e37_79b1) >> (32 - BLOOM_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use toolcrib_core::search::Pattern;

    use super::*;
    use crate::pattern::Patterns;

    fn query(text: &str) -> Query {
        let pattern = Pattern { text: text.to_owned(), is_literal: false, ignores_case: false };
        Patterns::default().compile(&pattern).unwrap().query.clone()
    }

    #[test]
    fn pieces_have_every_line_that_matches_and_little_else() {
        let mut text = String::new();
        for number in 0..20_000 {
            let word = if number % 5000 == 77 { "quaint" } else { "plain" };
            let _ = writeln!(text, "{number}: a {word} line");
        }
        let kept = KeptText::new(text.as_bytes());
        let pieces = kept.pieces(&query("quaint"), 1 << 20).unwrap();
        assert_eq!(pieces.len(), 4);
        for piece in &pieces {
            let piece = &text[piece.clone()];
            assert!(piece.contains("quaint") && piece.ends_with('\n') && piece.len() < 20_000);
        }
        assert!(kept.pieces(&query("zqxjkv"), 1 << 20).unwrap().is_empty());
        // A question that asks for no trigram gets everything, in pieces of the length that is wanted.
        let all = kept.pieces(&query("a."), 100_000).unwrap();
        assert!(all.len() > 3 && all.iter().all(|piece| piece.len() <= 100_000));
        assert_eq!((all[0].start, all[all.len() - 1].end), (0, text.len()));
        assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
    }

    #[test]
    fn lines_are_found_by_their_numbers() {
        for (count, last) in [(3, "end"), (3, ""), (9000, "end"), (9000, "")] {
            let mut text = String::new();
            for number in 0..count {
                let _ = writeln!(text, "line {number}");
            }
            text.push_str(last);
            let kept = KeptText::new(text.as_bytes());
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for step in [1, 2, 700, 5000] {
                let mut finder = kept.line_finder();
                for number in (0..lines.len()).step_by(step) {
                    let found = finder.find(number as u32).map(|line| &text[line]);
                    assert_eq!(found, Some(lines[number]), "{number} of {count}, by {step}");
                }
                assert_eq!(finder.find(lines.len() as u32 + 5), None);
            }
            assert_eq!(kept.line_finder().find(lines.len() as u32), None);
        }
        assert_eq!(KeptText::new(b"").line_finder().find(0), None);
    }

    #[test]
    fn short_texts_have_no_bloom_filter_and_long_lines_have_one() {
        assert!(KeptText::new(b"short").pieces(&query("short"), 1000).is_none());
        let line = "no end ".repeat(20_000);
        let kept = KeptText::new(line.as_bytes());
        let pieces = kept.pieces(&query("end no"), 1000).unwrap();
        assert!(pieces.len() == 1 && pieces[0] == (0..line.len()), "{pieces:?}");
        assert!(kept.pieces(&query("other"), 1000).unwrap().is_empty());
    }
}
