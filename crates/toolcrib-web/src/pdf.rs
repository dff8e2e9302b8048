//! PDF: the text of its pages.

mod cmap;
mod content;
mod file;
mod filter;
mod font;
mod glyph_names;
mod layout;
mod lexer;
mod matrix;
mod object;
mod pages;

use content::PageText;
use file::PdfFile;
use object::{PdfDictionary, PdfObject};

use crate::stop_check::StopCheck;

/// The longest title.
const LONGEST_TITLE: usize = 500;

/// The most streams that the content of one page consists of.
const MOST_PARTS: usize = 10_000;

/// The text of a PDF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PdfText {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) is_cut: bool,
    pub(crate) notice: Option<String>,
}

/// Reads the text of a PDF, page by page. One that is encrypted has none.
pub(crate) fn read(body: &[u8], most_bytes: usize, stop: &StopCheck<'_>) -> Option<PdfText> {
    let file = PdfFile::open(body, stop);
    if file.trailer.get("Encrypt").is_some() {
        return None;
    }
    let pages = pages::pages(&file);
    if pages.is_empty() {
        return Some(without_text("The PDF is broken. No page of it can be found.".to_owned()));
    }
    let mut reader = PageText::new(&file);
    let mut text = String::new();
    let mut is_empty = true;
    let mut is_cut = false;
    for (index, page) in pages.iter().enumerate() {
        let content = page_content(&file, &page.dictionary);
        let room = most_bytes.saturating_sub(text.len());
        if room < 100 || stop.big_step() {
            is_cut = true;
            break;
        }
        let page_text = reader.read(&content, &page.resources, room);
        is_empty &= page_text.is_empty();
        if index > 0 {
            text.push_str("\n\n");
        }
        text.extend(["--- page ", &(index + 1).to_string(), " ---\n\n"]);
        text.push_str(&page_text);
    }
    if is_empty && reader.unknown_codes == 0 {
        let count = pages.len();
        return Some(without_text(format!(
            "The PDF has no text. Its pages ({count}) are probably scanned images."
        )));
    }
    is_cut |= text.len() > most_bytes;
    text.truncate(text.floor_char_boundary(most_bytes));
    let unknown = reader.unknown_codes;
    let notice = (unknown > 0).then(|| {
        format!(
            "{unknown} of {} letters are missing, because the PDF does not say what its fonts show",
            reader.codes
        )
    });
    Some(PdfText { title: title(&file), text, is_cut, notice })
}

fn without_text(text: String) -> PdfText {
    PdfText { title: None, text: text.clone(), is_cut: false, notice: Some(text) }
}

/// Returns the operators of a page, which may be in several streams.
fn page_content(file: &PdfFile<'_>, page: &PdfDictionary) -> Vec<u8> {
    let contents = file.entry(page, "Contents");
    let Some(parts) = contents.as_list() else {
        return file.stream_data(&contents).unwrap_or_default();
    };
    let mut all = Vec::new();
    for part in parts.iter().take(MOST_PARTS).take_while(|_| !file.stop.big_step()) {
        all.extend(file.stream_data(&file.resolve(part)).unwrap_or_default());
        all.push(b'\n');
    }
    all
}

fn title(file: &PdfFile<'_>) -> Option<String> {
    let information = file.entry(&file.trailer, "Info");
    let title = file.entry(information.as_dictionary()?, "Title");
    let PdfObject::Text(bytes) = title else { return None };
    let text = match bytes.strip_prefix(&[0xfe, 0xff]) {
        Some(units) => cmap::utf_16_text(units),
        None => match std::str::from_utf8(&bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned(),
        },
    };
    Some(crate::html::one_line(&text, LONGEST_TITLE)).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests;
