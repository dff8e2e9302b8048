//! `--server`: the subcommands work with a server, and print what they print on its own machine.

use std::process::Stdio;

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::{Ended, Ran, Scratch};

/// Runs a subcommand with a server.
#[track_caller]
fn remote(scratch: &Scratch, server: &RunningServer<'_>, role: &str, words: &[&str]) -> Ran {
    let (url, token) = (format!("http://{}", server.address), token_file(scratch, role));
    let there = ["--server", url.as_str(), "--token-file", token.as_str()];
    // From another place, so that nothing of this one helps.
    let mut command = scratch.command();
    command.current_dir("/").env("HOME", "/nonexistent").env_remove("TOOLCRIB_STATE");
    command.args(there).args(words).output().unwrap().into()
}

fn token_file(scratch: &Scratch, role: &str) -> String {
    scratch.state().join("first_tokens").join(role).display().to_string()
}

/// Returns a text without what is different in every run: how long things took, and when they were.
/// A wider figure takes from the spaces before it, so these go too.
fn lasting(text: &str) -> String {
    let figure = Regex::new(r#"("(?:duration|[a-z0-9_]*_ms)":)\s*[0-9.]+"#).unwrap();
    let text = figure.replace_all(text, "${1}FIGURE");
    let span = Regex::new(r"[ ]+[0-9][0-9.]* ?(?:µs|ms|s|min)\b(?: ago)?").unwrap();
    span.replace_all(&text, " SPAN").into_owned()
}

#[test]
fn only_spans_of_time_are_left_out_of_a_comparison() {
    assert_eq!(lasting("ok    1.2 s · 3 min ago"), lasting("ok  850 ms · 4 s ago"));
    assert_eq!(lasting(r#"{"duration":0,"p95_ms":1.5}"#), lasting(r#"{"duration":14,"p95_ms":2}"#));
    assert_ne!(lasting("3 sessions"), lasting("4 sessions"));
    assert_ne!(lasting(r#"{"count":1}"#), lasting(r#"{"count":2}"#));
}

/// Runs a subcommand here and with the server, and compares all that it prints and how it ends.
#[track_caller]
fn same(scratch: &Scratch, server: &RunningServer<'_>, words: &[&str]) -> Ran {
    let here = scratch.run(words);
    let there = remote(scratch, server, "admin", words);
    assert_eq!(lasting(&there.stdout), lasting(&here.stdout), "{words:?}");
    assert_eq!(lasting(&there.stderr), lasting(&here.stderr), "{words:?}");
    assert_eq!(there.code, here.code, "{words:?}");
    there
}

fn workspace() -> Scratch {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\ntwo\nthree\n");
    let edit = r#"{"file_path": "a.txt", "old_string": "two", "new_string": "2"}"#;
    assert_eq!(scratch.call("clemini/edit", edit).code, 0);
    let args = r#"{"path": "b.txt", "content": "a\u001b[31m"}"#;
    assert_eq!(scratch.call("forgekeeper/write_file", args).code, 0);
    let args = r#"{"command": "echo hi > c.txt; false"}"#;
    assert_eq!(scratch.call("clemini/bash", args).code, 1);
    assert_eq!(scratch.call("wink/read_file", r#"{"path": "nope"}"#).code, 1);
    scratch
}

#[test]
fn tools_and_calls_print_the_same() {
    let scratch = workspace();
    let server = RunningServer::start_with(&scratch, &["-c", "limits.deadline_ms=20000"]);
    let described = remote(&scratch, &server, "agent", &["tools", "clemini/edit"]);
    assert!(described.stdout.contains("at most 20000 ms"), "{}", described.stdout);
    drop(server);
    let server = RunningServer::start(&scratch);
    for format in ["json", "openai", "anthropic", "gemini", "mcp"] {
        same(&scratch, &server, &["tools", "--format", format]);
    }
    for words in [&["tools"][..], &["tools", "wink"], &["tools", "nope"]] {
        same(&scratch, &server, words);
    }
    let described = same(&scratch, &server, &["tools", "clemini/edit"]);
    assert!(!described.stdout.contains("at most 20000 ms"), "{}", described.stdout);
    same(&scratch, &server, &["call", "clemini/edit", "--help"]);
    let read = same(&scratch, &server, &["call", "wink/read_file", "path=a.txt", "end_line=2"]);
    assert!(read.stdout.contains("one\n2\n"), "{}", read.stdout);
    for words in [
        &["call", "forgekeeper/echo", "text=a\u{1b}[31m"][..],
        &["call", "nachos/calculator", "expression=2 + 2"],
        &["call", "clemini/bash", "command=echo out; echo err >&2; exit 3"],
        &["call", "clemini/glob", "pattern=*.txt"],
        &["call", "wink/read_file", "path=nope"],
        &["call", "wink/read_file"],
        &["call", "wink/read_file", "path=../../etc/passwd"],
        &["call", "wink/read_file", "nonsense"],
        &["call", "wink/nope"],
        &["call", "read_file", "path=a.txt"],
        &["call", "nope"],
        &["call", "clemini/bash", "command=rm -rf /"],
    ] {
        same(&scratch, &server, words);
        same(&scratch, &server, &[words, &["--json"]].concat());
    }
}

#[test]
fn the_record_the_changes_and_the_figures_print_the_same() {
    let scratch = workspace();
    let server = RunningServer::start(&scratch);
    let search = same(&scratch, &server, &["audit", "search"]);
    let ids: Vec<&str> = search.stdout.lines().map(|line| &line[..12]).collect();
    assert_eq!(ids.len(), 4, "{}", search.stdout);
    let ids: Vec<&str> = ids.iter().map(|id| id.trim()).collect();
    for words in [
        &["audit", "search", "--json"][..],
        &["audit", "search", "--tool", "clemini/bash", "--outcome", "command_failed"],
        &["audit", "search", "--text", "a b&c=%"],
        &["audit", "search", "--limit", "2"],
        &["audit", "show", "--last"],
        &["audit", "show", "nope"],
        &["audit", "show", "0"],
        &["audit", "show", "01M"],
        &["audit", "verify"],
        &["audit", "verify", "--json"],
        &["audit", "export"],
        &["audit", "export", "--tool", "clemini/edit"],
        &["undo"],
        &["undo", "--json"],
        &["undo", "--all"],
        &["undo", "nope"],
        &["undo", "nope", "--json"],
        &["undo", ids[0]],
        &["undo", ids[0], "--json"],
        &["stats"],
        &["stats", "--json"],
        &["stats", "errors"],
        &["stats", "errors", "wink/read_file"],
        &["stats", "errors", "wink/read_file", "--json"],
        &["stats", "errors", "nope"],
        &["stats", "errors", "nope", "--json"],
        &["stats", "errors", "wink/multi_edit", "--json"],
        &["stats", "errors", "--json"],
        &["stats", "regression"],
        &["stats", "regression", "--json"],
        &["stats", "resources"],
        &["stats", "resources", "clemini/bash"],
        &["stats", "resources", "clemini/bash", "--json"],
    ] {
        same(&scratch, &server, words);
    }
    for id in &ids {
        same(&scratch, &server, &["audit", "show", id]);
        same(&scratch, &server, &["audit", "show", id, "--json"]);
    }
    // The edit is undone there, and redone here.
    let undone = remote(&scratch, &server, "approver", &["undo", ids[3]]);
    assert!(
        undone.stdout.contains("Undid call") && undone.stdout.contains("a.txt"),
        "{}",
        undone.stdout
    );
    assert_eq!(scratch.text("a.txt"), "one\ntwo\nthree\n");
    let redo = undone.stdout.split("toolcrib undo ").nth(1).unwrap().trim();
    assert_eq!(scratch.run(["undo", redo]).code, 0);
    assert_eq!(scratch.text("a.txt"), "one\n2\nthree\n");
    let cleared =
        remote(&scratch, &server, "admin", &["stats", "clear", "errors", "wink/read_file"]);
    assert_eq!(
        cleared.stdout,
        "Cleared the errors of wink/read_file; counting starts again from zero.\n"
    );
}

#[test]
fn a_call_waits_for_the_answer_of_another_token() {
    let scratch = workspace();
    let server = RunningServer::start(&scratch);
    let edit = ["call", "clemini/edit", "file_path=a.txt", "old_string=2", "new_string=two"];
    let parked = remote(&scratch, &server, "agent", &edit);
    assert_eq!(parked.code, 4, "{}", parked.stderr);
    let id = parked.stderr.split("parked as ").nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap().to_owned();
    for words in [
        &["approvals", "list"][..],
        &["approvals", "list", "--json"],
        &["approvals", "list", "--all"],
        &["approvals", "show", &id[..12]],
        &["approvals", "show", &id, "--json"],
        &["approvals", "show", "nope"],
        &["approvals", "deny", "nope"],
    ] {
        same(&scratch, &server, words);
    }
    // The same call again has the same question, and waits for its answer.
    std::thread::scope(|scope| {
        let waits = [&edit[..], &["--wait", "300"]].concat();
        let (scratch, server) = (&scratch, &server);
        let waiting = scope.spawn(move || remote(scratch, server, "agent", &waits));
        let admin = server.token("admin");
        wait_until(|| {
            let (_, found) = server.get(&admin, "/api/audit?tool=clemini/edit&limit=9");
            found["calls"].as_array().unwrap().len() == 3
        });
        let approved = remote(scratch, server, "approver", &["approvals", "approve", &id]);
        assert_eq!(approved.stdout, format!("Approved: {id} runs on the server.\n"));
        let ran = waiting.join().unwrap();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for part in ["✓ clemini/edit", "    2 - 2\n    2 + two\n", "Undo: toolcrib undo "] {
            assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
        }
    });
    same(&scratch, &server, &["approvals", "show", &id]);
    let again = remote(&scratch, &server, "approver", &["approvals", "approve", &id]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("was approved already, and has run"), "{}", again.stderr);

    let other = ["call", "clemini/edit", "file_path=a.txt", "old_string=one", "new_string=1"];
    let parked = remote(&scratch, &server, "admin", &other);
    let id = parked.stderr.split("parked as ").nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap();
    let own = remote(&scratch, &server, "admin", &["approvals", "approve", id]);
    assert_eq!(own.code, 3, "{}", own.stderr);
    let denied = remote(&scratch, &server, "approver", &["approvals", "deny", id, "not", "now"]);
    assert_eq!(denied.stdout, format!("Denied: {id} of clemini/edit\n"));
    assert!(scratch.text("a.txt").starts_with("one\n"));
}

#[test]
fn an_interrupt_cancels_the_call_on_the_server() {
    let scratch = workspace();
    let server = RunningServer::start(&scratch);
    let mut command = scratch.command();
    command.args(["--server", &format!("http://{}", server.address)]);
    command.args(["--token-file", &token_file(&scratch, "agent")]);
    command.args(["call", "clemini/bash", "command=sleep 1000"]);
    let mut child = Ended(command.stderr(Stdio::piped()).spawn().unwrap());
    let admin = server.token("admin");
    let count = |outcome: &str| {
        let path = format!("/api/audit?outcome={outcome}&text=sleep");
        server.get(&admin, &path).1["calls"].as_array().unwrap().len()
    };
    wait_until(|| count("open") == 1);
    kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
    let ended = child.0.wait().unwrap();
    assert!(!ended.success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.0.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("the server cancels a call that runs"), "{said}");
    wait_until(|| count("open") == 0);
    assert_eq!(count("error"), 1);
}

#[test]
fn a_unix_socket_and_the_environment_name_the_server() {
    let scratch = workspace();
    let socket = scratch.path("crib.sock");
    let mut command = scratch.command();
    command.args(["serve", "--address", &format!("unix:{}", socket.display())]);
    let _server = Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until(|| std::os::unix::net::UnixStream::connect(&socket).is_ok());
    wait_until(|| scratch.state().join("first_tokens/agent").exists());
    let mut command = scratch.command();
    command.env("TOOLCRIB_SERVER", format!("unix:{}", socket.display()));
    command.env("TOOLCRIB_TOKEN_FILE", token_file(&scratch, "agent"));
    command.current_dir("/").env_remove("TOOLCRIB_STATE");
    let ran: Ran = command.args(["call", "wink/read_file", "path=a.txt"]).output().unwrap().into();
    assert!(ran.stdout.contains("one\n2\nthree"), "{}{}", ran.stdout, ran.stderr);
}
