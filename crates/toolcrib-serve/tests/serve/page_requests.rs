//! Requests with the cookie of the page: which of them count.

use serde_json::json;

use crate::page_rig::Browser;
use crate::rig::{AGENT, APPROVER, Rig, bearer};

#[test]
fn the_cookie_counts_only_at_the_paths_of_the_page_and_its_api() {
    let rig = Rig::new();
    let browser = Browser::new(&rig, AGENT);
    for path in ["/api/echo", "/metrics", "/page/session"] {
        browser.ask(&rig, &format!("GET {path}")).is_ok();
    }
    let runs = rig.runs();
    for path in ["/mcp", "/echo", "/api", "/metrics/x", "/apix/echo", "/nothing", "/pages/x"] {
        browser.ask(&rig, &format!("GET {path}")).is_error(401, "unauthorized");
    }
    let body = r#"{"a":1}"#;
    rig.ask(rig.request("POST /mcp", &browser.headers(), body)).is_error(401, "unauthorized");
    assert_eq!(rig.runs(), runs);
    rig.ask(rig.agents("POST /mcp", &browser.cookie_header(), body)).is_ok();
    browser.ask(&rig, "GET /api/nothing").is_error(404, "not_found");
    browser.ask(&rig, "GET /page/nothing").is_error(404, "not_found");
    browser.ask(&rig, "GET /api/..%2fecho").is_error(404, "not_found");
}

#[test]
fn a_request_needs_the_second_secret_of_the_same_session() {
    let rig = Rig::new();
    let (browser, other) = (Browser::new(&rig, APPROVER), Browser::new(&rig, APPROVER));
    let cookie = browser.cookie_header();
    let post = |more: &str| {
        rig.ask(rig.request("POST /api/echo", &format!("{cookie}{more}"), r#"{"a":1}"#))
    };
    let csrf = |value: &str| format!("X-Toolcrib-Csrf: {value}\r\n");
    assert_eq!(post(&csrf(&browser.csrf)).is_ok()["body"]["a"], 1);
    let runs = rig.runs();
    for more in [
        String::new(),
        csrf(""),
        csrf("x"),
        csrf(&other.csrf),
        csrf(&browser.csrf[1..]),
        csrf(&format!("{}x", browser.csrf)),
        csrf(&"a".repeat(5000)),
        csrf(&browser.cookie),
        csrf(&browser.csrf).repeat(2),
        format!("{}{}", csrf("x"), csrf(&browser.csrf)),
    ] {
        let message = post(&more).is_error(403, "csrf");
        assert!(message.contains("`X-Toolcrib-Csrf`") && message.contains("log in"), "{message}");
    }
    rig.ask(rig.request("POST /page/logout", &cookie, "")).is_error(403, "csrf");
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS"] {
        rig.ask(rig.request(&format!("{method} /api/echo"), &cookie, "")).is_error(403, "csrf");
    }
    assert_eq!(rig.runs(), runs);
    for line in
        ["GET /api/echo", "GET /api/stream", "HEAD /api/echo", "GET /metrics", "GET /page/session"]
    {
        assert_eq!(rig.ask(rig.request(line, &cookie, "")).status, 403, "{line}");
    }
    assert_eq!(rig.runs(), runs);
    browser.ask(&rig, "GET /api/echo").is_ok();
}

#[test]
fn a_page_that_was_loaded_again_finds_its_session() {
    let rig = Rig::new();
    let (browser, other) = (Browser::new(&rig, APPROVER), Browser::new(&rig, APPROVER));
    let session = |csrf: &str| {
        let headers = format!("{}X-Toolcrib-Csrf: {csrf}\r\n", browser.cookie_header());
        rig.ask(rig.request("GET /page/session", &headers, ""))
    };
    let reply = session(&browser.csrf);
    assert_eq!(
        (&reply.is_ok()["csrf"], &reply.is_ok()["name"]),
        (&json!(browser.csrf), &json!("boss"))
    );
    assert_eq!(reply.header("set-cookie"), None);
    // Whoever has only the cookie learns nothing.
    session(&other.csrf).is_error(403, "csrf");
}

#[test]
fn a_page_of_another_site_cannot_use_the_cookie() {
    let rig = Rig::new();
    let browser = Browser::new(&rig, APPROVER);
    let own = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", rig.tcp());
    for (line, body) in [("GET /api/echo", ""), ("POST /api/echo", "{}"), ("POST /page/logout", "")]
    {
        // The worst case: the other page knows both secrets.
        let secrets = format!("{}X-Toolcrib-Csrf: {}\r\n", browser.cookie_header(), browser.csrf);
        let ask = |more: &str| rig.ask(rig.request(line, &format!("{secrets}{more}"), body));
        for (more, code) in [
            ("Sec-Fetch-Site: cross-site\r\n".to_owned(), "cross_site"),
            ("Sec-Fetch-Site: same-site\r\n".to_owned(), "cross_site"),
            ("Sec-Fetch-Site: none\r\n".to_owned(), "csrf"),
            ("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: none\r\n".to_owned(), "csrf"),
            ("Origin: https://evil.example\r\n".to_owned(), "origin_not_allowed"),
            ("Origin: null\r\n".to_owned(), "origin_not_allowed"),
            (format!("Origin: https://{}\r\n", rig.tcp()), "origin_not_allowed"),
            ("Origin: http://127.0.0.1:1\r\n".to_owned(), "origin_not_allowed"),
            (format!("{own}Origin: http://127.0.0.1:1\r\n"), "origin_not_allowed"),
        ] {
            ask(&more).is_error(403, code);
        }
        ask(&own).is_ok();
    }
    // Nor can it log somebody in.
    let body = json!({"token": AGENT}).to_string();
    let foreign = "Origin: https://evil.example\r\n";
    rig.ask(rig.request("POST /page/login", foreign, &body)).is_error(403, "origin_not_allowed");
}

#[test]
fn a_link_of_another_site_opens_the_page_and_nothing_else() {
    let rig = Rig::new();
    let browser = Browser::new(&rig, APPROVER);
    let link =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    let ask = |line: &str, headers: &str| rig.ask(rig.request(line, headers, ""));
    for path in ["/", "/audit/01M7", "/login"] {
        assert_eq!(ask(&format!("GET {path}"), link).status, 200, "{path}");
    }
    let frame = link.replace("document", "iframe");
    ask("GET /audit", &frame).is_error(403, "cross_site");
    ask("GET /audit", "Sec-Fetch-Site: cross-site\r\n").is_error(403, "cross_site");
    ask("POST /audit", link).is_error(403, "cross_site");
    let headers = format!("{}{link}", browser.headers());
    for path in ["/api/echo", "/page/session", "/metrics", "/mcp"] {
        ask(&format!("GET {path}"), &headers).is_error(403, "cross_site");
    }
}

#[test]
fn a_cookie_that_another_program_at_the_host_sets_shuts_nobody_out() {
    let rig = Rig::new();
    let (browser, other) = (Browser::new(&rig, APPROVER), Browser::new(&rig, AGENT));
    let cookie = browser.cookie_header();
    let pair = cookie.trim_start_matches("Cookie: ").trim_end();
    let (name, _) = pair.split_once('=').unwrap();
    let strange = other.cookie_header().replace("Cookie: ", "").trim_end().to_owned();
    let ask = |cookies: &str| {
        let headers = format!("Cookie: {cookies}\r\nX-Toolcrib-Csrf: {}\r\n", browser.csrf);
        rig.ask(rig.request("GET /page/session", &headers, ""))
    };
    for cookies in [
        format!("{name}=x; {pair}"),
        format!("{pair}; {name}=x"),
        // Not even the session of somebody else.
        format!("{strange}; {pair}"),
        format!("{pair}; {strange}"),
        format!("a=b; {pair}; c=\"d\"\r\nCookie: {strange}"),
    ] {
        assert_eq!(ask(&cookies).is_ok()["name"], "boss", "{cookies}");
    }
    ask(&format!("{name}=x; {name}=y")).is_error(401, "unauthorized");
    // The second secret says whose session it is.
    ask(&strange).is_error(403, "csrf");
}

#[test]
fn a_request_with_a_token_is_that_of_its_owner_whatever_cookie_it_has() {
    let rig = Rig::new();
    let browser = Browser::new(&rig, APPROVER);
    let with = |token: &str, line: &str, body: &str| {
        let headers = format!("{}{}", bearer(token), browser.cookie_header());
        rig.ask(rig.request(line, &headers, body))
    };
    let caller = with(AGENT, "GET /api/echo", "").is_ok()["caller"].clone();
    assert_eq!(caller["principal"]["name"], "coder");
    assert_eq!(caller.get("client"), None);
    // A token is no cookie, so it needs no second secret.
    with(AGENT, "POST /api/echo", "{}").is_ok();
    with("wrong", "GET /api/echo", "").is_error(401, "unauthorized");
    with("wrong", "GET /page/session", "").is_error(401, "unauthorized");
    let empty = format!("Authorization: \r\n{}", browser.headers());
    rig.ask(rig.request("GET /api/echo", &empty, "")).is_error(401, "unauthorized");
    browser.ask(&rig, "GET /api/echo").is_ok();
}

#[test]
fn the_page_is_a_client_with_limits_like_any_other() {
    let rig = Rig::with(|config| config.requests.in_flight_each = 1);
    let browser = Browser::new(&rig, AGENT);
    let _stream = browser.stream(&rig);
    browser.ask(&rig, "GET /api/echo").is_error(429, "too_many_in_flight");
    rig.ask(rig.agents("GET /echo", "", "")).is_error(429, "too_many_in_flight");
    Browser::new(&rig, APPROVER).ask(&rig, "GET /api/echo").is_ok();
}
