//! Maps from the codes of a font to text, as PDF embeds them.

use std::collections::HashMap;

use super::lexer::{PdfItem, PdfLexer};
use super::object::PdfObject;
use crate::stop_check::StopCheck;

/// The most codes of a map.
const MOST_CODES: usize = 200_000;

/// A map from codes to text.
#[derive(Debug, Default)]
pub(crate) struct CodeMap {
    texts: HashMap<u32, String>,
    /// How many codes were read, also those that are the same.
    read: usize,
    /// Whether codes of one byte and of two bytes occur.
    one_byte: bool,
    two_bytes: bool,
}

fn code_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |code, byte| code << 8 | u32::from(*byte))
}

/// Decodes UTF-16 without control characters.
pub(crate) fn utf_16_text(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let letters =
        char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
    letters.filter(|letter| !letter.is_control()).collect()
}

impl CodeMap {
    /// Reads a map from the data of its stream.
    pub(crate) fn read(data: &[u8], stop: &StopCheck<'_>) -> Self {
        let mut map = Self::default();
        let mut lexer = PdfLexer::new(data, 0);
        let mut operands: Vec<PdfObject> = Vec::new();
        while let Some(item) = lexer.item().filter(|_| !stop.step()) {
            match item {
                PdfItem::Object(object) => {
                    if operands.len() < MOST_CODES {
                        operands.push(object);
                    }
                }
                PdfItem::Word(word) => {
                    match word {
                        b"endcodespacerange" => map.read_lengths(&operands),
                        b"endbfchar" => map.read_codes(&operands),
                        b"endbfrange" => map.read_ranges(&operands),
                        _ => {}
                    }
                    operands.clear();
                }
                PdfItem::Close => {}
            }
        }
        map
    }

    fn read_lengths(&mut self, operands: &[PdfObject]) {
        for text in operands.iter().filter_map(PdfObject::as_text) {
            self.one_byte |= text.len() == 1;
            self.two_bytes |= text.len() == 2;
        }
    }

    fn add(&mut self, code: u32, text: String) {
        if self.read < MOST_CODES {
            self.read += 1;
            self.texts.insert(code, text);
        }
    }

    fn read_codes(&mut self, operands: &[PdfObject]) {
        for pair in operands.chunks_exact(2) {
            if let (Some(code), Some(text)) = (pair[0].as_text(), pair[1].as_text()) {
                self.add(code_of(code), utf_16_text(&text[..text.len().min(64)]));
            }
        }
    }

    fn read_ranges(&mut self, operands: &[PdfObject]) {
        for triple in operands.chunks_exact(3) {
            let (Some(first), Some(last)) = (triple[0].as_text(), triple[1].as_text()) else {
                continue;
            };
            let (first, last) = (code_of(first), code_of(last));
            let count = last.saturating_sub(first).min(65_535) + 1;
            match &triple[2] {
                PdfObject::Text(text) => self.add_range(first, count, text),
                PdfObject::List(texts) => {
                    let texts = texts.iter().filter_map(PdfObject::as_text);
                    for (code, text) in (first..first.saturating_add(count)).zip(texts) {
                        self.add(code, utf_16_text(&text[..text.len().min(64)]));
                    }
                }
                _ => {}
            }
        }
    }

    fn add_range(&mut self, first: u32, count: u32, text: &[u8]) {
        let text = &text[..text.len().min(64)];
        let Some(begin) = text.len().checked_sub(2) else { return };
        let last_unit = code_of(&text[begin..]);
        for step in 0..count {
            if self.read >= MOST_CODES {
                return;
            }
            let mut bytes = text.to_vec();
            bytes[begin..].copy_from_slice(&(last_unit.wrapping_add(step) as u16).to_be_bytes());
            self.add(first.wrapping_add(step), utf_16_text(&bytes));
        }
    }

    pub(crate) fn text(&self, code: u32) -> Option<&str> {
        self.texts.get(&code).map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether all codes have two bytes.
    pub(crate) fn has_only_two_bytes(&self) -> bool {
        self.two_bytes && !self.one_byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_ranges_are_read() {
        let map = CodeMap::read(
            b"begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0001> <0041> <0002> <00660069> endbfchar \
              2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<0058> <D83DDE00>] endbfrange",
            &StopCheck::never(),
        );
        assert!(map.has_only_two_bytes() && !map.is_empty());
        for (code, expected) in [
            (1, Some("A")),
            (2, Some("fi")),
            (0x10, Some("a")),
            (0x12, Some("c")),
            (0x13, None),
            (0x20, Some("X")),
            (0x21, Some("😀")),
        ] {
            assert_eq!(map.text(code), expected, "{code}");
        }
    }

    #[test]
    fn huge_ranges_are_bounded() {
        let range = "<00000000> <FFFFFFFF> <0041> ".repeat(100);
        let map = CodeMap::read(
            format!("beginbfrange {range} endbfrange").as_bytes(),
            &StopCheck::never(),
        );
        assert_eq!(map.read, MOST_CODES);
        CodeMap::read(
            b"endbfrange <> <> <> endbfrange <01> <00> endbfrange <> endbfchar",
            &StopCheck::never(),
        );
    }
}
