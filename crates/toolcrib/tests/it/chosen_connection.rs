//! Several connections, of which each session chooses one: at the terminal, over HTTP and over MCP.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::connect::repository_at;
use crate::mcp_client::{McpClient, Protocol};
use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// The file that every repository has, with a text of its own.
const FILE: &str = "src/main.rs";

/// Adds two connections, and a folder as a third. Returns the folder's path.
fn connected(scratch: &Scratch) -> String {
    scratch.put(FILE, "of the workspace\n");
    for name in ["api", "web"] {
        let path = repository_at(scratch, name, &format!("of {name}\n"));
        assert_eq!(scratch.run(["connect", "add", name, &format!("git:{path}")]).code, 0);
    }
    scratch.put_at("docs/src/main.rs", "of docs\n");
    let folder = scratch.path("docs").display().to_string();
    let added = scratch.run(["connect", "add", "docs", &folder]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    folder
}

/// Reads the file over HTTP. Returns what it holds, or what is said instead.
fn read(server: &RunningServer<'_>, token: &str, connection: Option<&str>) -> (u16, String) {
    let header = connection.map(|name| format!("X-Toolcrib-Connection: {name}\r\n"));
    let body = json!({"args": {"path": FILE}}).to_string();
    let path = "/api/tools/execute/hikai/read_file";
    let (status, reply) = server.send(token, "POST", path, &header.unwrap_or_default(), &body);
    let content = reply["content"].as_str().map(str::to_owned);
    (status, content.unwrap_or_else(|| reply.to_string()))
}

#[test]
fn a_call_at_the_terminal_chooses_a_connection_by_its_name() {
    let scratch = Scratch::new();
    connected(&scratch);
    let path = format!("path={FILE}");
    let call = |more: &[&str]| {
        scratch.run([&["call", "hikai/read_file", &path, "--json"][..], more].concat())
    };
    assert_eq!(call(&[]).json()["content"], "of the workspace\n");
    for name in ["api", "web", "docs"] {
        let read = call(&["--connection", name]);
        assert_eq!(read.json()["content"], format!("of {name}\n"), "{}", read.stderr);
    }
    let shown = scratch.run(["audit", "show", "--last"]).stdout;
    assert!(shown.contains("connected: docs"), "{shown}");
    // Only names are taken, and nothing that leads to a place.
    let place = format!("git:{}", scratch.path("api").display());
    for wrong in ["apl", "workspace", place.as_str(), "/etc"] {
        let refused = call(&["--connection", wrong]);
        assert_eq!(refused.code, 2, "{}", refused.stdout);
        assert!(refused.stdout.contains("there are `api`, `web`, `docs`"), "{}", refused.stdout);
    }
    // What `none` says holds for every choice.
    let closed = scratch.run([
        "-c",
        "hikai.connection=none",
        "call",
        "hikai/read_file",
        &path,
        "--connection",
        "api",
        "--json",
    ]);
    assert!(closed.stdout.contains("No active GitHub connection found"), "{}", closed.stdout);
}

#[test]
fn two_sessions_of_a_server_read_two_connections() {
    let scratch = Scratch::new();
    connected(&scratch);
    let server = RunningServer::start(&scratch);
    let ci = scratch.run(["tokens", "add", "ci", "--role", "agent"]).stdout.trim().to_owned();
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    assert_eq!(read(&server, &agent, Some("api")), (200, "of api\n".to_owned()));
    assert_eq!(read(&server, &ci, Some("web")), (200, "of web\n".to_owned()));
    assert_eq!(read(&server, &ci, Some("docs")), (200, "of docs\n".to_owned()));
    assert_eq!(read(&server, &agent, None), (200, "of the workspace\n".to_owned()));
    let (_, sessions) = server.get(&approver, "/api/sessions");
    let chosen = |session: &str| -> Value {
        let all = sessions["sessions"].as_array().unwrap();
        let one = all.iter().find(|it| it["session"] == session);
        one.unwrap_or_else(|| panic!("{sessions}"))["connections"].clone()
    };
    assert_eq!(chosen("http-agent"), json!(["api"]));
    assert_eq!(chosen("http-ci"), json!(["docs", "web"]), "the newest first");
    let (_, calls) = server.get(&approver, "/api/audit?session=http-agent");
    assert_eq!(calls["calls"][1]["connection"], "api", "{calls}");
    // An unknown name is told with those that there are, and other tools do not mind.
    let (status, said) = read(&server, &agent, Some("apl"));
    assert_ne!(status, 200, "{said}");
    assert!(
        said.contains("there is no connection `apl`; there are `api`, `web`, `docs`"),
        "{said}"
    );
    let echo = json!({"args": {"text": "hi"}}).to_string();
    let header = "X-Toolcrib-Connection: apl\r\n";
    assert_eq!(server.send(&agent, "POST", "/api/tools/execute/echo", header, &echo).0, 200);
    for wrong in ["/etc", "git:/srv/x", "a b", ""] {
        let (status, said) = read(&server, &agent, Some(wrong));
        assert_eq!((status, said.contains("invalid_header")), (400, true), "{wrong}: {said}");
    }
    // The choice is with the client, so it holds after a restart.
    server.stop();
    let server = RunningServer::start(&scratch);
    assert_eq!(read(&server, &agent, Some("api")), (200, "of api\n".to_owned()));
}

#[test]
fn a_connection_that_was_removed_cannot_be_chosen_any_more() {
    let scratch = Scratch::new();
    connected(&scratch);
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    assert_eq!(read(&server, &agent, Some("web")).0, 200);
    assert_eq!(scratch.run(["connect", "remove", "web"]).code, 0);
    // The server takes up the file that changed.
    wait_until(|| read(&server, &agent, Some("web")).0 != 200);
    let (_, said) = read(&server, &agent, Some("web"));
    assert!(said.contains("there is no connection `web`; there are `api`, `docs`"), "{said}");
    assert_eq!(read(&server, &agent, Some("api")), (200, "of api\n".to_owned()));
}

#[test]
fn a_rule_keeps_a_principal_from_a_connection() {
    let scratch = Scratch::new();
    let folder = connected(&scratch);
    let api = scratch.path("api").display().to_string();
    scratch.put_at(
        "home/.config/toolcrib/rules.toml",
        format!(
            "[[rule]]\nid = \"not-for-ci\"\nprincipal = \"ci\"\npaths = [\"{api}/**\", \"{folder}/**\"]\neffect = \"deny\"\n"
        ),
    );
    let server = RunningServer::start(&scratch);
    let ci = scratch.run(["tokens", "add", "ci", "--role", "agent"]).stdout.trim().to_owned();
    for name in ["api", "docs"] {
        let (status, said) = read(&server, &ci, Some(name));
        assert!(status != 200 && said.contains("not-for-ci"), "{name}: {said}");
    }
    assert_eq!(read(&server, &ci, Some("web")), (200, "of web\n".to_owned()));
    assert_eq!(read(&server, &server.token("agent"), Some("api")), (200, "of api\n".to_owned()));
}

#[test]
fn a_client_of_mcp_reads_the_connection_that_it_was_started_with() {
    let scratch = Scratch::new();
    connected(&scratch);
    for (words, expect) in [(&["--connection", "web"][..], "of web"), (&[], "of the workspace")] {
        let words = [words, &["--toolset", "hikai"]].concat();
        let mut client = McpClient::start(&scratch, Protocol::Stateless, json!({}), &words);
        let reply = client.call("read_file", json!({"path": FILE})).to_string();
        assert!(reply.contains(expect), "{reply}");
        client.close();
    }
    let unknown = scratch.run(["mcp", "--connection", "wbe"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("there are `api`, `web`, `docs`"), "{}", unknown.stderr);
}

#[test]
fn a_call_on_a_server_chooses_a_connection_from_another_terminal() {
    let scratch = Scratch::new();
    connected(&scratch);
    let server = RunningServer::start(&scratch);
    let token = scratch.path("agent.token");
    std::fs::write(&token, server.token("agent")).unwrap();
    std::fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
    let (address, token) = (format!("http://{}", server.address), token.display().to_string());
    let words = ["--server", &address, "--token-file", &token, "call", "hikai/read_file"];
    let path = format!("path={FILE}");
    let read = scratch.run(words.iter().copied().chain([&*path, "--connection", "web", "--json"]));
    assert_eq!(read.json()["content"], "of web\n", "{}", read.stderr);
}
