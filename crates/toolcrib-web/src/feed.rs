//! Feeds in RSS and Atom: their entries as Markdown.

use crate::feed_entry::{FeedEntry, FeedText, LONGEST_LINE, LONGEST_SUMMARY, SHORTENED};
use crate::html::{
    self, LinkGoal, MarkupLanguage, MarkupToken, MarkupTokenizer, PageAddress, StartTag,
    TagAttributes, decode_entities, one_line,
};
use crate::stop_check::StopCheck;

/// The most bytes of one field that are read.
const LONGEST_FIELD: usize = 1 << 20;

/// Elements with titles and links that are not those of the feed or the entry.
const SKIPPED: [&str; 6] = ["image", "textinput", "textInput", "author", "contributor", "source"];

/// What an XML document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum XmlForm {
    Feed,
    Page,
    Drawing,
    Other,
}

/// Finds out what an XML document is from its first element.
pub(crate) fn form_of(xml: &str) -> XmlForm {
    let begin = &xml[..xml.floor_char_boundary(10_000)];
    let mut tokens = MarkupTokenizer::new(begin, MarkupLanguage::Xml);
    let first = tokens.find_map(|token| match token {
        MarkupToken::Start(tag) => Some(tag.name),
        _ => None,
    });
    match first.map(local_name) {
        Some("rss" | "feed" | "RDF") => XmlForm::Feed,
        Some("html") => XmlForm::Page,
        Some("svg") => XmlForm::Drawing,
        _ => XmlForm::Other,
    }
}

fn local_name(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Returns the name of an element that may be a field. Other namespaces use the same names for other things.
fn field_name(name: &str) -> &str {
    match name.split_once(':') {
        None => name,
        Some(("content" | "dc" | "atom" | "rss", local)) => local,
        Some(_) => "",
    }
}

/// A field whose text is being read.
#[derive(Debug)]
struct OpenField<'a> {
    name: &'a str,
    text: String,
    /// Where the markup within the field begins, and how many elements of it are open.
    begin: usize,
    depth: usize,
    is_markup: bool,
}

struct FeedReader<'a> {
    xml: &'a str,
    address: PageAddress,
    url: &'a str,
    stop: &'a StopCheck<'a>,
    feed: FeedEntry,
    entry: Option<FeedEntry>,
    field: Option<OpenField<'a>>,
    /// The element that is skipped, and how many of its name are open.
    skipped: Option<(&'a str, usize)>,
    out: String,
    has_short_entries: bool,
    has_head: bool,
}

/// Reads a feed. `url` is its address.
pub(crate) fn read(xml: &str, url: &str, most_bytes: usize, stop: &StopCheck<'_>) -> FeedText {
    let mut reader = FeedReader {
        xml,
        address: PageAddress::new(url),
        url,
        stop,
        feed: FeedEntry::default(),
        entry: None,
        field: None,
        skipped: None,
        out: String::new(),
        has_short_entries: false,
        has_head: false,
    };
    let mut tokens = MarkupTokenizer::new(xml, MarkupLanguage::Xml);
    let mut is_cut = false;
    loop {
        let position = tokens.position();
        let Some(token) = tokens.next() else { break };
        reader.read(token, position, tokens.position());
        if reader.out.len() >= most_bytes || stop.step() {
            is_cut = true;
            break;
        }
    }
    reader.end_entry();
    reader.write_head();
    let notice = reader.has_short_entries.then_some(SHORTENED);
    let mut text = reader.out;
    text.truncate(text.trim_end().len());
    text.truncate(text.floor_char_boundary(most_bytes));
    let title = Some(reader.feed.title).filter(|title| !title.is_empty());
    FeedText { title, text, is_cut, notice }
}

impl<'a> FeedReader<'a> {
    fn read(&mut self, token: MarkupToken<'a>, begin: usize, end: usize) {
        if let Some((name, depth)) = &mut self.skipped {
            match token {
                MarkupToken::Start(tag) if tag.name == *name && !tag.is_empty => *depth += 1,
                MarkupToken::End(ended) if ended == *name && *depth > 0 => *depth -= 1,
                MarkupToken::End(ended) if ended == *name => self.skipped = None,
                MarkupToken::End("entry" | "item") => {
                    self.skipped = None;
                    self.end_entry();
                }
                _ => {}
            }
            return;
        }
        match token {
            MarkupToken::Text(text) => self.text(&decode_entities(text)),
            MarkupToken::Verbatim(text) => self.text(text),
            MarkupToken::Start(tag) => self.start(tag, end),
            MarkupToken::End("entry" | "item") => self.end_entry(),
            MarkupToken::End(name) => self.end(name, begin),
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(field) = &mut self.field {
            let room = LONGEST_FIELD.saturating_sub(field.text.len());
            field.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    fn start(&mut self, tag: StartTag<'a>, end: usize) {
        if matches!(tag.name, "entry" | "item") {
            self.end_entry();
            self.write_head();
            self.entry = Some(FeedEntry::default());
            return;
        }
        if let Some(field) = &mut self.field {
            field.depth += usize::from(!tag.is_empty);
            return;
        }
        if SKIPPED.contains(&tag.name) {
            self.skipped = (!tag.is_empty).then_some((tag.name, 0));
            return;
        }
        let name = field_name(tag.name);
        match name {
            "link" if tag.attributes.contains("href") => self.read_link(tag.attributes),
            "title" | "link" | "guid" | "pubDate" | "published" | "updated" | "date"
            | "description" | "subtitle" | "summary" | "encoded" | "content"
                if !tag.is_empty =>
            {
                let kind = TagAttributes::new(tag.attributes).value("type");
                let is_markup = kind.is_some_and(|kind| kind == "xhtml");
                let text = String::new();
                self.field = Some(OpenField { name, text, begin: end, depth: 0, is_markup });
            }
            _ => {}
        }
    }

    fn read_link(&mut self, attributes: &str) {
        let attributes = TagAttributes::new(attributes);
        let relation = attributes.clone().value("rel");
        if relation.is_some_and(|relation| relation != "alternate") {
            return;
        }
        if let Some(href) = attributes.value("href")
            && let LinkGoal::Elsewhere(address) = self.address.resolve(&href)
        {
            let entry = self.entry.as_mut().unwrap_or(&mut self.feed);
            if entry.link.is_empty() {
                entry.link = address;
            }
        }
    }

    fn end(&mut self, name: &str, begin: usize) {
        let Some(field) = &mut self.field else { return };
        if field.depth > 0
            && !(field_name(name) == field.name && field.depth == 1 && !field.is_markup)
        {
            field.depth -= 1;
            return;
        }
        if field_name(name) == field.name {
            self.end_field(begin);
        }
    }

    fn end_field(&mut self, end: usize) {
        let Some(field) = self.field.take() else { return };
        let text = match self.xml.get(field.begin..end) {
            Some(markup) if field.is_markup => markup,
            _ => field.text.as_str(),
        };
        let entry = self.entry.as_mut().unwrap_or(&mut self.feed);
        let as_text = |most| html::read(text, self.url, most, self.stop);
        match field.name {
            "title" if entry.title.is_empty() => {
                entry.title = one_line(&as_text(LONGEST_LINE * 2).text, LONGEST_LINE);
            }
            "link" | "guid" if entry.link.is_empty() => {
                let is_address = field.name == "link" || text.trim_start().starts_with("http");
                if let LinkGoal::Elsewhere(address) = self.address.resolve(text)
                    && is_address
                {
                    entry.link = address;
                }
            }
            "pubDate" | "published" | "date" => entry.date = one_line(text, LONGEST_LINE),
            "updated" if entry.date.is_empty() => entry.date = one_line(text, LONGEST_LINE),
            "description" | "subtitle" | "summary" | "encoded" | "content" => {
                let read = as_text(LONGEST_SUMMARY);
                self.has_short_entries |= read.is_cut;
                let place = match field.name {
                    "encoded" | "content" => &mut entry.content,
                    _ => &mut entry.summary,
                };
                *place = read.text;
                if read.is_cut {
                    place.push('…');
                }
            }
            _ => {}
        }
    }

    /// Writes what the feed says about itself, once.
    fn write_head(&mut self) {
        if !std::mem::replace(&mut self.has_head, true) {
            self.feed.write_head(&mut self.out);
        }
    }

    fn end_entry(&mut self) {
        self.end_field(0);
        if let Some(entry) = self.entry.take() {
            entry.write(&mut self.out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(xml: &str, expected: &str) -> FeedText {
        let feed = read(xml, "https://example.org/feed/", 1 << 20, &StopCheck::never());
        assert_eq!(feed.text, expected);
        feed
    }

    #[test]
    fn rss_is_read() {
        let xml = "<?xml version='1.0'?><rss version='2.0'><channel><title>News &amp; more</title>\
            <link>https://example.org/</link><atom:link href='x' rel='self'/><description>All of it</description>\
            <image><title>Logo</title><link>x</link></image>\
            <item><title><![CDATA[First <b>one</b>]]></title><link>/1</link><pubDate>Mon, 1 Jan 2024</pubDate>\
            <description>&lt;p&gt;Some &lt;a href='y'&gt;text&lt;/a&gt;&lt;/p&gt;</description>\
            <media:title>no</media:title></item>\
            <item><guid>https://example.org/2</guid><content:encoded><![CDATA[<p>Long</p>]]></content:encoded></item>\
            </channel></rss>";
        let feed = check(
            xml,
            "# News & more\n\nhttps://example.org/\n\nAll of it\n\n## [First **one**](https://example.org/1)\n\n\
             Mon, 1 Jan 2024\n\nSome [text](https://example.org/feed/y)\n\n## [Untitled](https://example.org/2)\n\nLong",
        );
        assert_eq!(feed.title.as_deref(), Some("News & more"));
        assert!(!feed.is_cut && feed.notice.is_none());
    }

    #[test]
    fn atom_is_read() {
        let xml = "<feed xmlns='http://www.w3.org/2005/Atom'><title type='text'>T</title><link rel='self' href='s'/>\
            <link href='/home'/><entry><title>E</title><author><name>n</name><title>no</title></author>\
            <link rel='alternate' href='e'/><updated>2024-01-02</updated><published>2024-01-01</published>\
            <content type='xhtml'><div xmlns='x'><p>a <b>b</b></p></div></content></entry></feed>";
        check(
            xml,
            "# T\n\nhttps://example.org/home\n\n## [E](https://example.org/feed/e)\n\n2024-01-01\n\na **b**",
        );
    }

    #[test]
    fn rdf_and_broken_feeds_are_read() {
        let xml = "<rdf:RDF><channel><title>T</title></channel><item><title>E</title><link>https://e.org</link>\
            <dc:date>2024</dc:date></item></rdf:RDF>";
        check(xml, "# T\n\n## [E](https://e.org)\n\n2024");
        check("<rss><item><title>a<item><title>b", "## a\n\n## b");
        check(
            "<rss><item><title>a</item><item><image></item><item><title>b</title>",
            "## a\n\n## Untitled\n\n## b",
        );
        check("<rss>", "");
    }

    #[test]
    fn long_entries_are_shortened() {
        let long = "word ".repeat(10_000);
        let feed = read(
            &format!("<rss><item><description>{long}</description></item>"),
            "",
            1 << 20,
            &StopCheck::never(),
        );
        assert!(feed.text.len() < 4_000 && feed.text.ends_with('…'));
        assert!(feed.notice.is_some());
        let many = "<item><title>a title of an entry</title></item>".repeat(1_000);
        let feed = read(&format!("<rss>{many}"), "", 1_000, &StopCheck::never());
        assert!(feed.is_cut && feed.text.len() <= 1_000);
    }

    #[test]
    fn first_element_says_what_xml_is() {
        for (xml, expected) in [
            ("<?xml version='1.0'?><!-- <rss> --><rss>", XmlForm::Feed),
            ("<feed>", XmlForm::Feed),
            ("<rdf:RDF>", XmlForm::Feed),
            ("<html>", XmlForm::Page),
            ("<svg>", XmlForm::Drawing),
            ("<project>", XmlForm::Other),
            ("", XmlForm::Other),
        ] {
            assert_eq!(form_of(xml), expected, "{xml}");
        }
    }
}
