//! `--server`: the subcommands work with a server, and print what they print on its own machine.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::{Ended, Ran, Scratch};

/// Runs a subcommand with a server.
#[track_caller]
pub(crate) fn remote(
    scratch: &Scratch,
    server: &RunningServer<'_>,
    role: &str,
    words: &[&str],
) -> Ran {
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
pub(crate) fn same(scratch: &Scratch, server: &RunningServer<'_>, words: &[&str]) -> Ran {
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
fn a_dry_run_prints_the_same_and_shows_an_agent_no_file_that_it_would_have_to_ask_for() {
    let scratch = workspace();
    let server = RunningServer::start(&scratch);
    let lines = scratch.record().len();
    let edit = ["call", "clemini/edit", "file_path=a.txt", "old_string=2", "new_string=two"];
    for words in [
        &edit[..],
        &["call", "wink/read_file", "path=a.txt"],
        &["call", "wink/read_file", "path=nope"],
        &["call", "wink/read_file"],
        &["call", "wink/nope"],
        &["call", "clemini/bash", "command=rm -rf /"],
    ] {
        let words = [words, &["--dry-run"]].concat();
        same(&scratch, &server, &words);
        same(&scratch, &server, &[&words[..], &["--json"]].concat());
    }
    // Nothing ran, and only what failed here is on the record.
    assert_eq!(scratch.text("a.txt"), "one\n2\nthree\n");
    let asked = |line: &serde_json::Value| line["role"] == "admin";
    assert!(!scratch.record()[lines..].iter().any(asked));

    let overwrite = ["call", "forgekeeper/write_file", "path=a.txt", "content=x", "--dry-run"];
    let shown = remote(&scratch, &server, "admin", &overwrite);
    assert!(shown.stdout.contains("would ask a person") && shown.stdout.contains("three"));
    let hidden = remote(&scratch, &server, "agent", &overwrite);
    assert_eq!(hidden.code, 0, "{}", hidden.stderr);
    assert!(hidden.stdout.contains("would ask a person"), "{}", hidden.stdout);
    assert!(hidden.stdout.contains("/a.txt\n"), "{}", hidden.stdout);
    assert!(!hidden.stdout.contains("three"), "{}", hidden.stdout);
    // Where it may write, the call itself would show as much.
    let rule = "[[rule]]\ntool = \"write_file\"\nrole = \"agent\"\neffect = \"allow\"\n";
    let body = serde_json::json!({ "toml": rule });
    assert_eq!(server.post(&server.token("admin"), "/api/rules", &body).0, 200);
    let allowed = remote(&scratch, &server, "agent", &overwrite);
    assert!(allowed.stdout.contains("would run"), "{}", allowed.stdout);
    assert!(allowed.stdout.contains("three"), "{}", allowed.stdout);
    let (status, reply) = server.post(
        &server.token("agent"),
        "/api/tools/execute/echo",
        &serde_json::json!({"args": {"text": "a"}, "dry_run": true, "approval_id": "01"}),
    );
    assert_eq!(status, 422, "{reply}");
}

#[test]
fn a_batch_prints_the_same() {
    let scratch = workspace();
    let server = RunningServer::start(&scratch);
    let input = concat!(
        r#"{"id": 1, "tool": "wink/read_file", "args": {"path": "a.txt"}}"#,
        "\n\n",
        r#"{"id": "two", "tool": "forgekeeper/echo", "args": {"text": "\u001b[31m\n"}}"#,
        "\n",
        r#"{"id": 3, "tool": "wink/read_file", "args": {"path": "nope"}}"#,
        "\n",
        r#"{"id": 4, "tool": "wink/nope"}"#,
        "\n",
        r#"{"id": 5, "tool": "nachos/calculator", "args": {}}"#,
        "\n",
        r#"{"id": 6, "tool": "clemini/bash", "args": {"command": "exit 3"}}"#,
        "\nnonsense\n",
        r#"{"id": 8, "tool": "echo", "args": {"text": "the end"}}"#,
    );
    let (url, token) = (format!("http://{}", server.address), token_file(&scratch, "admin"));
    let there = ["--server", url.as_str(), "--token-file", token.as_str()];
    let elapsed = Regex::new(r#""(elapsed_us|duration)":[0-9]+"#).unwrap();
    let lasting = |text: &str| lasting(&elapsed.replace_all(text, "ELAPSED"));
    let here = scratch.feed(["call", "--batch"], input.as_bytes());
    assert_eq!(here.stdout.lines().count(), 8, "{}", here.stdout);
    let remote = scratch.feed(there.iter().chain(&["call", "--batch"]), input.as_bytes());
    assert_eq!(lasting(&remote.stdout), lasting(&here.stdout));
    assert_eq!((remote.code, remote.stderr), (here.code, here.stderr));
    assert_eq!(remote.code, 1);
    // More at once than the server takes of one token: the rest waits, and every line is answered once.
    let many: String = (0..300)
        .map(|id| format!("{{\"id\":{id},\"tool\":\"echo\",\"args\":{{\"text\":\"a\"}}}}\n"))
        .collect();
    let words = ["call", "--batch", "--jobs", "100"];
    let remote = scratch.feed(there.iter().chain(&words), many.as_bytes());
    assert_eq!((remote.code, remote.stderr.as_str()), (0, ""));
    let mut ids: Vec<u64> = remote
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_u64().unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..300).collect::<Vec<u64>>());
    drop(server);
    let gone = scratch.feed(there.iter().chain(&["call", "--batch"]), input.as_bytes());
    assert_eq!((gone.code, gone.json()["error"]["code"].clone()), (1, "server_error".into()));
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
        &["audit", "export", "--format", "csv"],
        &["audit", "export", "--format", "csv", "--outcome", "error"],
        &["audit", "tail"],
        &["audit", "tail", "-n", "3"],
        &["audit", "tail", "-n", "0"],
        &["audit", "tail", "--json"],
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
        &["stats", "rebuild"],
        &["stats", "rebuild", "--json"],
        &["stats", "errors"],
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
    assert!(
        again.stderr.contains("was approved already, and the approval was used"),
        "{}",
        again.stderr
    );

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
    child.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("the server cancels a call that runs"), "{said}");
    wait_until(|| count("open") == 0);
    assert_eq!(count("error"), 1);
}

/// Starts a server on a Unix socket, whose address stays when the server is started again.
fn start_on(scratch: &Scratch, socket: &std::path::Path) -> Ended {
    let mut command = scratch.command();
    command.args(["serve", "--address", &format!("unix:{}", socket.display())]);
    let server = Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until(|| std::os::unix::net::UnixStream::connect(socket).is_ok());
    wait_until(|| scratch.state().join("first_tokens/admin").exists());
    server
}

#[test]
fn a_tail_goes_on_after_the_server_was_away_and_ends_with_an_interrupt() {
    let scratch = workspace();
    let socket = scratch.path("crib.sock");
    let server = start_on(&scratch, &socket);
    let mut command = scratch.command();
    command.args(["--server", &format!("unix:{}", socket.display())]);
    command.args(["--token-file", &token_file(&scratch, "approver")]);
    command.args(["audit", "tail", "--follow", "--json", "-n", "1"]);
    let log = std::fs::File::create(scratch.path("tail.log")).unwrap();
    let mut child = Ended(command.stdout(Stdio::piped()).stderr(log).spawn().unwrap());
    let mut out = BufReader::new(child.0.stdout.take().unwrap());
    // Returns the numbers of the lines up to a certain one.
    let mut lines_until = |is_last: &dyn Fn(&serde_json::Value) -> bool| {
        let mut numbers = Vec::new();
        loop {
            let mut line = String::new();
            let said = || std::fs::read_to_string(scratch.path("tail.log")).unwrap();
            assert!(out.read_line(&mut line).unwrap() > 0, "{}", said());
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            numbers.push(line["seq"].as_u64().unwrap());
            if is_last(&line) {
                return numbers;
            }
        }
    };
    let has_ended = |line: &serde_json::Value| line["event"] == "ended" && line["name"] == "echo";
    let echo = || assert_eq!(scratch.call("forgekeeper/echo", r#"{"text": "a"}"#).code, 0);
    let mut numbers = lines_until(&|_| true);
    echo();
    numbers.extend(lines_until(&has_ended));
    drop(server);
    echo();
    let server = start_on(&scratch, &socket);
    numbers.extend(lines_until(&has_ended));
    echo();
    numbers.extend(lines_until(&has_ended));
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    assert!(numbers.len() >= 13, "{numbers:?}");

    kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
    let ended = child.0.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(2), "{ended:?}");
    let said = std::fs::read_to_string(scratch.path("tail.log")).unwrap();
    assert_eq!(said.matches("trying again until Ctrl-C").count(), 1, "{said}");
    assert_eq!(said.matches("connected again").count(), 1, "{said}");
    assert!(!said.contains("error:"), "{said}");

    // A token that counts no more is no connection that was cut.
    let mut command = scratch.command();
    command.args(["--server", &format!("unix:{}", socket.display())]);
    command.args(["--token-file", &token_file(&scratch, "approver")]);
    command.args(["audit", "tail", "--follow"]);
    let mut child = Ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut first = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(scratch.run(["tokens", "rotate", "approver"]).code, 0);
    assert_eq!(child.0.wait().unwrap().code(), Some(1));
    drop(server);
}

#[test]
fn a_unix_socket_and_the_environment_name_the_server() {
    let scratch = workspace();
    let socket = scratch.path("crib.sock");
    let _server = start_on(&scratch, &socket);
    let mut command = scratch.command();
    command.env("TOOLCRIB_SERVER", format!("unix:{}", socket.display()));
    command.env("TOOLCRIB_TOKEN_FILE", token_file(&scratch, "agent"));
    command.current_dir("/").env_remove("TOOLCRIB_STATE");
    let ran: Ran = command.args(["call", "wink/read_file", "path=a.txt"]).output().unwrap().into();
    assert!(ran.stdout.contains("one\n2\nthree"), "{}{}", ran.stdout, ran.stderr);
}
