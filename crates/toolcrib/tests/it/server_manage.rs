//! What approvers and admins do over HTTP: it stays within the server's workspace, and shows no secret of others.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;
use crate::server_observation::{metrics, number};

#[test]
fn an_undo_stays_within_the_workspace_of_the_server() {
    let scratch = Scratch::new();
    let elsewhere = scratch.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let place = elsewhere.display().to_string();
    let write = |words: &[&str], path: &str| {
        let args = json!({"path": path, "content": "of a call"}).to_string();
        let call = ["--yes", "call", "forgekeeper/write_file", &args];
        assert_eq!(scratch.run([words, &call].concat()).code, 0);
        let calls = scratch.run(["undo", "--all", "--json"]).json();
        calls["calls"][0]["call"].as_str().unwrap().to_owned()
    };
    let other = write(&["-C", &place], "kept.txt");
    let own = write(&[], "gone.txt");
    let server = RunningServer::start(&scratch);
    let approver = server.token("approver");
    let undo = |call: &str| {
        server.post(&approver, &format!("/api/undo/{call}"), &json!({"force": true})).0
    };
    assert_eq!(undo(&other), 404);
    assert_eq!(std::fs::read_to_string(elsewhere.join("kept.txt")).unwrap(), "of a call");
    let (_, listed) = server.get(&approver, "/api/undo");
    assert_eq!((&listed["total"], &listed["calls"][0]["call"]), (&1.into(), &own.clone().into()));
    assert_eq!(undo(&own), 200, "the control");
    assert!(!scratch.work().join("gone.txt").exists());
    // The hint of a second undo names what a client of the API can send, and that works.
    let (status, again) = server.post(&approver, &format!("/api/undo/{own}"), &json!({}));
    let hint = again["hint"].as_str().unwrap();
    let redo = hint.strip_prefix("`POST ").and_then(|rest| rest.split('`').next()).unwrap();
    assert_eq!(status, 409, "{again}");
    assert_eq!(server.post(&approver, redo, &json!({})).0, 200, "{again}");
    assert_eq!(scratch.text("gone.txt"), "of a call");
    let (_, unknown) = server.post(&approver, "/api/undo/01UNKNOWN", &json!({}));
    assert!(unknown["hint"].as_str().unwrap().contains("GET /api/undo"), "{unknown}");
    let text = metrics(&server);
    for (outcome, expected) in [("ok", 2), ("error", 2)] {
        let metric =
            format!("toolcrib_calls_total{{tool=\"toolcrib/undo\",outcome=\"{outcome}\"}}");
        assert_eq!(number(&text, &metric), expected, "{metric}: {text}");
    }
    assert!(!text.contains("toolcrib_policy_decisions_total{"), "policy is not asked: {text}");
}

/// Makes a call that writes a file, and returns its id.
fn written(scratch: &Scratch, path: &str, content: &str) -> String {
    let args = json!({"path": path, "content": content, "overwrite": true}).to_string();
    assert_eq!(scratch.run(["--yes", "call", "forgekeeper/write_file", &args]).code, 0);
    let calls = scratch.run(["undo", "--json"]).json();
    calls["calls"][0]["call"].as_str().unwrap().to_owned()
}

#[test]
fn several_calls_are_undone_in_order_and_one_that_cannot_be_undone_stays() {
    let scratch = Scratch::new();
    let first = written(&scratch, "notes.txt", "one");
    let second = written(&scratch, "notes.txt", "two");
    let other = written(&scratch, "other.txt", "by a call");
    scratch.put("other.txt", "by a person");
    let server = RunningServer::start(&scratch);
    let approver = server.token("approver");
    // Not in order: the older change does not fit while the newer one is there.
    let wrong = json!({"calls": [first, other]});
    let (status, none) = server.post(&approver, "/api/undo", &wrong);
    assert_eq!((status, none["undone"].as_array().map(Vec::len)), (200, Some(0)), "{none}");
    assert_eq!(scratch.text("notes.txt"), "two");

    let all = json!({"calls": [second, other, "01UNKNOWN", first]});
    assert_eq!(server.post(&server.token("agent"), "/api/undo", &all).0, 403);
    let (status, reply) = server.post(&approver, "/api/undo", &all);
    assert_eq!(status, 200, "{reply}");
    let named = |list: &str, field: &str| {
        let calls = reply[list].as_array().unwrap();
        calls.iter().map(|it| it[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named("undone", "undone"), [second, first]);
    assert_eq!(named("failed", "call"), [other, "01UNKNOWN".to_owned()]);
    assert!(reply["failed"][0]["message"].as_str().unwrap().contains("other.txt"), "{reply}");
    assert!(!scratch.work().join("notes.txt").exists());
    assert_eq!(scratch.text("other.txt"), "by a person");

    for calls in [json!([]), json!(vec!["01UNKNOWN"; 201]), json!("01UNKNOWN"), json!([1])] {
        let (status, refused) = server.post(&approver, "/api/undo", &json!({"calls": calls}));
        assert_eq!(status, 422, "{refused}");
    }
}

#[test]
fn an_undo_of_several_calls_goes_on_if_its_client_goes_away() {
    let scratch = Scratch::new();
    let mut calls: Vec<String> =
        (0..12).map(|n| written(&scratch, &format!("{n}.txt"), "of a call")).collect();
    calls.reverse();
    let server = RunningServer::start(&scratch);
    let body = json!({ "calls": calls }).to_string();
    let request = server.request(&server.token("approver"), "POST", "/api/undo", "", &body);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    // It has begun.
    wait_until(|| !scratch.work().join("11.txt").exists());
    drop(stream);
    wait_until(|| !scratch.work().join("0.txt").exists());
}

#[test]
fn others_see_no_secret_of_a_command_neither_whole_nor_by_lines() {
    let scratch = Scratch::new();
    let secret = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
    scratch.put(
        "key.pem",
        format!("one\n-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----\nlast\n"),
    );
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let command = format!("cat key.pem; echo {token}");
    let (status, reply) = server.execute(&agent, "clemini/bash", json!({"command": command}));
    assert_eq!(status, 200, "{reply}");
    let (_, tasks) = server.get(&approver, "/api/tasks");
    assert!(!tasks.to_string().contains(&token), "{tasks}");
    let id = tasks["tasks"][0]["id"].as_str().unwrap();
    for query in ["", "?from=3&lines=1", "?from=2&lines=2"] {
        let path = format!("/api/outputs/{id}{query}");
        let (status, seen) = server.get(&approver, &path);
        assert_eq!(status, 200, "{seen}");
        let text = seen["text"].as_str().unwrap();
        assert!(!text.contains(secret) && !text.contains(&token), "{query}: {text}");
    }
    let (_, own) = server.get(&agent, &format!("/api/outputs/{id}?from=3&lines=1"));
    assert_eq!(own["text"], format!("{secret}\n"), "the control: the agent sees its own");
}

#[test]
fn rules_are_not_changed_while_they_could_not_hold() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    let toml = "[[rule]]\nid = \"no-echo\"\ntool = \"forgekeeper/echo\"\neffect = \"deny\"\n";
    let add = || server.post(&admin, "/api/rules", &json!({ "toml": toml }));
    scratch.put_at("home/.config/toolcrib/config.toml", "nonsense = 1\n");
    let (status, refused) = add();
    assert_eq!(status, 409, "{refused}");
    assert!(!scratch.path("home/.config/toolcrib/rules.toml").exists());
    scratch.put_at("home/.config/toolcrib/config.toml", "");
    let (status, added) = add();
    assert_eq!((status, &added["added"][0]), (200, &"no-echo".into()), "{added}");
    assert_eq!(server.execute(&agent, "echo", json!({"text": "a"})).0, 403);
    let (status, gone) = server.send(&admin, "DELETE", "/api/rules/no-echo", "", "");
    assert_eq!(status, 200, "{gone}");
    assert_eq!(server.execute(&agent, "echo", json!({"text": "a"})).0, 200);
    let (status, unknown) = server.send(&admin, "DELETE", "/api/rules/no-echo", "", "");
    assert_eq!(
        (status, &unknown["error"], unknown["hint"].is_string()),
        (404, &"rule_not_found".into(), true),
        "{unknown}"
    );
}
