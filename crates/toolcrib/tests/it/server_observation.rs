//! What the server tells about itself to those who run it.

use serde_json::json;

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Returns the metrics as an admin sees them.
fn metrics(server: &RunningServer<'_>) -> String {
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
fn number(text: &str, metric: &str) -> f64 {
    let found = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("{metric}: {text}")).parse().unwrap()
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
    let (status, parked) = server.execute(&agent, "clemini/bash", json!({"command": "true"}));
    assert_eq!(status, 403, "{parked}");
    assert_eq!(server.send(&agent, "BREW", "/api/version", "", "").0, 405);
    assert_eq!(server.get(&agent, "/made/up").0, 404);
    let text = metrics(&server);
    for (metric, expected) in [
        ("toolcrib_calls_total{tool=\"forgekeeper/echo\",outcome=\"ok\"}", 2.0),
        ("toolcrib_calls_total{tool=\"forgekeeper/read_file\",outcome=\"error\"}", 1.0),
        ("toolcrib_calls_total{tool=\"clemini/bash\",outcome=\"refused\"}", 1.0),
        ("toolcrib_calls_total{tool=\"_OTHER\",outcome=\"refused\"}", 1.0),
        ("gen_ai_execute_tool_duration_seconds_count{gen_ai_tool_name=\"forgekeeper/echo\"}", 2.0),
        (
            "gen_ai_execute_tool_duration_seconds_bucket{gen_ai_tool_name=\"forgekeeper/read_file\",error_type=\"not_found\",le=\"+Inf\"}",
            1.0,
        ),
        (
            "http_server_request_duration_seconds_count{http_request_method=\"POST\",http_route=\"/api/tools/execute/{tool}\",http_response_status_code=\"200\"}",
            2.0,
        ),
        (
            "http_server_request_duration_seconds_count{http_request_method=\"_OTHER\",http_response_status_code=\"405\"}",
            1.0,
        ),
        (
            "http_server_request_duration_seconds_count{http_request_method=\"GET\",http_response_status_code=\"404\"}",
            1.0,
        ),
        ("toolcrib_policy_decisions_total{effect=\"ask\"}", 1.0),
        ("toolcrib_approvals_waiting", 1.0),
        ("toolcrib_requests_in_flight", 1.0),
    ] {
        assert_eq!(number(&text, metric), expected, "{metric}: {text}");
    }
    assert!(number(&text, "toolcrib_audit_chain_length") > lines_before, "{text}");
    for metric in
        ["process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"]
    {
        assert!(number(&text, metric) > 0.0, "{metric}: {text}");
    }
    let id = parked["call"].as_str().unwrap();
    for word in ["s3cret", "made_up", "/made/up", "BREW", id, "nope"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let path = format!("/api/approvals/{id}");
    assert_eq!(server.post(&approver, &path, &json!({"decision": "deny"})).0, 200);
    let text = metrics(&server);
    assert_eq!(number(&text, "toolcrib_approvals_total{decision=\"denied\"}"), 1.0);
    assert_eq!(number(&text, "toolcrib_approvals_waiting"), 0.0);
    // Connections that were closed leave the gauge: only the one that asks is left.
    wait_until(|| number(&metrics(&server), "toolcrib_connections_open") == 1.0);
    let (status, refused) = server.get(&agent, "/metrics");
    assert_eq!((status, &refused["error"]), (403, &"role_not_allowed".into()), "{refused}");
    assert_eq!(server.get("tcb_wrong", "/metrics").0, 401);
}
