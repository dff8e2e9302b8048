//! Feeds in JSON: their entries as Markdown, like those of RSS and Atom.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::feed_entry::{FeedEntry, FeedText, LONGEST_LINE, LONGEST_SUMMARY, SHORTENED};
use crate::html::{self, LinkGoal, PageAddress, one_line};
use crate::stop_check::StopCheck;

/// What the version of every feed in JSON has in it. It is an address.
const VERSION: &str = "//jsonfeed.org/version/";

/// The most entries that are read.
const MOST_ITEMS: usize = 20_000;

/// A feed. What is not shown is not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonFeed {
    version: JsonText,
    title: JsonText,
    home_page_url: JsonText,
    description: JsonText,
    items: JsonFeedItems,
}

/// An entry of a feed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonFeedItem {
    id: JsonText,
    url: JsonText,
    external_url: JsonText,
    title: JsonText,
    summary: JsonText,
    content_html: JsonText,
    content_text: JsonText,
    date_published: JsonText,
    date_modified: JsonText,
}

/// A text. Anything else, such as `null`, is none.
#[derive(Debug, Default)]
struct JsonText(String);

/// The first entries of a feed.
#[derive(Debug, Default)]
struct JsonFeedItems {
    items: Vec<JsonFeedItem>,
    are_cut: bool,
}

/// What says that a text in JSON is a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedSign {
    /// Its media type.
    MediaType,
    /// If anything, the version that it names.
    Version,
}

impl FeedSign {
    fn holds(self, json: &str) -> bool {
        self == Self::MediaType || json.contains(VERSION)
    }
}

/// Reads a feed; returns nothing if the text is none. `url` is its address.
pub(crate) fn read(
    json: &str,
    sign: FeedSign,
    url: &str,
    most_bytes: usize,
    stop: &StopCheck<'_>,
) -> Option<FeedText> {
    // A list would count as the fields in their order.
    if !json.trim_start().starts_with('{') || !sign.holds(json) {
        return None;
    }
    let feed: JsonFeed =
        serde_json::from_str(json).ok().filter(|feed: &JsonFeed| sign.holds(&feed.version.0))?;
    let mut reader =
        EntryReader { address: PageAddress::new(url), url, stop, has_short_entries: false };
    let mut text = String::new();
    let head = reader.head(&feed);
    head.write_head(&mut text);
    let mut is_cut = feed.items.are_cut;
    for item in &feed.items.items {
        if text.len() >= most_bytes || stop.step() {
            is_cut = true;
            break;
        }
        reader.entry(item).write(&mut text);
    }
    is_cut |= text.len() > most_bytes;
    text.truncate(text.trim_end().len());
    text.truncate(text.floor_char_boundary(most_bytes));
    let title = Some(head.title).filter(|title| !title.is_empty());
    let notice = reader.has_short_entries.then_some(SHORTENED);
    Some(FeedText { title, text, is_cut, notice })
}

/// Reads the entries of one feed.
struct EntryReader<'a> {
    address: PageAddress,
    url: &'a str,
    stop: &'a StopCheck<'a>,
    has_short_entries: bool,
}

impl EntryReader<'_> {
    fn head(&mut self, feed: &JsonFeed) -> FeedEntry {
        FeedEntry {
            title: one_line(&feed.title.0, LONGEST_LINE),
            link: self.link(&feed.home_page_url),
            summary: self.plain(&feed.description),
            ..FeedEntry::default()
        }
    }

    fn entry(&mut self, item: &JsonFeedItem) -> FeedEntry {
        // An id need not be an address.
        let id = Some(&item.id).filter(|id| id.0.starts_with("http"));
        let links = [Some(&item.url), id, Some(&item.external_url)];
        let link = links.into_iter().flatten().map(|it| self.link(it)).find(|it| !it.is_empty());
        let dates = [&item.date_published, &item.date_modified];
        let date = dates.into_iter().find(|it| !it.0.is_empty()).unwrap_or(&item.date_published);
        let content = if item.content_html.0.is_empty() {
            self.plain(&item.content_text)
        } else {
            let read = html::read(&item.content_html.0, self.url, LONGEST_SUMMARY, self.stop);
            self.has_short_entries |= read.is_cut;
            read.text + if read.is_cut { "…" } else { "" }
        };
        FeedEntry {
            title: one_line(&item.title.0, LONGEST_LINE),
            link: link.unwrap_or_default(),
            date: one_line(&date.0, LONGEST_LINE),
            summary: self.plain(&item.summary),
            content,
        }
    }

    fn link(&self, text: &JsonText) -> String {
        match self.address.resolve(&text.0) {
            LinkGoal::Elsewhere(address) if !text.0.is_empty() => address,
            _ => String::new(),
        }
    }

    /// Returns a text that is no markup, shortened.
    fn plain(&mut self, text: &JsonText) -> String {
        let end = text.0.floor_char_boundary(LONGEST_SUMMARY);
        let is_shown = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        let mut plain: String = text.0[..end].trim().chars().filter(is_shown).collect();
        if end < text.0.len() {
            self.has_short_entries = true;
            plain.push('…');
        }
        plain
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

/// Takes a text, and skips whatever else is in its place.
struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = JsonText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<JsonText, E> {
        Ok(JsonText(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<JsonText, E> {
        Ok(JsonText::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<JsonText, E> {
        Ok(JsonText::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<JsonText, E> {
        Ok(JsonText::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<JsonText, E> {
        Ok(JsonText::default())
    }

    fn visit_unit<E: Error>(self) -> Result<JsonText, E> {
        Ok(JsonText::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<JsonText, A::Error> {
        while parts.next_element::<IgnoredAny>()?.is_some() {}
        Ok(JsonText::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<JsonText, A::Error> {
        while parts.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(JsonText::default())
    }
}

impl<'de> Deserialize<'de> for JsonFeedItems {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ItemsVisitor)
    }
}

/// Takes the first entries. Many small ones would need much more memory than their text.
struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = JsonFeedItems;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<JsonFeedItems, A::Error> {
        let mut items = Vec::new();
        while items.len() < MOST_ITEMS {
            match parts.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(JsonFeedItems { items, are_cut: false }),
            }
        }
        let mut are_cut = false;
        while parts.next_element::<IgnoredAny>()?.is_some() {
            are_cut = true;
        }
        Ok(JsonFeedItems { items, are_cut })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://example.org/feed/";

    fn feed(json: &str, sign: FeedSign) -> Option<FeedText> {
        read(json, sign, URL, 1 << 20, &StopCheck::never())
    }

    #[test]
    fn a_feed_is_read() {
        let json = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "News", "home_page_url": "/",
            "description": "All of it", "icon": "x", "authors": [{"name": "n"}], "items": [
            {"id": "1", "url": "/1", "title": "First\none", "content_html": "<p>Some <b>text</b>",
             "date_published": "2024-01-02", "date_modified": "2024-01-03"},
            {"id": "https://example.org/2", "title": null, "content_text": " a <b>\n c ", "summary": ["no"]},
            {"id": 3, "url": "javascript:x", "external_url": "https://e.org", "summary": "s", "content_text": "c"}]}"#;
        let read = feed(json, FeedSign::Version).unwrap();
        assert_eq!(
            read.text,
            "# News\n\nhttps://example.org/\n\nAll of it\n\n## [First one](https://example.org/1)\n\n2024-01-02\n\n\
             Some **text**\n\n## [Untitled](https://example.org/2)\n\na <b>\n c\n\n## [Untitled](https://e.org)\n\ns"
        );
        assert_eq!((read.title.as_deref(), read.is_cut, read.notice), (Some("News"), false, None));
    }

    #[test]
    fn what_does_not_say_so_is_no_feed() {
        for json in [
            r#"{"title": "a", "items": []}"#,
            r#"{"title": "https://jsonfeed.org/version/1", "items": []}"#,
            r#"{"version": "2", "items": []}"#,
        ] {
            assert_eq!(feed(json, FeedSign::Version), None, "{json}");
            assert!(feed(json, FeedSign::MediaType).is_some(), "{json}");
        }
        for json in ["", "[]", r#"{"items": 1}"#, r#"{"items": [1]}"#, r#"{"items": ["#] {
            assert_eq!(feed(json, FeedSign::MediaType), None, "{json}");
        }
    }

    #[test]
    fn long_entries_and_feeds_are_shortened() {
        let long = format!(r#"{{"items": [{{"content_text": "{}"}}]}}"#, "word ".repeat(10_000));
        let read = feed(&long, FeedSign::MediaType).unwrap();
        assert!(read.text.len() < 4_000 && read.text.ends_with('…') && read.notice.is_some());
        let many = format!(r#"{{"items": [{}{{}}]}}"#, "{},".repeat(MOST_ITEMS));
        assert!(feed(&many, FeedSign::MediaType).unwrap().is_cut);
        let fits = format!(r#"{{"items": [{}{{}}]}}"#, "{},".repeat(MOST_ITEMS - 1));
        assert!(!feed(&fits, FeedSign::MediaType).unwrap().is_cut);
    }
}
