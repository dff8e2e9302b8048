//! Postings: which files of a run have which trigrams, packed.

use crate::gram::{BITS, CLASS, GRAMS, Gram, MASK, has_line_end};
use crate::pack::{decode, encode, push_number, read_number};
use crate::plan::Query;

/// A place among the files of one segment.
pub(crate) type Doc = u16;

/// The most files a segment holds.
pub(crate) const MAX_DOCS: usize = 1 << 16;

/// How many heads there are: one for each two classes, and the end.
const HEADS: usize = (1 << (2 * BITS)) + 1;
/// The two last classes of a trigram.
const LOW: Gram = (1 << (2 * BITS)) - 1;

/// Marks an entry that holds its only file itself.
const SINGLE: u32 = 1 << 31;

/// Postings that do not change any more.
pub(crate) struct Segment {
    /// Where the trigrams with a given two first classes begin among the entries.
    heads: Vec<u32>,
    /// The third class of each trigram.
    thirds: Vec<u8>,
    /// Where its list is, or the only file in it.
    entries: Vec<u32>,
    lists: Vec<u8>,
    docs: usize,
}

/// The parts of a segment as they are kept on disk.
pub(crate) struct Parts<'a> {
    pub(crate) heads: &'a [u32],
    pub(crate) thirds: &'a [u8],
    pub(crate) entries: &'a [u32],
    pub(crate) lists: &'a [u8],
    pub(crate) docs: usize,
}

/// Collects the trigrams of files, one after the other.
pub(crate) struct Builder {
    /// By first class: the two other classes above, the file below.
    buckets: Vec<Vec<u32>>,
    /// Which trigrams the current file was seen to have.
    seen: Vec<u64>,
    touched: Vec<Gram>,
    docs: usize,
    pairs: usize,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            buckets: vec![Vec::new(); 1 << BITS],
            seen: vec![0; GRAMS / 64],
            touched: Vec::new(),
            docs: 0,
            pairs: 0,
        }
    }

    /// Bytes of memory in use, more or less.
    pub(crate) fn bytes(&self) -> usize {
        self.pairs * 4
    }

    pub(crate) fn docs(&self) -> usize {
        self.docs
    }

    /// Notes the trigrams of a piece of the current file.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let Some((head, rest)) = text.split_at_checked(2) else { return };
        let class = |byte: u8| u32::from(CLASS[byte as usize]);
        let mut gram = class(head[0]) << BITS | class(head[1]);
        for byte in rest {
            gram = (gram << BITS | class(*byte)) & MASK;
            let word = &mut self.seen[(gram >> 6) as usize];
            let bit = 1 << (gram & 63);
            if *word & bit == 0 {
                *word |= bit;
                self.touched.push(gram);
            }
        }
    }

    /// Ends the current file; returns its place.
    pub(crate) fn end(&mut self) -> Doc {
        let doc = self.docs as u32;
        for gram in self.touched.drain(..) {
            self.seen[(gram >> 6) as usize] = 0;
            if !has_line_end(gram) {
                self.buckets[(gram >> (2 * BITS)) as usize].push((gram & LOW) << 16 | doc);
                self.pairs += 1;
            }
        }
        self.docs += 1;
        doc as Doc
    }

    /// Forgets the current file.
    pub(crate) fn abandon(&mut self) {
        for gram in self.touched.drain(..) {
            self.seen[(gram >> 6) as usize] = 0;
        }
    }

    /// Ends the current file, and returns its trigrams instead of keeping them.
    pub(crate) fn end_apart(&mut self) -> Box<[Gram]> {
        for gram in &self.touched {
            self.seen[(gram >> 6) as usize] = 0;
        }
        let mut grams: Vec<Gram> =
            self.touched.drain(..).filter(|gram| !has_line_end(*gram)).collect();
        grams.sort_unstable();
        grams.into()
    }

    /// Packs what was collected, and starts anew.
    pub(crate) fn build(&mut self) -> Segment {
        let docs = self.docs;
        let mut segment = Segment {
            heads: Vec::with_capacity(HEADS),
            thirds: Vec::new(),
            entries: Vec::new(),
            lists: Vec::new(),
            docs,
        };
        let mut scratch = Vec::new();
        let mut list = Vec::new();
        for bucket in &mut self.buckets {
            sort_by_gram(bucket, &mut scratch);
            let mut rest = bucket.as_slice();
            for second in 0..1 << BITS {
                segment.heads.push(segment.entries.len() as u32);
                while let Some(pair) = rest.first() {
                    if pair >> (16 + BITS) != second {
                        break;
                    }
                    let key = pair >> 16;
                    let length = rest.iter().take_while(|pair| *pair >> 16 == key).count();
                    list.clear();
                    list.extend(rest[..length].iter().map(|pair| *pair as Doc));
                    rest = &rest[length..];
                    segment.push(key as u8 & ((1 << BITS) - 1), &list);
                }
            }
            *bucket = Vec::new();
        }
        segment.heads.push(segment.entries.len() as u32);
        segment.thirds.shrink_to_fit();
        segment.entries.shrink_to_fit();
        segment.lists.shrink_to_fit();
        self.docs = 0;
        self.pairs = 0;
        segment
    }
}

/// Sorts pairs by the two classes above; the files below stay in order.
fn sort_by_gram(pairs: &mut Vec<u32>, scratch: &mut Vec<u32>) {
    if pairs.len() < 64 {
        pairs.sort_unstable();
        return;
    }
    let digit = |pair: u32, shift: u32| (pair >> shift & ((1 << BITS) - 1)) as usize;
    for shift in [16, 16 + BITS] {
        let mut starts = [0_usize; 1 << BITS];
        for pair in pairs.iter() {
            starts[digit(*pair, shift)] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        scratch.clear();
        scratch.resize(pairs.len(), 0);
        for pair in pairs.iter() {
            let start = &mut starts[digit(*pair, shift)];
            scratch[*start] = *pair;
            *start += 1;
        }
        std::mem::swap(pairs, scratch);
    }
}

impl Segment {
    fn push(&mut self, third: u8, list: &[Doc]) {
        self.thirds.push(third);
        if let [one] = list {
            self.entries.push(SINGLE | u32::from(*one));
            return;
        }
        self.entries.push(self.lists.len() as u32);
        push_number(&mut self.lists, list.len() as u32);
        encode(&mut self.lists, list, self.docs);
    }

    /// A segment of nothing.
    pub(crate) fn empty() -> Self {
        Self {
            heads: Vec::new(),
            thirds: Vec::new(),
            entries: Vec::new(),
            lists: Vec::new(),
            docs: 0,
        }
    }

    pub(crate) fn docs(&self) -> usize {
        self.docs
    }

    pub(crate) fn bytes(&self) -> usize {
        self.heads.len() * 4 + self.thirds.len() + self.entries.len() * 4 + self.lists.len()
    }

    pub(crate) fn parts(&self) -> Parts<'_> {
        Parts {
            heads: &self.heads,
            thirds: &self.thirds,
            entries: &self.entries,
            lists: &self.lists,
            docs: self.docs,
        }
    }

    pub(crate) fn from_parts(
        heads: Vec<u32>,
        thirds: Vec<u8>,
        entries: Vec<u32>,
        lists: Vec<u8>,
        docs: usize,
    ) -> Option<Self> {
        let is_sound = heads.len() == HEADS
            && thirds.len() == entries.len()
            && heads.last().is_some_and(|last| *last as usize == entries.len())
            && heads.is_sorted()
            && docs <= MAX_DOCS;
        is_sound.then_some(Self { heads, thirds, entries, lists, docs })
    }

    /// Returns the files that may have what `query` asks for; nothing if all may.
    pub(crate) fn find(&self, query: &Query) -> Option<Vec<Doc>> {
        match query {
            Query::All => None,
            Query::Gram(gram) => {
                Some(self.list(*gram).map(|list| self.decode(list)).unwrap_or_default())
            }
            Query::Or(any) => {
                let mut found: Vec<Doc> = Vec::new();
                for query in any {
                    found = union(&found, &self.find(query)?);
                }
                Some(found)
            }
            Query::And(all) => self.find_all(all),
        }
    }

    fn find_all(&self, all: &[Query]) -> Option<Vec<Doc>> {
        let mut lists = Vec::with_capacity(all.len());
        let mut others = Vec::new();
        for query in all {
            match query {
                Query::Gram(gram) => match self.list(*gram) {
                    Some(list) => lists.push(list),
                    // Not in any file of this segment.
                    None => return Some(Vec::new()),
                },
                other => others.push(other),
            }
        }
        lists.sort_unstable_by_key(|list| list.count);
        let mut found: Option<Vec<Doc>> = None;
        for list in lists {
            found = Some(match found {
                None => self.decode(list),
                // Looking at a file costs a thousand times what reading an entry does.
                Some(docs) if docs.len() <= 4 || list.count > docs.len() * 200 => {
                    found = Some(docs);
                    break;
                }
                Some(docs) => intersection(&docs, &self.decode(list)),
            });
        }
        for query in others {
            if found.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
            if let Some(docs) = self.find(query) {
                found =
                    Some(found.map_or_else(|| docs.clone(), |found| intersection(&found, &docs)));
            }
        }
        found
    }

    fn list(&self, gram: Gram) -> Option<List> {
        let bucket = (gram >> BITS) as usize;
        let (from, to) = (*self.heads.get(bucket)? as usize, *self.heads.get(bucket + 1)? as usize);
        let third = gram as u8 & ((1 << BITS) - 1);
        let at = from + self.thirds[from..to].binary_search(&third).ok()?;
        let entry = self.entries[at];
        if entry & SINGLE != 0 {
            return Some(List { count: 1, place: Place::Single(entry as Doc) });
        }
        let (count, length) = read_number(self.lists.get(entry as usize..)?)?;
        Some(List { count: count as usize, place: Place::At(entry as usize + length) })
    }

    fn decode(&self, list: List) -> Vec<Doc> {
        match list.place {
            Place::Single(doc) => vec![doc],
            Place::At(at) => decode(&self.lists[at..], list.count, self.docs),
        }
    }
}

#[derive(Clone, Copy)]
struct List {
    count: usize,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Single(Doc),
    At(usize),
}

fn intersection(a: &[Doc], b: &[Doc]) -> Vec<Doc> {
    let mut found = Vec::with_capacity(a.len().min(b.len()));
    let mut b = b.iter().peekable();
    for doc in a {
        while b.next_if(|other| *other < doc).is_some() {}
        if b.peek() == Some(&doc) {
            found.push(*doc);
        }
    }
    found
}

fn union(a: &[Doc], b: &[Doc]) -> Vec<Doc> {
    let mut found = Vec::with_capacity(a.len() + b.len());
    found.extend_from_slice(a);
    found.extend_from_slice(b);
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gram::gram;

    #[test]
    fn files_are_found_by_their_trigrams() {
        let mut builder = Builder::new();
        for text in ["Hello there", "hello", "", "xyz\nhel", "there"] {
            builder.add(text.as_bytes());
            builder.end();
        }
        let segment = builder.build();
        let find = |query: &Query| segment.find(query).unwrap();
        assert_eq!(find(&Query::Gram(gram(b"hel"))), [0, 1, 3]);
        assert_eq!(find(&Query::Gram(gram(b"HEL"))), [0, 1, 3]);
        assert_eq!(find(&Query::Gram(gram(b"qqq"))), [] as [Doc; 0]);
        let and = Query::And(vec![Query::Gram(gram(b"hel")), Query::Gram(gram(b"the"))]);
        assert!(find(&and).contains(&0));
        let or = Query::Or(vec![Query::Gram(gram(b"xyz")), Query::Gram(gram(b"the"))]);
        assert_eq!(find(&or), [0, 3, 4]);
        assert_eq!(segment.find(&Query::All), None);
        // A trigram across two lines is of no use and not kept.
        assert_eq!(find(&Query::Gram(gram(b"z\nh"))), [] as [Doc; 0]);
    }

    #[test]
    fn damaged_parts_are_refused() {
        let mut builder = Builder::new();
        builder.add(b"some text");
        builder.end();
        let segment = builder.build();
        let parts = segment.parts();
        let heads = parts.heads.to_vec();
        assert!(Segment::from_parts(heads, Vec::new(), Vec::new(), Vec::new(), 1).is_none());
    }
}
