//! Reads the objects and operators of a PDF from its bytes.

use super::object::{PdfDictionary, PdfObject};

/// The deepest nesting of lists and dictionaries that is read.
const MOST_NESTED: usize = 40;

/// The longest name and the longest operator.
const LONGEST_NAME: usize = 200;

/// The most parts that one object keeps, those of objects within it included.
const MOST_PARTS: usize = 500_000;

/// A reader of objects.
#[derive(Debug, Clone)]
pub(crate) struct PdfLexer<'a> {
    bytes: &'a [u8],
    pub(crate) position: usize,
    /// How many more parts the object that is being read may keep.
    parts_left: usize,
}

/// What stands at a place of a PDF.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PdfItem<'a> {
    Object(PdfObject),
    /// A word that is no object, such as an operator.
    Word(&'a [u8]),
    /// `]` or `>>`.
    Close,
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

fn is_regular(byte: u8) -> bool {
    !is_space(byte) && !is_delimiter(byte)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

impl<'a> PdfLexer<'a> {
    pub(crate) fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position: position.min(bytes.len()), parts_left: MOST_PARTS }
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    pub(crate) fn skip_space(&mut self) {
        while let Some(&byte) = self.bytes.get(self.position) {
            if byte == b'%' {
                let end = memchr::memchr2(b'\n', b'\r', self.rest());
                self.position = end.map_or(self.bytes.len(), |end| self.position + end);
            } else if is_space(byte) {
                self.position += 1;
            } else {
                return;
            }
        }
    }

    /// Reads one object. A word in its place is nothing.
    pub(crate) fn object(&mut self) -> Option<PdfObject> {
        match self.item()? {
            PdfItem::Object(object) => Some(object),
            PdfItem::Word(_) | PdfItem::Close => None,
        }
    }

    /// Reads the next object or operator. There is none at the end.
    pub(crate) fn item(&mut self) -> Option<PdfItem<'a>> {
        self.parts_left = MOST_PARTS;
        self.nested_item(0)
    }

    /// Skips a word if it is the next one.
    pub(crate) fn skip_word(&mut self, word: &[u8]) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(word);
        self.position += if is_next { word.len() } else { 0 };
        is_next
    }

    /// Reads a number without sign and point.
    pub(crate) fn count(&mut self) -> Option<usize> {
        self.skip_space();
        let length = self.rest().iter().take(18).take_while(|byte| byte.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&self.rest()[..length]).ok()?;
        self.position += length;
        digits.parse().ok()
    }

    fn nested_item(&mut self, depth: usize) -> Option<PdfItem<'a>> {
        self.skip_space();
        let first = *self.rest().first()?;
        let object = match first {
            b'/' => {
                self.position += 1;
                PdfObject::Name(self.name())
            }
            b'(' => PdfObject::Text(self.text()),
            b'<' if self.rest().get(1) == Some(&b'<') => {
                self.position += 2;
                PdfObject::Dictionary(self.dictionary(depth + 1))
            }
            b'<' => PdfObject::Text(self.hex_text()),
            b'[' => {
                self.position += 1;
                PdfObject::List(self.list(depth + 1))
            }
            b']' => {
                self.position += 1;
                return Some(PdfItem::Close);
            }
            b'>' => {
                self.position += if self.rest().get(1) == Some(&b'>') { 2 } else { 1 };
                return Some(PdfItem::Close);
            }
            b')' | b'{' | b'}' => {
                self.position += 1;
                return Some(PdfItem::Word(&[]));
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => self.number(),
            _ => {
                let word = self.word();
                match word {
                    b"true" => PdfObject::Flag(true),
                    b"false" => PdfObject::Flag(false),
                    b"null" => PdfObject::Null,
                    _ => return Some(PdfItem::Word(word)),
                }
            }
        };
        Some(PdfItem::Object(object))
    }

    fn word(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| is_regular(**byte)).count();
        self.position += length;
        &rest[..length.min(LONGEST_NAME)]
    }

    fn name(&mut self) -> String {
        let word = self.word();
        let mut name = Vec::with_capacity(word.len());
        let mut at = 0;
        while at < word.len() {
            let escaped = match (word[at], word.get(at + 1), word.get(at + 2)) {
                (b'#', Some(high), Some(low)) => hex_digit(*high).zip(hex_digit(*low)),
                _ => None,
            };
            if let Some((high, low)) = escaped {
                name.push(high << 4 | low);
                at += 3;
            } else {
                name.push(word[at]);
                at += 1;
            }
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    /// Reads a number, or a reference that begins with it.
    fn number(&mut self) -> PdfObject {
        let word = self.word();
        let begin = self.position;
        if word.len() <= 10 && word.iter().all(u8::is_ascii_digit) {
            // `12 0 R`
            if self.count().is_some_and(|generation| generation <= 65_535)
                && self.skip_word(b"R")
                && !self.rest().first().is_some_and(|byte| is_regular(*byte))
                && let Some(number) = std::str::from_utf8(word).ok().and_then(|it| it.parse().ok())
            {
                return PdfObject::Reference(number);
            }
            self.position = begin;
        }
        let text = std::str::from_utf8(word).unwrap_or_default();
        // Broken writers make `--5` and `5-3`.
        let text = text.trim_start_matches('+');
        let text = if text.starts_with("--") { &text[1..] } else { text };
        let end = text.char_indices().skip(1).find(|(_, it)| !it.is_ascii_digit() && *it != '.');
        let text = &text[..end.map_or(text.len(), |(at, _)| at)];
        PdfObject::Number(text.parse().unwrap_or_default())
    }

    /// Reads a text in parentheses, which may hold pairs of parentheses.
    fn text(&mut self) -> Vec<u8> {
        self.position += 1;
        let mut text = Vec::new();
        let mut depth = 1;
        while let Some(&byte) = self.bytes.get(self.position) {
            self.position += 1;
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'\\' => {
                    self.escaped(&mut text);
                    continue;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            text.push(byte);
        }
        text
    }

    fn escaped(&mut self, text: &mut Vec<u8>) {
        let Some(&byte) = self.bytes.get(self.position) else { return };
        self.position += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'\r' => self.position += usize::from(self.rest().first() == Some(&b'\n')),
            b'\n' => {}
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                let digits = self.rest().iter().take(2).take_while(|it| matches!(it, b'0'..=b'7'));
                for digit in digits {
                    code = code * 8 + u32::from(digit - b'0');
                    self.position += 1;
                }
                text.push(code as u8);
            }
            _ => text.push(byte),
        }
    }

    fn hex_text(&mut self) -> Vec<u8> {
        let rest = &self.rest()[1..];
        let length = memchr::memchr(b'>', rest).unwrap_or(rest.len());
        self.position = (self.position + length + 2).min(self.bytes.len());
        let digits: Vec<u8> = rest[..length].iter().filter_map(|byte| hex_digit(*byte)).collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or_default())
            .collect()
    }

    /// Whether there is room for one more part of the object. What has none is read over.
    fn keeps_part(&mut self) -> bool {
        let has_room = self.parts_left > 0;
        self.parts_left = self.parts_left.saturating_sub(1);
        has_room
    }

    fn list(&mut self, depth: usize) -> Vec<PdfObject> {
        let mut list = Vec::new();
        if depth > MOST_NESTED {
            return list;
        }
        loop {
            match self.nested_item(depth) {
                Some(PdfItem::Object(object)) => {
                    if self.keeps_part() {
                        list.push(object);
                    }
                }
                Some(PdfItem::Word(b"endobj" | b"endstream") | PdfItem::Close) | None => {
                    return list;
                }
                Some(PdfItem::Word(_)) => {}
            }
        }
    }

    fn dictionary(&mut self, depth: usize) -> PdfDictionary {
        let mut dictionary = PdfDictionary::default();
        if depth > MOST_NESTED {
            return dictionary;
        }
        loop {
            match self.nested_item(depth) {
                Some(PdfItem::Object(PdfObject::Name(name))) => match self.nested_item(depth) {
                    Some(PdfItem::Object(value)) => {
                        if self.keeps_part() {
                            dictionary.entries.push((name, value));
                        }
                    }
                    Some(PdfItem::Word(_)) => {}
                    Some(PdfItem::Close) | None => return dictionary,
                },
                Some(PdfItem::Word(b"endobj" | b"stream") | PdfItem::Close) | None => {
                    return dictionary;
                }
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read() {
        let text = |it: &str| PdfObject::Text(it.as_bytes().to_vec());
        for (source, expected) in [
            ("12", PdfObject::Number(12.0)),
            ("-.5 ", PdfObject::Number(-0.5)),
            ("--3", PdfObject::Number(-3.0)),
            ("12 0 R", PdfObject::Reference(12)),
            ("% x\n/A#20b", PdfObject::Name("A b".to_owned())),
            ("(a(b)\\)\\n\\101\\\nc)", text("a(b))\nAc")),
            ("<48 656>", text("He`")),
            ("true", PdfObject::Flag(true)),
            ("null", PdfObject::Null),
            ("(open", text("open")),
        ] {
            assert_eq!(PdfLexer::new(source.as_bytes(), 0).object(), Some(expected), "{source}");
        }
        let object = PdfLexer::new(b"<</A[1 2 0 R/B]/C<</D 1>>/E>>", 0).object().unwrap();
        let dictionary = object.as_dictionary().unwrap();
        assert_eq!(dictionary.get("A").unwrap().as_list().unwrap().len(), 3);
        assert_eq!(dictionary.get("C").unwrap().as_dictionary().unwrap().number("D"), Some(1.0));
    }

    #[test]
    fn broken_objects_are_read_to_their_end() {
        for source in
            ["[", "<<", "<</A", "<</A>>", "[[[", ")", ">", "]", "<", "(\\", "/", "1 0", "{"]
        {
            let mut lexer = PdfLexer::new(source.as_bytes(), 0);
            while lexer.item().is_some() {}
            assert_eq!(lexer.position, source.len(), "{source}");
        }
        let deep = "[".repeat(100_000);
        let mut lexer = PdfLexer::new(deep.as_bytes(), 0);
        while lexer.item().is_some() {}
    }
}
