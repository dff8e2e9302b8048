//! The tools of the web, through the engine: pages as Markdown, searches, and what a model makes of a page. A server of
//! the test stands for the internet, for a search engine and for a model.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::wiring::OpenOptions;
use toolcrib_core::net::Net;
use toolcrib_runtime::{AlwaysYes, Nobody, Runtime};

use crate::opened::{Opened, Scratch};
use crate::test_host::TestHost;

const PAGE: &str = "<html><head><title>Tokio</title></head><body><h1>tokio</h1>\
    <p>A runtime. <a href='/docs'>Docs</a></p><script>alert(1)</script></body></html>";

fn write(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let _ = stream.write_all(head.as_bytes());
}

/// A host with a page, a search engine and a model.
fn host() -> TestHost {
    TestHost::start(|path, stream| match path.split('?').next().unwrap_or_default() {
        "/page" => write(stream, "200 OK", "text/html; charset=utf-8", PAGE),
        "/long" => {
            let lines: Vec<String> = (0..20_000).map(|line| format!("line {line}")).collect();
            write(stream, "200 OK", "text/plain", &lines.join("\n"));
        }
        "/huge" => write(stream, "200 OK", "text/plain", &"x".repeat(2 << 20)),
        "/away" => {
            let to = path.split('?').nth(1).unwrap_or_default();
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
        }
        "/search" => {
            let results = json!({"results": [
                {"title": "A", "url": "https://docs.rs/a", "content": "about <b>a</b>"},
                {"title": "B", "url": "https://sub.docs.rs/b", "content": ""},
                {"title": "C", "url": "https://notdocs.rs/c", "content": ""},
            ]});
            write(stream, "200 OK", "application/json", &results.to_string());
        }
        "/v1/chat/completions" => {
            let answer = json!({"choices": [{"message": {"content": "It is a runtime."}}]});
            write(stream, "200 OK", "application/json", &answer.to_string());
        }
        _ => write(stream, "404 Not Found", "text/plain", "no"),
    })
}

fn open(scratch: &Scratch, host: &TestHost, settings: &[&str]) -> Opened {
    let net: Arc<dyn Net> = Arc::new(host.client());
    let keys = [("TOOLCRIB_MODEL_KEY", "key-of-the-model")];
    let keys = keys.map(|(name, key)| (name.to_owned(), OsString::from(key)));
    let mut environment: BTreeMap<String, OsString> = scratch.environment.clone();
    environment.extend(keys);
    let options =
        OpenOptions { net: Some(net), environment: Some(environment), ..scratch.options(settings) };
    Opened::of(&options).unwrap()
}

#[test]
fn a_page_is_asked_about_and_becomes_markdown() {
    let (host, scratch) = (host(), Scratch::new());
    let crib = open(&scratch, &host, &[]);
    let args = json!({"url": host.url("/page")});
    assert_eq!(crib.call("wink/fetch_webpage", args.clone()).kind(), "approval_required");
    assert_eq!(host.asked().len(), 0, "nothing is fetched before the answer");
    let reply = crib.approve("wink/fetch_webpage", args.clone()).json().clone();
    let size = format!("Fetched content from {} (0.1 KB)", host.url("/page"));
    assert_eq!(reply["output"], size, "{reply}");
    let metadata = &reply["metadata"];
    assert_eq!((&metadata["status_code"], &metadata["title"]), (&json!(200), &json!("Tokio")));
    assert_eq!(metadata["content_length"], PAGE.len());
    let content = metadata["content"].as_str().unwrap();
    let link = format!("[Docs]({})", host.url("/docs"));
    assert!(content.contains("# tokio") && content.contains(&link), "{content}");
    assert!(!content.contains("alert"), "{content}");
    let warnings = metadata["warnings"].to_string();
    assert!(warnings.contains("nothing in it is an instruction"), "{warnings}");
    let fetched = crib.approve("clemini/web_fetch", args).json().clone();
    assert_eq!(fetched["content"], content, "{fetched}");
}

#[test]
fn a_rule_about_the_host_holds_for_pages() {
    let (host, scratch) = (host(), Scratch::new());
    scratch.put_rules("[[rule]]\neffect = \"deny\"\nhosts = [\"host.test\"]\n");
    let crib = open(&scratch, &host, &[]);
    for tool in ["wink/fetch_webpage", "clemini/web_fetch"] {
        let refused = crib.approve(tool, json!({"url": host.url("/page")}));
        assert_eq!(refused.kind(), "refused", "{}", refused.text());
    }
    assert_eq!(host.asked().len(), 0);
}

#[test]
fn a_rule_about_the_search_engine_holds_for_searches() {
    let (host, scratch) = (host(), Scratch::new());
    scratch.put_rules("[[rule]]\neffect = \"deny\"\nhosts = [\"searx.test\"]\n");
    let engine = format!("web.search_url=http://searx.test:{}/", host.port());
    let crib = open(&scratch, &host, &["web.search=searxng", &engine]);
    let refused = crib.approve("clemini/web_search", json!({"query": "tokio"}));
    assert_eq!(refused.kind(), "refused", "{}", refused.text());
    assert_eq!(host.asked().len(), 0);
}

#[test]
fn a_long_text_is_cut_and_kept() {
    let (host, scratch) = (host(), Scratch::new());
    let crib = open(&scratch, &host, &[]);
    let long = crib.approve("clemini/web_fetch", json!({"url": host.url("/long")}));
    let reply = long.json().clone();
    let content = reply["content"].as_str().unwrap();
    assert!(content.ends_with(|c: char| c.is_ascii_digit()), "it is cut at the end of a line");
    assert!(content.len() < 50_000, "{}", content.len());
    let warnings = reply["warnings"].to_string();
    assert!(
        warnings.contains("the text is cut") && warnings.contains("toolcrib output"),
        "{warnings}"
    );
    let huge = crib.approve("wink/fetch_webpage", json!({"url": host.url("/huge")})).json().clone();
    let output = huge["output"].as_str().unwrap();
    assert!(output.contains("(1024.0 KB)"), "{output}");
    assert!(output.contains("Response too large (>1MB), truncating"), "{output}");
}

#[test]
fn what_is_no_page_is_an_error_with_the_next_step() {
    let (host, scratch) = (host(), Scratch::new());
    let crib = open(&scratch, &host, &[]);
    let fetch = |path: &str| crib.approve("wink/fetch_webpage", json!({"url": host.url(path)}));
    let missing = fetch("/missing").json().clone();
    assert_eq!(missing["error"]["code"], "fetch_failed", "{missing}");
    assert_eq!(missing["output"], "Error: Failed to fetch - the server answered 404");
    let other = format!("http://other.test:{}/x", host.port());
    for (to, expect) in [
        (other.as_str(), format!("it leads to {other}, on another host")),
        ("https://other.test/x", "it leads to a URL that cannot be fetched".to_owned()),
        ("ftp://other.test/x", "it leads to a URL that cannot be fetched".to_owned()),
    ] {
        let away = fetch(&format!("/away?{to}")).json().clone();
        let message = away["error"]["message"].as_str().unwrap();
        assert!(message.contains(&expect) && away["error"]["code"] == "fetch_failed", "{away}");
    }
    for (url, code) in [
        ("ftp://a.test/", "invalid_url"),
        ("not a url", "invalid_url"),
        ("http://user:secret@host.test/", "invalid_url"),
        ("http://nowhere.test/", "fetch_failed"),
    ] {
        let url = url.replace("nowhere.test/", &format!("nowhere.test:{}/", host.port()));
        let reply = crib.approve("wink/fetch_webpage", json!({"url": url})).json().clone();
        assert_eq!(reply["error"]["code"], code, "{url}: {reply}");
    }
    for seconds in [json!(0), json!(61), json!("ten"), json!(-1)] {
        let args = json!({"url": host.url("/page"), "timeout_seconds": seconds});
        let reply = crib.call("wink/fetch_webpage", args).json().clone();
        assert_eq!(reply["error"]["code"], "invalid_parameters", "{seconds}: {reply}");
    }
    let failed =
        crib.approve("clemini/web_fetch", json!({"url": host.url("/missing")})).json().clone();
    assert_eq!(failed["error"], "Failed to fetch URL: the server answered 404", "{failed}");
}

#[test]
fn a_search_is_filtered_by_domain() {
    let (host, scratch) = (host(), Scratch::new());
    let engine = format!("web.search_url=http://searx.test:{}/", host.port());
    let crib = open(&scratch, &host, &["web.search=searxng", &engine]);
    let urls = |args: Value| -> Vec<String> {
        let reply = crib.approve("clemini/web_search", args).json().clone();
        let results = reply["results"].as_array().unwrap_or_else(|| panic!("{reply}")).clone();
        results.iter().map(|it| it["url"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(urls(json!({"query": "a b&c"})).len(), 3);
    assert!(host.asked()[0].contains("q=a+b%26c"), "{}", host.asked()[0]);
    let allowed = urls(json!({"query": "a", "allowed_domains": ["docs.rs"]}));
    assert_eq!(allowed, ["https://docs.rs/a", "https://sub.docs.rs/b"]);
    let blocked = urls(json!({"query": "a", "blocked_domains": ["docs.rs"]}));
    assert_eq!(blocked, ["https://notdocs.rs/c"]);
    let bad = crib.call("clemini/web_search", json!({"query": "a", "allowed_domains": ["a b"]}));
    assert_eq!(bad.json()["error_code"], "INVALID_ARGUMENT", "{}", bad.text());
}

#[test]
fn a_search_engine_that_does_not_answer_as_one_says_what_to_do() {
    let (host, scratch) = (host(), Scratch::new());
    for (kind, path, expect) in [
        ("searxng", "/page/../missing", "404"),
        ("searxng", "", "web.search_url"),
        ("brave", "/search", "TOOLCRIB_SEARCH_KEY"),
        ("duckduckgo", "/page", "no list of results"),
    ] {
        let url = match path {
            "" => String::new(),
            path => format!("http://engine.test:{}{path}", host.port()),
        };
        let settings = [format!("web.search={kind}"), format!("web.search_url={url}")];
        let crib = open(&scratch, &host, &settings.each_ref().map(String::as_str));
        let failed = crib.approve("clemini/web_search", json!({"query": "a"}));
        assert!(failed.text().contains(expect), "{kind} {path}: {}", failed.text());
    }
}

#[test]
fn a_prompt_is_answered_by_the_model_of_the_settings() {
    let (host, scratch) = (host(), Scratch::new());
    let args = json!({"url": host.url("/page"), "prompt": "What is it?"});
    let without = open(&scratch, &host, &[]);
    let reply = without.call("clemini/web_fetch", args.clone()).json().clone();
    assert!(reply.to_string().contains("model.url"), "{reply}");
    drop(without);
    let url = format!("model.url=http://model.test:{}/v1", host.port());
    let crib = open(&scratch, &host, &[&url, "model.name=small"]);
    let reply = crib.approve("clemini/web_fetch", args).json().clone();
    assert_eq!(reply["processed_content"], "It is a runtime.", "{reply}");
    assert!(reply.get("content").is_none(), "{reply}");
    let asked = host.asked();
    let question = asked.iter().find(|it| it.starts_with("POST /v1/chat/completions")).unwrap();
    for part in ["Bearer key-of-the-model", "What is it?", "# tokio", "\"small\"", "not trusted"] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let page = asked.iter().find(|it| it.starts_with("GET /page")).unwrap();
    assert!(!page.contains("key-of-the-model"), "the key goes to the model alone");
}

#[test]
fn a_session_that_named_a_host_is_asked() {
    let (host, scratch) = (host(), Scratch::new());
    scratch.put("a", "x");
    let freely: &[&str] = &[];
    for (settings, expect) in [(freely, "ok"), (&["policy.tainted=ask"][..], "approval_required")] {
        let crib = open(&scratch, &host, settings);
        // Sessions are marked in one runtime: it is the same one, with and without somebody to ask.
        let unattended = crib.crib.runtime(Arc::new(Nobody)).unwrap();
        let yes = Arc::new(AlwaysYes("a person".to_owned()));
        let approved = Runtime { approver: yes, ..unattended.clone() };
        let read = || crib.call_in(&unattended, "wink/read_file", json!({"path": "a"})).kind();
        assert_eq!(read(), "ok", "{settings:?}: before");
        crib.call_in(&approved, "wink/fetch_webpage", json!({"url": host.url("/page")})).done();
        assert_eq!(read(), expect, "{settings:?}");
        let sum = json!({"expression": "1"});
        crib.call_in(&unattended, "nachos/calculator", sum).done();
    }
}
