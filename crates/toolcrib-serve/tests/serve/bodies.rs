//! Bodies that are too large, too slow, cut, or no JSON that can be accepted.

use std::time::Duration;

use crate::rig::{AGENT, Rig, bearer};

fn head(rig: &Rig, path: &str, length: usize) -> String {
    let more = format!("Content-Length: {length}\r\nContent-Type: application/json\r\n");
    rig.agents(&format!("POST {path}"), &more, "")
}

#[test]
fn h_017_h_018_a_body_over_the_limit_is_refused_before_it_is_read() {
    let rig = Rig::new();
    let limit = 2 << 20;
    // Only the head is sent: the reply does not wait for the body.
    for (path, length) in
        [("/echo", 100 << 20), ("/raw", 3 << 20), ("/echo", limit + 1), ("/nothing", 3 << 20)]
    {
        let mut client = rig.connect();
        let reply = client.send(head(&rig, path, length)).reply();
        let message = reply.is_error(413, "body_too_large");
        assert!(message.contains("2097152"), "{message}");
        assert_eq!(reply.json()["limitBytes"], limit);
        assert!(client.end().is_empty());
    }
    // Nor is the client asked for it.
    let expect =
        head(&rig, "/echo", 3 << 20).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    rig.ask(expect).is_error(413, "body_too_large");
    // A client that sends all of it still reads the reply.
    let mut client = rig.connect();
    client.try_send(head(&rig, "/echo", 20 << 20)).try_send("x".repeat(20 << 20));
    client.reply().is_error(413, "body_too_large");
    assert_eq!(rig.runs(), 0);
    // A body of exactly the limit is read.
    let text = format!("\"{}\"", "x".repeat(limit - 2));
    assert_eq!(rig.ask(rig.agents("POST /raw", "", &text)).is_ok()["bytes"], limit);
    assert_eq!(
        rig.ask(rig.agents("POST /echo", "", &text)).is_ok()["body"].as_str().unwrap().len(),
        limit - 2
    );
}

#[test]
fn a_body_without_a_length_is_refused_where_it_passes_the_limit() {
    let rig = Rig::with(|config| config.requests.body_bytes = 10);
    let chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    for path in ["/echo", "/raw"] {
        let ask = |chunks: &str| rig.ask(rig.agents(&format!("POST {path}"), chunked, "") + chunks);
        ask("8\r\n\"abcdefg\r\n3\r\nhi\"\r\n0\r\n\r\n").is_error(413, "body_too_large");
        ask("8\r\n\"abcdefg\r\n2\r\nh\"\r\n0\r\n\r\n").is_ok();
        ask("zz\r\n").is_error(400, "incomplete_body");
    }
    assert_eq!(rig.runs(), 2);
}

#[test]
fn a_body_that_is_cut_runs_nothing() {
    let rig = Rig::new();
    for path in ["/echo", "/raw"] {
        let mut client = rig.connect();
        client.send(head(&rig, path, 10)).send("{\"a\":").end_writing();
        client.reply().is_error(400, "incomplete_body");
        assert!(client.end().is_empty());
        // Gone without a word.
        rig.connect().send(head(&rig, path, 10)).send("{\"a\":");
    }
    let chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let mut client = rig.connect();
    client.send(rig.agents("POST /echo", chunked, "")).send("2\r\n{}\r\n").end_writing();
    client.reply().is_error(400, "incomplete_body");
    assert_eq!(rig.runs(), 0);
    // A body that comes in two parts is whole.
    let mut client = rig.connect();
    client.send(head(&rig, "/echo", 7)).send("{\"a\"").send(":1}").reply().is_ok();
}

#[test]
fn a_body_that_does_not_come_in_time_runs_nothing() {
    let rig = Rig::with(|config| config.requests.body_time = Duration::from_millis(50));
    for path in ["/echo", "/raw"] {
        let mut client = rig.connect();
        client.send(head(&rig, path, 10)).send("{\"a\":");
        client.reply().is_error(408, "body_timeout");
        assert!(client.end().is_empty());
    }
    assert_eq!(rig.runs(), 0);
    // Without a body there is nothing to wait for, however long the handler takes.
    rig.ask(rig.agents("GET /echo", "", "")).is_ok();
}

#[test]
fn a_request_that_takes_too_long_is_cancelled() {
    let rig = Rig::with(|config| config.requests.answer_time = Duration::from_millis(50));
    let mut client = rig.begin_wait(AGENT);
    client.reply().is_error(408, "timeout");
    rig.release();
    assert_eq!(rig.runs(), 0, "the handler was dropped");
    let rig = Rig::new();
    let mut client = rig.begin_wait(AGENT);
    rig.release();
    client.reply().is_ok();
}

#[test]
fn h_025_h_027_json_that_two_parsers_could_read_differently_is_refused() {
    let rig = Rig::new();
    let post = |body: &str| rig.ask(rig.agents("POST /echo", "", body));
    let deep = "[".repeat(100_000);
    for (body, expect) in [
        (deep.as_str(), "nested deeper"),
        (r#"{"a":1,"a":2}"#, "`a` is given twice"),
        (r#"{"a":1}{"b":2}"#, "trailing"),
        (r#"{"a":1e400}"#, "out of range"),
        (r#"{"a":18446744073709551616}"#, "too large"),
        (r#"{"a":"\ud800"}"#, "hex escape"),
        ("{\"a\":\"\u{1}\"}", "control character"),
        (r#"{"a":NaN}"#, "expected"),
        (r#"{"a":1"#, "EOF"),
        ("not json", "expected"),
        (" ", "empty"),
    ] {
        let message = post(body).is_error(400, "invalid_json");
        assert!(message.contains(expect), "{message}");
    }
    let not_utf8 = [head(&rig, "/echo", 4).as_bytes(), b"\"\xff\xfe\""].concat();
    rig.ask(not_utf8).is_error(400, "invalid_json");
    rig.ask(rig.agents("POST /echo", "", "")).is_error(400, "invalid_json");
    assert_eq!(rig.runs(), 0);
    assert_eq!(
        post(r#"{"a":-0,"b":18446744073709551615,"c":"\u0000"}"#).is_ok()["body"]["c"],
        "\u{0}"
    );
    assert_eq!(post(&format!("{}{}", "[".repeat(60), "]".repeat(60))).status, 200);
}

#[test]
fn no_body_is_read_without_a_token() {
    let rig = Rig::new();
    let more = "Content-Length: 10\r\nContent-Type: application/json\r\n";
    // The body never comes, and the reply does not wait for it.
    rig.ask(rig.request("POST /echo", more, "")).is_error(401, "unauthorized");
    let wrong = rig.request("POST /echo", &format!("{more}{}", bearer("wrong")), "");
    rig.ask(wrong).is_error(401, "unauthorized");
    rig.good_call();
}
