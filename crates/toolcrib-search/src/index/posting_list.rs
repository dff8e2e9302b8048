//! Posting lists: sorted lists of documents, compressed to a few bits a document.

/// The number of a document (an indexed file) in its postings.
pub(crate) type DocId = u16;

/// Marks a list that is stored as a bitmap, one bit a document.
const BITMAP_MARK: u8 = 0xff;

/// Appends a variable-length number, seven bits a byte.
pub(crate) fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a variable-length number; returns it with its length in bytes.
pub(crate) fn read_number(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut number = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        number |= u32::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

/// Compresses a list of at least two documents out of `docs`: their distances as Golomb-Rice codes, or a bitmap
/// where that is shorter.
pub(crate) fn encode(bytes: &mut Vec<u8>, list: &[DocId], docs: usize) {
    let mean = docs / list.len();
    let low_bits = (mean * 7 / 10).max(1).ilog2();
    let cost = list.len() * (low_bits as usize + 1) + (docs >> low_bits);
    if cost >= docs {
        bytes.push(BITMAP_MARK);
        let start = bytes.len();
        bytes.resize(start + docs.div_ceil(8), 0);
        for doc in list {
            bytes[start + usize::from(*doc >> 3)] |= 1 << (doc & 7);
        }
        return;
    }
    bytes.push(low_bits as u8);
    let mut writer = BitWriter { bytes, buffer: 0, filled: 0 };
    let mut next = 0_u32;
    for doc in list {
        let distance = u32::from(*doc) - next;
        next = u32::from(*doc) + 1;
        writer.write_ones(distance >> low_bits);
        writer.write(u64::from(distance & ((1 << low_bits) - 1)), low_bits);
    }
    writer.finish();
}

/// Decompresses a list of `count` documents out of `docs`.
pub(crate) fn decode(bytes: &[u8], count: usize, docs: usize) -> Vec<DocId> {
    let mut list = Vec::with_capacity(count.min(docs));
    let Some((kind, bytes)) = bytes.split_first() else { return list };
    if *kind == BITMAP_MARK {
        for (index, byte) in bytes.iter().take(docs.div_ceil(8)).enumerate() {
            let mut byte = *byte;
            while byte != 0 {
                list.push((index * 8) as DocId + byte.trailing_zeros() as DocId);
                byte &= byte - 1;
            }
        }
        return list;
    }
    let low_bits = u32::from(*kind).min(16);
    let mut reader = BitReader { bytes, at: 0 };
    let mut next = 0_u32;
    for _ in 0..count.min(docs) {
        let doc = next.wrapping_add(reader.read(low_bits));
        list.push(doc as DocId);
        next = doc.wrapping_add(1);
    }
    list
}

struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    buffer: u64,
    filled: u32,
}

impl BitWriter<'_> {
    fn write(&mut self, bits: u64, count: u32) {
        self.buffer |= bits << self.filled;
        self.filled += count;
        while self.filled >= 8 {
            self.bytes.push(self.buffer as u8);
            self.buffer >>= 8;
            self.filled -= 8;
        }
    }

    /// Writes `count` ones and a zero.
    fn write_ones(&mut self, mut count: u32) {
        while count >= 32 {
            self.write(0xffff_ffff, 32);
            count -= 32;
        }
        self.write((1 << count) - 1, count + 1);
    }

    fn finish(mut self) {
        if self.filled > 0 {
            self.write(0, 8 - self.filled);
        }
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    /// The position, in bits.
    at: usize,
}

impl BitReader<'_> {
    /// Returns the next bits, at least 56 of them; zeros past the end.
    fn peek(&self) -> u64 {
        let from = self.at >> 3;
        let word = if let Some(bytes) = self.bytes.get(from..from + 8) {
            u64::from_le_bytes(bytes.try_into().unwrap_or_default())
        } else {
            let mut word = [0; 8];
            let rest = self.bytes.get(from..).unwrap_or_default();
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        };
        word >> (self.at & 7)
    }

    /// Reads one Golomb-Rice code: ones up to a zero, and then `low_bits` bits.
    fn read(&mut self, low_bits: u32) -> u32 {
        let mut high = 0;
        loop {
            let word = self.peek();
            let ones = word.trailing_ones();
            // Most codes are short and lie within one word.
            if ones + 1 + low_bits <= 56 {
                self.at += (ones + 1 + low_bits) as usize;
                let low = word >> (ones + 1) & ((1 << low_bits) - 1);
                return (high + ones) << low_bits | low as u32;
            }
            let run = ones.min(32);
            high += run;
            self.at += run as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_survive_packing() {
        let mut state = 12345_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for docs in [2_usize, 3, 17, 1000, 65536] {
            for share in [1, 2, 3, 10, 100, 1000, 40000] {
                let list: Vec<DocId> =
                    (0..docs).filter(|_| below(share) == 0).map(|doc| doc as DocId).collect();
                if list.len() < 2 {
                    continue;
                }
                let mut bytes = Vec::new();
                encode(&mut bytes, &list, docs);
                assert_eq!(decode(&bytes, list.len(), docs), list, "{docs} {share}");
                assert!(bytes.len() <= docs.div_ceil(8) + 1);
            }
        }
        let far = [0, 65535];
        let mut bytes = Vec::new();
        encode(&mut bytes, &far, 65536);
        assert_eq!(decode(&bytes, 2, 65536), far);
    }
}
