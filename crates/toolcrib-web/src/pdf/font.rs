//! Fonts of a PDF: which text their codes show, and how wide it is.

use encoding_rs::{Encoding, MACINTOSH, WINDOWS_1252};

use super::cmap::{CodeMap, utf_16_text};
use super::file::PdfFile;
use super::glyph_names;
use super::object::{PdfDictionary, PdfObject};

/// The most widths of a font that are read.
const MOST_WIDTHS: usize = 70_000;

/// What a code of a font shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShownCode {
    /// The text, or nothing if the font does not say.
    pub(crate) text: Option<String>,
    /// The width, as a share of the size of the font.
    pub(crate) width: f64,
    /// Whether the code is the space that word spacing widens.
    pub(crate) is_space: bool,
}

/// How codes become text if the font has no map for that.
#[derive(Debug)]
enum CodeMeaning {
    /// By the letter of each of 256 codes.
    Letters(Vec<Option<String>>),
    /// Codes are UTF-16.
    Utf16,
    /// Codes are numbers of glyphs, which say nothing.
    Unknown,
}

/// A font.
#[derive(Debug)]
pub(crate) struct PdfFont {
    map: Option<CodeMap>,
    meaning: CodeMeaning,
    has_two_bytes: bool,
    /// The width of each code from the first one on.
    widths: Vec<f64>,
    first_code: usize,
    default_width: Option<f64>,
}

impl PdfFont {
    pub(crate) fn read(file: &PdfFile<'_>, dictionary: &PdfDictionary) -> Self {
        let map = file.entry(dictionary, "ToUnicode");
        let map = file
            .stream_data(&map)
            .map(|data| CodeMap::read(&data, file.stop))
            .filter(|map| !map.is_empty());
        let encoding = file.entry(dictionary, "Encoding");
        if dictionary.name("Subtype") == Some("Type0") {
            return Self::composite(file, dictionary, map, &encoding);
        }
        let meaning = match map {
            Some(_) if encoding == PdfObject::Null => CodeMeaning::Unknown,
            _ => CodeMeaning::Letters(letters(file, dictionary, &encoding)),
        };
        // The widths of fonts that are drawn by the file have a unit of their own.
        let unit = match file.entry(dictionary, "FontMatrix").as_list().and_then(<[_]>::first) {
            Some(PdfObject::Number(unit)) if dictionary.name("Subtype") == Some("Type3") => {
                unit.abs()
            }
            _ => 0.001,
        };
        let widths = file.entry(dictionary, "Widths");
        let widths = widths.as_list().unwrap_or_default().iter().take(256);
        let widths = widths
            .map(|width| file.resolve(width).as_number().unwrap_or_default() * unit)
            .collect();
        let first_code =
            dictionary.get("FirstChar").and_then(PdfObject::as_count).unwrap_or_default();
        let has_two_bytes = false;
        Self { map, meaning, has_two_bytes, widths, first_code, default_width: None }
    }

    /// Reads a font whose codes have several bytes.
    fn composite(
        file: &PdfFile<'_>,
        dictionary: &PdfDictionary,
        map: Option<CodeMap>,
        encoding: &PdfObject,
    ) -> Self {
        let meaning = match encoding {
            PdfObject::Name(name) if name.contains("UCS2") || name.contains("UTF16") => {
                CodeMeaning::Utf16
            }
            _ => CodeMeaning::Unknown,
        };
        let descendants = file.entry(dictionary, "DescendantFonts");
        let descendant = descendants.as_list().and_then(<[_]>::first).map(|it| file.resolve(it));
        let descendant = descendant.as_ref().and_then(PdfObject::as_dictionary);
        let default_width = descendant.and_then(|it| it.number("DW")).unwrap_or(1_000.0) * 0.001;
        let widths = descendant.map(|it| file.entry(it, "W"));
        let widths = widths.as_ref().and_then(PdfObject::as_list).unwrap_or_default();
        let widths = composite_widths(file, widths, default_width);
        // Codes of one byte exist only in maps that say so.
        let has_two_bytes = match encoding {
            PdfObject::Name(_) => true,
            _ => map.as_ref().is_none_or(CodeMap::has_only_two_bytes),
        };
        Self {
            map,
            meaning,
            has_two_bytes,
            widths,
            first_code: 0,
            default_width: Some(default_width),
        }
    }

    /// Returns what the codes of a string show.
    pub(crate) fn shown<'b>(&'b self, string: &'b [u8]) -> impl Iterator<Item = ShownCode> + 'b {
        let length = if self.has_two_bytes { 2 } else { 1 };
        string.chunks(length).map(move |bytes| {
            let code = bytes.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
            let text = self.text(code, bytes);
            let width = self.width(code, text.as_deref());
            ShownCode { text, width, is_space: length == 1 && code == 32 }
        })
    }

    fn text(&self, code: u32, bytes: &[u8]) -> Option<String> {
        if let Some(text) = self.map.as_ref().and_then(|map| map.text(code)) {
            return Some(text.to_owned());
        }
        match &self.meaning {
            CodeMeaning::Letters(letters) => letters.get(code as usize).cloned().flatten(),
            CodeMeaning::Utf16 => Some(utf_16_text(bytes)),
            // Some maps leave out the codes that stand for themselves.
            CodeMeaning::Unknown if !self.has_two_bytes && (32..127).contains(&code) => {
                char::from_u32(code).map(String::from)
            }
            CodeMeaning::Unknown => None,
        }
    }

    fn width(&self, code: u32, text: Option<&str>) -> f64 {
        let known = (code as usize).checked_sub(self.first_code).and_then(|at| self.widths.get(at));
        known.copied().or(self.default_width).unwrap_or_else(|| usual_width(text))
    }
}

/// Returns how wide a letter is in most fonts.
fn usual_width(text: Option<&str>) -> f64 {
    match text.and_then(|text| text.chars().next()).unwrap_or('x') {
        ' ' | 'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ';' | ':' | '\'' | '!' | '|'
        | '/' | '(' | ')' => 0.28,
        'm' | 'w' | 'M' | 'W' | '—' | '%' | '@' => 0.85,
        'A'..='Z' => 0.68,
        _ => 0.53,
    }
}

/// Reads the widths of a composite font: `first [w w …]` or `first last w`.
fn composite_widths(file: &PdfFile<'_>, list: &[PdfObject], default_width: f64) -> Vec<f64> {
    let mut widths: Vec<f64> = Vec::new();
    let mut set = |code: usize, width: f64| {
        if code < MOST_WIDTHS {
            if widths.len() <= code {
                widths.resize(code + 1, default_width);
            }
            widths[code] = width * 0.001;
        }
    };
    let mut rest = list.iter().map(|object| file.resolve(object));
    let mut steps = 0;
    while let (Some(first), Some(second)) = (rest.next(), rest.next()) {
        let Some(first) = first.as_count() else { break };
        if let Some(list) = second.as_list() {
            for (index, width) in list.iter().take(MOST_WIDTHS).enumerate() {
                set(first.saturating_add(index), width.as_number().unwrap_or_default());
            }
            continue;
        }
        let (Some(last), Some(width)) =
            (second.as_count(), rest.next().and_then(|it| it.as_number()))
        else {
            break;
        };
        steps += last.min(MOST_WIDTHS).saturating_sub(first);
        if steps > MOST_WIDTHS * 4 {
            break;
        }
        for code in first..=last.min(MOST_WIDTHS) {
            set(code, width);
        }
    }
    widths
}

/// Returns the letters of the 256 codes of a simple font.
fn letters(file: &PdfFile<'_>, font: &PdfDictionary, encoding: &PdfObject) -> Vec<Option<String>> {
    let dictionary = encoding.as_dictionary();
    let base = encoding.as_name().or_else(|| dictionary.and_then(|it| it.name("BaseEncoding")));
    let by_bytes = |encoding: &'static Encoding| {
        let letter = |byte: u8| {
            let bytes = [byte];
            let (text, _) = encoding.decode_without_bom_handling(&bytes);
            (byte >= 32).then(|| text.into_owned())
        };
        (0..=255).map(letter).collect()
    };
    let is_true_type = font.name("Subtype") == Some("TrueType");
    let mut letters: Vec<Option<String>> = match base {
        Some("MacRomanEncoding") => by_bytes(MACINTOSH),
        Some("WinAnsiEncoding") => by_bytes(WINDOWS_1252),
        None if is_true_type => by_bytes(WINDOWS_1252),
        _ => (0..=255).map(|byte| glyph_names::standard_letter(byte).map(String::from)).collect(),
    };
    let differences = dictionary.map(|it| file.entry(it, "Differences"));
    let mut code = 0;
    for object in
        differences.as_ref().and_then(PdfObject::as_list).unwrap_or_default().iter().take(2_000)
    {
        match object {
            PdfObject::Name(name) => {
                if let Some(letter) = letters.get_mut(code) {
                    *letter = glyph_names::text_of(name);
                }
                code += 1;
            }
            object => code = object.as_count().unwrap_or(code),
        }
    }
    // Ligatures are for the eye.
    for letter in letters.iter_mut().flatten() {
        match letter.as_str() {
            "ﬁ" => "fi".clone_into(letter),
            "ﬂ" => "fl".clone_into(letter),
            _ => {}
        }
    }
    letters
}
