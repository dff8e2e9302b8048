//! Tokens, and the limits of who has one.

use toolcrib_serve::RequestRate;

use crate::rig::{AGENT, APPROVER, Rig, bearer};

#[test]
fn h_002_only_an_exact_token_names_a_caller() {
    let rig = Rig::new();
    let ask = |headers: &str| rig.ask(rig.request("GET /echo", headers, ""));
    let caller =
        ask(&format!("{}User-Agent: tester/1.0\r\n", bearer(AGENT))).is_ok()["caller"].clone();
    let expect = serde_json::json!({
        "principal": {"name": "coder", "role": "agent"}, "door": "http", "client": "tester/1.0",
    });
    assert_eq!(caller, expect);
    assert_eq!(ask(&bearer(APPROVER)).is_ok()["caller"]["principal"]["role"], "approver");
    ask(&format!("authorization: bearer {AGENT}\r\n")).is_ok();
    let runs = rig.runs();
    for headers in [
        String::new(),
        bearer(""),
        bearer("x"),
        bearer(&format!("{AGENT}x")),
        bearer(&AGENT[..AGENT.len() - 1]),
        bearer(&AGENT.to_ascii_uppercase()),
        bearer(&format!("{AGENT} {AGENT}")),
        bearer(&"a".repeat(10_000)),
        format!("Authorization: {AGENT}\r\n"),
        format!("Authorization: Basic {AGENT}\r\n"),
        format!("Authorization: Bearer{AGENT}\r\n"),
        format!("{0}{0}", bearer(AGENT)),
        format!("{}{}", bearer("x"), bearer(AGENT)),
        format!("Cookie: token={AGENT}\r\n"),
        format!("Proxy-{}", bearer(AGENT)),
    ] {
        let reply = ask(&headers);
        reply.is_error(401, "unauthorized");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    // A token in the path is no token.
    rig.ask(rig.request(&format!("GET /echo?token={AGENT}"), "", "")).is_error(401, "unauthorized");
    assert_eq!(rig.runs(), runs);
}

#[test]
fn the_name_of_a_client_is_short_and_can_be_shown() {
    let rig = Rig::new();
    let name = |agent: &str| {
        let reply =
            rig.ask(rig.agents("GET /echo", &format!("User-Agent: {agent}\r\n"), "")).is_ok();
        reply["caller"]["client"].as_str().map(str::to_owned)
    };
    assert_eq!(name("curl/8.0").as_deref(), Some("curl/8.0"));
    assert_eq!(name(&"é".repeat(200)), Some("é".repeat(128)));
    assert_eq!(name("a\tb\u{202e}c").as_deref(), Some("abc"));
    assert_eq!(name(""), None);
    let without = rig.ask(rig.agents("GET /echo", "", "")).is_ok();
    assert!(without["caller"].get("client").is_none());
}

#[test]
fn h_034_a_flood_of_wrong_tokens_is_limited_and_good_tokens_are_not() {
    let burst = 20;
    let rate = RequestRate { per_second: 0, burst };
    let rig = Rig::with(|config| config.requests.wrong_tokens = rate);
    let wrong =
        |number: u32| rig.ask(rig.request("GET /echo", &bearer(&format!("guess-{number}")), ""));
    for number in 0..burst {
        wrong(number).is_error(401, "unauthorized");
        rig.good_call();
    }
    for number in 0..1000 {
        let reply = wrong(number);
        reply.is_error(429, "too_many_wrong_tokens");
        assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
        if number % 50 == 0 {
            rig.good_call();
            rig.ask(rig.request("GET /healthz", "", "")).is_ok();
        }
    }
    // Who forgot the token is told so.
    rig.ask(rig.request("GET /echo", "", "")).is_error(401, "unauthorized");
}

#[test]
fn one_principal_cannot_run_more_than_its_share() {
    let rig =
        Rig::with(|config| (config.requests.in_flight, config.requests.in_flight_each) = (3, 2));
    let mut first = rig.begin_wait(AGENT);
    let mut second = rig.begin_wait(AGENT);
    let reply = rig.ask(rig.agents("GET /echo", "", ""));
    let message = reply.is_error(429, "too_many_in_flight");
    assert!(message.contains("coder"), "{message}");
    assert_eq!(reply.header("retry-after"), Some("1"));
    rig.ask(rig.request("GET /echo", &bearer(APPROVER), "")).is_ok();
    // With three running, the whole server is full.
    let mut third = rig.begin_wait(APPROVER);
    let reply = rig.ask(rig.request("GET /echo", &bearer(APPROVER), ""));
    reply.is_error(503, "overloaded");
    assert_eq!(reply.header("retry-after"), Some("1"));
    rig.ask(rig.request("GET /healthz", "", "")).is_ok();
    for client in [&mut first, &mut second, &mut third] {
        rig.release();
        client.reply().is_ok();
    }
    // The reply is read, so the request has ended for the client; the server counts it until its body is sent.
    while rig.ask(rig.agents("GET /echo", "", "")).status != 200 {}
}

#[test]
fn one_principal_cannot_ask_faster_than_its_rate() {
    let rate = RequestRate { per_second: 0, burst: 3 };
    let rig = Rig::with(|config| config.requests.rate_each = Some(rate));
    let ask = |token: &str| rig.ask(rig.request("GET /echo", &bearer(token), ""));
    for _ in 0..3 {
        ask(AGENT).is_ok();
    }
    let reply = ask(AGENT);
    reply.is_error(429, "rate_limited");
    assert_eq!(reply.header("retry-after"), Some("86400"));
    ask(APPROVER).is_ok();
    assert_eq!(rig.runs(), 4);
}
