//! What every request is checked for before a handler runs.

use std::fmt::Write;

use crate::rig::{AGENT, Rig, bearer};

/// Sends a request of the agent with `more` headers.
fn get(rig: &Rig, more: &str) -> crate::client::RawReply {
    rig.ask(rig.agents("GET /echo", more, ""))
}

#[test]
fn h_004_h_005_h_008_only_a_host_of_this_server_is_accepted() {
    let rig = Rig::with(|config| config.host_names.push("Crib.Internal:8443".to_owned()));
    let port = rig.tcp().port();
    let ask = |hosts: &str| rig.ask(format!("GET /echo HTTP/1.1\r\n{}{hosts}\r\n", bearer(AGENT)));
    for host in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        ask(&format!("Host: {host}:{port}\r\n")).is_ok();
    }
    ask("Host: crib.internal:8443\r\n").is_ok();
    let runs = rig.runs();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("localhost.:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.0.0.2:{port}"),
        "127.0.0.1".to_owned(),
        "localhost:1".to_owned(),
        format!("user@localhost:{port}"),
        "crib.internal".to_owned(),
        String::new(),
    ] {
        let message = ask(&format!("Host: {host}\r\n")).is_error(403, "host_not_allowed");
        assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
    }
    // None, and two.
    ask("").is_error(400, "bad_request");
    ask(&format!("Host: localhost:{port}\r\nHost: localhost:{port}\r\n"))
        .is_error(400, "bad_request");
    ask(&format!("Host: localhost:{port}\r\nHost: evil.example\r\n")).is_error(400, "bad_request");
    // A host in the request line would count more than `Host`.
    let line = format!("GET http://evil.example/echo HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    rig.ask(line).is_error(400, "bad_request");
    assert_eq!(rig.runs(), runs);
}

#[test]
fn h_010_h_014_h_015_web_pages_of_other_origins_are_refused() {
    let rig = Rig::new();
    let own = rig.tcp();
    for more in [
        String::new(),
        format!("Origin: http://{own}\r\n"),
        "Sec-Fetch-Site: same-origin\r\n".to_owned(),
        "Sec-Fetch-Site: none\r\n".to_owned(),
    ] {
        get(&rig, &more).is_ok();
    }
    let runs = rig.runs();
    for origin in [
        "null".to_owned(),
        "http://evil.example".to_owned(),
        format!("https://{own}"),
        format!("http://localhost:{}", own.port()),
        format!("http://{own}.evil.example"),
        format!("http://{own}/"),
        String::new(),
    ] {
        get(&rig, &format!("Origin: {origin}\r\n")).is_error(403, "origin_not_allowed");
    }
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://evil.example\r\n";
    get(&rig, upgrade).is_error(403, "origin_not_allowed");
    let events = "Accept: text/event-stream\r\nOrigin: http://evil.example\r\n";
    get(&rig, events).is_error(403, "origin_not_allowed");
    let twice = format!("Origin: http://{own}\r\nOrigin: http://evil.example\r\n");
    get(&rig, &twice).is_error(403, "origin_not_allowed");
    for site in ["cross-site", "same-site", "Same-Origin", ""] {
        get(&rig, &format!("Sec-Fetch-Site: {site}\r\n")).is_error(403, "cross_site");
    }
    let preflight =
        format!("OPTIONS /echo HTTP/1.1\r\nHost: {own}\r\nOrigin: http://evil.example\r\n");
    rig.ask(format!("{preflight}Access-Control-Request-Method: POST\r\n\r\n"))
        .is_error(403, "origin_not_allowed");
    assert_eq!(rig.runs(), runs);
}

#[test]
fn h_013_a_body_must_be_json_by_its_content_type() {
    let rig = Rig::new();
    let post = |headers: &str| {
        let head = format!("POST /echo HTTP/1.1\r\nHost: {}\r\n{}", rig.tcp(), bearer(AGENT));
        rig.ask(format!("{head}Content-Length: 2\r\n{headers}\r\n{{}}"))
    };
    post("Content-Type: application/json\r\n").is_ok();
    post("Content-Type: application/json; charset=utf-8\r\n").is_ok();
    for headers in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: text/plain; application/json\r\n",
        "Content-Type: application/json\r\nContent-Type: text/plain\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
    ] {
        post(headers).is_error(415, "unsupported_media_type");
    }
    assert_eq!(rig.runs(), 2);
}

#[test]
fn h_016_h_035_methods_that_a_path_does_not_have_are_refused() {
    let rig = Rig::new();
    let reply = rig.ask(rig.agents("DELETE /echo", "", ""));
    let message = reply.is_error(405, "method_not_allowed");
    let mut allowed: Vec<&str> = reply.header("allow").unwrap().split(',').collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
    assert!(message.contains("POST"), "{message}");
    // A GET on what changes state.
    rig.ask(rig.agents("GET /raw", "", "")).is_error(405, "method_not_allowed");
    rig.ask(rig.agents("OPTIONS /echo", "", "")).is_error(405, "method_not_allowed");
    // TRACE would return the token.
    let reply = rig.ask(rig.agents("TRACE /echo", "", ""));
    reply.is_error(405, "method_not_allowed");
    assert!(!String::from_utf8_lossy(&reply.body).contains(AGENT));
    rig.ask(rig.agents("CONNECT example.com:443", "", "")).is_error(405, "method_not_allowed");
    rig.ask(rig.request("CONNECT 127.0.0.1:22", "", "")).is_error(405, "method_not_allowed");
    assert_eq!(rig.runs(), 0);
    rig.ask(rig.agents("GET /echo", "", "")).is_ok();
    // HEAD is a GET without the body.
    let mut client = rig.connect();
    client.send(rig.agents("HEAD /echo", "Connection: close\r\n", ""));
    let head = String::from_utf8(client.end()).unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn h_020_h_021_a_body_with_two_lengths_is_refused_and_the_connection_ends() {
    let rig = Rig::new();
    let smuggled = rig.agents("GET /admin", "", "");
    let check = |headers: &str, body: &str| {
        let mut client = rig.connect();
        let head =
            rig.agents("POST /echo", &format!("Content-Type: application/json\r\n{headers}"), "");
        client.try_send(format!("{head}{body}{smuggled}"));
        let reply = client.reply();
        reply.is_error(400, "bad_request");
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(client.end().is_empty(), "{headers}");
    };
    check("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nX");
    check("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n", "0\r\n\r\nX");
    check("Content-Length: 2\r\ntransfer-encoding: CHUNKED\r\n", "{}");
    check("Content-Length: 1\r\nContent-Length: 2\r\n", "{}");
    check("Content-Length: 2\r\nContent-Length: 2\r\n", "{}");
    check("Content-Length: 2, 2\r\n", "{}");
    check("Content-Length: +2\r\n", "{}");
    check("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n");
    check("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n");
    check("Transfer-Encoding : chunked\r\n", "0\r\n\r\n");
    check("X: a\r\n Content-Length: 2\r\n", "{}");
    assert_eq!(rig.runs(), 0);
    // Each of the two lengths alone is fine.
    rig.good_call();
    let json = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let mut client = rig.connect();
    client.send(rig.agents("POST /echo", json, ""));
    client.send("3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n");
    let reply = client.reply();
    assert_eq!(reply.is_ok()["body"]["a"], 1);
    assert_eq!(rig.runs(), 2);
    // What follows chunks is never a request.
    client.try_send(&smuggled);
    assert!(client.end().is_empty());
    assert_eq!(rig.runs(), 2);
}

#[test]
fn h_028_h_042_odd_paths_lead_nowhere_and_need_a_token_first() {
    let rig = Rig::new();
    let ask = |path: &str| rig.ask(rig.agents(&format!("GET {path}"), "", ""));
    assert_eq!(ask("/named/shell").is_ok()["tool"], "shell");
    assert_eq!(ask("/named/a%20b").is_ok()["tool"], "a b");
    assert_eq!(ask("/named/shell?x=%2f..").is_ok()["tool"], "shell");
    ask("/admin").is_ok();
    let runs = rig.runs();
    for path in [
        "/named/..%2fadmin",
        "/named/..%2f..%2fadmin",
        "/named/../admin",
        "/named/%2e%2e/admin",
        "/named/.",
        "/named/%2E%2E",
        "/named/..",
        "//admin",
        "/./admin",
        "/admin/",
        "/named//shell",
        "/named/%2Fadmin",
        "/named/a%5cb",
        "/named/shell%00",
        "/named/shell%0d%0aX:y",
        "/named/%ff",
        "/named/%",
        "/%61dmin",
        "/ADMIN",
        "/nothing",
        "*",
    ] {
        ask(path).is_error(404, "not_found");
        rig.ask(rig.request(&format!("GET {path}"), "", "")).is_error(401, "unauthorized");
    }
    assert_eq!(rig.runs(), runs);
}

#[test]
fn h_029_headers_of_proxies_decide_nothing() {
    let rig = Rig::new();
    let more = "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\n\
                X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\nX-HTTP-Method-Override: DELETE\r\n\
                Forwarded: host=evil.example\r\nX-Forwarded-User: root\r\nX-Principal: root\r\n";
    let reply = rig.ask(rig.agents("POST /echo", more, "{}")).is_ok();
    assert_eq!(reply["caller"]["principal"]["name"], "coder");
    // Nor can they make a refused request a good one.
    let forwarded = format!("X-Forwarded-Host: {}\r\n", rig.tcp());
    rig.ask(format!(
        "GET /echo HTTP/1.1\r\nHost: evil.example\r\n{forwarded}{}\r\n",
        bearer(AGENT)
    ))
    .is_error(403, "host_not_allowed");
    rig.ask(rig.agents("GET /raw", "X-HTTP-Method-Override: POST\r\n", ""))
        .is_error(405, "method_not_allowed");
}

#[test]
fn h_037_a_handler_that_panics_says_nothing_of_it_and_ends_nothing() {
    let rig = Rig::new();
    let mut client = rig.connect();
    let reply = client.send(rig.agents("GET /panic", "X-Request-Id: my-id_1\r\n", "")).reply();
    let message = reply.is_error(500, "internal_error");
    assert!(message.contains("my-id_1"), "{message}");
    assert_eq!(reply.json()["requestId"], "my-id_1");
    assert!(!String::from_utf8_lossy(&reply.body).contains("secret"));
    let log = rig.log();
    assert!(log.contains("a handler panicked request=\"my-id_1\""), "{log}");
    assert!(log.contains("ERROR") && log.contains("method=\"GET\" status=500"), "{log}");
    assert!(!log.contains("secret"), "{log}");
    // The same connection goes on, and so does the server.
    client.send(rig.agents("GET /echo", "", "")).reply().is_ok();
    rig.good_call();
}

#[test]
fn h_038_other_versions_of_http_and_no_http_at_all_are_refused() {
    let rig = Rig::new();
    for bytes in [
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.2\r\n\r\n",
        "GET /\r\n\r\n",
        "\u{17}\u{3}\u{1}\u{2}\r\n\r\n",
        "GET / HTTP/1.1\r\nbad header\r\n\r\n",
        "GET / HTTP/1.1\r\nX: a\u{0}b\r\n\r\n",
        "G(T / HTTP/1.1\r\n\r\n",
        "GET /a\"b HTTP/1.1\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
    ] {
        let mut client = rig.connect();
        client.try_send(bytes).reply().is_error(400, "bad_request");
        assert!(client.end().is_empty(), "{bytes:?}");
    }
    rig.ask("\u{16}\u{3}\u{1}\u{2}\r\n\r\n").is_error(400, "no_tls");
    let upgrade =
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n";
    rig.ask(rig.agents("GET /echo", upgrade, "")).is_ok();
    rig.ask(format!("GET /echo HTTP/1.0\r\nHost: {}\r\n{}\r\n", rig.tcp(), bearer(AGENT))).is_ok();
    // Bare line ends are read as hyper reads them.
    rig.ask(format!("GET /echo HTTP/1.1\nHost: {}\nAuthorization: Bearer {AGENT}\n\n", rig.tcp()))
        .is_ok();
}

#[test]
fn heads_of_ten_megabytes_are_refused_and_heads_within_the_limit_are_not() {
    let rig = Rig::new();
    let ten_megabytes = "a".repeat(10 << 20);
    let ask = |line: &str, more: &str| rig.ask(rig.agents(line, more, ""));
    ask(&format!("GET /named/{ten_megabytes}"), "").is_error(414, "uri_too_long");
    ask("GET /echo", &format!("X-Long: {ten_megabytes}\r\n")).is_error(431, "headers_too_large");
    ask(&format!("{ten_megabytes} /echo"), "").is_error(414, "uri_too_long");
    let mut many = String::new();
    (0..101).for_each(|number| write!(many, "X-{number}: y\r\n").unwrap());
    ask("GET /echo", &many).is_error(431, "headers_too_large");
    let long = "a".repeat(50 << 10);
    assert_eq!(ask(&format!("GET /named/{long}"), "").is_ok()["tool"], long);
    ask("GET /echo", &format!("X-Long: {long}\r\n")).is_ok();
}

#[test]
fn replies_of_the_router_and_of_extractors_have_the_form_of_all_errors() {
    let rig = Rig::new();
    let message = rig.ask(rig.agents("GET /number/x", "", "")).is_error(400, "bad_request");
    assert!(message.contains('x'), "{message}");
    assert_eq!(rig.ask(rig.agents("GET /number/7", "", "")).is_ok()["number"], 7);
    rig.ask(rig.agents("GET /nothing", "", "")).is_error(404, "not_found");
}

#[test]
fn a_well_formed_request_id_is_kept_and_any_other_is_replaced() {
    let rig = Rig::new();
    let id = |given: &str| {
        let reply = rig.ask(rig.agents("POST /echo", &format!("X-Request-Id: {given}\r\n"), "{}"));
        let seen = reply.is_ok()["id"].as_str().unwrap().to_owned();
        assert_eq!(reply.header("x-request-id"), Some(seen.as_str()));
        seen
    };
    for good in ["a", "Trace_1-b", &"x".repeat(64)] {
        assert_eq!(id(good), good);
    }
    for bad in ["", "a b", "a/b", "é", "<script>", &"x".repeat(65)] {
        let made = id(bad);
        assert_eq!(made.len(), 26, "{made}");
    }
    assert_ne!(id(""), id(""));
}

#[test]
fn health_needs_no_token_and_readiness_follows_its_flag() {
    let rig = Rig::new();
    let ask = |line: &str| rig.ask(rig.request(line, "", ""));
    assert_eq!(ask("GET /healthz").is_ok(), serde_json::json!({"ok": true}));
    let reply = ask("GET /readyz");
    assert_eq!(reply.is_error(503, "not_ready"), "the index is being built");
    assert_eq!(reply.header("retry-after"), Some("1"));
    rig.readiness.set_ready();
    assert_eq!(ask("GET /readyz").is_ok(), serde_json::json!({"ok": true}));
    rig.readiness.set_waiting("the state folder is gone");
    assert_eq!(ask("GET /readyz").is_error(503, "not_ready"), "the state folder is gone");
    ask("GET /healthz").is_ok();
    let reply = ask("POST /healthz");
    reply.is_error(405, "method_not_allowed");
    assert_eq!(reply.header("allow"), Some("GET, HEAD"));
    // Only these two paths, and only from this server's own names.
    for path in ["/healthz/", "/healthz/x", "//healthz", "/HEALTHZ", "/readyz%2f"] {
        ask(&format!("GET {path}")).is_error(401, "unauthorized");
    }
    rig.ask("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        .is_error(403, "host_not_allowed");
}
