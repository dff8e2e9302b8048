//! Tools of the nachos contract that run behind a NATS server: their own runner, and a client of the contract.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::nats_bus::NatsBus;
use crate::node_clients::{in_environment_of, installed, tools_folder};
use crate::running_server::RunningServer;
use crate::scratch::{Ended, Scratch};

const RUNNER: &str = include_str!("nats_tool_runner.js");

/// Starts the runner, and waits until it listens.
fn runner(scratch: &Scratch, bus: &NatsBus<'_>) -> Ended {
    let node = installed("node_modules/.bin/node");
    let mut command = in_environment_of(scratch, &node);
    command.current_dir(tools_folder().join("npm_nats"));
    command.args(["-e", RUNNER, &bus.url()]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "listening\n");
    Ended(child)
}

/// Writes the manifest of a tool. Returns its path.
fn manifest(scratch: &Scratch, tool: &str, tier: u8, parameters: &Value) -> String {
    let manifest = json!({
        "name": format!("nachos-tool-{tool}"),
        "version": "1.0.0",
        "type": "tool",
        "capabilities": {"network": {"egress": []}},
        "provides": {"tool": tool, "securityTier": tier},
        "description": "A tool of a test.",
        "parameters": parameters,
        "timeoutMs": 8000,
    });
    let path = scratch.path(&format!("{tool}.json"));
    fs::write(&path, manifest.to_string()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn one_text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

#[test]
fn a_contracts_own_runner_and_client_work_through_us() {
    let scratch = Scratch::new();
    let bus = NatsBus::start(&scratch);
    let _runner = runner(&scratch, &bus);
    let manifests = [
        manifest(&scratch, "greeter", 1, &one_text("name")),
        manifest(&scratch, "broken", 1, &one_text("how")),
        manifest(&scratch, "absent", 1, &one_text("x")),
        manifest(&scratch, "asked", 2, &one_text("x")),
    ];
    let settings = [
        format!("nats.url={}", bus.url()),
        "nats.prefix=agents".to_owned(),
        format!("nats.tools={}", manifests.join(",")),
    ];
    let words: Vec<&str> = settings.iter().flat_map(|it| ["-c", it.as_str()]).collect();
    let server = RunningServer::start_with(&scratch, &words);
    // A client of the contract calls a tool of the contract: we stand between them.
    let step = |name: &str| json!({"prefix": "agents", "tool": "greeter", "id": format!("of-{name}"), "payload": {"name": name}});
    let replies = bus.client("_INBOX", &json!([step("Ada"), step("nobody"), step("throw")]));
    let payload = |number: usize| &replies[number]["payload"];
    assert_eq!(replies[0]["correlationId"], "of-Ada");
    assert_eq!(
        payload(0),
        &json!({"success": true, "result": {"text": "Hello Ada", "called": true}, "metadata": {"duration": 1}})
    );
    let error = |number: usize| &payload(number)["error"];
    assert_eq!(error(1), &json!({"code": "VALIDATION_ERROR", "message": "there is nobody"}));
    assert_eq!(error(2), &json!({"code": "INTERNAL_ERROR", "message": "it threw"}));
    // The same tool over HTTP, with its schema, its tier and the record.
    let token = server.token("agent");
    let (status, reply) = server.execute(&token, "bus/greeter", json!({"name": "Ada"}));
    assert_eq!((status, &reply["result"]["text"]), (200, &json!("Hello Ada")), "{reply}");
    let (_, reply) = server.execute(&token, "bus/greeter", json!({"nome": "Ada"}));
    assert_eq!(reply["error"], "bad_args", "{reply}");
    let (_, reply) = server.execute(&token, "bus/asked", json!({"x": "1"}));
    assert_eq!(reply["error"], "approval_required", "{reply}");
    let (_, reply) = server.execute(&token, "bus/absent", json!({"x": "1"}));
    assert_eq!(reply["error"], "unavailable", "{reply}");
    assert!(reply["message"].as_str().unwrap().contains("no runner of `absent`"), "{reply}");
    for how in ["garbage", "other", "none", "empty"] {
        let (_, reply) = server.execute(&token, "bus/broken", json!({"how": how}));
        assert_eq!(reply["error"], "failed", "{how}: {reply}");
    }
    let (_, reply) = server.execute(&token, "bus/broken", json!({"how": "twice"}));
    assert_eq!(reply["result"], "done", "the control: {reply}");
    // The contract's runner answers one request after the other, so this is the last one that it gets.
    let (_, reply) = server.execute(&token, "bus/greeter", json!({"name": "silent"}));
    assert_eq!(reply["error"], "timeout", "{reply}");
    assert!(reply.to_string().contains("\"outcome\":\"unknown\""), "{reply}");
    let (_, calls) = server.get(&server.token("admin"), "/api/audit?tool=bus/greeter");
    assert!(calls["calls"].as_array().unwrap().len() >= 5, "{calls}");
    // A process that is not connected says so.
    let words = [&words[2..], &["call", "bus/greeter", "name=Ada"]].concat();
    let ran = scratch.run(words);
    assert!(ran.stderr.contains("toolcrib serve --nats URL"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_gateway_that_agents_could_go_around_does_not_start() {
    let scratch = Scratch::new();
    let tools = format!("nats.tools={}", manifest(&scratch, "greeter", 1, &one_text("name")));
    let words =
        ["-c", "nats.url=nats://127.0.0.1:1", "-c", &tools, "serve", "--address", "127.0.0.1:0"];
    let ran = scratch.run(words);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("past the gateway"), "{}", ran.stderr);
    // A manifest that others can write, or that is none, declares nothing, and the rest works.
    let path = scratch.path("greeter.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let ran = scratch.run(["-c", &tools, "tools"]);
    assert!(!ran.stdout.contains("bus/greeter"), "{}", ran.stdout);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = scratch.run(["-c", &tools, "tools"]);
    assert!(ran.stdout.contains("greeter"), "the control: {}{}", ran.stdout, ran.stderr);
}
