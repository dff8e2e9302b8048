//! MCP servers over HTTP, mounted as tools: our own of this version of the protocol, and one of an earlier version.

use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::mcp_mount_real::npm_server;
use crate::running_server::{RunningServer, wait_until};
use crate::scratch::{Ended, Scratch};

fn settings(scratch: &Scratch, text: &str) {
    scratch.put_at("home/.config/toolcrib/config.toml", text);
}

#[test]
fn our_own_server_is_mounted_with_a_token_from_the_environment() {
    let there = Scratch::new();
    there.put("a.txt", "of another crib\n");
    let server = RunningServer::start(&there);
    let here = Scratch::new();
    let text = |header: &str| {
        let address = &server.address;
        format!(
            "[mcp.there]\nurl = \"http://{address}/mcp\"\nheaders = {{ Authorization = \"{header}\" }}\n"
        )
    };
    settings(&here, &text("Bearer ${CRIB_TOKEN}"));
    let call = |token: Option<String>| {
        let mut command = here.command();
        command.args(["--yes", "call", "there/read_file", r#"{"file_path":"a.txt"}"#, "--json"]);
        command.envs(token.map(|token| ("CRIB_TOKEN", token))).output().unwrap()
    };
    let unset = String::from_utf8(call(None).stderr).unwrap();
    assert!(unset.contains("`CRIB_TOKEN` is not set"), "{unset}");
    let wrong = String::from_utf8(call(Some("wrong".to_owned())).stderr).unwrap();
    assert!(wrong.contains("cannot be connected"), "{wrong}");
    here.run(["plugins", "reload"]);
    let right = call(Some(server.token("agent")));
    let reply = String::from_utf8(right.stdout).unwrap();
    assert!(
        reply.contains("of another crib"),
        "{reply} {}",
        String::from_utf8_lossy(&right.stderr)
    );
    let record = here.run(["audit", "tail"]).stdout;
    assert!(record.contains("ended       there/read_file"), "{record}");
    settings(&here, &text("Bearer abcdef"));
    let refused = here.run(["tools"]);
    assert!(refused.stderr.contains("must name a variable"), "{}", refused.stderr);
}

#[test]
fn a_server_of_the_earlier_protocol_answers_over_http_and_again_after_a_restart() {
    let scratch = Scratch::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = || {
        let words = npm_server("server-everything", &["streamableHttp"]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("PORT", port.to_string());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        Ended(child)
    };
    let first = start();
    settings(&scratch, &format!("[mcp.everything]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"));
    let sum = || scratch.call("everything/get-sum", &json!({"a": 2, "b": 40}).to_string());
    let answered = sum();
    assert!(answered.stdout.contains("42"), "{} {}", answered.stdout, answered.stderr);
    drop(first);
    let gone = sum();
    assert!(gone.stdout.contains("cannot be connected"), "{}", gone.stdout);
    let _second = start();
    let again = sum();
    assert!(again.stdout.contains("42"), "{} {}", again.stdout, again.stderr);
}

#[test]
fn nothing_is_sent_in_plain_text_to_another_machine() {
    let scratch = Scratch::new();
    // An address that no machine has (RFC 5737), so nothing is sent either way.
    settings(&scratch, "[mcp.far]\nurl = \"http://192.0.2.1/mcp\"\n");
    let refused = scratch.call("far/x", "{}");
    assert!(refused.stderr.contains("nothing was sent"), "{}", refused.stderr);
}
