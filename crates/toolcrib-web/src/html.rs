//! HTML as Markdown, in one pass over the page.

mod attribute;
mod code_text;
mod declared_charset;
mod element;
mod entity;
mod entity_names;
mod inline;
mod line_prefix;
mod link;
mod main_content;
mod markdown;
mod open_elements;
mod page_head;
mod page_reader;
mod table;
mod tag_traits;
mod tokenizer;

pub(crate) use attribute::TagAttributes;
pub(crate) use declared_charset::{meta_charset, xml_charset};
pub(crate) use element::{is_void, separates_words};
pub(crate) use entity::decode as decode_entities;
pub(crate) use link::{LinkGoal, PageAddress};
pub(crate) use page_head::one_line;
use page_reader::PageReader;
pub(crate) use tokenizer::{MarkupLanguage, MarkupToken, MarkupTokenizer, StartTag};

use crate::stop_check::StopCheck;

/// The text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HtmlText {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) is_cut: bool,
    pub(crate) notice: Option<&'static str>,
}

/// Reads a page or a part of one. `url` is its address.
pub(crate) fn read(html: &str, url: &str, most_bytes: usize, stop: &StopCheck<'_>) -> HtmlText {
    let mut reader = PageReader::new(PageAddress::new(url), most_bytes);
    let mut is_cut = false;
    for token in MarkupTokenizer::new(html, MarkupLanguage::Html) {
        if reader.writer.is_full() || stop.step() {
            is_cut = true;
            break;
        }
        reader.read(token);
    }
    reader.finish();
    let PageReader { writer, head, elements, parts, .. } = reader;
    is_cut |= writer.is_full();
    let mut notice = elements
        .was_too_deep()
        .then_some("the markup is nested very deeply; some of its structure is not shown");
    let needs_script = head.needs_script();
    let (title, description) = head.into_title_and_description();
    let mut text = parts.select(writer.into_text());
    text.truncate(text.trim_end().len());
    let begin = text.len() - text.trim_start_matches('\n').len();
    text.drain(..begin);
    if text.is_empty() {
        text = description.unwrap_or_default();
        if needs_script {
            notice = Some("the page shows its text only with JavaScript, which is not run");
        }
    }
    text.truncate(text.floor_char_boundary(most_bytes));
    let title = title.or_else(|| first_heading(&text));
    HtmlText { title, text, is_cut, notice }
}

fn first_heading(text: &str) -> Option<String> {
    let line = text.lines().take(50).find_map(|line| line.strip_prefix("# "))?;
    Some(one_line(line, 500))
}

#[cfg(test)]
mod tests;
