//! Calls over NATS: a real server, and a client that knows nothing but the contract.

use std::time::Duration;

use serde_json::{Value, json};

use crate::nats_bus::{NatsBus, credentials};
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// Starts the gateway.
fn gateway<'a>(scratch: &'a Scratch, bus: &NatsBus<'_>) -> RunningServer<'a> {
    RunningServer::start_with(scratch, &["-c", &format!("nats.url={}", bus.url())])
}

/// Returns the calls of a tool on the record, as the server tells of them.
fn recorded(server: &RunningServer<'_>, tool: &str) -> Vec<Value> {
    let (status, reply) = server.get(&server.token("admin"), &format!("/api/audit?tool={tool}"));
    assert_eq!(status, 200, "{reply}");
    reply["calls"].as_array().unwrap().clone()
}

#[test]
fn a_client_of_the_contract_calls_our_tools_unchanged() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "hello\n");
    let bus = NatsBus::start(&scratch);
    let server = gateway(&scratch, &bus);
    let replies = bus.client(
        "_INBOX",
        &json!([
            {"tool": "calculator", "id": "request-1", "payload": {"expression": "10 * 5"}},
            {"tool": "calculator", "payload": {"parameters": {"expression": "2 + 2"}}},
            {"tool": "calculator", "payload": {"expression": "evil()"}},
            {"tool": "clemini/read_file", "payload": {"file_path": "a.txt"}},
            {"tool": "clemini/read_file", "payload": {"file_path": "none.txt"}},
            {"tool": "no_such_tool", "payload": {}},
        ]),
    );
    let first = &replies[0];
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "timestamp", "source", "type", "correlationId", "payload"]);
    let beside = |key: &str| first[key].as_str().unwrap();
    assert_eq!((beside("source"), beside("type")), ("calculator", "tool.response"));
    assert_eq!(beside("correlationId"), "request-1");
    let payload = |number: usize| &replies[number]["payload"];
    assert_eq!(payload(0)["result"], json!({"expression": "10 * 5", "answer": 50}));
    assert_eq!(payload(1)["result"]["answer"], 4);
    assert_eq!(payload(2)["error"]["code"], "VALIDATION_ERROR");
    assert_eq!(payload(3)["success"], true);
    assert!(payload(3)["result"].to_string().contains("hello"), "{}", payload(3));
    let missing = payload(4);
    assert_eq!(
        (&missing["success"], &missing["error"]["code"]),
        (&json!(false), &json!("NOT_FOUND"))
    );
    assert_eq!(payload(5)["success"], false);
    // The record has who called through which door, and what the client calls itself.
    let calls = recorded(&server, "clemini/read_file");
    assert_eq!(calls.len(), 2, "{calls:?}");
    let said = format!("{calls:?}");
    assert!(said.contains("nats") && said.contains("test-client"), "{said}");
    assert_eq!(server.stop().0, 0);
}

#[test]
fn an_agent_is_who_its_subject_says_and_policy_decides_about_it() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "hello\n");
    let rule = "[[rule]]\nid = \"not-ci\"\nprincipal = \"nats:ci\"\ntool = \"clemini/read_file\"\neffect = \"deny\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
    let bus = NatsBus::start(&scratch);
    let server = gateway(&scratch, &bus);
    let steps = |prefix: &str| {
        json!([
            {"prefix": prefix, "tool": "clemini/read_file", "source": "nats:other",
             "payload": {"file_path": "a.txt"}},
            {"prefix": prefix, "tool": "clemini/read_file",
             "payload": {"parameters": {"file_path": "a.txt"}, "sessionId": "nats:other"}},
        ])
    };
    for reply in bus.client("_INBOX_ci", &steps("nachos.agent.ci")) {
        assert_eq!(reply["payload"]["success"], false, "{reply}");
        assert!(reply.to_string().contains("not-ci"), "{reply}");
    }
    for reply in bus.client("_INBOX_other", &steps("nachos.agent.other")) {
        assert_eq!(reply["payload"]["success"], true, "{reply}");
    }
    // What changes files waits for a person, who sees who asked.
    let write = json!([{"prefix": "nachos.agent.other", "tool": "filesystem",
        "payload": {"action": "write", "path": "b.txt", "content": "x"}}]);
    let waits = &bus.client("_INBOX_other", &write)[0]["payload"];
    assert_eq!(waits["error"]["code"], "APPROVAL_REQUIRED", "{waits}");
    let (_, waiting) = server.get(&server.token("admin"), "/api/approvals");
    assert!(waiting.to_string().contains("nats:other"), "{waiting}");
    assert!(!scratch.work().join("b.txt").exists());
    let id = waits["error"]["details"]["approval_id"].as_str().unwrap();
    let approve = json!({"decision": "approve"});
    let (status, reply) =
        server.post(&server.token("approver"), &format!("/api/approvals/{id}"), &approve);
    assert_eq!(status, 200, "{reply}");
    // It runs after the answer.
    let written = || std::fs::read(scratch.work().join("b.txt")).is_ok_and(|text| text == b"x");
    assert!((0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        written()
    }));
    // An operator can revoke who the NATS server lets in.
    assert_eq!(scratch.run(["tokens", "revoke", "nats:other"]).code, 0);
    let revoked = &bus.client("_INBOX_other", &steps("nachos.agent.other"))[0]["payload"];
    assert_eq!(revoked["error"]["code"], "REVOKED", "{revoked}");
}

#[test]
fn replies_go_to_no_inbox_but_the_senders() {
    let scratch = Scratch::new();
    let bus = NatsBus::start(&scratch);
    let server = gateway(&scratch, &bus);
    let sum = json!({"expression": "1 + 1"});
    let silent = |prefix: &str, reply: &str| {
        json!([
            {"prefix": prefix, "tool": "calculator", "payload": sum, "reply": reply, "silent": true}
        ])
    };
    let control = json!([{"prefix": "nachos.agent.evil", "tool": "calculator", "payload": sum}]);
    assert_eq!(bus.client("_INBOX_evil", &control)[0]["payload"]["result"]["answer"], 2);
    for (prefix, reply) in [
        ("nachos.agent.evil", "_INBOX_agent1.r1"),
        ("nachos.agent.evil", "_INBOX.r1"),
        ("nachos", "_INBOX_agent1.r1"),
        ("nachos", "nachos.agent.agent1.tool.calculator.request"),
        ("nachos.agent.NOBODY", "_INBOX_agent1.r1"),
    ] {
        let heard = &bus.client("_INBOX", &silent(prefix, reply))[0];
        assert_eq!(
            (&heard["heard"], &heard["after"]),
            (&json!([]), &json!(true)),
            "{prefix} {reply}"
        );
    }
    let shown = scratch.run(["audit", "tail", "-n", "1000", "--json"]).stdout;
    let noted = shown.matches("would not go to the sender's own inbox").count();
    assert!(noted >= 2, "{shown}");
    drop(server);
}

#[test]
fn a_request_that_comes_twice_is_made_once_and_what_is_no_request_is_told() {
    let scratch = Scratch::new();
    let bus = NatsBus::start(&scratch);
    let server = gateway(&scratch, &bus);
    let (one, other) = (json!({"expression": "1 + 1"}), json!({"expression": "3"}));
    let replies = bus.client(
        "_INBOX",
        &json!([
            // Both copies go to one inbox, which gets one reply; the third goes to another.
            {"tool": "calculator", "id": "twice", "copies": 2, "payload": one},
            {"tool": "calculator", "again": true},
            {"tool": "calculator", "id": "twice", "payload": other},
            {"tool": "calculator", "timestamp": "2020-01-01T00:00:00.000Z", "payload": one},
            {"tool": "calculator", "raw": "no json"},
            {"tool": "calculator", "raw": "{\"id\": 1}"},
            {"tool": "calculator", "raw": "[".repeat(100_000)},
            {"tool": "calculator", "payload": {"expression": "1".repeat(500_000)}},
            {"tool": "calculator", "payload": other},
        ]),
    );
    assert_eq!(replies[0], replies[1], "the same reply, with the same id");
    assert_eq!(replies[0]["payload"]["result"]["answer"], 2);
    let code =
        |reply: &Value| reply["payload"]["error"]["code"].as_str().unwrap_or("none").to_owned();
    assert_eq!(
        (code(&replies[2]), code(&replies[3])),
        ("ID_REUSED".into(), "STALE_REQUEST".into())
    );
    for reply in &replies[4..7] {
        assert_eq!(reply["error"]["code"], "INVALID_REQUEST", "{reply}");
    }
    assert_eq!(replies[7]["payload"]["success"], false);
    assert_eq!(replies[8]["payload"]["result"]["answer"], 3);
    assert_eq!(recorded(&server, "nachos/calculator").len(), 3);
}

#[test]
fn everything_else_works_while_the_bus_is_away() {
    let scratch = Scratch::new();
    let mut bus = NatsBus::absent(&scratch);
    let server = gateway(&scratch, &bus);
    let sum = json!([{"tool": "calculator", "payload": {"expression": "1 + 1"}}]);
    let by_http = || {
        let (status, reply) =
            server.execute(&server.token("agent"), "nachos/calculator", json!({"expression": "4"}));
        assert_eq!((status, &reply["result"]["answer"]), (200, &json!(4)), "{reply}");
    };
    by_http();
    let answered = |bus: &NatsBus<'_>| {
        let reply = &bus.client("_INBOX", &sum)[0];
        assert_eq!(reply["payload"]["result"]["answer"], 2, "{reply}");
    };
    bus.begin();
    answered(&bus);
    bus.kill();
    by_http();
    bus.begin();
    answered(&bus);
    bus.kill();
    assert_eq!(server.stop().0, 0, "a bus that is away holds up no end");
}

#[test]
fn what_cannot_work_is_told_at_the_start() {
    let scratch = Scratch::new();
    let open = format!("nats.credentials={}", credentials(&scratch, 0o644));
    for (words, said) in [
        (vec!["serve", "--nats", "http://127.0.0.1:1"], "write nats://HOST:PORT"),
        (vec!["-c", "nats.prefix=a.*", "serve", "--nats", "nats://127.0.0.1:1"], "`nats.prefix`"),
        (vec!["-c", &open, "serve", "--nats", "nats://127.0.0.1:1"], "chmod 600"),
    ] {
        let ran = scratch.run(&words);
        assert_ne!(ran.code, 0, "{words:?}");
        assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn the_permissions_of_the_page_keep_agents_apart() {
    let page = include_str!("../../../../docs/nats.md");
    let config = page.split("```").find(|block| block.trim().starts_with("authorization")).unwrap();
    let scratch = Scratch::new();
    let bus = NatsBus::start_with(&scratch, config);
    let url = bus.url().replace("://", "://gateway:gateway-password@");
    let server = RunningServer::start_with(&scratch, &["-c", &format!("nats.url={url}")]);
    let sum = json!({"expression": "1 + 1"});
    let own = json!({"prefix": "nachos.agent.ci", "tool": "calculator", "payload": sum});
    let as_ci = |step: Value| {
        let mut step = step;
        step["denied"] = true.into();
        bus.client_of(&["_INBOX_ci", "ci"], &json!([step, own])).remove(0).to_string()
    };
    // The control: what an agent may do is not denied, and is answered.
    assert_eq!(as_ci(own.clone()), "[]");
    let reply = &bus.client_of(&["_INBOX_ci", "ci"], &json!([own]))[0];
    assert_eq!(reply["payload"]["result"]["answer"], 2, "{reply}");
    for step in [
        json!({"listen": "_INBOX_agent1.>"}),
        json!({"listen": "_INBOX.>"}),
        json!({"listen": "nachos.>"}),
        json!({"listen": "nachos.agent.ci.tool.*.request"}),
        json!({"listen": "$SYS.>"}),
        json!({"subject": "_INBOX_agent1.r1", "raw": "{}"}),
        json!({"subject": "nachos.agent.agent1.tool.calculator.request", "payload": sum}),
        json!({"subject": "nachos.tool.calculator.request", "payload": sum}),
        json!({"subject": "$JS.API.INFO", "raw": ""}),
    ] {
        assert_eq!(as_ci(step.clone()), "[\"PERMISSIONS_VIOLATION\"]", "{step}");
    }
    // What no NATS server denies.
    let stolen = json!([{"prefix": "nachos.agent.ci", "tool": "calculator", "payload": sum,
        "reply": "_INBOX_agent1.r1", "denied": true}, own]);
    assert_eq!(bus.client_of(&["_INBOX_ci", "ci"], &stolen)[0], json!([]));
    let shown = scratch.run(["audit", "tail", "-n", "1000", "--json"]).stdout;
    assert!(shown.contains("would not go to the sender's own inbox"), "{shown}");
    drop(server);
}
