//! Reads the replies of search engines. Each returns nothing if the reply is no list of results.

use serde_json::Value;
use toolcrib_core::web_search::FoundPage;
use toolcrib_web::{ClassText, class_texts, one_line_text, plain_text};
use url::Url;

/// The classes of DuckDuckGo's page: of a result's link, of the words below it, and of what stands there without results.
const LINK: &str = "result__a";
const SNIPPET: &str = "result__snippet";
const NO_RESULTS: &str = "no-results";

/// The address that DuckDuckGo leads through, and its parameter with the address of the page.
const DUCKDUCKGO: &str = "https://duckduckgo.com";
const LEADS_TO: &str = "uddg";

/// Reads DuckDuckGo's page without scripts. Advertisements are left out.
pub(super) fn duckduckgo(body: &[u8]) -> Option<Vec<FoundPage>> {
    let text = String::from_utf8_lossy(body);
    let mut pages: Vec<FoundPage> = Vec::new();
    let mut is_known = false;
    let mut takes_snippet = false;
    for ClassText { class, text, href } in class_texts(&text, &[LINK, SNIPPET, NO_RESULTS]) {
        is_known = true;
        match class.as_str() {
            LINK => {
                let url = href.as_deref().and_then(led_to);
                takes_snippet = url.is_some();
                let page = url.map(|url| FoundPage { title: text, url, snippet: String::new() });
                pages.extend(page);
            }
            SNIPPET if takes_snippet => {
                takes_snippet = false;
                if let Some(page) = pages.last_mut() {
                    page.snippet = text;
                }
            }
            _ => {}
        }
    }
    is_known.then_some(pages)
}

/// Returns the page that a link of DuckDuckGo leads to. What stays at DuckDuckGo is an advertisement.
fn led_to(href: &str) -> Option<String> {
    let url = Url::parse(DUCKDUCKGO).ok()?.join(href).ok()?;
    let is_own = url
        .host_str()
        .is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"));
    if !is_own {
        return is_web(&url).then(|| url.into());
    }
    let to = url.query_pairs().find(|(name, _)| name == LEADS_TO)?.1;
    let to = Url::parse(&to).ok()?;
    let is_elsewhere = is_web(&to) && to.host_str() != Some("duckduckgo.com");
    is_elsewhere.then(|| to.into())
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// What a SearXNG server said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SearxngReply {
    pub(super) pages: Vec<FoundPage>,
    /// The engines behind it that did not answer, each with the reason.
    pub(super) silent: Vec<String>,
}

/// Reads the JSON of a SearXNG server. Its texts are no HTML: `Vec<String>` in one is what stands on the page.
pub(super) fn searxng(body: &[u8]) -> Option<SearxngReply> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let results = body.get("results")?.as_array()?;
    let pages = results.iter().filter_map(|result| page(result, "content", one_line_text));
    let silent = body["unresponsive_engines"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(one_line_text);
    let told = |entry: &Value| match (text(&entry[0]), text(&entry[1])) {
        (Some(name), Some(reason)) => Some(format!("{name} ({reason})")),
        (name, _) => name.or_else(|| text(entry)),
    };
    Some(SearxngReply { pages: pages.collect(), silent: silent.iter().filter_map(told).collect() })
}

/// Reads the JSON of Brave's API. Without results, it has no part for the web.
pub(super) fn brave(body: &[u8]) -> Option<Vec<FoundPage>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    if body.get("type")?.as_str()? != "search" {
        return None;
    }
    let results = body["web"]["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    Some(results.iter().filter_map(|result| page(result, "description", plain_text)).collect())
}

/// Returns a result of JSON. `read` reads its texts: Brave marks the words of the query in them as HTML does.
fn page(result: &Value, snippet: &str, read: fn(&str) -> String) -> Option<FoundPage> {
    let url = Url::parse(result["url"].as_str()?).ok().filter(is_web)?;
    let text = |name: &str| read(result[name].as_str().unwrap_or_default());
    Some(FoundPage { title: text("title"), url: url.into(), snippet: text(snippet) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(title: &str, url: &str, snippet: &str) -> FoundPage {
        FoundPage { title: title.to_owned(), url: url.to_owned(), snippet: snippet.to_owned() }
    }

    #[test]
    fn the_page_of_duckduckgo_is_read() {
        let page = br#"<html><body><div class="result results_links web-result">
            <h2 class="result__title"><a rel="nofollow" class="result__a"
              href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fdocs.rs%2Ftokio%2F&amp;rut=ab">tokio &amp; <b>Rust</b></a></h2>
            <a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">A <b>runtime</b> for Rust</a></div>
            <div class="result"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a>
            <a class="result__snippet">an advertisement</a></div>
            <div class="result"><a class="result__a" href="https://tokio.rs/">Tokio</a></div></body></html>"#;
        let expect = [
            found("tokio & Rust", "https://docs.rs/tokio/", "A runtime for Rust"),
            found("Tokio", "https://tokio.rs/", ""),
        ];
        assert_eq!(duckduckgo(page).unwrap(), expect);
        let none = b"<div class='no-results'>No results found</div>";
        assert_eq!(duckduckgo(none), Some(Vec::new()));
        assert_eq!(duckduckgo(b"<form id='challenge-form'>Are you a robot?</form>"), None);
    }

    #[test]
    fn the_json_of_engines_is_read() {
        let searx = br#"{"query": "x", "results": [
            {"title": "A &amp; B", "url": "https://a.example/", "content": " a\n Vec<String>"},
            {"title": "F", "url": "file:///etc/passwd", "content": ""},
            {"title": null, "url": "magnet:?xt=1"}],
            "unresponsive_engines": [["bing", "HTTP error"], ["qwant", "Suspended: too many requests"], 3]}"#;
        let SearxngReply { pages, silent } = searxng(searx).unwrap();
        assert_eq!(pages, [found("A &amp; B", "https://a.example/", "a Vec<String>")]);
        assert_eq!(silent, ["bing (HTTP error)", "qwant (Suspended: too many requests)"]);
        let quiet = searxng(br#"{"results": [], "unresponsive_engines": []}"#).unwrap();
        assert_eq!(quiet, SearxngReply { pages: Vec::new(), silent: Vec::new() });
        let api = br#"{"type": "search", "web": {"results": [
            {"title": "A", "url": "https://a.example/", "description": "<strong>a</strong> &amp; b"}]}}"#;
        assert_eq!(brave(api).unwrap(), [found("A", "https://a.example/", "a & b")]);
        assert_eq!(brave(br#"{"type": "search"}"#), Some(Vec::new()));
        for other in [&b""[..], b"[]", b"{}", b"<html>", b"{\"results\": 3}"] {
            assert_eq!(searxng(other), None);
            assert_eq!(brave(other), None);
        }
    }
}
