//! What the server tells about itself to those who run it.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::running_server::{LOG, RunningServer, read_message, wait_until};
use crate::scratch::Scratch;

/// Returns the metrics as an admin sees them.
pub(crate) fn metrics(server: &RunningServer<'_>) -> String {
    let request = server.request(&server.token("admin"), "GET", "/metrics", "", "");
    let (head, text) = server.exchange(&request);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let expected = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(expected), "{head}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    text
}

/// Returns the number of a metric.
#[track_caller]
pub(crate) fn number(text: &str, metric: &str) -> u64 {
    let found = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    let found = found.unwrap_or_else(|| panic!("{metric}: {text}"));
    found.split('.').next().unwrap().parse().unwrap()
}

#[test]
fn metrics_count_calls_decisions_and_requests_and_nothing_that_callers_make_up() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let lines_before = number(&metrics(&server), "toolcrib_audit_chain_length");
    assert_eq!(server.execute(&agent, "echo", json!({"text": "s3cret"})).0, 200);
    assert_eq!(server.execute(&agent, "echo", json!({"text": "hi"})).0, 200);
    assert_eq!(server.execute(&agent, "read_file", json!({"path": "nope"})).0, 422);
    assert_eq!(server.execute(&agent, "made_up", json!({})).0, 404);
    let (status, parked) = server.execute(&agent, "clemini/bash", json!({"command": "touch x"}));
    assert_eq!(status, 403, "{parked}");
    assert_eq!(server.send(&agent, "BREW", "/api/version", "", "").0, 405);
    assert_eq!(server.get(&agent, "/made/up").0, 404);
    let text = metrics(&server);
    for (metric, expected) in [
        ("toolcrib_calls_total{tool=\"forgekeeper/echo\",outcome=\"ok\"}", 2),
        ("toolcrib_calls_total{tool=\"forgekeeper/read_file\",outcome=\"error\"}", 1),
        ("toolcrib_calls_total{tool=\"clemini/bash\",outcome=\"refused\"}", 1),
        ("toolcrib_calls_total{tool=\"_OTHER\",outcome=\"refused\"}", 1),
        ("gen_ai_execute_tool_duration_seconds_count{gen_ai_tool_name=\"forgekeeper/echo\"}", 2),
        (
            "gen_ai_execute_tool_duration_seconds_bucket{gen_ai_tool_name=\"forgekeeper/read_file\",error_type=\"not_found\",le=\"+Inf\"}",
            1,
        ),
        (
            "http_server_request_duration_seconds_count{http_request_method=\"POST\",http_route=\"/api/tools/execute/{tool}\",http_response_status_code=\"200\"}",
            2,
        ),
        (
            "http_server_request_duration_seconds_count{http_request_method=\"_OTHER\",http_response_status_code=\"405\"}",
            1,
        ),
        (
            "http_server_request_duration_seconds_count{http_request_method=\"GET\",http_response_status_code=\"404\"}",
            1,
        ),
        ("toolcrib_policy_decisions_total{effect=\"ask\"}", 1),
        ("toolcrib_approvals_waiting", 1),
        ("toolcrib_requests_in_flight", 1),
    ] {
        assert_eq!(number(&text, metric), expected, "{metric}: {text}");
    }
    assert!(number(&text, "toolcrib_audit_chain_length") > lines_before, "{text}");
    for metric in
        ["process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"]
    {
        assert!(number(&text, metric) > 0, "{metric}: {text}");
    }
    let id = parked["call"].as_str().unwrap();
    for word in ["s3cret", "made_up", "/made/up", "BREW", id, "nope"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let path = format!("/api/approvals/{id}");
    assert_eq!(server.post(&approver, &path, &json!({"decision": "deny"})).0, 200);
    let text = metrics(&server);
    assert_eq!(number(&text, "toolcrib_approvals_total{decision=\"denied\"}"), 1);
    assert_eq!(number(&text, "toolcrib_approvals_waiting"), 0);
    // Connections that were closed leave the gauge: only the one that asks is left.
    wait_until(|| number(&metrics(&server), "toolcrib_connections_open") == 1);
    let (status, refused) = server.get(&agent, "/metrics");
    assert_eq!((status, &refused["error"]), (403, &"role_not_allowed".into()), "{refused}");
    assert_eq!(server.get("tcb_wrong", "/metrics").0, 401);
}

/// Starts a server with settings, and waits until its log has a line for each of some requests.
fn logged(scratch: &Scratch, settings: &[&str]) -> String {
    let words: Vec<&str> = settings.iter().flat_map(|setting| ["--config", *setting]).collect();
    let server = RunningServer::start_with(scratch, &words);
    let agent = server.token("agent");
    let echo = json!({"args": {"text": "s3cret-argument"}, "conv_id": "s3cret-conversation"});
    let headers = "X-Request-Id: mine-1\r\nCookie: s3cret-cookie\r\nUser-Agent: s3cret-agent\r\n";
    let path = "/api/tools/execute/echo?s3cret=query";
    assert_eq!(server.send(&agent, "POST", path, headers, &echo.to_string()).0, 200);
    assert_eq!(
        server.send("tcb_s3cret", "GET", "/api/s3cret", "X-Request-Id: mine-2\r\n", "").0,
        401
    );
    assert_eq!(server.send(&agent, "GET", "/s3cret", "X-Request-Id: mine-3\r\n", "").0, 404);
    assert_eq!(server.send(&agent, "GET", "/healthz", "X-Request-Id: mine-4\r\n", "").0, 200);
    let bad_head = format!("GET / HTTP/1.1\r\nHost: {}\r\ns3cret\r\n\r\n", server.address);
    assert!(server.exchange(&bad_head).0.starts_with("HTTP/1.1 400"));
    let (change, admin) = (json!({"limits.deadline_ms": 5000}), server.token("admin"));
    assert_eq!(server.post(&admin, "/api/settings", &change).0, 200);
    let address = server.address.clone();
    let log = scratch.path(LOG);
    server.stop();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains(&agent) && !log.contains("s3cret"), "{log}");
    assert!(log.contains(&address) || !settings.is_empty(), "{log}");
    log
}

#[test]
fn the_log_has_a_line_for_each_request_and_nothing_secret() {
    let log = logged(&Scratch::new(), &[]);
    let line = |word: &str| {
        log.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{word}: {log}"))
    };
    let echo = line("mine-1");
    for part in [
        " INFO request method=\"POST\" route=\"/api/tools/execute/{tool}\" status=200 ms=",
        "principal=\"agent\"",
    ] {
        assert!(echo.contains(part), "{part}: {echo}");
    }
    let wrong = line("mine-2");
    assert!(wrong.contains(" WARN ") && wrong.contains("status=401"), "{wrong}");
    assert!(wrong.contains("error=\"unauthorized\"") && !wrong.contains("principal"), "{wrong}");
    let nothing = line("mine-3");
    assert!(nothing.contains("error=\"not_found\"") && !nothing.contains("route"), "{nothing}");
    assert!(!log.contains("mine-4"), "{log}");
    for word in
        ["INFO listening version=", "INFO refused a request", "INFO stopping", "INFO stopped"]
    {
        line(word);
    }
}

#[test]
fn the_log_can_be_json_and_has_what_its_level_says() {
    let log = logged(&Scratch::new(), &["log.format=json", "log.level=debug"]);
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    let find = |request: &str| lines.iter().find(|line| line["request"] == request).unwrap();
    let echo = find("mine-1");
    assert_eq!(
        json!([echo["level"], echo["message"], echo["method"], echo["status"], echo["principal"]]),
        json!(["INFO", "request", "POST", 200, "agent"])
    );
    assert!(echo["ms"].as_f64().unwrap() > 0.0, "{echo}");
    assert!(echo["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{echo}");
    assert_eq!(find("mine-4")["level"], "DEBUG");
    let changed = |line: &&Value| line["message"].as_str().unwrap().starts_with("settings changed");
    assert_eq!(lines.iter().find(changed).unwrap()["level"], "WARN");
    let listening = lines.iter().find(|line| line["message"] == "listening").unwrap();
    assert_eq!(listening["settings"], "log.level,log.format");
    let warnings = logged(&Scratch::new(), &["log.level=warn"]);
    assert!(warnings.contains("mine-2") && !warnings.contains("mine-1"), "{warnings}");
}

#[test]
fn a_stderr_that_nobody_reads_holds_up_no_request() {
    let scratch = Scratch::new();
    // The pipe is full after 64 KiB, which are some 400 lines.
    let server = RunningServer::start_logging_to(&scratch, &[], Stdio::piped());
    let request = server.request(&server.token("agent"), "GET", "/api/version", "", "");
    let request = request.replace("Connection: close\r\n", "");
    let mut stream = BufReader::new(TcpStream::connect(&server.address).unwrap());
    for _ in 0..1000 {
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        read_message(&mut stream);
    }
    drop(stream);
    let (code, said) = server.stop();
    assert_eq!((code, said.as_str()), (0, "Stopped.\n"));
}

#[test]
fn a_call_is_in_the_trace_of_its_request() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let good = format!("traceparent: 00-{TRACE}-b7ad6b7169203331-01\r\n");
    let bad = format!("traceparent: 00-{}-b7ad6b7169203331-01\r\n", TRACE.to_uppercase());
    let call = |headers: &str, body: Value| {
        let path = "/api/tools/execute/echo";
        let request = server.request(&agent, "POST", path, headers, &body.to_string());
        let (head, _) = server.exchange(&request);
        let told = head.lines().find_map(|line| line.strip_prefix("traceparent: "));
        let told: Vec<String> = told.unwrap_or_default().split('-').map(str::to_owned).collect();
        let ended = scratch.record().into_iter().rfind(|line| line["event"] == "ended").unwrap();
        (told, ended)
    };
    let echo = json!({"args": {"text": "hi"}});
    let (told, ended) = call(&good, echo.clone());
    assert_eq!(
        (told[1].as_str(), told[3].as_str(), &ended["trace_id"]),
        (TRACE, "01", &TRACE.into())
    );
    assert_ne!(told[2], "b7ad6b7169203331", "the reply names the span of the server");
    let own = json!({"args": {"text": "hi"}, "trace_id": "mine"});
    let (told, ended) = call(&good, own);
    assert_eq!((told[1].as_str(), &ended["trace_id"]), (TRACE, &"mine".into()));
    // Without a trace of the caller, the id of the call stands for it.
    for headers in [bad.as_str(), "", &format!("{good}{good}")] {
        let (told, ended) = call(headers, echo.clone());
        assert_eq!((told.len(), &ended["call"]), (1, &Value::Null), "{headers}");
        assert_eq!(ended["trace_id"].as_str().unwrap().len(), 26, "{headers}");
    }
}
