//! Bodies that were made to hurt a reader: deep, endless, broken and random ones. Whatever is sent, a document comes
//! back, no longer than documents may be.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use toolcrib_web::{Document, DocumentKind, MOST_TEXT_BYTES, class_texts};

const URL: &str = "https://example.org/a/b?c#d";

/// How large the hostile bodies are. What takes more than linear time takes minutes for them.
const HOSTILE_BYTES: usize = 1 << 20;
const VAST_BYTES: usize = 20 << 20;

/// Reads a body and checks what holds for every document.
#[track_caller]
fn read(body: &[u8], content_type: &str) -> Document {
    let document = Document::read(body, Some(content_type), URL, &|| false).unwrap();
    assert!(document.text.len() <= MOST_TEXT_BYTES, "{} bytes", document.text.len());
    if let Some(title) = &document.title {
        assert!(title.len() <= 500 && !title.contains(char::is_control), "{title:?}");
    }
    if matches!(document.kind, DocumentKind::Html | DocumentKind::Feed) {
        let is_hidden = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
        assert!(!document.text.contains(is_hidden), "{:?}", document.text);
    }
    document
}

fn repeated(text: &str) -> String {
    text.repeat(HOSTILE_BYTES / text.len())
}

#[test]
fn deep_nesting_is_read() {
    for tag in [
        "div",
        "b",
        "ul><li",
        "blockquote",
        "table><tr><td",
        "a href=x",
        "h1",
        "dl><dd",
        "x-y",
        "span hidden",
    ] {
        let html = format!("<p>before</p>{}after", repeated(&format!("<{tag}>")));
        let document = read(html.as_bytes(), "text/html");
        assert!(document.text.starts_with("before"), "{tag}");
        if tag != "span hidden" {
            assert!(document.text.contains("after"), "{tag}");
        }
    }
    let document = read("<div><i>".repeat(VAST_BYTES / 8).as_bytes(), "text/html");
    assert!(document.notice.unwrap().contains("deeply"));
    assert_eq!(read(b"<div><i>x", "text/html").notice, None);
}

#[test]
fn nesting_that_goes_up_and_down_is_read() {
    let up = "<div><ul><li><blockquote><b><table><tr><td><p>".repeat(200);
    for tags in [
        "<p>x",
        "</b>",
        "</td>",
        "</p><p>",
        "<li>x</li>",
        "<td>x",
        "</ul><ul>",
        "<a href=x>y</a>",
        "<h2>x</h2>",
    ] {
        read(format!("{up}{}", repeated(tags)).as_bytes(), "text/html");
    }
}

#[test]
fn endless_pieces_are_read() {
    let attributes = format!("<p {}>text", repeated("a=b "));
    assert_eq!(read(attributes.as_bytes(), "text/html").text, "text");
    let names = format!("<p {}>text", repeated("x"));
    assert_eq!(read(names.as_bytes(), "text/html").text, "text");
    let classes = format!("<p class='{}'>text", repeated("x "));
    assert_eq!(read(classes.as_bytes(), "text/html").text, "text");
    let link = format!("<a href='{}'>text</a>", repeated("x"));
    assert_eq!(read(link.as_bytes(), "text/html").text, "text");
    let title = format!("<title>a\0b{}</title>text", repeated("t "));
    assert_eq!(read(title.as_bytes(), "text/html").text, "text");
    for pieces in [
        "&",
        "&#",
        "&a",
        "&amp",
        "&#x",
        "<",
        "</",
        "<!",
        "<!--",
        "<a href='",
        "<?",
        "<script>",
        "</script",
        "]]>",
    ] {
        for content_type in ["text/html", "application/rss+xml"] {
            read(repeated(pieces).as_bytes(), content_type);
            read(format!("<p>{}", repeated(pieces)).as_bytes(), content_type);
            read(format!("<rss><item><title>{}", repeated(pieces)).as_bytes(), content_type);
        }
    }
    for text in [
        "x",
        "x ",
        " ",
        "\n",
        "\0",
        "`",
        "ä",
        "\u{200b}",
        "<br>",
        "<td>x",
        "<img src=x>",
        "<b>x</b>",
        "<li>",
    ] {
        read(repeated(text).as_bytes(), "text/html");
        read(format!("<pre>{}", repeated(text)).as_bytes(), "text/html");
        read(format!("<table><tr><td>{}", repeated(text)).as_bytes(), "text/html");
        read(format!("<code>{}", repeated(text)).as_bytes(), "text/html");
    }
}

#[test]
fn wrong_charsets_are_read() {
    let bytes: Vec<u8> = (0..=255).collect();
    let body = bytes.repeat(4_000);
    for charset in [
        "utf-8",
        "utf-16",
        "utf-16be",
        "shift_jis",
        "gb18030",
        "iso-2022-jp",
        "x-user-defined",
        "none",
        "replacement",
    ] {
        for content_type in ["text/html", "text/plain", "application/json", "text/xml"] {
            read(&body, &format!("{content_type}; charset={charset}"));
        }
    }
    let document = read(b"\xff\xfe<\0p\0>\0a\0", "text/html");
    assert_eq!(document.text, "a");
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

const PAGE: &str = "<!doctype html><html><head><meta charset=utf-8><title>T &amp; t</title><base href='/x/'></head>\
    <body><header><nav><a href=/>home</a></nav></header><main><h1>Head <a href='#h'>#</a></h1>\
    <p>Text <b>bold <i>both</b> italic</i> <code>co`de</code> &eacute;&#233; ü <a href='../y?z=1&amp;w'>link</a></p>\
    <ul><li>one<ol start=3><li>two<li>three</ol></li><li><p>four</p><p>five</p></ul>\
    <table><caption>C</caption><tr><th colspan=2>a|b<th>c</tr><tr><td>1<br>2<td><ul><li>x</ul></table>\
    <pre class='language-rust'>fn x() {\n}\n```</pre><blockquote><p>q</p><blockquote>r</blockquote></blockquote>\
    <dl><dt>t<dd>d</dl><img src=i.png alt='an image'><hr><details><summary>S</summary>body</details>\
    <div hidden>no</div><svg><title>no</title></svg><script>if (a<b) {}</script></main><footer>f</footer></body></html>";

const FEED: &str = "<?xml version='1.0' encoding='utf-8'?><rss><channel><title>T</title><link>/</link>\
    <item><title><![CDATA[a <b>]]></title><link>/1</link><description>&lt;p&gt;x&lt;/p&gt;</description></item>\
    <item><guid>http://x</guid><content:encoded><![CDATA[<ul><li>y</ul>]]></content:encoded></item></channel></rss>";

const ATOM: &str = "<feed><title type='html'>T</title><entry><link href='e'/><title>E</title><author><name>n</name></author>\
    <updated>2024</updated><content type='xhtml'><div><p>z</p></div></content></entry></feed>";

/// Changes a body in one of several ways.
fn mutate(body: &mut Vec<u8>, numbers: &mut Numbers) {
    const PIECES: [&[u8]; 16] = [
        b"<",
        b">",
        b"\"",
        b"'",
        b"&",
        b"</",
        b"<!--",
        b"<table>",
        b"</table>",
        b"<td>",
        b"<li>",
        b"</p>",
        b"\0",
        b"\xff",
        b"<pre>",
        b"<a href=q>",
    ];
    let at = numbers.below(body.len());
    let end = (at + numbers.below(40)).min(body.len());
    match numbers.below(5) {
        0 if at < body.len() => body[at] = numbers.below(256) as u8,
        1 => drop(body.drain(at..end)),
        2 => drop(body.splice(at..at, PIECES[numbers.below(PIECES.len())].iter().copied())),
        3 => {
            let copy = body[at..end].to_vec();
            let to = numbers.below(body.len());
            drop(body.splice(to..to, copy));
        }
        _ => body.truncate(body.len() - body.len() / 16),
    }
}

#[test]
fn changed_documents_are_read() {
    let mut numbers = Numbers(1);
    for (sample, content_type) in
        [(PAGE, "text/html"), (FEED, "text/xml"), (ATOM, "application/atom+xml"), (PAGE, "")]
    {
        assert!(read(sample.as_bytes(), content_type).text.len() > 20);
        for _ in 0..2_000 {
            let mut body = sample.as_bytes().to_vec();
            for _ in 0..=numbers.below(12) {
                mutate(&mut body, &mut numbers);
            }
            let document = read(&body, content_type);
            // Links that are repeated may make the text longer than the page, but not by much.
            assert!(document.text.len() < body.len() * 4 + 1_000);
            class_texts(&String::from_utf8_lossy(&body), &["language-rust"]);
        }
    }
}

#[test]
fn random_bytes_are_read() {
    let mut numbers = Numbers(2);
    for length in 0..300 {
        let body: Vec<u8> = (0..length).map(|_| numbers.below(256) as u8).collect();
        for content_type in
            ["", "text/html", "text/xml", "text/plain", "image/png", "application/pdf"]
        {
            read(&body, content_type);
        }
        for begin in [
            b"\x89PNG\r\n\x1a\n".as_slice(),
            b"\xff\xd8\xff",
            b"RIFF1234WEBPVP8 ",
            b"GIF89a",
            b"%PDF-1.7\n",
        ] {
            read(&[begin, &body].concat(), "");
        }
    }
}

/// Returns whether a body was read, and how often it was asked whether to stop. The answer is yes from the `limit`th time on.
fn asked_until(limit: usize, body: &[u8], content_type: &str) -> (bool, usize) {
    let asked = std::cell::Cell::new(0);
    let is_stopped = || {
        asked.set(asked.get() + 1);
        asked.get() >= limit
    };
    let document = Document::read(body, Some(content_type), URL, &is_stopped);
    (document.is_ok(), asked.get())
}

#[test]
fn reading_ends_when_nobody_waits_for_it() {
    let page = repeated("<p>a<b>b</b>");
    let feed = format!("<rss>{}", repeated("<item><title>a<b>c</title></item>"));
    let content = repeated("BT (a) Tj ET ");
    let pdf = |content: &str| {
        format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Kids[3 0 R]>> endobj\n\
             3 0 obj <</Type/Page/Contents 4 0 R>> endobj\n\
             4 0 obj <</Length {}>>\nstream\n{content}\nendstream endobj\n",
            content.len()
        )
    };
    let objects = repeated("1 0 obj endobj ");
    for (body, content_type) in [
        (page, "text/html"),
        (feed, "application/rss+xml"),
        (pdf(&content), "application/pdf"),
        (format!("%PDF-1.4 {objects}"), "application/pdf"),
    ] {
        let (is_read, asked) = asked_until(usize::MAX, body.as_bytes(), content_type);
        assert!(is_read && asked > 100, "{content_type}: {asked}");
        for limit in [1, 2, asked / 2, asked] {
            let stopped = asked_until(limit, body.as_bytes(), content_type);
            assert_eq!(stopped, (false, limit), "{content_type}: {limit} of {asked}");
        }
    }
}

#[test]
fn cells_that_span_everything_are_bounded() {
    let wide = "<td rowspan=65534 colspan=30>x".repeat(1_000);
    let rows = repeated("<tr><td>y");
    let document = read(format!("<table><tr>{wide}{rows}</table>after").as_bytes(), "text/html");
    assert!(document.text.contains("after") && document.text.contains('y'));
    read(format!("<table>{}", repeated("<tr><td rowspan=0>x")).as_bytes(), "text/html");
}
