//! A PDF as objects by number: where each stands, according to the file or to a search of it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::filter;
use super::lexer::{PdfLexer, is_space};
use super::object::{PdfDictionary, PdfObject};
use crate::stop_check::StopCheck;

/// The most objects of a file.
const MOST_OBJECTS: usize = 1_000_000;

/// The most tables of objects of a file, and references that lead to references.
const MOST_TABLES: usize = 200;
const MOST_STEPS: usize = 16;

/// The most bytes of one stream, and of all streams of a file.
const MOST_STREAM_BYTES: usize = 32 << 20;
const MOST_DECODED_BYTES: usize = 96 << 20;

/// The most work for a file: about one for each object that is copied, and for each few bytes that are read.
const MOST_WORK: usize = 60_000_000;

/// Where an object stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectPlace {
    At(usize),
    /// In the stream of that number, as its so-many-th object.
    InStream(u32, usize),
}

/// The decoded data of a stream that holds objects, and where each of them begins.
#[derive(Debug)]
struct ObjectStream {
    data: Vec<u8>,
    places: Vec<(u32, usize)>,
}

/// A PDF.
pub(crate) struct PdfFile<'a> {
    bytes: &'a [u8],
    pub(crate) stop: &'a StopCheck<'a>,
    places: HashMap<u32, ObjectPlace>,
    pub(crate) trailer: PdfDictionary,
    streams: RefCell<HashMap<u32, Option<Rc<ObjectStream>>>>,
    /// How many bytes may still be decoded.
    room: Cell<usize>,
    /// How much work may still be done. Without any left, all objects are null.
    work: Cell<usize>,
}

impl<'a> PdfFile<'a> {
    pub(crate) fn open(bytes: &'a [u8], stop: &'a StopCheck<'a>) -> Self {
        let mut file = Self {
            bytes,
            stop,
            places: HashMap::new(),
            trailer: PdfDictionary::default(),
            streams: RefCell::default(),
            room: Cell::new(MOST_DECODED_BYTES),
            work: Cell::new(MOST_WORK),
        };
        file.read_tables();
        if !file.has_pages() {
            file.search();
        }
        file
    }

    fn count_work(&self, work: usize) {
        let left = if self.stop.step() { 0 } else { self.work.get().saturating_sub(work) };
        self.work.set(left);
    }

    fn has_pages(&self) -> bool {
        if self.trailer.get("Encrypt").is_some() {
            return true;
        }
        let catalogue = self.entry(&self.trailer, "Root");
        let pages = catalogue.as_dictionary().map(|catalogue| self.entry(catalogue, "Pages"));
        pages.is_some_and(|pages| pages.as_dictionary().is_some_and(|it| it.get("Kids").is_some()))
    }

    /// Returns an entry of a dictionary. What it refers to comes in its place.
    pub(crate) fn entry(&self, dictionary: &PdfDictionary, name: &str) -> PdfObject {
        dictionary.get(name).map_or(PdfObject::Null, |object| self.resolve(object))
    }

    /// Returns an object. What it refers to comes in its place.
    pub(crate) fn resolve(&self, object: &PdfObject) -> PdfObject {
        if self.work.get() == 0 {
            return PdfObject::Null;
        }
        self.count_work(object.weight());
        let mut object = object.clone();
        for _ in 0..MOST_STEPS {
            match object {
                PdfObject::Reference(number) => object = self.object(number),
                _ => return object,
            }
        }
        PdfObject::Null
    }

    fn object(&self, number: u32) -> PdfObject {
        let object = match self.places.get(&number) {
            None => None,
            Some(ObjectPlace::At(offset)) => {
                self.object_at(*offset).filter(|it| it.0 == number).map(|it| it.1)
            }
            Some(ObjectPlace::InStream(stream, index)) => {
                self.object_in_stream(*stream, *index, number)
            }
        };
        object.unwrap_or(PdfObject::Null)
    }

    /// Reads `N G obj …` at an offset.
    fn object_at(&self, offset: usize) -> Option<(u32, PdfObject)> {
        let mut lexer = PdfLexer::new(self.bytes, offset);
        let number = u32::try_from(lexer.count()?).ok()?;
        lexer.count()?;
        if !lexer.skip_word(b"obj") {
            return None;
        }
        let object = lexer.object()?;
        self.count_work((lexer.position - offset) / 4);
        let PdfObject::Dictionary(dictionary) = object else { return Some((number, object)) };
        if !lexer.skip_word(b"stream") {
            return Some((number, PdfObject::Dictionary(dictionary)));
        }
        let rest = &self.bytes[lexer.position..];
        let begin = lexer.position
            + match rest {
                [b'\r', b'\n', ..] => 2,
                [b'\r' | b'\n', ..] => 1,
                _ => 0,
            };
        let end = self.stream_end(&dictionary, begin);
        Some((number, PdfObject::Stream(dictionary, begin..end)))
    }

    /// Returns where the data of a stream ends: where its length says if `endstream` follows, else where that word is.
    fn stream_end(&self, dictionary: &PdfDictionary, begin: usize) -> usize {
        let length = match dictionary.get("Length") {
            Some(PdfObject::Reference(number)) => match self.places.get(number) {
                // The length may not be in a stream itself, or reading would not end.
                Some(ObjectPlace::At(offset)) => self.number_at(*offset),
                _ => None,
            },
            Some(object) => object.as_count(),
            None => None,
        };
        if let Some(end) = length.and_then(|length| begin.checked_add(length))
            && end <= self.bytes.len()
            && PdfLexer::new(self.bytes, end).skip_word(b"endstream")
        {
            return end;
        }
        let rest = &self.bytes[begin.min(self.bytes.len())..];
        let window = &rest[..rest.len().min(MOST_STREAM_BYTES)];
        let length = memchr::memmem::find(window, b"endstream").unwrap_or(window.len());
        self.count_work(length / 16);
        begin + length
    }

    fn number_at(&self, offset: usize) -> Option<usize> {
        let mut lexer = PdfLexer::new(self.bytes, offset);
        lexer.count()?;
        lexer.count()?;
        lexer.skip_word(b"obj").then(|| lexer.count())?
    }

    /// Returns the decoded data of a stream.
    pub(crate) fn stream_data(&self, object: &PdfObject) -> Option<Vec<u8>> {
        let PdfObject::Stream(dictionary, range) = object else { return None };
        let mut dictionary = dictionary.clone();
        for name in ["Filter", "DecodeParms"] {
            if matches!(dictionary.get(name), Some(PdfObject::Reference(_))) {
                let object = self.entry(&dictionary, name);
                dictionary.entries.retain(|(key, _)| key != name);
                dictionary.entries.push((name.to_owned(), object));
            }
        }
        if self.stop.big_step() {
            return None;
        }
        let most = self.room.get().min(MOST_STREAM_BYTES);
        let data = filter::decode(self.bytes.get(range.clone())?, &dictionary, most, self.stop)?;
        // Each stream costs something, so that not even empty ones are read without end.
        self.room.set(self.room.get().saturating_sub(data.len() + 64));
        Some(data)
    }

    fn object_in_stream(&self, stream: u32, index: usize, number: u32) -> Option<PdfObject> {
        let stream = self.object_stream(stream)?;
        let is_number = |place: &&(u32, usize)| place.0 == number;
        let place = stream.places.get(index).filter(is_number);
        let place = place.or_else(|| {
            self.count_work(stream.places.len());
            stream.places.iter().find(is_number)
        })?;
        let mut lexer = PdfLexer::new(&stream.data, place.1);
        let object = lexer.object();
        self.count_work(lexer.position.saturating_sub(place.1) / 4);
        object
    }

    fn object_stream(&self, number: u32) -> Option<Rc<ObjectStream>> {
        if let Some(known) = self.streams.borrow().get(&number) {
            return known.clone();
        }
        let stream = match self.places.get(&number) {
            Some(ObjectPlace::At(offset)) => self.read_object_stream(*offset).map(Rc::new),
            _ => None,
        };
        self.streams.borrow_mut().insert(number, stream.clone());
        stream
    }

    fn read_object_stream(&self, offset: usize) -> Option<ObjectStream> {
        let (_, object) = self.object_at(offset)?;
        let dictionary = object.as_dictionary()?;
        let count = dictionary.get("N")?.as_count()?.min(MOST_OBJECTS);
        let first = dictionary.get("First")?.as_count()?;
        let data = self.stream_data(&object)?;
        let mut lexer = PdfLexer::new(&data, 0);
        let mut places = Vec::new();
        for _ in (0..count).take_while(|_| !self.stop.step()) {
            let (Some(number), Some(offset)) = (lexer.count(), lexer.count()) else { break };
            places.push((u32::try_from(number).ok()?, first.saturating_add(offset)));
        }
        Some(ObjectStream { data, places })
    }

    /// Reads the tables of objects, from the newest to the oldest.
    fn read_tables(&mut self) -> Option<()> {
        let tail = self.bytes.len().saturating_sub(2_048);
        let at = tail + memchr::memmem::rfind(&self.bytes[tail..], b"startxref")?;
        let mut next = PdfLexer::new(self.bytes, at + 9).count();
        for _ in 0..MOST_TABLES {
            let Some(offset) = next.filter(|offset| *offset < self.bytes.len()) else { break };
            if self.work.get() == 0 {
                break;
            }
            let mut lexer = PdfLexer::new(self.bytes, offset);
            let trailer = if lexer.skip_word(b"xref") {
                let trailer = self.read_table(&mut lexer);
                self.count_work((lexer.position - offset) / 4);
                trailer?
            } else {
                self.read_table_stream(offset)?
            };
            if let Some(offset) = trailer.get("XRefStm").and_then(PdfObject::as_count) {
                self.read_table_stream(offset);
            }
            // A table that leads to itself would be read again and again.
            self.count_work(1_000);
            next = trailer.get("Prev").and_then(PdfObject::as_count);
            if self.trailer.entries.is_empty() {
                self.trailer = trailer;
            }
        }
        Some(())
    }

    fn read_table(&mut self, lexer: &mut PdfLexer<'_>) -> Option<PdfDictionary> {
        while !lexer.skip_word(b"trailer") {
            let (first, count) = (lexer.count()?, lexer.count()?);
            for number in first..first.saturating_add(count) {
                if self.stop.step() {
                    return None;
                }
                let (offset, _) = (lexer.count()?, lexer.count()?);
                if lexer.skip_word(b"n") {
                    self.add(number, ObjectPlace::At(offset));
                } else if !lexer.skip_word(b"f") {
                    return None;
                }
            }
        }
        lexer.object()?.as_dictionary().cloned()
    }

    fn read_table_stream(&mut self, offset: usize) -> Option<PdfDictionary> {
        let (_, object) = self.object_at(offset)?;
        let dictionary = object.as_dictionary()?.clone();
        let widths: Vec<usize> =
            dictionary.get("W")?.as_list()?.iter().filter_map(PdfObject::as_count).collect();
        let [kind_width, middle_width, last_width] = *widths.as_slice() else { return None };
        let row_length =
            widths.iter().try_fold(0, |sum: usize, width| (*width <= 8).then_some(sum + width))?;
        let size = dictionary.get("Size")?.as_count()?;
        let index = match dictionary.get("Index").and_then(PdfObject::as_list) {
            Some(list) => list.iter().filter_map(PdfObject::as_count).collect(),
            None => vec![0, size],
        };
        let data = self.stream_data(&object)?;
        let mut rows = data.chunks_exact(row_length.max(1));
        let number_of =
            |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        for part in index.chunks_exact(2) {
            for number in part[0]..part[0].saturating_add(part[1]) {
                let row = rows.next().filter(|_| !self.stop.step());
                let Some(row) = row else { return Some(dictionary) };
                let (kind, rest) = row.split_at(kind_width);
                let (middle, last) = rest.split_at(middle_width);
                let kind = if kind.is_empty() { 1 } else { number_of(kind) };
                let middle = number_of(middle);
                match kind {
                    1 => self.add(number, ObjectPlace::At(middle)),
                    2 => {
                        let stream = u32::try_from(middle).ok()?;
                        let index = number_of(&last[..last_width]);
                        self.add(number, ObjectPlace::InStream(stream, index));
                    }
                    _ => {}
                }
            }
        }
        Some(dictionary)
    }

    /// Notes where an object stands, unless a newer table has said so.
    fn add(&mut self, number: usize, place: ObjectPlace) {
        if self.places.len() < MOST_OBJECTS
            && let Ok(number) = u32::try_from(number)
        {
            self.places.entry(number).or_insert(place);
        }
    }

    /// Searches the file for objects, because its tables are broken.
    fn search(&mut self) {
        self.places.clear();
        self.streams.borrow_mut().clear();
        let bytes = self.bytes;
        for at in memchr::memmem::find_iter(bytes, b"obj") {
            if self.stop.step() {
                return;
            }
            if let Some((number, offset)) = object_head(bytes, at)
                && self.places.len() < MOST_OBJECTS
            {
                // The last one of a number is the newest.
                self.places.insert(number, ObjectPlace::At(offset));
            }
        }
        let mut found: Vec<(u32, usize)> = Vec::new();
        for (number, place) in &self.places {
            if let ObjectPlace::At(offset) = place {
                found.push((*number, *offset));
            }
        }
        found.sort_by_key(|(_, offset)| *offset);
        let mut trailer = self.searched_trailer();
        for (number, offset) in found {
            if self.stop.step() {
                return;
            }
            // Only what begins with a dictionary matters here, and its first bytes tell.
            let head = &bytes[offset..bytes.len().min(offset + 500)];
            let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
            if has(b"/ObjStm") {
                self.add_stream_objects(number);
            } else if has(b"/Catalog") && trailer.get("Root").is_none() {
                trailer.entries.push(("Root".to_owned(), PdfObject::Reference(number)));
            } else if has(b"/XRef")
                && trailer.get("Root").is_none()
                && let Some((_, PdfObject::Stream(dictionary, _))) = self.object_at(offset)
            {
                trailer.entries.extend(dictionary.entries);
            }
        }
        self.trailer = trailer;
    }

    fn searched_trailer(&self) -> PdfDictionary {
        let mut trailer = PdfDictionary::default();
        let places: Vec<usize> =
            memchr::memmem::find_iter(self.bytes, b"trailer").take(MOST_TABLES).collect();
        for at in places.iter().rev() {
            let object = PdfLexer::new(self.bytes, at + 7).object();
            if let Some(dictionary) = object.as_ref().and_then(PdfObject::as_dictionary)
                && dictionary.get("Root").is_some()
            {
                trailer.entries.extend(dictionary.entries.iter().cloned());
            }
        }
        trailer
    }

    fn add_stream_objects(&mut self, number: u32) {
        let Some(stream) = self.object_stream(number) else { return };
        for (index, (inner, _)) in stream.places.iter().enumerate() {
            self.add(*inner as usize, ObjectPlace::InStream(number, index));
        }
    }
}

/// Returns the number of an object and where it begins, given where its `obj` is.
fn object_head(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let mut position = at;
    let mut back = |is_wanted: fn(u8) -> bool, most: usize| {
        let end = position;
        while position > 0 && end - position < most && is_wanted(bytes[position - 1]) {
            position -= 1;
        }
        (position, end)
    };
    let is_digit: fn(u8) -> bool = |byte| byte.is_ascii_digit();
    let (begin, end) = back(is_space, 4);
    let (generation_begin, generation_end) = back(is_digit, 5);
    let (space_begin, space_end) = back(is_space, 4);
    let (number_begin, number_end) = back(is_digit, 10);
    if begin == end || generation_begin == generation_end || space_begin == space_end {
        return None;
    }
    let number = std::str::from_utf8(&bytes[number_begin..number_end]).ok()?;
    Some((number.parse().ok()?, number_begin))
}
