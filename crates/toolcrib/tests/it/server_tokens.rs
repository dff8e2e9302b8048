//! What becomes of the calls of a token that is revoked.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Starts a command of a token that runs until it is ended, and returns the connection that waits for it.
fn begin_command(
    server: &RunningServer<'_>,
    scratch: &Scratch,
    token: &str,
    mark: &str,
) -> TcpStream {
    let body = json!({"args": {"command": format!("touch {mark}; sleep 600")}}).to_string();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let path = "/api/tools/execute/clemini/bash";
    stream.write_all(server.request(token, "POST", path, "", &body).as_bytes()).unwrap();
    wait_until(|| scratch.work().join(mark).exists());
    stream
}

#[test]
fn the_calls_of_a_revoked_token_end_and_its_questions_close() {
    let scratch = Scratch::new();
    let rule = "[[rule]]\ntool = \"clemini/bash\"\nargv = [[\"touch\", \"sleep\"]]\nrole = \"agent\"\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let other = scratch.run(["tokens", "add", "other", "--role", "agent"]).stdout.trim().to_owned();
    let mut streams = Vec::new();
    let (mut tasks, mut questions) = (Vec::new(), Vec::new());
    for (token, name) in [(&agent, "agent"), (&other, "other")] {
        streams.push(begin_command(&server, &scratch, token, name));
        let task = json!({"command": "sleep 600", "run_in_background": true});
        let (status, task) = server.execute(token, "clemini/bash", task);
        assert_eq!(status, 200, "{task}");
        tasks.push(task["task_id"].as_str().unwrap().to_owned());
        let args = json!({"path": format!("{name}.txt"), "content": "hello"});
        let (_, waits) = server.execute(token, "write_file", args);
        questions.push(waits["approval"]["id"].as_str().unwrap().to_owned());
    }
    let ended = |is_it: &dyn Fn(&Value) -> bool| {
        scratch.record().iter().filter(|line| line["event"] == "ended" && is_it(line)).count()
    };
    let task_ended = |id: &str| {
        let is_it = |line: &Value| line["event"] == "task_ended" && line["trace_id"] == id;
        scratch.record().iter().any(is_it)
    };
    assert_eq!(ended(&|line| line["error"] == "cancelled"), 0);
    let mut events = TcpStream::connect(&server.address).unwrap();
    let follow = server.request(&agent, "GET", "/api/events", "", "");
    events.write_all(follow.as_bytes()).unwrap();
    let mut head = [0; 12];
    events.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");

    assert_eq!(scratch.run(["tokens", "revoke", "agent"]).code, 0);
    assert_eq!(server.get(&agent, "/api/version").0, 401);
    wait_until(|| ended(&|line| line["error"] == "cancelled") == 1 && task_ended(&tasks[0]));
    // Whoever follows events with the token hears no more.
    events.read_to_end(&mut Vec::new()).unwrap();
    let answer = |id: &str| {
        server.post(&approver, &format!("/api/approvals/{id}"), &json!({"decision": "approve"}))
    };
    let (status, late) = answer(&questions[0]);
    assert_eq!((status, &late["status"]), (409, &"revoked".into()), "{late}");
    let terminal = scratch.run(["--yes", "approvals", "approve", &questions[0]]);
    assert!(terminal.stderr.contains("a token that is revoked"), "{}", terminal.stderr);
    assert!(!scratch.work().join("agent.txt").exists());

    // Nothing of this concerns another token.
    assert_eq!(answer(&questions[1]).0, 200);
    wait_until(|| scratch.work().join("other.txt").exists());
    assert_eq!(ended(&|line| line["error"] == "cancelled"), 1);
    assert!(!task_ended(&tasks[1]));
}

#[test]
fn a_rotated_token_ends_at_once_and_its_owner_goes_on() {
    let scratch = Scratch::new();
    let rule = "[[rule]]\ntool = \"clemini/bash\"\nargv = [[\"touch\", \"sleep\"]]\nrole = \"agent\"\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
    let server = RunningServer::start(&scratch);
    let (old, approver) = (server.token("agent"), server.token("approver"));
    let other = scratch.run(["tokens", "add", "other", "--role", "agent"]).stdout.trim().to_owned();
    let mut running = begin_command(&server, &scratch, &old, "agent");
    let _others = begin_command(&server, &scratch, &other, "other");
    let args = json!({"path": "a.txt", "content": "hello"});
    let (_, waits) = server.execute(&old, "write_file", args);
    let question = waits["approval"]["id"].as_str().unwrap().to_owned();
    let mut events = TcpStream::connect(&server.address).unwrap();
    let follow = server.request(&old, "GET", "/api/events", "", "");
    events.write_all(follow.as_bytes()).unwrap();

    let rotated = scratch.run(["tokens", "rotate", "agent", "--json"]).json();
    assert_eq!((&rotated["name"], &rotated["role"]), (&"agent".into(), &"agent".into()));
    let new = rotated["token"].as_str().unwrap();
    assert!(new.starts_with("tcb_") && new != old, "{new}");
    assert_eq!(server.get(&old, "/api/version").0, 401);
    assert_eq!(server.get(new, "/api/version").0, 200);
    // What was begun with the old one ends, and nothing else does.
    let mut reply = String::new();
    running.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 401") && reply.contains("rotated meanwhile"), "{reply}");
    events.read_to_end(&mut Vec::new()).unwrap();
    let cancelled = || {
        let is_it = |line: &&Value| line["event"] == "ended" && line["error"] == "cancelled";
        scratch.record().iter().filter(is_it).count()
    };
    wait_until(|| cancelled() == 1);
    assert_eq!(server.get(&other, "/api/version").0, 200);
    // The question is that of the name, which goes on.
    let path = format!("/api/approvals/{question}");
    assert_eq!(server.post(&approver, &path, &json!({"decision": "approve"})).0, 200);
    wait_until(|| scratch.work().join("a.txt").exists());
    assert_eq!(cancelled(), 1);
    let is_it = |line: &Value| {
        line["act"] == "token" && line["event"] == "rotated" && line["detail"]["name"] == "agent"
    };
    assert!(scratch.record().iter().any(is_it));

    let shown = scratch.run(["tokens", "rotate", "agent"]);
    assert_eq!(server.get(new, "/api/version").0, 401);
    assert_eq!(server.get(shown.stdout.trim(), "/api/version").0, 200);
    assert!(shown.stderr.contains("it is not shown again"), "{}", shown.stderr);
    let list = scratch.run(["tokens", "list"]).stdout;
    assert!(
        list.lines().any(|it| it.starts_with("agent") && it.contains("  rotated 20")),
        "{list}"
    );
    let list = scratch.run(["tokens", "list", "--json"]).json();
    assert!(list[0]["rotated_at"].is_string() && list[1].get("rotated_at").is_none(), "{list}");
    let nobody = scratch.run(["tokens", "rotate", "nobody"]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (1, ""));
    assert!(nobody.stderr.contains("no token with the name `nobody`"), "{}", nobody.stderr);
    assert_eq!(scratch.run(["tokens", "revoke", "other"]).code, 0);
    let revoked = scratch.run(["tokens", "rotate", "other"]);
    assert_ne!(revoked.code, 0);
    assert!(revoked.stderr.contains("was revoked at 20"), "{}", revoked.stderr);
}

#[test]
fn the_name_of_a_revoked_token_is_not_given_again() {
    let scratch = Scratch::new();
    let add = |name: &str| scratch.run(["tokens", "add", name, "--role", "agent"]);
    assert_eq!(add("ci").code, 0);
    assert_eq!(scratch.run(["tokens", "revoke", "ci"]).code, 0);
    let again = add("ci");
    assert_ne!(again.code, 0);
    assert!(again.stderr.contains("`ci` was revoked at 20"), "{}", again.stderr);
    assert_eq!(add("ci2").code, 0);
    let list = |more: &[&str]| scratch.run([&["tokens", "list"], more].concat()).stdout;
    assert!(list(&[]).contains("ci2") && !list(&[]).contains("revoked"), "{}", list(&[]));
    let all = list(&["--all"]);
    assert!(all.lines().any(|it| it.starts_with("ci ") && it.contains("  revoked 20")), "{all}");
    let all: Value = serde_json::from_str(&list(&["--all", "--json"])).unwrap();
    assert!(all[0]["revoked_at"].is_string() && all[1].get("revoked_at").is_none(), "{all}");
    // The server makes no first tokens for somebody who has revoked all.
    assert_eq!(scratch.run(["tokens", "revoke", "ci2"]).code, 0);
    drop(RunningServer::start(&scratch));
    assert!(!scratch.state().join("first_tokens").exists());
}
