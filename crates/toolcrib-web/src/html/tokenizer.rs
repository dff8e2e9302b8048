//! The tokenizer of HTML and XML: it cuts markup into text, start tags and end tags, in one pass and without a stack.

use memchr::memmem;

/// A piece of markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkupToken<'a> {
    /// Text in which character references are not decoded yet.
    Text(&'a str),
    /// Text without character references, from a `CDATA` section.
    Verbatim(&'a str),
    Start(StartTag<'a>),
    /// The name of the element that ends.
    End(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartTag<'a> {
    pub(crate) name: &'a str,
    /// What is between the name and the `>`.
    pub(crate) attributes: &'a str,
    /// Whether the tag ends in `/>`.
    pub(crate) is_empty: bool,
}

/// Which language the tokenizer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkupLanguage {
    /// Scripts and styles are left out. What is in a `title` is text.
    Html,
    /// No element is special, and there are `CDATA` sections.
    Xml,
}

/// Elements whose content is no markup and not for readers.
const DROPPED: [&str; 7] =
    ["script", "style", "iframe", "noembed", "noframes", "noscript", "textarea"];

/// Elements whose content is text without tags.
const PLAIN: [&str; 2] = ["title", "xmp"];

/// An iterator over the tokens of a text.
#[derive(Debug, Clone)]
pub(crate) struct MarkupTokenizer<'a> {
    text: &'a str,
    position: usize,
    language: MarkupLanguage,
    /// The name of the element whose content is text without tags.
    plain: Option<&'a str>,
}

impl<'a> MarkupTokenizer<'a> {
    pub(crate) fn new(text: &'a str, language: MarkupLanguage) -> Self {
        Self { text, position: 0, language, plain: None }
    }

    /// Returns the offset of the first byte that was not read yet.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Returns where `byte` is next at or after `from`.
    fn find_byte(&self, byte: u8, from: usize) -> Option<usize> {
        memchr::memchr(byte, self.bytes().get(from..)?).map(|at| from + at)
    }

    fn find_text(&self, needle: &str, from: usize) -> Option<usize> {
        memmem::find(self.bytes().get(from..)?, needle.as_bytes()).map(|at| from + at)
    }

    /// Returns where the end tag of an element with plain content begins, or the end of the text.
    fn end_of_plain(&self, name: &str) -> usize {
        let bytes = self.bytes();
        for at in memmem::find_iter(&bytes[self.position..], b"</") {
            let at = self.position + at;
            let found = bytes.get(at + 2..at + 2 + name.len());
            let is_whole = !bytes.get(at + 2 + name.len()).is_some_and(u8::is_ascii_alphanumeric);
            if is_whole && found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
                return at;
            }
        }
        bytes.len()
    }

    /// Reads the text up to the next `<`, which may not be at `self.position`.
    fn read_text(&mut self, begin: usize) -> MarkupToken<'a> {
        let end = self.find_byte(b'<', self.position).unwrap_or(self.text.len());
        self.position = end;
        MarkupToken::Text(&self.text[begin..end])
    }

    /// Reads what begins with `<`. Returns nothing for a comment and the like, or a tag that is cut off.
    fn read_markup(&mut self) -> Option<MarkupToken<'a>> {
        let begin = self.position;
        match self.bytes().get(begin + 1) {
            Some(b'!') => self.read_declaration(begin),
            Some(b'?') => {
                self.skip_past('>', begin + 2);
                None
            }
            Some(b'/') if self.bytes().get(begin + 2).is_some_and(u8::is_ascii_alphabetic) => {
                let name_end = self.name_end(begin + 2);
                self.skip_past('>', name_end);
                Some(MarkupToken::End(&self.text[begin + 2..name_end]))
            }
            Some(b'/') if self.bytes().get(begin + 2).is_some() => {
                self.skip_past('>', begin + 2);
                None
            }
            Some(letter) if letter.is_ascii_alphabetic() => self.read_start_tag(begin),
            _ => {
                self.position = begin + 1;
                Some(self.read_text(begin))
            }
        }
    }

    fn skip_past(&mut self, byte: char, from: usize) {
        self.position = self.find_byte(byte as u8, from).map_or(self.text.len(), |at| at + 1);
    }

    fn read_declaration(&mut self, begin: usize) -> Option<MarkupToken<'a>> {
        let rest = &self.bytes()[begin..];
        if rest.starts_with(b"<!--") {
            // `<!-->` is a whole comment.
            let end = self.find_text("-->", begin + 2).map_or(self.text.len(), |at| at + 3);
            self.position = end;
            return None;
        }
        if self.language == MarkupLanguage::Xml && rest.starts_with(b"<![CDATA[") {
            let from = begin + 9;
            let end = self.find_text("]]>", from);
            self.position = end.map_or(self.text.len(), |at| at + 3);
            return Some(MarkupToken::Verbatim(&self.text[from..end.unwrap_or(self.text.len())]));
        }
        self.skip_past('>', begin + 2);
        None
    }

    fn name_end(&self, from: usize) -> usize {
        let rest = &self.bytes()[from..];
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
        from + rest.iter().position(is_end).unwrap_or(rest.len())
    }

    fn read_start_tag(&mut self, begin: usize) -> Option<MarkupToken<'a>> {
        let name_end = self.name_end(begin + 1);
        let name = &self.text[begin + 1..name_end];
        let Some(end) = end_of_tag(self.bytes(), name_end) else {
            self.position = self.text.len();
            return None;
        };
        self.position = end + 1;
        let attributes = &self.text[name_end..end];
        let is_empty = attributes.ends_with('/');
        let attributes = attributes.strip_suffix('/').unwrap_or(attributes);
        if self.language == MarkupLanguage::Html {
            self.enter_plain(name);
        }
        Some(MarkupToken::Start(StartTag { name, attributes, is_empty }))
    }

    /// Prepares for the content of an element that holds no markup.
    fn enter_plain(&mut self, name: &'a str) {
        let Some(b'i' | b'n' | b's' | b't' | b'x') =
            name.as_bytes().first().map(u8::to_ascii_lowercase)
        else {
            return;
        };
        if DROPPED.iter().any(|it| name.eq_ignore_ascii_case(it)) {
            self.position = self.end_of_plain(name);
        } else if PLAIN.iter().any(|it| name.eq_ignore_ascii_case(it)) {
            self.plain = Some(name);
        }
    }
}

/// Returns where the `>` of a start tag is, which is not one within a quoted value.
fn end_of_tag(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        match byte {
            b'>' => return Some(at - 1),
            b'=' => {
                while bytes.get(at)?.is_ascii_whitespace() {
                    at += 1;
                }
                let quote = *bytes.get(at)?;
                if matches!(quote, b'"' | b'\'') {
                    at += 2 + memchr::memchr(quote, bytes.get(at + 1..)?)?;
                } else {
                    // A value without quotes may hold quotes and `=`.
                    while !matches!(bytes.get(at)?, b'>' | b' ' | b'\t' | b'\n' | b'\r' | 0x0c) {
                        at += 1;
                    }
                }
            }
            _ => {}
        }
    }
}

impl<'a> Iterator for MarkupTokenizer<'a> {
    type Item = MarkupToken<'a>;

    fn next(&mut self) -> Option<MarkupToken<'a>> {
        if let Some(name) = self.plain.take() {
            let begin = self.position;
            self.position = self.end_of_plain(name);
            if begin < self.position {
                return Some(MarkupToken::Text(&self.text[begin..self.position]));
            }
        }
        while let Some(byte) = self.bytes().get(self.position) {
            if *byte != b'<' {
                return Some(self.read_text(self.position));
            }
            if let Some(token) = self.read_markup() {
                return Some(token);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, language: MarkupLanguage) -> String {
        let shown = MarkupTokenizer::new(text, language).map(|token| match token {
            MarkupToken::Text(text) => format!("T[{text}]"),
            MarkupToken::Verbatim(text) => format!("V[{text}]"),
            MarkupToken::Start(tag) => {
                let slash = if tag.is_empty { "/" } else { "" };
                format!("S[{}|{}{slash}]", tag.name, tag.attributes)
            }
            MarkupToken::End(name) => format!("E[{name}]"),
        });
        shown.collect()
    }

    #[test]
    fn html_is_cut_into_tokens() {
        for (text, expected) in [
            ("a<b>c</b>", "T[a]S[b|]T[c]E[b]"),
            ("<br/><br />", "S[br|/]S[br| /]"),
            ("<a href='x>y'>z", "S[a| href='x>y']T[z]"),
            ("<a href=x\">z", "S[a| href=x\"]T[z]"),
            ("<a href = \"a>b\" c>z", "S[a| href = \"a>b\" c]T[z]"),
            ("1 < 2 <3 <", "T[1 ]T[< 2 ]T[<3 ]T[<]"),
            ("a<!-- <b> -->c<!-->d<!doctype html>e<?php ?>f", "T[a]T[c]T[d]T[e]T[f]"),
            ("a</>b</ p>c", "T[a]T[b]T[c]"),
            ("<script>if (a<b) '</p>'</SCRIPT>x", "S[script|]E[SCRIPT]T[x]"),
            ("<title>a <b> c</titles></title>d", "S[title|]T[a <b> c</titles>]E[title]T[d]"),
            ("<title></title>d", "S[title|]E[title]T[d]"),
            ("a<b", "T[a]"),
            ("a<b c=\"", "T[a]"),
            ("a<!-- b", "T[a]"),
            ("<style>x", "S[style|]"),
            ("a</b", "T[a]E[b]"),
        ] {
            assert_eq!(shown(text, MarkupLanguage::Html), expected, "{text}");
        }
    }

    #[test]
    fn xml_has_verbatim_sections_and_no_plain_elements() {
        let text = "<title>a<b/></title><x><![CDATA[<p>&amp;]]></x><![CDATA[open";
        let expected = "S[title|]T[a]S[b|/]E[title]S[x|]V[<p>&amp;]E[x]V[open]";
        assert_eq!(shown(text, MarkupLanguage::Xml), expected);
    }
}
