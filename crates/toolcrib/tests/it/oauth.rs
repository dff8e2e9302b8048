//! Access tokens of an authorization server, from the settings to the record.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::authority::{Authority, TestKey};
use crate::running_server::{LOG, RunningServer, wait_until};
use crate::scratch::Scratch;

const ISSUER: &str = "https://login.example.org/realms/a";
const AUDIENCE: &str = "https://tools.example.org/mcp";

/// The name of the principal that the token of `sub` has.
const ADA: &str = "oauth:login.example.org/realms/a#ada";

fn start<'a>(scratch: &'a Scratch, authority: &Authority) -> RunningServer<'a> {
    let (issuer, audience) =
        (format!("oauth.issuer={ISSUER}"), format!("oauth.audience={AUDIENCE}"));
    let keys = format!("oauth.jwks_url={}", authority.keys_url());
    RunningServer::start_with(scratch, &["-c", &issuer, "-c", &audience, "-c", &keys])
}

/// Returns a token that ends so many seconds from now.
fn token(key: &TestKey, owner: &str, scope: &str, seconds: i64) -> String {
    let now = jiff::Timestamp::now().as_second();
    key.token(&json!({
        "iss": ISSUER, "aud": [AUDIENCE], "sub": owner, "scope": scope,
        "iat": now, "exp": now + seconds,
    }))
}

/// Sends a message of MCP. Returns the head and the body of the reply.
fn post(server: &RunningServer<'_>, token: &str, more: &str, message: &Value) -> (String, String) {
    let headers = format!("Accept: application/json, text/event-stream\r\n{more}");
    server.exchange(&server.request(token, "POST", "/mcp", &headers, &message.to_string()))
}

/// Calls a tool with the protocol that has no sessions.
fn call(server: &RunningServer<'_>, token: &str, tool: &str, args: &Value) -> (String, Value) {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": args, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
        }},
    });
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    );
    let (head, body) = post(server, token, &headers, &message);
    let reply = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{head} {body}"));
    (head, reply)
}

#[test]
fn a_call_over_mcp_is_recorded_with_whom_the_token_names() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "hello\n");
    let rule = format!(
        "[[rule]]\ntool = \"clemini/write_file\"\nprincipal = \"{ADA}\"\neffect = \"allow\"\n"
    );
    scratch.put_at("home/.config/toolcrib/rules.toml", &rule);
    let (rsa, p256) = (TestKey::rsa("r"), TestKey::p256("e"));
    let authority = Authority::start(&[&rsa, &p256]);
    let server = start(&scratch, &authority);
    for key in [&rsa, &p256] {
        let ada = token(key, "ada", "toolcrib:agent", 300);
        let (head, reply) = call(&server, &ada, "read_file", &json!({"file_path": "a.txt"}));
        assert!(head.starts_with("HTTP/1.1 200"), "{head} {reply}");
        let id = reply["result"]["_meta"]["dev.toolcrib/call"].as_str().unwrap();
        let story = scratch.run(["audit", "show", id, "--json"]).json();
        let who = (&story["principal"], &story["role"], &story["door"]);
        assert_eq!(who, (&json!(ADA), &json!("agent"), &json!("mcp")), "{story}");
    }
    let found = scratch.run(["audit", "search", "--actor", ADA]).stdout;
    assert_eq!(
        found.lines().filter(|line| line.contains("clemini/read_file")).count(),
        2,
        "{found}"
    );
    // A rule that names her holds for her alone.
    let args = json!({"file_path": "b.txt", "content": "x"});
    let eve = token(&rsa, "eve", "toolcrib:agent", 300);
    assert_eq!(call(&server, &eve, "write_file", &args).1["result"]["isError"], true);
    assert!(!scratch.work().join("b.txt").exists());
    let ada = token(&rsa, "ada", "toolcrib:agent", 300);
    let (_, written) = call(&server, &ada, "write_file", &args);
    assert!(scratch.work().join("b.txt").exists(), "{written}");
    // Tokens are neither logged nor recorded.
    let log = std::fs::read_to_string(scratch.path(LOG)).unwrap();
    let record = format!("{:?}", scratch.record());
    for secret in [&ada, &eve] {
        let signature = secret.rsplit_once('.').unwrap().1;
        assert!(!log.contains(signature) && !record.contains(signature));
    }
    assert!(log.contains(ADA), "{log}");
}

#[test]
fn a_scope_that_is_not_enough_is_named_and_two_scopes_give_two_roles() {
    let scratch = Scratch::new();
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let server = start(&scratch, &authority);
    let (agent, approver) = ("toolcrib:agent", "toolcrib:approver");
    let (asks, answers) = (token(&key, "ada", agent, 300), token(&key, "bea", approver, 300));
    let challenge = |head: &str| {
        let lines = head.lines().filter_map(|line| line.strip_prefix("www-authenticate: "));
        lines.collect::<Vec<_>>().join("|")
    };
    let needs = |scope: &str| {
        format!(
            "Bearer error=\"insufficient_scope\", scope=\"{scope}\", \
             resource_metadata=\"https://tools.example.org/.well-known/oauth-protected-resource/mcp\""
        )
    };
    let (head, refused) = call(&server, &answers, "read_file", &json!({"file_path": "a.txt"}));
    assert!(head.starts_with("HTTP/1.1 403"), "{head} {refused}");
    assert_eq!((challenge(&head), &refused["error"]), (needs(agent), &json!("role_not_allowed")));
    for (method, path, scope) in [
        ("GET", "/api/approvals", approver),
        ("GET", "/api/settings", "toolcrib:admin"),
        ("GET", "/api/events?form=line", approver),
    ] {
        let (head, body) = server.exchange(&server.request(&asks, method, path, "", ""));
        assert!(head.starts_with("HTTP/1.1 403"), "{path} {head} {body}");
        assert_eq!(challenge(&head), needs(scope), "{path}");
    }
    // A token of our own cannot get another scope, so none is named.
    let own = server.request(&server.token("agent"), "GET", "/api/approvals", "", "");
    let (head, _) = server.exchange(&own);
    assert!(head.starts_with("HTTP/1.1 403") && challenge(&head).is_empty(), "{head}");

    // With both scopes, she asks and she answers, but not herself.
    let both = token(&key, "ada", &format!("{agent} {approver}"), 300);
    let parked = |token: &str, name: &str| {
        let args = json!({"file_path": name, "content": "x"});
        let (_, parked) = call(&server, token, "write_file", &args);
        let context = &parked["result"]["_meta"]["dev.toolcrib/error"]["context"];
        context["approval_id"].as_str().unwrap_or_else(|| panic!("{parked}")).to_owned()
    };
    let approve = |token: &str, id: &str| {
        server.post(token, &format!("/api/approvals/{id}"), &json!({"decision": "approve"}))
    };
    let own = parked(&both, "own.txt");
    let (status, refused) = approve(&both, &own);
    assert_eq!(status, 403, "{refused}");
    let foreign = parked(&server.token("agent"), "foreign.txt");
    assert_eq!(approve(&both, &foreign).0, 200);
    wait_until(|| scratch.work().join("foreign.txt").exists());
    assert!(!scratch.work().join("own.txt").exists());
    // Another principal may, also after the token of the one who asked has expired.
    let (status, _) = server.get(&token(&key, "ada", agent, -100), "/api/version");
    assert_eq!(status, 401);
    assert_eq!(approve(&answers, &own).0, 200);
    wait_until(|| scratch.work().join("own.txt").exists());
    let story = scratch.run(["audit", "show", &own]).stdout;
    assert!(story.contains(&format!("by {ADA} (agent over mcp")), "{story}");
    assert!(story.contains("by oauth:login.example.org/realms/a#bea"), "{story}");
    // She sees and cancels what she asked, whichever role the request has.
    assert_eq!(server.get(&both, &format!("/api/calls/{own}")).0, 200);
}

#[test]
fn a_session_goes_on_with_a_new_token_of_its_owner_alone() {
    let scratch = Scratch::new();
    let key = TestKey::ed25519("k");
    let authority = Authority::start(&[&key]);
    let server = start(&scratch, &authority);
    let agent = |name: &str, seconds| token(&key, name, "toolcrib:agent", seconds);
    let message = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test-client", "version": "1"},
    });
    let version = "MCP-Protocol-Version: 2025-11-25\r\n";
    let (head, _) = post(&server, &agent("ada", 300), version, &message("initialize", hello));
    let session = head.lines().find(|line| line.starts_with("mcp-session-id:")).unwrap();
    let headers = format!("{version}{session}\r\n");
    let list = |token: &str| post(&server, token, &headers, &message("tools/list", json!({}))).0;
    assert!(list(&agent("ada", 300)).starts_with("HTTP/1.1 200"));
    let expired = list(&agent("ada", -60));
    assert!(expired.starts_with("HTTP/1.1 401"), "{expired}");
    assert!(expired.contains("error_description=\"the token has expired\""), "{expired}");
    assert!(list(&agent("eve", 300)).starts_with("HTTP/1.1 404"));
    assert!(list(&server.token("agent")).starts_with("HTTP/1.1 404"));
    assert!(list(&agent("ada", 600)).starts_with("HTTP/1.1 200"));
    // A stream of the session ends when the operator revokes its owner, and so does the session.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let accept = format!("Accept: text/event-stream\r\n{headers}");
    let follow = server.request(&agent("ada", 300), "GET", "/mcp", &accept, "");
    stream.write_all(follow.as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let revoked = scratch.run(["tokens", "revoke", ADA]);
    assert_eq!(revoked.code, 0, "{}", revoked.stderr);
    stream.read_to_end(&mut Vec::new()).unwrap();
    let refused = list(&agent("ada", 300));
    assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("was revoked"), "{refused}");
    assert!(list(&agent("eve", 300)).starts_with("HTTP/1.1 404"));
}

#[test]
fn a_revoked_principal_loses_its_calls_and_questions() {
    let scratch = Scratch::new();
    let rule =
        "[[rule]]\ntool = \"clemini/bash\"\nargv = [[\"touch\", \"sleep\"]]\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let server = start(&scratch, &authority);
    let [ada, eve] = ["ada", "eve"].map(|name| token(&key, name, "toolcrib:agent", 300));
    let mut running = Vec::new();
    let mut questions = Vec::new();
    for (token, name) in [(&ada, "ada"), (&eve, "eve")] {
        let body = json!({"args": {"command": format!("touch {name}; sleep 600")}}).to_string();
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let path = "/api/tools/execute/clemini/bash";
        stream.write_all(server.request(token, "POST", path, "", &body).as_bytes()).unwrap();
        wait_until(|| scratch.work().join(name).exists());
        running.push(stream);
        let args = json!({"path": format!("{name}.txt"), "content": "hello"});
        let (_, waits) = server.execute(token, "write_file", args);
        questions.push(waits["approval"]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(scratch.run(["tokens", "revoke", ADA]).code, 0);
    let mut reply = String::new();
    running[0].read_to_string(&mut reply).unwrap();
    // The call is cancelled, or its request is refused, whichever is noticed first.
    assert!(!reply.starts_with("HTTP/1.1 200") && reply.contains("cancelled"), "{reply}");
    let approver = server.token("approver");
    let answer = |id: &str| {
        server.post(&approver, &format!("/api/approvals/{id}"), &json!({"decision": "approve"}))
    };
    let (status, late) = answer(&questions[0]);
    assert_eq!((status, &late["status"]), (409, &"revoked".into()), "{late}");
    assert_eq!(answer(&questions[1]).0, 200);
    wait_until(|| scratch.work().join("eve.txt").exists());
    let is_cancelled = |line: &&Value| line["event"] == "ended" && line["error"] == "cancelled";
    let cancelled: Vec<Value> = scratch.record().iter().filter(is_cancelled).cloned().collect();
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    let listed = scratch.run(["tokens", "list", "--all"]).stdout;
    assert!(listed.contains(ADA), "{listed}");
    // No token can have such a name.
    let add = scratch.run(["tokens", "add", ADA, "--role", "admin"]);
    assert_ne!(add.code, 0);
}

#[test]
fn settings_that_are_incomplete_or_unsafe_are_named() {
    let scratch = Scratch::new();
    let key = TestKey::p256("k");
    let set = json!({"keys": [key.jwk()]}).to_string();
    scratch.put_at("keys.json", &set);
    scratch.put("keys.json", &set);
    scratch.put_at("broken.json", "{}");
    let (outside, inside) = (scratch.path("keys.json"), scratch.work().join("keys.json"));
    let file = |path: &std::path::Path| format!("oauth.jwks_file={}", path.display());
    let (outside, inside) = (file(&outside), file(&inside));
    let broken = file(&scratch.path("broken.json"));
    let (issuer, audience) =
        (format!("oauth.issuer={ISSUER}"), format!("oauth.audience={AUDIENCE}"));
    let (issuer, audience) = (issuer.as_str(), audience.as_str());
    let url = "oauth.jwks_url=https://login.example.org/keys";
    for (words, expected) in [
        (vec![issuer], "`oauth.audience` is not set"),
        (vec![audience, url], "`oauth.issuer` is not set"),
        (vec![url], "`oauth.issuer` is not set"),
        (vec![issuer, audience], "`oauth.jwks_url` is not set"),
        (vec![issuer, audience, url, &outside], "both `oauth.jwks_url` and `oauth.jwks_file`"),
        (vec!["oauth.issuer=http://login.example.org", audience, url], "use https://"),
        (vec!["oauth.issuer=login.example.org", audience, url], "the issuer cannot be used"),
        (vec!["oauth.issuer=https://a@login.example.org", audience, url], "has a user"),
        (
            vec![issuer, "oauth.audience=http://tools.example.org", url],
            "the audience cannot be used",
        ),
        (vec![issuer, "oauth.audience=https://tools.example.org/#a", url], "has a query, a `#`"),
        (vec![issuer, audience, "oauth.jwks_url=http://login.example.org/keys"], "use https://"),
        (vec![issuer, audience, &broken], "it is no JWK Set"),
        (vec![issuer, audience, "oauth.jwks_file=/nowhere/keys.json"], "No such file"),
        (vec![issuer, audience, url, "oauth.agent_scope=a b"], "`a b` is no scope"),
        (vec![issuer, audience, url, "oauth.agent_scope=toolcrib:admin"], "two roles"),
        (vec![issuer, audience, url, "oauth.name_claim="], "claim is empty"),
        (vec![issuer, audience, &inside], "overlaps Toolcrib's own"),
    ] {
        let flags: Vec<&str> = words.iter().flat_map(|it| ["-c", it]).collect();
        let doctor = scratch.run([&flags[..], &["doctor"]].concat());
        assert!(doctor.stdout.contains(expected), "{expected}\n{}", doctor.stdout);
        let serve = scratch.run([&flags[..], &["serve", "--address", "127.0.0.1:0"]].concat());
        assert_eq!(serve.code, 2, "{expected}");
        assert!(serve.stderr.contains(expected), "{expected}\n{}", serve.stderr);
    }
    // A project does not say whose tokens count.
    scratch.put(".toolcrib/config.toml", "[oauth]\nissuer = \"https://evil.example.org\"\n");
    let shown = scratch.run(["config", "get", "oauth.issuer"]);
    assert!(!shown.stdout.contains("evil"), "{}", shown.stdout);
    std::fs::remove_file(scratch.work().join(".toolcrib/config.toml")).unwrap();
    // The control: with a file outside the workspace, everything is complete, and tokens count.
    let flags = ["-c", issuer, "-c", audience, "-c", &outside];
    let doctor = scratch.run([&flags[..], &["doctor"]].concat()).stdout;
    assert!(doctor.contains(&format!("tokens of {ISSUER} are accepted")), "{doctor}");
    let server = RunningServer::start_with(&scratch, &flags);
    let ada = token(&key, "ada", "toolcrib:agent", 300);
    assert_eq!(server.get(&ada, "/api/version").0, 200);
    let (status, metadata) = server.get("", "/.well-known/oauth-protected-resource");
    assert_eq!((status, &metadata["resource"]), (200, &json!(AUDIENCE)));
}
