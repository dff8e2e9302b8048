//! MCP over HTTP: tokens, sessions and answers.

use serde_json::{Value, json};

use crate::mcp_client::with_forms;
use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Sends one message of the stateless protocol over HTTP.
fn post(server: &RunningServer<'_>, token: &str, name: &str, args: &Value) -> (u16, Value) {
    let params = json!({"name": name, "arguments": args});
    post_rpc(server, token, "tools/call", params, &with_forms())
}

/// Sends a request of 2026-07-28 over HTTP.
pub(crate) fn post_rpc(
    server: &RunningServer<'_>,
    token: &str,
    method: &str,
    mut params: Value,
    capabilities: &Value,
) -> (u16, Value) {
    let name = params.get("name").or(params.get("taskId")).cloned().unwrap_or_default();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
    });
    let headers = format!(
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: {method}\r\nMcp-Name: {}\r\n",
        name.as_str().unwrap_or_default(),
    );
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    server.send(token, "POST", "/mcp", &headers, &body.to_string())
}

#[test]
fn a_session_over_http_belongs_to_the_token_that_opened_it() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    let post = |token: &str, session: &str, method: &str, params: Value| {
        let headers = format!(
            "Accept: application/json, text/event-stream\r\n{session}MCP-Protocol-Version: 2025-11-25\r\n"
        );
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        server.exchange(&server.request(token, "POST", "/mcp", &headers, &body.to_string()))
    };
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test-client", "version": "1"},
    });
    let (head, _) = post(&agent, "", "initialize", hello);
    let lines = head.lines().map(str::to_lowercase);
    let session = lines.into_iter().find(|line| line.starts_with("mcp-session-id:")).unwrap();
    let session = format!("{session}\r\n");
    let (head, body) = post(&admin, &session, "tools/list", json!({}));
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    assert!(body.contains("session_not_found"), "{body}");
    // The control: its own token can use it.
    let (head, body) = post(&agent, &session, "tools/list", json!({}));
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("read_file"), "{head} {body}");
}

#[test]
fn over_http_the_token_says_who_calls_and_answers_do_not_count() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "hello\n");
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let args = json!({"file_path": "a.txt"});
    let (status, reply) = post(&server, &agent, "read_file", &args);
    assert_eq!(status, 200, "{reply}");
    assert_eq!(reply["result"]["structuredContent"]["contents"], "1: hello", "{reply}");
    let call = reply["result"]["_meta"]["dev.toolcrib/call"].as_str().unwrap();
    let story = scratch.run(["audit", "show", call, "--json"]).json();
    assert_eq!((&story["principal"], &story["door"]), (&json!("agent"), &json!("mcp")), "{story}");
    // An approver makes no calls, and no token is nobody.
    let (status, refused) = post(&server, &approver, "read_file", &args);
    assert_eq!((status, &refused["error"]), (403, &json!("role_not_allowed")), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("may not make calls"), "{refused}");
    assert_eq!(post(&server, "wrong", "read_file", &args).0, 401);
    // Asker and answerer would have the same token, so the question waits for another.
    let (_, parked) =
        post(&server, &agent, "write_file", &json!({"file_path": "b.txt", "content": "x"}));
    assert_eq!(parked["result"]["isError"], true, "{parked}");
    let id =
        parked["result"]["_meta"]["dev.toolcrib/error"]["context"]["approval_id"].as_str().unwrap();
    let (status, _) =
        server.post(&approver, &format!("/api/approvals/{id}"), &json!({"decision": "approve"}));
    assert_eq!(status, 200);
    wait_until(|| scratch.work().join("b.txt").exists());
}
