//! Logging in to the page and out of it, and how sessions end.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use toolcrib_core::caller::Principal;
use toolcrib_serve::{RequestRate, ServerConfig};

use crate::authority::{Authority, TestKey};
use crate::oauth_rig::{OAuthRig, good};
use crate::page_rig::{Browser, log_in};
use crate::rig::{AGENT, APPROVER, Rig, bearer};
use crate::set_clock::NOW;

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

#[test]
fn a_token_logs_its_owner_in_until_the_logout() {
    let rig = Rig::new();
    let reply = log_in(&rig, &json!({"token": APPROVER}));
    let said = reply.is_ok();
    let csrf = said["csrf"].as_str().unwrap();
    let expect = json!({
        "ok": true, "name": "boss", "role": "approver", "csrf": csrf, "expires_in_s": 7 * DAY,
    });
    assert_eq!(said, expect);
    let name = format!("toolcrib_page_{}", rig.tcp().port());
    let cookie = reply.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once(';').unwrap();
    assert_eq!(attributes, " Path=/; HttpOnly; SameSite=Strict");
    let id = pair.strip_prefix(&format!("{name}=")).unwrap();
    assert!(id.len() == 43 && csrf.len() == 43 && id != csrf);

    let browser = Browser::of(&reply);
    rig.clock.go_on(100);
    let session = browser.ask(&rig, "GET /page/session").is_ok();
    let expect = json!({
        "ok": true, "name": "boss", "role": "approver", "csrf": csrf,
        "expires_in_s": 7 * DAY - 100,
    });
    assert_eq!(session, expect);
    let caller = browser.ask(&rig, "GET /api/echo").is_ok()["caller"].clone();
    let expect = json!({
        "principal": {"name": "boss", "role": "approver"}, "door": "http", "client": "page",
    });
    assert_eq!(caller, expect);

    let other = Browser::new(&rig, APPROVER);
    let out = browser.ask(&rig, "POST /page/logout");
    assert_eq!(out.is_ok(), json!({"ok": true}));
    let forget = format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    assert_eq!(out.header("set-cookie"), Some(forget.as_str()));
    for line in ["GET /page/session", "GET /api/echo", "POST /page/logout"] {
        let message = browser.ask(&rig, line).is_error(401, "unauthorized");
        assert!(message.contains("log in again"), "{message}");
    }
    other.ask(&rig, "GET /api/echo").is_ok();
    let log = rig.log();
    for route in ["/page/login", "/page/session", "/page/logout"] {
        assert!(log.contains(&format!("route=\"{route}\"")), "{log}");
    }
    for secret in [id, csrf, APPROVER] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn whoever_is_not_logged_in_has_no_session() {
    let rig = Rig::new();
    let get = |headers: &str| rig.ask(rig.request("GET /page/session", headers, ""));
    get("").is_error(401, "unauthorized");
    get(&bearer(AGENT)).is_error(401, "unauthorized");
    let name = format!("toolcrib_page_{}", rig.tcp().port());
    for value in ["", "x", &"a".repeat(43), &"a".repeat(5000)] {
        get(&format!("Cookie: {name}={value}\r\n")).is_error(401, "unauthorized");
    }
    // They cost nothing of the wrong tokens, because a browser may have an old one.
    let rate = RequestRate { per_second: 0, burst: 1 };
    let rig = Rig::with(|config| config.requests.wrong_tokens = rate);
    let name = format!("toolcrib_page_{}", rig.tcp().port());
    for _ in 0..5 {
        let headers = format!("Cookie: {name}=x\r\n");
        rig.ask(rig.request("GET /api/echo", &headers, "")).is_error(401, "unauthorized");
    }
    log_in(&rig, &json!({"token": "x"})).is_error(401, "unauthorized");
    let path = "GET /page/login";
    rig.ask(rig.request(path, "", "")).is_error(405, "method_not_allowed");
}

#[test]
fn a_flood_of_wrong_logins_is_limited_and_good_ones_are_not() {
    let rate = RequestRate { per_second: 0, burst: 20 };
    let rig = Rig::with(|config| config.requests.wrong_tokens = rate);
    let link = rig.sessions.make_link(Principal::of_page(7)).unwrap();
    for number in 0..10 {
        log_in(&rig, &json!({"token": format!("guess-{number}")})).is_error(401, "unauthorized");
        let message =
            log_in(&rig, &json!({"link": format!("{link}{number}")})).is_error(401, "unauthorized");
        assert!(message.contains("start the server again"), "{message}");
    }
    for field in ["token", "link"] {
        let reply = log_in(&rig, &json!({ field: "guess" }));
        reply.is_error(429, "too_many_wrong_tokens");
        assert_eq!(reply.header("retry-after"), Some("86400"));
    }
    // Both kinds take from one bucket, and so do requests.
    rig.ask(rig.request("GET /echo", &bearer("guess"), "")).is_error(429, "too_many_wrong_tokens");
    let browser = Browser::new(&rig, AGENT);
    browser.ask(&rig, "GET /api/echo").is_ok();
    log_in(&rig, &json!({ "link": link })).is_ok();
}

#[test]
fn a_login_that_is_none_is_refused_with_words() {
    let rig = Rig::new();
    let send = |body: &str| rig.ask(rig.request("POST /page/login", "", body));
    for body in [
        "[]",
        "{}",
        "null",
        "\"x\"",
        r#"{"token": 1}"#,
        r#"{"token": null}"#,
        r#"{"link": ["x"]}"#,
        r#"{"password": "x"}"#,
        &format!(r#"{{"token": "{AGENT}", "link": "x"}}"#),
        &format!(r#"{{"token": "{AGENT}", "more": 1}}"#),
    ] {
        let message = send(body).is_error(422, "invalid_request");
        assert!(message.contains(r#"{"token": "TOKEN"}"#), "{message}");
    }
    let twice = format!(r#"{{"token": "x", "token": "{AGENT}"}}"#);
    for body in ["{", "token=x", &twice, "\u{0}"] {
        send(body).is_error(400, "invalid_json");
    }
    rig.ask(rig.request("POST /page/login", "", "")).is_error(400, "invalid_json");
    let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1\r\n";
    let request = format!("POST /page/login HTTP/1.1\r\nHost: {}\r\n{form}\r\nx", rig.tcp());
    rig.ask(request).is_error(415, "unsupported_media_type");
    let long = |bytes: usize| json!({"token": "a".repeat(bytes)}).to_string();
    send(&long(60 << 10)).is_error(401, "unauthorized");
    send(&long(64 << 10)).is_error(413, "body_too_large");
    let chunks = format!(
        "POST /page/login HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n11000\r\n{}\r\n0\r\n\r\n",
        rig.tcp(),
        "a".repeat(0x11000)
    );
    rig.ask(chunks).is_error(413, "body_too_large");
    send(&json!({"token": format!(" {AGENT}\n")}).to_string()).is_ok();
}

#[test]
fn the_link_works_once_and_soon() {
    let rig = Rig::new();
    let make = || rig.sessions.make_link(Principal::of_page(1000)).unwrap();
    let used = |code: &str| log_in(&rig, &json!({ "link": code }));
    // Without a link there is no code that counts.
    used("").is_error(401, "unauthorized");
    let code = make();
    used("").is_error(401, "unauthorized");
    used(&code[1..]).is_error(401, "unauthorized");
    let said = used(&code).is_ok();
    assert_eq!((&said["name"], &said["role"]), (&json!("page:user-1000"), &json!("admin")));
    used(&code).is_error(401, "unauthorized");

    let code = make();
    rig.clock.go_on(10 * 60);
    used(&code).is_error(401, "unauthorized");
    let code = make();
    rig.clock.go_on(10 * 60 - 1);
    let browser = Browser::of(&used(&code));
    let caller = browser.ask(&rig, "GET /api/echo").is_ok()["caller"].clone();
    assert_eq!(caller["principal"]["name"], "page:user-1000");
    // A new link takes the place of the old one, and a code is no token.
    let (old, new) = (make(), make());
    used(&old).is_error(401, "unauthorized");
    log_in(&rig, &json!({"token": new})).is_error(401, "unauthorized");
    rig.ask(rig.request("GET /echo", &bearer(&new), "")).is_error(401, "unauthorized");
    used(&new).is_ok();
    browser.ask(&rig, "POST /page/logout").is_ok();
    browser.ask(&rig, "GET /api/echo").is_error(401, "unauthorized");
    assert!(!rig.log().contains(&code) && !rig.log().contains(&new));
}

#[test]
fn many_browsers_cannot_share_one_link() {
    let rig = Rig::new();
    let code = rig.sessions.make_link(Principal::of_page(1000)).unwrap();
    let body = json!({ "link": code });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| log_in(&rig, &body).status)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 401].contains(status)));
}

#[test]
fn a_session_ends_when_it_is_idle_and_when_it_is_old() {
    let rig = Rig::new();
    let (idle, used) = (Browser::new(&rig, APPROVER), Browser::new(&rig, APPROVER));
    let ask = |browser: &Browser| browser.ask(&rig, "GET /api/echo");
    rig.clock.go_on(12 * HOUR - 1);
    ask(&used).is_ok();
    rig.clock.go_on(1);
    ask(&idle).is_error(401, "unauthorized");
    ask(&used).is_ok();
    for _ in 0..13 {
        rig.clock.go_on(12 * HOUR - 1);
        ask(&used).is_ok();
    }
    let left = used.ask(&rig, "GET /page/session").is_ok()["expires_in_s"].as_i64().unwrap();
    assert_eq!(left, 13);
    rig.clock.go_on(left);
    ask(&used).is_error(401, "unauthorized");
    ask(&Browser::new(&rig, APPROVER)).is_ok();
}

#[test]
fn a_revoked_token_ends_its_sessions_and_their_streams() {
    let rig = Rig::new();
    let (agent, boss) = (Browser::new(&rig, AGENT), Browser::new(&rig, APPROVER));
    agent.ask(&rig, "GET /api/echo").is_ok();
    let (mut ends, mut stays) = (agent.stream(&rig), boss.stream(&rig));
    rig.revoke_agent();
    agent.ask(&rig, "GET /api/echo").is_error(401, "unauthorized");
    agent.ask(&rig, "GET /page/session").is_error(401, "unauthorized");
    assert_eq!(ends.end(), b"0\r\n\r\n");
    boss.ask(&rig, "GET /api/echo").is_ok();
    rig.release();
    assert_eq!((stays.line().as_deref(), stays.line().as_deref()), (Some("1"), Some("x")));
}

#[test]
fn a_logout_ends_what_was_begun_in_the_session() {
    let rig = Rig::new();
    let (leaves, other) = (Browser::new(&rig, APPROVER), Browser::new(&rig, APPROVER));
    let mut stream = leaves.stream(&rig);
    let mut wait = rig.connect();
    wait.send(rig.request("GET /api/wait", &leaves.headers(), ""));
    rig.wait_for_handler();
    let mut stays = rig.connect();
    stays.send(rig.request("GET /api/wait", &other.headers(), ""));
    rig.wait_for_handler();
    leaves.ask(&rig, "POST /page/logout").is_ok();
    assert_eq!(stream.end(), b"0\r\n\r\n");
    let message = wait.reply().is_error(401, "unauthorized");
    assert!(message.contains("session"), "{message}");
    rig.release();
    stays.reply().is_ok();
}

#[test]
fn a_stream_keeps_its_session_from_being_idle() {
    let rig = Rig::new();
    let (reads, idle) = (Browser::new(&rig, APPROVER), Browser::new(&rig, APPROVER));
    let mut stream = reads.stream(&rig);
    rig.clock.go_on(12 * HOUR - 1);
    // The server looks after streams at intervals: when one has ended that began later, it has looked after the first.
    let later = Browser::new(&rig, AGENT);
    let mut ends = later.stream(&rig);
    later.ask(&rig, "POST /page/logout").is_ok();
    ends.end();
    rig.clock.go_on(1);
    idle.ask(&rig, "GET /api/echo").is_error(401, "unauthorized");
    reads.ask(&rig, "GET /api/echo").is_ok();
    rig.clock.go_on(7 * DAY);
    assert_eq!(stream.end(), b"0\r\n\r\n");
}

#[test]
fn a_restart_ends_every_session_and_the_link() {
    let first = Rig::new();
    let port = first.tcp().port();
    let code = first.sessions.make_link(Principal::of_page(1000)).unwrap();
    let browser = Browser::new(&first, AGENT);
    browser.ask(&first, "GET /api/echo").is_ok();
    first.end();
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let config = ServerConfig::new(toolcrib_serve::ListenAddress::Tcp(address));
    let second = Rig::start(config);
    browser.ask(&second, "GET /api/echo").is_error(401, "unauthorized");
    log_in(&second, &json!({ "link": code })).is_error(401, "unauthorized");
    Browser::new(&second, AGENT).ask(&second, "GET /api/echo").is_ok();
}

#[test]
fn a_principal_with_many_sessions_loses_its_idlest_and_nobody_elses() {
    let rig = Rig::new();
    let boss = Browser::new(&rig, APPROVER);
    rig.clock.go_on(1);
    let (used, idle) = (Browser::new(&rig, AGENT), Browser::new(&rig, AGENT));
    for _ in 2..32 {
        rig.clock.go_on(1);
        Browser::new(&rig, AGENT);
    }
    let ask = |browser: &Browser| browser.ask(&rig, "GET /api/echo");
    ask(&used).is_ok();
    Browser::new(&rig, AGENT);
    ask(&idle).is_error(401, "unauthorized");
    ask(&used).is_ok();
    ask(&boss).is_ok();
}

#[test]
fn an_access_token_logs_in_for_as_long_as_it_counts() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    let said = log_in(&rig.rig, &json!({"token": key.token(&good())}));
    let session: Value = said.is_ok();
    let name = "oauth:login.example.org#ada";
    assert_eq!((&session["name"], &session["expires_in_s"]), (&json!(name), &json!(300)));
    let browser = Browser::of(&said);
    browser.ask(&rig.rig, "GET /api/echo").is_ok();
    let mut stream = browser.stream(&rig.rig);
    rig.clock.now.store(NOW + 330, Ordering::SeqCst);
    browser.ask(&rig.rig, "GET /api/echo").is_error(401, "unauthorized");
    assert_eq!(stream.end(), b"0\r\n\r\n");
    log_in(&rig.rig, &json!({"token": key.token(&good())})).is_error(401, "unauthorized");
}
