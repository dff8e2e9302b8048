//! Calls to the server that a person must approve: who answers, what runs, and what the agent gets.

use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

#[test]
fn an_agent_asks_another_token_approves_and_the_record_has_both() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let args = json!({"path": "a.txt", "content": "hello"});
    let (status, waits) = server.execute(&agent, "write_file", args.clone());
    assert_eq!((status, &waits["error"]), (403, &"approval_required".into()), "{waits}");
    let id = waits["approval"]["id"].as_str().unwrap().to_owned();
    assert!(!scratch.work().join("a.txt").exists());
    let (status, own) =
        server.post(&agent, &format!("/api/approvals/{id}"), &json!({"decision": "approve"}));
    assert_eq!((status, &own["error"]), (403, &"role_not_allowed".into()), "{own}");
    let (_, listed) = server.get(&approver, "/api/approvals");
    assert_eq!(
        (&listed["count"], &listed["approvals"][0]["caller"]["principal"]["name"]),
        (&1.into(), &"agent".into()),
        "{listed}"
    );
    let path = format!("/api/approvals/{id}");
    let (status, approved) = server.post(&approver, &path, &json!({"decision": "approve"}));
    assert_eq!((status, &approved["status"]), (200, &"approved".into()), "{approved}");
    let retry = json!({"args": args, "approval_id": id}).to_string();
    let path = "/api/tools/execute/write_file";
    let (status, reply) = server.send(&agent, "POST", path, "Prefer: wait=60\r\n", &retry);
    assert_eq!(
        (status, &reply["ok"], &reply["tool"]),
        (200, &true.into(), &"write_file".into()),
        "{reply}"
    );
    assert_eq!(scratch.text("a.txt"), "hello");
    let (status, again) = server.send(&agent, "POST", path, "", &retry);
    assert_eq!((status, &again["error"]), (409, &"outcome_already_given".into()), "{again}");
    let (status, late) =
        server.post(&approver, &format!("/api/approvals/{id}"), &json!({"decision": "deny"}));
    assert_eq!((status, &late["error"]), (409, &"already_answered".into()), "{late}");
    let (_, call) = server.get(&agent, &format!("/api/calls/{id}"));
    assert_eq!(
        (&call["status"], &call["outcome"]["ok"]),
        (&"taken up".into(), &true.into()),
        "{call}"
    );
    let (_, story) = server.get(&approver, &format!("/api/audit/{id}"));
    let story = &story["call"];
    assert_eq!(
        (&story["principal"], &story["role"], &story["door"], &story["by"]),
        (&"agent".into(), &"agent".into(), &"http".into(), &"approver".into()),
        "{story}"
    );
    for actor in ["agent", "approver"] {
        let found = scratch.run(["audit", "search", "--actor", actor, "--json"]).stdout;
        assert!(found.contains(&id), "{actor}: {found}");
    }
    let (code, said) = server.stop();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("Stopped"), "{said}");
}

#[test]
fn an_approved_call_keeps_its_place_in_the_callers_work() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let place = json!({"conv_id": "conv_abc123", "trace_id": "trace_xyz789", "iter": 2});
    let mut body = json!({"args": {"path": "a.txt", "content": "hello"}});
    body.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
    let (_, waits) = server.post(&agent, "/api/tools/execute/write_file", &body);
    let id = waits["approval"]["id"].as_str().unwrap().to_owned();
    let (_, shown) = server.get(&approver, &format!("/api/approvals/{id}"));
    assert_eq!(shown["approval"]["conversation"], "conv_abc123", "{shown}");
    let approve = json!({"decision": "approve"});
    assert_eq!(server.post(&approver, &format!("/api/approvals/{id}"), &approve).0, 200);
    wait_until(|| scratch.work().join("a.txt").exists());
    assert_eq!(server.stop().0, 0);
    let lines = scratch.record();
    let of = |event: &str| {
        let found = lines.iter().find(|line| line["event"] == event && line["call"] == id.as_str());
        found.unwrap_or_else(|| panic!("no line `{event}`")).clone()
    };
    // The first is of the call that was parked, the others are of its run.
    for event in ["asked", "started", "ended"] {
        for (key, value) in place.as_object().unwrap() {
            assert_eq!(of(event)[key], *value, "{event}");
        }
    }
}

#[test]
fn nobody_approves_their_own_call_or_sees_the_calls_of_others() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let admin = server.token("admin");
    let other = scratch.run(["tokens", "add", "other", "--role", "agent"]).stdout.trim().to_owned();
    let (_, waits) = server.execute(&admin, "write_file", json!({"path": "a", "content": "x"}));
    let id = waits["call"].as_str().unwrap().to_owned();
    let path = format!("/api/approvals/{id}");
    let (status, own) = server.post(&admin, &path, &json!({"decision": "approve"}));
    assert_eq!((status, &own["error"]), (403, &"own_call".into()), "{own}");
    assert_eq!(server.get(&other, &format!("/api/calls/{id}")).0, 404);
    assert_eq!(server.get(&admin, &format!("/api/calls/{id}")).0, 200);
    let body = json!({"args": {"path": "a", "content": "x"}, "approval_id": id});
    let (status, reply) = server.post(&other, "/api/tools/execute/write_file", &body);
    assert_eq!((status, &reply["error"]), (404, &"approval_not_found".into()), "{reply}");
    let (status, reply) = server.post(&admin, "/api/tools/execute/write_file", &body);
    assert_eq!((status, &reply["error"]), (403, &"approval_required".into()), "{reply}");
    let (status, _) = server.post(
        &server.token("approver"),
        &path,
        &json!({"decision": "deny", "words": "not now"}),
    );
    assert_eq!(status, 200);
    let (status, reply) = server.post(&admin, "/api/tools/execute/write_file", &body);
    assert_eq!(
        (status, &reply["message"]),
        (403, &"approver declined the call: not now".into()),
        "{reply}"
    );
    assert!(!scratch.work().join("a").exists());
    assert_eq!(scratch.run(["tokens", "revoke", "other"]).code, 0);
    assert_eq!(server.get(&other, "/api/version").0, 401);
    assert_eq!(server.get(&admin, "/api/version").0, 200);
}

#[test]
fn a_question_says_all_that_an_answer_elsewhere_needs() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let [agent, approver, admin] = ["agent", "approver", "admin"].map(|role| server.token(role));
    let content: String = (0..3000).map(|line| format!("line {line}\n")).collect();
    let (_, waits) = server.execute(&agent, "write_file", json!({"path": "a", "content": content}));
    let path = format!("/api/approvals/{}", waits["approval"]["id"].as_str().unwrap());
    let lines = |target: &str| {
        let (_, one) = server.get(&approver, target);
        let shown = &one["edits"][0]["difference"]["lines"];
        (shown["lines"].as_array().unwrap().len(), shown["left_out"].as_u64().unwrap())
    };
    assert_eq!(lines(&path), (200, 2800));
    assert_eq!(lines(&format!("{path}?whole=true")), (3000, 0));
    let (_, one) = server.get(&approver, &path);
    assert_eq!(
        (&one["tier"], &one["own"], &one["elsewhere"]),
        (&2.into(), &false.into(), &false.into()),
        "{one}"
    );
    let (_, waits) = server.execute(&admin, "write_file", json!({"path": "b", "content": "x"}));
    let path = format!("/api/approvals/{}", waits["approval"]["id"].as_str().unwrap());
    let own = |token: &str| server.get(token, &path).1["own"].clone();
    assert_eq!((own(&admin), own(&approver)), (true.into(), false.into()));
    let listed = |since: &str| {
        server.get(&approver, &format!("/api/approvals?since={since}")).1["count"].clone()
    };
    assert_eq!(listed("2006-01-01T00:00:00Z"), 2);
    assert_eq!(listed("2106-01-01T00:00:00Z"), 0);
}

#[test]
fn an_equal_call_has_the_question_that_waits_already() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let args = json!({"path": "a", "content": "x"});
    let (_, first) = server.execute(&agent, "write_file", args.clone());
    let (_, second) = server.execute(&agent, "write_file", args.clone());
    let id = first["approval"]["id"].as_str().unwrap();
    assert_eq!(second["approval"]["id"], id, "{second}");
    assert_ne!(second["call"], id, "{second}");
    let path = format!("/api/approvals/{id}");
    let approver = server.token("approver");
    assert_eq!(server.post(&approver, &path, &json!({"decision": "approve"})).0, 200);
    let body = json!({"args": args, "approval_id": id}).to_string();
    let path = "/api/tools/execute/write_file";
    let (status, reply) = server.send(&agent, "POST", path, "Prefer: wait=60\r\n", &body);
    assert_eq!(status, 200, "{reply}");
}

#[test]
fn a_token_can_wait_for_so_many_answers_and_no_more() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let ask = |token: &str, number: usize| {
        let path = format!("f{number}");
        server.execute(token, "write_file", json!({"path": path, "content": "x"})).1["error"]
            .clone()
    };
    for number in 0..64 {
        assert_eq!(ask(&agent, number), "approval_required");
    }
    assert_eq!(ask(&agent, 64), "declined");
    assert_eq!(ask(&server.token("admin"), 64), "approval_required", "another token");
    let (_, listed) = server.get(&server.token("approver"), "/api/approvals");
    let id = listed["approvals"][0]["id"].as_str().unwrap().to_owned();
    let deny = json!({"decision": "deny"});
    assert_eq!(
        server.post(&server.token("approver"), &format!("/api/approvals/{id}"), &deny).0,
        200
    );
    assert_eq!(ask(&agent, 65), "approval_required", "one was answered");
}

#[test]
fn an_approved_call_can_be_cancelled_and_is_waited_for() {
    let scratch = Scratch::new();
    let server = RunningServer::start_with(&scratch, &["-c", "serve.stop_seconds=1"]);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let begin = |file: &str| {
        let args = json!({"command": format!("touch {file}; sleep 600")});
        let (_, waits) = server.execute(&agent, "clemini/bash", args);
        let id = waits["approval"]["id"].as_str().unwrap_or_else(|| panic!("{waits}")).to_owned();
        let path = format!("/api/approvals/{id}");
        assert_eq!(server.post(&approver, &path, &json!({"decision": "approve"})).0, 200);
        wait_until(|| scratch.work().join(file).exists());
        id
    };
    let first = begin("one");
    let (status, reply) = server.send(&agent, "DELETE", &format!("/api/calls/{first}"), "", "");
    assert_eq!(status, 200, "{reply}");
    let outcome = || server.get(&agent, &format!("/api/calls/{first}")).1["outcome"].clone();
    wait_until(|| !outcome().is_null());
    assert_eq!(outcome()["error"]["error"], "cancelled");
    let second = begin("two");
    let (code, said) = server.stop();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("1 call ran for too long and was cancelled"), "{said}");
    let is_end = |line: &Value| line["trace_id"] == second.as_str() && line["error"] == "cancelled";
    assert!(scratch.record().iter().any(is_end), "its end is recorded");
}

#[test]
fn secrets_go_when_a_question_is_answered_and_only_the_asker_sees_a_reply_whole() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let scratch = Scratch::new();
    scratch.put("s.txt", format!("token = {secret}\n"));
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let args = json!({"command": format!("cat s.txt; touch made; echo {secret}")});
    let (_, waits) = server.execute(&agent, "clemini/bash", args);
    let id = waits["approval"]["id"].as_str().unwrap().to_owned();
    let kept =
        || std::fs::read_to_string(scratch.state().join(format!("approvals/{id}.json"))).unwrap();
    assert!(kept().contains(secret), "the control: until then it is needed");
    let path = format!("/api/approvals/{id}");
    assert_eq!(server.post(&approver, &path, &json!({"decision": "approve"})).0, 200);
    let call = |token: &str| server.get(token, &format!("/api/calls/{id}")).1;
    wait_until(|| !call(&agent)["outcome"].is_null());
    assert!(!kept().contains(secret), "{}", kept());
    assert!(call(&agent).to_string().contains(secret));
    let shown = call(&approver).to_string();
    assert!(!shown.contains(secret), "{shown}");
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_the_next_one_counts() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let args = json!({"path": "a", "content": "x"});
    let (_, waits) = server.execute(&server.token("agent"), "write_file", args);
    let path = format!("/api/approvals/{}", waits["approval"]["id"].as_str().unwrap());
    for body in [json!(["deny"]), json!({"decision": "deny", "words": "x".repeat(5000)})] {
        let (status, reply) = server.post(&server.token("approver"), &path, &body);
        assert_eq!((status, &reply["error"]), (422, &"invalid_request".into()), "{reply}");
    }
    assert_eq!(server.post(&server.token("approver"), &path, &json!({"decision": "deny"})).0, 200);
}
