//! What hikai reads from a repository on GitHub: the replies have the contract's form, the traffic is on the record, and
//! the session has seen the network.

use serde_json::{Value, json};

use crate::connect::repository_at;
use crate::github_server::GitHubServer;
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// Connects a repository on a server that speaks GitHub's API, as `hub`, and the same one on disk, as `disk`.
fn connected(scratch: &Scratch) -> GitHubServer {
    let path = repository_at(scratch, "repository", "fn second() {}\n");
    let server = GitHubServer::start(std::path::Path::new(&path));
    let place = format!("github:{}/octo/demo", server.url());
    for (name, place) in [("hub", place), ("disk", format!("git:{path}"))] {
        let added = scratch.run(["connect", "add", name, &place]);
        assert_eq!(added.code, 0, "{}", added.stderr);
    }
    server
}

#[test]
fn the_traffic_is_on_the_record_and_the_replies_are_the_contracts() {
    let scratch = Scratch::new();
    let server = connected(&scratch);
    for (tool, args, expect) in [
        (
            "read_file",
            json!({"path": "src/main.rs"}),
            json!({"path": "src/main.rs", "content": "fn second() {}\n", "size": 15}),
        ),
        (
            "list_files",
            json!({"path": "src"}),
            json!({"files": [{"path": "src/main.rs", "name": "main.rs", "size": 15}], "truncated": false}),
        ),
        (
            "search_code",
            json!({"query": "second"}),
            json!([{"path": "src/main.rs", "snippet": "fn second() {}"}]),
        ),
    ] {
        let tool = format!("hikai/{tool}");
        let call = |connection: &str| {
            let args = args.to_string();
            scratch.run(["--yes", "call", &tool, &args, "--connection", connection, "--json"])
        };
        server.take_seen();
        let read = call("hub");
        assert_eq!(read.json(), expect, "{tool}: {}", read.stderr);
        let shown = scratch.run(["audit", "show", "--last"]).stdout;
        let line = shown.lines().find(|line| line.trim().starts_with("network:"));
        let line = line.unwrap_or_else(|| panic!("{tool}: {shown}"));
        assert!(line.contains("127.0.0.1"), "{line}");
        let sent = server.take_seen().len();
        assert!(
            sent >= 3 && line.contains(&format!("{sent} connections")),
            "{tool}: {sent}: {line}"
        );
        // The control: nothing goes over the network for what is on disk.
        assert_eq!(call("disk").json(), expect);
        let shown = scratch.run(["audit", "show", "--last"]).stdout;
        assert!(!shown.contains("network:"), "{shown}");
    }
}

#[test]
fn a_session_that_read_from_github_has_seen_the_network() {
    let scratch = Scratch::new();
    let _github = connected(&scratch);
    scratch.put("a.txt", "a\n");
    let words = ["-c", "mode=permissive", "-c", "policy.tainted=ask"];
    let server = RunningServer::start_with(&scratch, &words);
    let agent = server.token("agent");
    let status_of_read = || server.execute(&agent, "wink/read_file", json!({"path": "a.txt"})).0;
    let read_from = |connection: &str| -> (u16, Value) {
        let header = format!("X-Toolcrib-Connection: {connection}\r\n");
        let body = json!({"args": {"path": "src/main.rs"}}).to_string();
        server.send(&agent, "POST", "/api/tools/execute/hikai/read_file", &header, &body)
    };
    assert_eq!((read_from("disk").0, status_of_read()), (200, 200));
    let (status, reply) = read_from("hub");
    assert_eq!((status, &reply["content"]), (200, &json!("fn second() {}\n")), "{reply}");
    assert_eq!(status_of_read(), 403, "what the repository says may lead it");
}
