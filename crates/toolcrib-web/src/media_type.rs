//! What kind of content a body is, from its declared media type and, if that says nothing, from its first bytes.

use crate::image;

/// The kinds of content that are read in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentForm {
    Html,
    Markdown,
    Text,
    Json,
    /// XML, which may be a feed or a drawing.
    Xml,
    Pdf,
    Image,
    Binary,
}

/// The longest media type that is shown.
const LONGEST_SHOWN_TYPE: usize = 100;

/// How much of a body is read to guess what it is.
const SNIFFED_BYTES: usize = 1_024;

/// First bytes that tell what a body is.
const SIGNATURES: [(&[u8], &str); 12] = [
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x7fELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"wOF", "font/woff"),
];

/// How pages begin that have no media type.
const PAGE_BEGINS: [&[u8]; 10] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<body",
    b"<title",
    b"<script",
    b"<div",
    b"<table",
    b"<h1",
    b"<p>",
];

/// How XML begins that is no page.
const XML_BEGINS: [&[u8]; 4] = [b"<?xml", b"<rss", b"<feed", b"<rdf:rdf"];

/// The declared media type of a body, and what it is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MediaType {
    /// The type in lower case and without parameters, such as `text/html`.
    pub(crate) name: String,
    pub(crate) form: ContentForm,
}

/// Returns a type without its parameters, in lower case. Nothing else than a type comes through.
fn essence(content_type: &str) -> String {
    let name = content_type.split([';', ',']).next().unwrap_or_default().trim();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+/*".contains(&byte);
    let name = name.to_ascii_lowercase();
    if name.len() > LONGEST_SHOWN_TYPE || !name.bytes().all(is_plain) {
        return String::new();
    }
    name
}

impl MediaType {
    /// Finds out what a body is.
    pub(crate) fn of(body: &[u8], content_type: Option<&str>, url: &str) -> Self {
        let name = essence(content_type.unwrap_or_default());
        let form = match declared_form(&name) {
            // A reader of text is not helped by a PDF that was declared as text.
            Some(_) if body.starts_with(b"%PDF-") => ContentForm::Pdf,
            Some(ContentForm::Text) if is_binary(body) => return Self::sniffed(body, name),
            Some(ContentForm::Text) if is_markdown_address(url) => ContentForm::Markdown,
            Some(form) => form,
            None => return Self::sniffed(body, name),
        };
        Self { name, form }
    }

    fn sniffed(body: &[u8], name: String) -> Self {
        if let Some((_, known)) = SIGNATURES.iter().find(|(begin, _)| body.starts_with(begin)) {
            let form =
                if *known == "application/pdf" { ContentForm::Pdf } else { ContentForm::Binary };
            return Self { name: (*known).to_owned(), form };
        }
        let form = if image::size_of(body).is_some() {
            ContentForm::Image
        } else if is_binary(body) {
            ContentForm::Binary
        } else {
            sniffed_text(body)
        };
        Self { name, form }
    }
}

/// Returns how a media type is read, or nothing if it says nothing.
fn declared_form(name: &str) -> Option<ContentForm> {
    let form = match name {
        ""
        | "application/octet-stream"
        | "binary/octet-stream"
        | "application/x-unknown"
        | "*/*"
        | "unknown/unknown"
        | "application/download"
        | "application/force-download" => return None,
        "text/html" | "application/xhtml+xml" => ContentForm::Html,
        "text/markdown" | "text/x-markdown" => ContentForm::Markdown,
        "application/json" | "text/json" | "application/x-json" => ContentForm::Json,
        "application/pdf" | "application/x-pdf" => ContentForm::Pdf,
        "image/svg+xml" => ContentForm::Image,
        "text/xml" | "application/xml" => ContentForm::Xml,
        "application/javascript"
        | "application/x-javascript"
        | "application/ecmascript"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-toml"
        | "application/sql"
        | "application/graphql"
        | "application/x-sh"
        | "application/x-httpd-php"
        | "application/typescript"
        | "application/x-tex"
        | "application/x-latex"
        | "application/x-www-form-urlencoded" => ContentForm::Text,
        _ if name.ends_with("+json") => ContentForm::Json,
        _ if name.ends_with("+xml") => ContentForm::Xml,
        _ if name.starts_with("text/") => ContentForm::Text,
        _ if name.starts_with("image/") => ContentForm::Image,
        _ if !name.contains('/') => return None,
        _ => ContentForm::Binary,
    };
    Some(form)
}

/// Whether an address ends in the extension of Markdown.
fn is_markdown_address(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "md" | "markdown" | "mdx")
}

/// Whether a body is no text: it has bytes that no text has, and is not in UTF-16.
fn is_binary(body: &[u8]) -> bool {
    if body.starts_with(&[0xff, 0xfe]) || body.starts_with(&[0xfe, 0xff]) {
        return false;
    }
    let begin = &body[..body.len().min(SNIFFED_BYTES)];
    begin.iter().any(|byte| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f))
}

/// Guesses the form of a text from how it begins.
fn sniffed_text(body: &[u8]) -> ContentForm {
    let begin = &body[..body.len().min(SNIFFED_BYTES)];
    let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin).trim_ascii_start();
    let begins =
        |with: &[u8]| begin.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    if XML_BEGINS.iter().any(|it| begins(it)) {
        return ContentForm::Xml;
    }
    if PAGE_BEGINS.iter().any(|it| begins(it)) {
        return ContentForm::Html;
    }
    if begins(b"<!--") && memchr::memmem::find(begin, b"<html").is_some() {
        return ContentForm::Html;
    }
    let end = body.trim_ascii_end().last();
    match (begin.first(), end) {
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => ContentForm::Json,
        _ => ContentForm::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &[u8], content_type: Option<&str>, url: &str, expected: ContentForm) {
        assert_eq!(MediaType::of(body, content_type, url).form, expected, "{content_type:?}");
    }

    #[test]
    fn declared_types_count() {
        for (content_type, expected) in [
            ("text/html; charset=utf-8", ContentForm::Html),
            ("TEXT/HTML", ContentForm::Html),
            ("application/xhtml+xml", ContentForm::Html),
            ("application/json", ContentForm::Json),
            ("application/vnd.api+json", ContentForm::Json),
            ("text/plain", ContentForm::Text),
            ("text/css", ContentForm::Text),
            ("application/javascript", ContentForm::Text),
            ("application/rss+xml", ContentForm::Xml),
            ("text/xml", ContentForm::Xml),
            ("text/markdown", ContentForm::Markdown),
            ("application/pdf", ContentForm::Pdf),
            ("image/png", ContentForm::Image),
            ("application/zip", ContentForm::Binary),
            ("video/mp4", ContentForm::Binary),
        ] {
            check(b"<html>", Some(content_type), "", expected);
        }
        check(b"# a", Some("text/plain"), "https://x.org/README.md?x=1", ContentForm::Markdown);
        check(b"%PDF-1.4", Some("text/plain"), "", ContentForm::Pdf);
        check(b"a\0b", Some("text/plain"), "", ContentForm::Binary);
    }

    #[test]
    fn first_bytes_count_without_a_type() {
        let bodies: [(&[u8], ContentForm); 13] = [
            (b"\n<!DOCTYPE html><p>", ContentForm::Html),
            (b"\xef\xbb\xbf<HTML>", ContentForm::Html),
            (b"<?xml version='1.0'?><rss>", ContentForm::Xml),
            (b"<feed xmlns=x>", ContentForm::Xml),
            (b" {\"a\": 1} ", ContentForm::Json),
            (b"[1]", ContentForm::Json),
            (b"{a", ContentForm::Text),
            (b"hello", ContentForm::Text),
            (b"", ContentForm::Text),
            (b"%PDF-1.7", ContentForm::Pdf),
            (b"GIF89a\x01\0\x01\0\0\0\0", ContentForm::Image),
            (b"PK\x03\x04...", ContentForm::Binary),
            (b"\x01\x02", ContentForm::Binary),
        ];
        for (body, expected) in bodies {
            check(body, None, "", expected);
            check(body, Some("application/octet-stream"), "", expected);
            check(body, Some("nonsense"), "", expected);
        }
        assert_eq!(MediaType::of(b"\x1f\x8b\x08", None, "").name, "application/gzip");
        assert_eq!(MediaType::of(b"", Some("text/\u{1b}[0m"), "").name, "");
    }
}
