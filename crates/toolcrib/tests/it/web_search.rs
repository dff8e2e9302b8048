//! `web_search` over a real metasearch engine, and over what stands where one is expected.

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch};
use crate::searx::{Answered, AnsweringHost, Searx};

/// What a SearXNG server answers whose settings do not list `json`.
const FORBIDDEN: &str =
    "<!doctype html>\n<html lang=en>\n<title>403 Forbidden</title>\n<h1>Forbidden</h1>\n";

/// Stands for what engines ask. The words of the query say what is found.
fn found(path: &str) -> Answered {
    let is_second = path.starts_with("/second");
    if path.contains("broken") || is_second && path.contains("half") {
        return ("500 Internal Server Error", String::new());
    }
    let hit =
        |url: &str, title: &str, text: &str| json!({"url": url, "title": title, "text": text});
    let hits = match () {
        () if path.contains("nothing") => Vec::new(),
        () if is_second => vec![hit("https://notdocs.rs/c?a=1 2", "C", "")],
        () => vec![
            hit("https://docs.rs/a", "Vec<T> & more", "a  Vec&lt;String&gt;\nof <b>words</b>"),
            hit("https://sub.docs.rs/b", "B", "b"),
            hit("magnet:?xt=1", "M", "m"),
        ],
    };
    ("200 OK", json!({"hits": hits}).to_string())
}

fn search_at(scratch: &Scratch, url: &str, args: &Value) -> Ran {
    let url = format!("web.search_url={url}");
    let words = ["--yes", "-c", "web.search=searxng", "-c", &url, "call", "clemini/web_search"];
    scratch.run(words.iter().chain(&[args.to_string().as_str(), "--json"]))
}

fn urls(ran: &Ran) -> Vec<String> {
    let reply = ran.json();
    let results = reply["results"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let mut urls: Vec<String> =
        results.iter().map(|it| it["url"].as_str().unwrap().to_owned()).collect();
    urls.sort();
    urls
}

#[test]
fn a_real_metasearch_engine_answers() {
    let (scratch, host) = (Scratch::new(), AnsweringHost::start(found));
    let searx = Searx::start(&scratch, host.0, &["first", "second"]);
    let search = |args: Value| search_at(&scratch, &searx.url(), &args);
    let all = search(json!({"query": "a b&c"}));
    let (docs, below, other) =
        ("https://docs.rs/a", "https://sub.docs.rs/b", "https://notdocs.rs/c?a=1%202");
    assert_eq!(urls(&all), [docs, other, below], "what is no web page is left out: {}", all.stderr);
    let reply = all.json();
    let at_docs = reply["results"].as_array().unwrap().iter().find(|it| it["url"] == docs).unwrap();
    // searx itself makes HTML text, and the text is not read as HTML a second time.
    assert_eq!(at_docs["snippet"], "a Vec<String> of words", "{reply}");
    let warnings = reply["warnings"].to_string();
    assert!(warnings.contains("untrusted text from 127.0.0.1"), "{warnings}");
    let allowed = search(json!({"query": "a", "allowed_domains": ["docs.rs"]}));
    assert_eq!(urls(&allowed), [docs, below]);
    let blocked = search(json!({"query": "a", "blocked_domains": ["sub.docs.rs", "notdocs.rs"]}));
    assert_eq!(urls(&blocked), [docs]);
    let neither = search(json!({"query": "a", "allowed_domains": ["example.org"]}));
    assert_eq!((neither.code, urls(&neither).len()), (0, 0), "{}", neither.stderr);
    let nothing = search(json!({"query": "nothing"}));
    assert_eq!((nothing.code, urls(&nothing).len()), (0, 0), "{}", nothing.stderr);
    // The words can choose an engine, as they can for people.
    assert_eq!(urls(&search(json!({"query": "!second a"}))), [other]);
    assert_eq!(urls(&search(json!({"query": "half"}))), [docs, below], "one engine is enough");
}

#[test]
fn a_metasearch_engine_that_cannot_answer_says_why() {
    let (scratch, host) = (Scratch::new(), AnsweringHost::start(found));
    let searx = Searx::start(&scratch, host.0, &["first", "second"]);
    let url = searx.url();
    let failed = |url: &str, query: &str, parts: &[&str]| {
        let ran = search_at(&scratch, url, &json!({"query": query}));
        assert_eq!(ran.code, 1, "{query}: {}", ran.stdout);
        let told = ran.json().to_string();
        for part in parts {
            assert!(told.contains(part), "{query}: {part}: {told}");
        }
    };
    failed(
        &url,
        "broken",
        &["found nothing, but engines behind it did not answer", "first (HTTP error)", "second ("],
    );
    // A word for another site is answered by leading there, and nobody follows.
    failed(
        &url,
        "!!g tokio",
        &["answered 302", "a word that begins with `!!` asks for another site"],
    );
    failed(&format!("{url}elsewhere"), "a", &["answered 404", "check `web.search_url`"]);
    drop(searx);
    failed(&url, "a", &["the search engine at `127.0.0.1` failed"]);
}

#[test]
fn a_server_that_does_not_offer_json_is_told_from_a_wrong_key() {
    let scratch = Scratch::new();
    let host = AnsweringHost::start(|path| match path {
        path if path.contains("format=json") => ("403 Forbidden", FORBIDDEN.to_owned()),
        _ => ("200 OK", "<html>".to_owned()),
    });
    let ran = search_at(&scratch, &format!("http://{}/", host.0), &json!({"query": "a"}));
    let told = ran.json().to_string();
    assert!(
        told.contains("answered 403") && told.contains("`json` under `search.formats`"),
        "{told}"
    );
    assert!(!told.contains("TOOLCRIB_SEARCH_KEY"), "{told}");
}
