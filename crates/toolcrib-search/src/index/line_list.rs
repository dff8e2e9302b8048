//! Lists of lines: the distances between them as variable-length numbers.

use std::ops::Range;

use crate::index::posting_list::read_number;

/// A place in a list.
pub(super) struct ListCursor {
    /// Where the rest of the list is among all lists.
    at: u32,
    end: u32,
    /// The next line; [`u32::MAX`] at the end of the list.
    line: u32,
}

impl ListCursor {
    /// Returns the beginning of a list.
    pub(super) fn new(lists: &[u8], range: Range<usize>) -> Self {
        let list = &lists[range.clone()];
        let (line, length) = distance(list).map_or((u32::MAX, 0), |(distance, length)| {
            // The first distance is one more than the first line, so that it is never 0.
            (distance.saturating_sub(1), length)
        });
        Self { at: (range.start + length) as u32, end: range.end as u32, line }
    }

    /// Returns the next line; [`u32::MAX`] at the end of the list.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Reads the lines before `end`.
    pub(super) fn read_before(&mut self, lists: &[u8], end: u32, mut each: impl FnMut(u32)) {
        let mut list = &lists[self.at as usize..self.end as usize];
        while self.line < end {
            each(self.line);
            self.line = match distance(list) {
                None => u32::MAX,
                Some((distance, length)) => {
                    list = &list[length..];
                    self.line.saturating_add(distance)
                }
            };
        }
        self.at = self.end - list.len() as u32;
    }
}

/// Reads the first distance of a list; returns it with its length in bytes.
fn distance(list: &[u8]) -> Option<(u32, usize)> {
    match list.first()? {
        // Most lines are near.
        byte if byte & 0x80 == 0 => Some((u32::from(*byte), 1)),
        _ => read_number(list),
    }
}

/// Returns the lines of a range that one of the lists has, in order. The lists have `bytes` bytes.
pub(super) fn union(
    lists: &[u8],
    cursors: &mut [ListCursor],
    bytes: usize,
    range: Range<u32>,
) -> Vec<u32> {
    if cursors.len() <= 1 || bytes < range.len() / 256 {
        let mut lines = Vec::new();
        for cursor in cursors.iter_mut() {
            cursor.read_before(lists, range.end, |line| lines.push(line));
        }
        if cursors.len() > 1 {
            lines.sort_unstable();
            lines.dedup();
        }
        return lines;
    }
    let mut set = LineSet::new(range.clone());
    for cursor in cursors {
        cursor.read_before(lists, range.end, |line| set.add(line));
    }
    set.to_lines()
}

/// A set of lines: one bit for each line of a range.
pub(super) struct LineSet {
    start: u32,
    bits: Vec<u64>,
}

impl LineSet {
    pub(super) fn new(range: Range<u32>) -> Self {
        Self { start: range.start, bits: vec![0; range.len() / 64 + 1] }
    }

    pub(super) fn add(&mut self, line: u32) {
        let line = line - self.start;
        self.bits[(line >> 6) as usize] |= 1 << (line & 63);
    }

    pub(super) fn has(&self, line: u32) -> bool {
        let line = line - self.start;
        self.bits[(line >> 6) as usize] & (1 << (line & 63)) != 0
    }

    fn to_lines(&self) -> Vec<u32> {
        let count = self.bits.iter().map(|bits| bits.count_ones() as usize).sum();
        let mut lines = Vec::with_capacity(count);
        for (at, bits) in self.bits.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                lines.push(self.start + at as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        lines
    }
}
