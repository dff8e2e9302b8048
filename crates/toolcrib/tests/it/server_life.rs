//! A server from its start to its end, as a service manager sees it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;

use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

#[test]
fn the_service_manager_is_told_when_the_server_is_ready_and_when_it_stops() {
    let scratch = Scratch::new();
    let path = scratch.state().with_file_name("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let next = || {
        let mut bytes = [0; 4096];
        let count = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let mut command = scratch.command();
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "20000");
    let server = RunningServer::over(&scratch, command, std::process::Stdio::null());
    let mut heard = vec![next()];
    while !heard.iter().any(|it| it.contains("READY=1")) {
        heard.push(next());
    }
    let ready = heard.iter().find(|it| it.contains("READY=1")).unwrap();
    assert!(ready.contains(&format!("STATUS=Listening on http://{}", server.address)), "{ready}");
    assert_eq!(server.get("none", "/readyz").0, 200, "ready is ready everywhere");
    // The manager hears that the server lives, and goes on hearing it.
    for _ in 0..2 {
        while next() != "WATCHDOG=1" {}
    }
    assert_eq!(server.stop().0, 0);
    while !next().contains("STOPPING=1\nSTATUS=stopping") {}
}

#[test]
fn a_server_is_ready_when_the_sandbox_and_the_index_are_known() {
    let scratch = Scratch::new();
    // Commands cannot run, and that is known.
    let server = RunningServer::start_with(&scratch, &["-c", "sandbox.bubblewrap=/nothing/bwrap"]);
    // Calls need not wait for it.
    let agent = server.token("agent");
    assert_eq!(server.execute(&agent, "echo", json!({"text": "hi"})).0, 200);
    let (first, reply) = server.get("none", "/readyz");
    assert!(first == 200 || reply["message"].as_str().unwrap().starts_with("the "), "{reply}");
    wait_until(|| server.get("none", "/readyz").0 == 200);
    assert_eq!(server.get("none", "/healthz").0, 200);
}

#[test]
fn a_name_that_would_mislead_a_reader_comes_back_escaped() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    for (path, name) in [
        ("a%E2%80%AEb", "a\u{202e}b"),
        ("clemini/a%E2%80%8Bb", "a\u{200b}b"),
        ("a%C2%AD%F3%A0%80%81", "a\u{ad}\u{e0001}"),
    ] {
        let path = format!("/api/tools/execute/{path}");
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let request = server.request(&agent, "POST", &path, "", r#"{"args":{}}"#);
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let is_hidden = |it: char| !it.is_ascii();
        assert!(!reply.contains(is_hidden), "{}", reply.escape_unicode());
        // The value is the same, so a program can compare it with what it sent.
        let body: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert!(body["tool"].as_str().unwrap().ends_with(name), "{body}");
    }
}

#[test]
fn a_server_without_its_state_folder_says_so_until_the_folder_is_back() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let echo = || server.execute(&agent, "echo", json!({"text": "hi"}));
    let ready = || server.get("none", "/readyz");
    wait_until(|| ready().0 == 200);
    assert_eq!(echo().0, 200, "the control");
    let (state, away) = (scratch.state(), scratch.state().with_file_name("away"));
    let says = |what: &str| {
        for (reply, error) in [(ready(), "not_ready"), (echo(), "unavailable")] {
            assert_eq!((reply.0, &reply.1["error"]), (503, &error.into()), "{reply:?}");
            assert!(reply.1["message"].as_str().unwrap().contains(what), "{reply:?}");
        }
        assert_eq!(server.get("none", "/healthz").0, 200, "the process still answers");
    };
    std::fs::rename(&state, &away).unwrap();
    says("is gone");
    // A command at a terminal makes a new folder, and that one has other tokens and another record.
    assert_eq!(scratch.run(["tokens", "add", "agent", "--role", "agent"]).code, 0);
    says("another folder is in the place");
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::rename(&away, &state).unwrap();
    assert_eq!((ready().0, echo().0), (200, 200));
    assert_eq!(server.get("wrong", "/api/version").0, 401, "the control");
    assert_eq!(server.stop().0, 0);
    let calls = scratch.record().into_iter().filter(|line| line["event"] == "ended").count();
    assert_eq!(calls, 2, "both calls are on the record");
}
