//! Postings: for each trigram, the files of a shard that have it, compressed.

use crate::index::posting_list::{DocId, decode, encode, push_number, read_number};
use crate::plan::Query;
use crate::trigram::{
    BYTE_CLASSES, CLASS_BITS, TRIGRAM_COUNT, TRIGRAM_MASK, Trigram, has_line_end,
};

/// The most documents that one set of postings holds.
pub(crate) const MAX_DOCS: usize = 1 << 16;

/// How many heads there are: one for each pair of classes, and the end.
const HEAD_COUNT: usize = (1 << (2 * CLASS_BITS)) + 1;
/// The bits of a trigram's last two classes.
const LOW_CLASSES_MASK: Trigram = (1 << (2 * CLASS_BITS)) - 1;

/// Marks an entry that holds its only document itself.
const SINGLE_DOC_FLAG: u32 = 1 << 31;

/// Immutable postings of a run of documents.
pub(crate) struct Postings {
    /// Where among the entries the trigrams with a given pair of first classes begin.
    heads: Vec<u32>,
    /// The third class of each trigram.
    thirds: Vec<u8>,
    /// Where each trigram's list is, or its only document.
    entries: Vec<u32>,
    lists: Vec<u8>,
    docs: usize,
}

/// The tables of postings, as they are saved on disk.
pub(crate) struct PostingsTables<'a> {
    pub(crate) heads: &'a [u32],
    pub(crate) thirds: &'a [u8],
    pub(crate) entries: &'a [u32],
    pub(crate) lists: &'a [u8],
    pub(crate) docs: usize,
}

/// Collects the trigrams of documents, one after the other.
pub(crate) struct PostingsBuilder {
    /// The trigrams of the documents so far, by first class: the other two classes in the upper bits, the document
    /// in the lower.
    buckets: Vec<Vec<u32>>,
    /// A bitmap of the trigrams that the current document has.
    seen: Vec<u64>,
    touched: Vec<Trigram>,
    docs: usize,
    pairs: usize,
}

impl PostingsBuilder {
    pub(crate) fn new() -> Self {
        Self {
            buckets: vec![Vec::new(); 1 << CLASS_BITS],
            seen: vec![0; TRIGRAM_COUNT / 64],
            touched: Vec::new(),
            docs: 0,
            pairs: 0,
        }
    }

    /// Bytes of memory in use, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.pairs * 4
    }

    pub(crate) fn docs(&self) -> usize {
        self.docs
    }

    /// Adds the trigrams of a piece of the current document.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let Some((head, rest)) = text.split_at_checked(2) else { return };
        let class = |byte: u8| u32::from(BYTE_CLASSES[byte as usize]);
        let mut trigram = class(head[0]) << CLASS_BITS | class(head[1]);
        for byte in rest {
            trigram = (trigram << CLASS_BITS | class(*byte)) & TRIGRAM_MASK;
            let word = &mut self.seen[(trigram >> 6) as usize];
            let bit = 1 << (trigram & 63);
            if *word & bit == 0 {
                *word |= bit;
                self.touched.push(trigram);
            }
        }
    }

    /// Ends the current document; returns its number.
    pub(crate) fn end(&mut self) -> DocId {
        let doc = self.docs as u32;
        for trigram in self.touched.drain(..) {
            self.seen[(trigram >> 6) as usize] = 0;
            if !has_line_end(trigram) {
                self.buckets[(trigram >> (2 * CLASS_BITS)) as usize]
                    .push((trigram & LOW_CLASSES_MASK) << 16 | doc);
                self.pairs += 1;
            }
        }
        self.docs += 1;
        doc as DocId
    }

    /// Drops the current document.
    pub(crate) fn abandon(&mut self) {
        for trigram in self.touched.drain(..) {
            self.seen[(trigram >> 6) as usize] = 0;
        }
    }

    /// Ends the current document, and returns its trigrams instead of adding them to the postings.
    pub(crate) fn end_apart(&mut self) -> Box<[Trigram]> {
        for trigram in &self.touched {
            self.seen[(trigram >> 6) as usize] = 0;
        }
        let mut trigrams: Vec<Trigram> =
            self.touched.drain(..).filter(|trigram| !has_line_end(*trigram)).collect();
        trigrams.sort_unstable();
        trigrams.into()
    }

    /// Compresses what was collected into postings, and starts anew.
    pub(crate) fn build(&mut self) -> Postings {
        let docs = self.docs;
        let mut postings = Postings {
            heads: Vec::with_capacity(HEAD_COUNT),
            thirds: Vec::new(),
            entries: Vec::new(),
            lists: Vec::new(),
            docs,
        };
        let mut scratch = Vec::new();
        let mut list = Vec::new();
        for bucket in &mut self.buckets {
            sort_by_trigram(bucket, &mut scratch);
            let mut rest = bucket.as_slice();
            for second in 0..1 << CLASS_BITS {
                postings.heads.push(postings.entries.len() as u32);
                while let Some(pair) = rest.first() {
                    if pair >> (16 + CLASS_BITS) != second {
                        break;
                    }
                    let key = pair >> 16;
                    let length = rest.iter().take_while(|pair| *pair >> 16 == key).count();
                    list.clear();
                    list.extend(rest[..length].iter().map(|pair| *pair as DocId));
                    rest = &rest[length..];
                    postings.push(key as u8 & ((1 << CLASS_BITS) - 1), &list);
                }
            }
            *bucket = Vec::new();
        }
        postings.heads.push(postings.entries.len() as u32);
        postings.thirds.shrink_to_fit();
        postings.entries.shrink_to_fit();
        postings.lists.shrink_to_fit();
        self.docs = 0;
        self.pairs = 0;
        postings
    }
}

/// Sorts pairs by the two classes in the upper bits; the documents in the lower bits stay in order.
fn sort_by_trigram(pairs: &mut Vec<u32>, scratch: &mut Vec<u32>) {
    if pairs.len() < 64 {
        pairs.sort_unstable();
        return;
    }
    let digit = |pair: u32, shift: u32| (pair >> shift & ((1 << CLASS_BITS) - 1)) as usize;
    for shift in [16, 16 + CLASS_BITS] {
        let mut starts = [0_usize; 1 << CLASS_BITS];
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

impl Postings {
    fn push(&mut self, third: u8, list: &[DocId]) {
        self.thirds.push(third);
        if let [one] = list {
            self.entries.push(SINGLE_DOC_FLAG | u32::from(*one));
            return;
        }
        self.entries.push(self.lists.len() as u32);
        push_number(&mut self.lists, list.len() as u32);
        encode(&mut self.lists, list, self.docs);
    }

    /// Returns postings of no documents.
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

    pub(crate) fn tables(&self) -> PostingsTables<'_> {
        PostingsTables {
            heads: &self.heads,
            thirds: &self.thirds,
            entries: &self.entries,
            lists: &self.lists,
            docs: self.docs,
        }
    }

    pub(crate) fn from_tables(
        heads: Vec<u32>,
        thirds: Vec<u8>,
        entries: Vec<u32>,
        lists: Vec<u8>,
        docs: usize,
    ) -> Option<Self> {
        let is_sound = heads.len() == HEAD_COUNT
            && thirds.len() == entries.len()
            && heads.last().is_some_and(|last| *last as usize == entries.len())
            && heads.is_sorted()
            && docs <= MAX_DOCS;
        is_sound.then_some(Self { heads, thirds, entries, lists, docs })
    }

    /// Returns the documents that may have what `query` asks for; nothing if all may. Up to `worth` entries of a list are
    /// read to rule out one document.
    pub(crate) fn find(&self, query: &Query, worth: usize) -> Option<Vec<DocId>> {
        match query {
            Query::All => None,
            Query::Trigram(trigram) => {
                Some(self.list(*trigram).map(|list| self.decode(list)).unwrap_or_default())
            }
            Query::Or(any) => {
                let mut found: Vec<DocId> = Vec::new();
                for query in any {
                    found = union(&found, &self.find(query, worth)?);
                }
                Some(found)
            }
            Query::And(all) => self.find_all(all, worth),
        }
    }

    fn find_all(&self, all: &[Query], worth: usize) -> Option<Vec<DocId>> {
        let mut lists = Vec::with_capacity(all.len());
        let mut others = Vec::new();
        for query in all {
            match query {
                Query::Trigram(trigram) => match self.list(*trigram) {
                    Some(list) => lists.push(list),
                    // No document here has this trigram.
                    None => return Some(Vec::new()),
                },
                other => others.push(other),
            }
        }
        lists.sort_unstable_by_key(|list| list.count);
        let mut found: Option<Vec<DocId>> = None;
        for list in lists {
            found = Some(match found {
                None => self.decode(list),
                // A long list for a few documents is not worth it.
                Some(docs) if docs.len() <= 4 || list.count > docs.len() * worth => {
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
            if let Some(docs) = self.find(query, worth) {
                found =
                    Some(found.map_or_else(|| docs.clone(), |found| intersection(&found, &docs)));
            }
        }
        found
    }

    fn list(&self, trigram: Trigram) -> Option<List> {
        let bucket = (trigram >> CLASS_BITS) as usize;
        let (from, to) = (*self.heads.get(bucket)? as usize, *self.heads.get(bucket + 1)? as usize);
        let third = trigram as u8 & ((1 << CLASS_BITS) - 1);
        let at = from + self.thirds[from..to].binary_search(&third).ok()?;
        let entry = self.entries[at];
        if entry & SINGLE_DOC_FLAG != 0 {
            return Some(List { count: 1, place: ListPlace::Single(entry as DocId) });
        }
        let (count, length) = read_number(self.lists.get(entry as usize..)?)?;
        Some(List { count: count as usize, place: ListPlace::At(entry as usize + length) })
    }

    fn decode(&self, list: List) -> Vec<DocId> {
        match list.place {
            ListPlace::Single(doc) => vec![doc],
            ListPlace::At(at) => decode(&self.lists[at..], list.count, self.docs),
        }
    }
}

#[derive(Clone, Copy)]
struct List {
    count: usize,
    place: ListPlace,
}

#[derive(Clone, Copy)]
enum ListPlace {
    Single(DocId),
    At(usize),
}

fn intersection(a: &[DocId], b: &[DocId]) -> Vec<DocId> {
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

fn union(a: &[DocId], b: &[DocId]) -> Vec<DocId> {
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
    use crate::trigram::trigram;

    #[test]
    fn documents_are_found_by_their_trigrams() {
        let mut builder = PostingsBuilder::new();
        for text in ["Hello there", "hello", "", "xyz\nhel", "there"] {
            builder.add(text.as_bytes());
            builder.end();
        }
        let postings = builder.build();
        let find = |query: &Query| postings.find(query, 200).unwrap();
        assert_eq!(find(&Query::Trigram(trigram(b"hel"))), [0, 1, 3]);
        assert_eq!(find(&Query::Trigram(trigram(b"HEL"))), [0, 1, 3]);
        assert_eq!(find(&Query::Trigram(trigram(b"qqq"))), [] as [DocId; 0]);
        let and =
            Query::And(vec![Query::Trigram(trigram(b"hel")), Query::Trigram(trigram(b"the"))]);
        assert!(find(&and).contains(&0));
        let or = Query::Or(vec![Query::Trigram(trigram(b"xyz")), Query::Trigram(trigram(b"the"))]);
        assert_eq!(find(&or), [0, 3, 4]);
        assert_eq!(postings.find(&Query::All, 200), None);
        // A trigram across two lines is of no use, so it is not kept.
        assert_eq!(find(&Query::Trigram(trigram(b"z\nh"))), [] as [DocId; 0]);
    }

    #[test]
    fn damaged_tables_are_refused() {
        let mut builder = PostingsBuilder::new();
        builder.add(b"some text");
        builder.end();
        let postings = builder.build();
        let tables = postings.tables();
        let heads = tables.heads.to_vec();
        assert!(Postings::from_tables(heads, Vec::new(), Vec::new(), Vec::new(), 1).is_none());
    }
}
