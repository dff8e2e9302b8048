//! A fetched body as a document: its kind, its title and its text.

use crate::charset::{self, CharsetPlace, DecodedText};
use crate::feed::{self, XmlForm};
use crate::feed_entry::FeedText;
use crate::html::{self, HtmlText};
use crate::json_feed::{self, FeedSign};
use crate::media_type::{ContentForm, MediaType};
use crate::pdf::{self, PdfText};
use crate::stop_check::StopCheck;
use crate::{image, size};

/// The most bytes of text that a document has. The rest is left out.
pub const MOST_TEXT_BYTES: usize = 4 << 20;

/// What a body was read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// A page, whose text is Markdown.
    Html,
    /// Markdown as it was sent.
    Markdown,
    /// Any other text as it was sent.
    Text,
    /// JSON as it was sent.
    Json,
    /// The entries of a feed as Markdown.
    Feed,
    /// The text of the pages of a PDF.
    Pdf,
    /// One line about an image.
    Image,
    /// One line about what is neither text nor image.
    Binary,
}

/// A body as text that a model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What the body was read as.
    pub kind: DocumentKind,
    /// The title of the page, feed or PDF, in one line.
    pub title: Option<String>,
    /// The text, at most `MOST_TEXT_BYTES` long.
    pub text: String,
    /// Whether the body has more text.
    pub is_cut: bool,
    /// What a reader should know about the text: letters that were replaced, structure that was left out.
    pub notice: Option<String>,
}

/// Why there is no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentError {
    /// Nobody waits for it any more.
    Stopped,
    /// It is a PDF that is encrypted.
    Encrypted,
}

impl std::fmt::Display for DocumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stopped => "reading was stopped",
            Self::Encrypted => "the PDF is encrypted, and its text cannot be read",
        })
    }
}

impl std::error::Error for DocumentError {}

impl Document {
    /// Reads a body. `url` is the address that it finally came from, from which relative links are resolved. `is_stopped` is
    /// asked now and then; once it says yes, reading ends early.
    pub fn read(
        body: &[u8],
        content_type: Option<&str>,
        url: &str,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, DocumentError> {
        let stop = StopCheck::new(is_stopped);
        let document = Self::read_until(body, content_type, url, &stop);
        if stop.has_stopped() { Err(DocumentError::Stopped) } else { document }
    }

    fn read_until(
        body: &[u8],
        content_type: Option<&str>,
        url: &str,
        stop: &StopCheck<'_>,
    ) -> Result<Self, DocumentError> {
        let media_type = MediaType::of(body, content_type, url);
        Ok(match media_type.form {
            ContentForm::Html => Self::html(body, content_type, url, stop),
            ContentForm::Markdown => Self::text(body, content_type, DocumentKind::Markdown),
            ContentForm::Text => Self::text(body, content_type, DocumentKind::Text),
            ContentForm::Xml => Self::xml(body, content_type, &media_type, url, stop),
            ContentForm::Json => Self::json(body, content_type, &media_type, url, stop),
            ContentForm::Image => Self::image(body, &media_type, url),
            ContentForm::Pdf => {
                let read = pdf::read(body, MOST_TEXT_BYTES, stop);
                let PdfText { title, text, is_cut, notice } =
                    read.ok_or(DocumentError::Encrypted)?;
                Self { kind: DocumentKind::Pdf, title, text, is_cut, notice }
            }
            ContentForm::Binary => Self::binary(body, &media_type),
        })
    }

    fn line(kind: DocumentKind, text: String) -> Self {
        Self { kind, title: None, text, is_cut: false, notice: None }
    }

    fn html(body: &[u8], content_type: Option<&str>, url: &str, stop: &StopCheck<'_>) -> Self {
        let decoded = charset::decode(body, content_type, CharsetPlace::Meta);
        let HtmlText { title, text, is_cut, notice } =
            html::read(&decoded.text, url, MOST_TEXT_BYTES, stop);
        let notice = joined_notice(decoded.notice, notice.map(str::to_owned));
        Self { kind: DocumentKind::Html, title, text, is_cut, notice }
    }

    fn text(body: &[u8], content_type: Option<&str>, kind: DocumentKind) -> Self {
        Self::declared_text(body, content_type, kind, CharsetPlace::None)
    }

    /// Reads JSON: a feed, or text as it was sent.
    fn json(
        body: &[u8],
        content_type: Option<&str>,
        media_type: &MediaType,
        url: &str,
        stop: &StopCheck<'_>,
    ) -> Self {
        let sign = match media_type.name.as_str() {
            "application/feed+json" => FeedSign::MediaType,
            _ => FeedSign::Version,
        };
        let decoded = charset::decode(body, content_type, CharsetPlace::None);
        match json_feed::read(&decoded.text, sign, url, MOST_TEXT_BYTES, stop) {
            Some(FeedText { title, text, is_cut, notice }) => {
                let notice = joined_notice(decoded.notice, notice.map(str::to_owned));
                Self { kind: DocumentKind::Feed, title, text, is_cut, notice }
            }
            None => Self::text(body, content_type, DocumentKind::Json),
        }
    }

    /// Reads XML: a feed, a page, the name of a drawing, or text as it was sent.
    fn xml(
        body: &[u8],
        content_type: Option<&str>,
        media_type: &MediaType,
        url: &str,
        stop: &StopCheck<'_>,
    ) -> Self {
        let decoded = charset::decode(body, content_type, CharsetPlace::Declaration);
        match feed::form_of(&decoded.text) {
            XmlForm::Feed => {
                let FeedText { title, text, is_cut, notice } =
                    feed::read(&decoded.text, url, MOST_TEXT_BYTES, stop);
                let notice = joined_notice(decoded.notice, notice.map(str::to_owned));
                Self { kind: DocumentKind::Feed, title, text, is_cut, notice }
            }
            XmlForm::Page => Self::html(body, content_type, url, stop),
            XmlForm::Drawing => {
                let name = "image/svg+xml".to_owned();
                Self::image(body, &MediaType { name, form: media_type.form }, url)
            }
            XmlForm::Other => {
                let place = CharsetPlace::Declaration;
                Self::declared_text(body, content_type, DocumentKind::Text, place)
            }
        }
    }

    fn declared_text(
        body: &[u8],
        content_type: Option<&str>,
        kind: DocumentKind,
        place: CharsetPlace,
    ) -> Self {
        // What is behind the most that is shown need not be decoded. A letter has at most four bytes.
        let begin = &body[..body.len().min(MOST_TEXT_BYTES * 4)];
        let DecodedText { text, notice } = charset::decode(begin, content_type, place);
        let end = text.floor_char_boundary(MOST_TEXT_BYTES);
        let is_cut = end < text.len() || begin.len() < body.len();
        let mut text = text.into_owned();
        text.truncate(end);
        Self { kind, title: None, text, is_cut, notice }
    }

    fn image(body: &[u8], media_type: &MediaType, url: &str) -> Self {
        let bytes = size::shown(body.len());
        let url: String = url.chars().filter(|letter| !letter.is_control()).take(2_000).collect();
        let text = if let Some(it) = image::size_of(body) {
            format!("Image: {}, {} × {}, {bytes}, {url}", it.format, it.width, it.height)
        } else {
            let name = media_type.name.trim_start_matches("image/").trim_end_matches("+xml");
            format!("Image: {}, {bytes}, {url}", name.to_uppercase())
        };
        Self::line(DocumentKind::Image, text)
    }

    fn binary(body: &[u8], media_type: &MediaType) -> Self {
        let name = match media_type.name.as_str() {
            "" => "unknown type",
            name => name,
        };
        let text = format!("Binary data: {name}, {}", size::shown(body.len()));
        Self::line(DocumentKind::Binary, text)
    }
}

fn joined_notice(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &[u8], content_type: &str, kind: DocumentKind, expected: &str) {
        let document =
            Document::read(body, Some(content_type), "https://example.org/x", &|| false).unwrap();
        assert_eq!((document.kind, document.text.as_str()), (kind, expected), "{content_type}");
    }

    #[test]
    fn bodies_are_read_by_their_kind() {
        check(b"<p>a</p>", "text/html", DocumentKind::Html, "a");
        check(b"<p>a</p>", "text/plain", DocumentKind::Text, "<p>a</p>");
        check(b"{ \"a\" : 1 }\n", "application/ld+json", DocumentKind::Json, "{ \"a\" : 1 }\n");
        check(b"# a", "text/markdown", DocumentKind::Markdown, "# a");
        check(b"\xe4", "text/plain; charset=latin1", DocumentKind::Text, "ä");
        check(
            b"PK\x03\x04",
            "application/zip",
            DocumentKind::Binary,
            "Binary data: application/zip, 4 bytes",
        );
        check(b"\0\x01", "", DocumentKind::Binary, "Binary data: unknown type, 2 bytes");
        let gif = b"GIF89a\x80\x02\xe0\x01";
        let expected = "Image: GIF, 640 × 480, 10 bytes, https://example.org/x";
        check(gif, "image/gif", DocumentKind::Image, expected);
        check(gif, "image/png", DocumentKind::Image, expected);
        let expected = "Image: SVG, 6 bytes, https://example.org/x";
        check(b"<svg/>", "image/svg+xml", DocumentKind::Image, expected);
        check(
            b"<?xml version='1.0'?><svg>",
            "",
            DocumentKind::Image,
            &expected.replace("6 b", "26 b"),
        );
        let json = b"{\"version\":\"https://jsonfeed.org/version/1\",\"title\":\"a\"}";
        check(json, "application/json", DocumentKind::Feed, "# a");
        check(b"{\"title\":\"a\"}", "application/feed+json", DocumentKind::Feed, "# a");
        check(b"<rss><title>a</title>", "text/xml", DocumentKind::Feed, "# a");
        check(b"<?xml?><feed><title>a</title>", "", DocumentKind::Feed, "# a");
        check(b"<html><p>a", "application/xml", DocumentKind::Html, "a");
        check(b"<a>b</a>", "application/xml", DocumentKind::Text, "<a>b</a>");
        check(b"", "text/html", DocumentKind::Html, "");
    }

    #[test]
    fn long_text_is_cut() {
        let long = "ä".repeat(MOST_TEXT_BYTES);
        let document = Document::read(long.as_bytes(), Some("text/plain"), "", &|| false).unwrap();
        assert!(document.is_cut);
        assert_eq!((document.text.len(), document.notice), (MOST_TEXT_BYTES, None));
        let document =
            Document::read(&long.as_bytes()[..100], Some("text/plain"), "", &|| false).unwrap();
        assert!(!document.is_cut);
    }
}
