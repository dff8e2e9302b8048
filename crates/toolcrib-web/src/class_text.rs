//! The texts of the elements of a page that have certain classes, such as the results of a search engine.

use crate::html::{
    MarkupLanguage, MarkupToken, MarkupTokenizer, StartTag, TagAttributes, decode_entities,
    is_void, one_line, separates_words,
};

/// The most elements that are returned.
const MOST_CLASS_TEXTS: usize = 1_000;

/// The most elements within each other that are read at once.
const MOST_OPEN_CLASS_TEXTS: usize = 16;

/// The longest text of an element.
const LONGEST_CLASS_TEXT: usize = 10_000;

/// The text of an element with a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassText {
    /// The class, as it was asked for.
    pub class: String,
    /// The text of the element in one line.
    pub text: String,
    /// The address of the element's link as it stands on the page, or that of the first link within the element.
    pub href: Option<String>,
}

/// An element whose text is being read.
struct OpenClassText<'a> {
    /// The number of its text in the list.
    index: usize,
    name: &'a str,
    /// How many elements of the same name are open within it.
    depth: usize,
}

/// Returns a short text without its markup, in one line.
pub fn plain_text(html: &str) -> String {
    let mut text = String::new();
    for token in MarkupTokenizer::new(html, MarkupLanguage::Html) {
        match token {
            MarkupToken::Text(piece) => text.push_str(&decode_entities(piece)),
            MarkupToken::Verbatim(piece) => text.push_str(piece),
            MarkupToken::End(name) if separates_words(name) => text.push(' '),
            MarkupToken::Start(_) | MarkupToken::End(_) => {}
        }
    }
    one_line(&text, LONGEST_CLASS_TEXT)
}

/// Returns a short text that is no markup in one line.
pub fn one_line_text(text: &str) -> String {
    one_line(text, LONGEST_CLASS_TEXT)
}

/// Returns the texts of all elements of a page that have one of the classes, in the order of their beginnings.
pub fn class_texts(html: &str, classes: &[&str]) -> Vec<ClassText> {
    let mut texts: Vec<ClassText> = Vec::new();
    let mut open: Vec<OpenClassText<'_>> = Vec::new();
    for token in MarkupTokenizer::new(html, MarkupLanguage::Html) {
        match token {
            MarkupToken::Text(_) | MarkupToken::Verbatim(_) if open.is_empty() => {}
            MarkupToken::Text(text) => push_text(&mut texts, &open, &decode_entities(text)),
            MarkupToken::Verbatim(text) => push_text(&mut texts, &open, text),
            MarkupToken::Start(tag) => begin_element(&mut texts, &mut open, tag, classes),
            MarkupToken::End(name) => {
                if separates_words(name) {
                    push_text(&mut texts, &open, " ");
                }
                end_element(&mut open, name);
            }
        }
    }
    for text in &mut texts {
        text.text = one_line(&text.text, LONGEST_CLASS_TEXT);
    }
    texts
}

fn push_text(texts: &mut [ClassText], open: &[OpenClassText<'_>], piece: &str) {
    for element in open {
        let text = &mut texts[element.index].text;
        // Collapsing is done at the end, so there may be more to begin with.
        let room = (LONGEST_CLASS_TEXT * 2).saturating_sub(text.len());
        text.push_str(&piece[..piece.floor_char_boundary(room)]);
    }
}

fn begin_element<'a>(
    texts: &mut Vec<ClassText>,
    open: &mut Vec<OpenClassText<'a>>,
    tag: StartTag<'a>,
    classes: &[&str],
) {
    if separates_words(tag.name) {
        push_text(texts, open, " ");
    }
    if is_void(tag.name) {
        return;
    }
    let is_link = tag.name.eq_ignore_ascii_case("a");
    if is_link {
        // A link ends the one before it.
        open.retain(|element| !element.name.eq_ignore_ascii_case("a"));
    }
    for element in open.iter_mut().filter(|element| element.name.eq_ignore_ascii_case(tag.name)) {
        element.depth += 1;
    }
    let attributes = TagAttributes::new(tag.attributes);
    let href = is_link.then(|| attributes.clone().value("href")).flatten();
    if let Some(href) = &href {
        for element in open.iter() {
            texts[element.index].href.get_or_insert_with(|| href.to_string());
        }
    }
    let Some(value) = attributes.value("class") else { return };
    let found =
        value.split_ascii_whitespace().find_map(|it| classes.iter().find(|class| **class == it));
    if let Some(class) = found
        && texts.len() < MOST_CLASS_TEXTS
        && open.len() < MOST_OPEN_CLASS_TEXTS
    {
        open.push(OpenClassText { index: texts.len(), name: tag.name, depth: 0 });
        let href = href.map(std::borrow::Cow::into_owned);
        texts.push(ClassText { class: (*class).to_owned(), text: String::new(), href });
    }
}

fn end_element(open: &mut Vec<OpenClassText<'_>>, name: &str) {
    open.retain_mut(|element| {
        if !element.name.eq_ignore_ascii_case(name) {
            return true;
        }
        let stays = element.depth > 0;
        element.depth = element.depth.saturating_sub(1);
        stays
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &[(&str, &str, Option<&str>)]) {
        let found = class_texts(html, &["result__a", "result__snippet"]);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.class.as_str(), it.text.as_str(), it.href.as_deref()))
            .collect();
        assert_eq!(found, expected, "{html}");
    }

    #[test]
    fn elements_are_found_by_class() {
        check(
            "<div class='result'><h2><a rel=x class=\"x result__a\" href='//d.org/l/?u=a&amp;v=b'>A <b>b</b>\n c</a></h2>\
             <a class=result__snippet href=y>d &amp; <b>e</b></a></div>x<div class=result__snippet>f<div>g</div>h\
             <a href=z>i</a></div>j",
            &[
                ("result__a", "A b c", Some("//d.org/l/?u=a&v=b")),
                ("result__snippet", "d & e", Some("y")),
                ("result__snippet", "f g hi", Some("z")),
            ],
        );
        check(
            "<a class=result__a>a<a class=result__a>b",
            &[("result__a", "a", None), ("result__a", "b", None)],
        );
        check(
            "<p class=result__ab>a</p><script class=result__a>b</script>",
            &[("result__a", "", None)],
        );
        check("", &[]);
    }

    #[test]
    fn hostile_pages_are_bounded() {
        let deep = "<div class=result__a>".repeat(50_000) + &"x".repeat(100_000);
        let found = class_texts(&deep, &["result__a"]);
        assert_eq!(found.len(), MOST_OPEN_CLASS_TEXTS);
        assert!(found.iter().all(|it| it.text.len() <= LONGEST_CLASS_TEXT));
        let many = "<b class=result__a>x</b>".repeat(5_000);
        assert_eq!(class_texts(&many, &["result__a"]).len(), MOST_CLASS_TEXTS);
    }
}
