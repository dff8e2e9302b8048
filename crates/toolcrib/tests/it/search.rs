//! Search as a user of the binary meets it: many calls in one process, the index from outside, bad input.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scratch::{Scratch, users};

/// A process that answers many calls.
struct Batch {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Batch {
    fn start(scratch: &Scratch) -> Self {
        let mut child = scratch
            .command()
            .args(["--yes", "call", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    fn call(&mut self, tool: &str, args: &Value) -> Value {
        let line = json!({"id": 1, "tool": tool, "args": args});
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["reply"].clone()
    }

    fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Waits until a process has an index that is ready.
fn wait_until_ready(scratch: &Scratch) -> Value {
    let start = Instant::now();
    loop {
        let status = scratch.run(["search", "status", "--json"]).json();
        if status["live"][0]["phase"] == "ready" {
            return status;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{status}");
    }
}

#[test]
fn a_write_is_found_by_the_next_search_of_the_same_process() {
    let scratch = Scratch::new();
    for number in 0..200 {
        scratch.put(&format!("src/f{number}.rs"), format!("fn f{number}() {{}}\n"));
    }
    let mut batch = Batch::start(&scratch);
    let grep = json!({"pattern": "fn f7\\("});
    assert_eq!(batch.call("clemini/grep", &grep)["total_found"], 1);
    let status = wait_until_ready(&scratch);
    assert_eq!(status["live"][0]["files"], 200);
    assert!(status["live"][0]["memory_bytes"].as_u64().unwrap() > 0);
    for round in 0..20 {
        let args =
            json!({"file_path": "src/new.rs", "content": format!("fn round_{round}() {{}}\n")});
        batch.call("clemini/write_file", &args);
        let grep = json!({"pattern": format!("fn round_{round}\\(")});
        assert_eq!(batch.call("clemini/grep", &grep)["total_found"], 1, "round {round}");
        scratch.put("src/other.rs", format!("fn other_{round}() {{}}\n"));
        let grep = json!({"pattern": format!("fn other_{round}\\(")});
        assert_eq!(batch.call("clemini/grep", &grep)["total_found"], 1, "round {round}");
    }
    batch.end();
}

#[test]
fn the_index_can_be_built_seen_and_switched_off() {
    let scratch = Scratch::new();
    for number in 0..300 {
        scratch.put(&format!("f{number}.txt"), "text\n");
    }
    let status = scratch.run(["search", "status"]);
    assert!(status.stdout.contains("on disk    nothing"), "{}", status.stdout);
    let built = scratch.run(["search", "rebuild"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    assert!(built.stdout.starts_with("Indexed 300 files in "), "{}", built.stdout);
    let status = scratch.run(["search", "status", "--json"]).json();
    assert!(status["kept"]["bytes"].as_u64().unwrap() > 0 && status["index"] == "on", "{status}");
    assert_eq!(scratch.run(["search", "off"]).code, 0);
    let status = scratch.run(["search", "status", "--json"]).json();
    assert!(status["kept"].is_null() && status["index"] == "off", "{status}");
    let mut batch = Batch::start(&scratch);
    assert_eq!(batch.call("clemini/grep", &json!({"pattern": "text"}))["total_found"], 300);
    batch.end();
    assert!(scratch.run(["search", "status", "--json"]).json()["kept"].is_null());
    let refused = scratch.run(["-c", "search.index=off", "search", "rebuild"]);
    assert!(refused.code == 2 && refused.stderr.contains("search.index"), "{}", refused.stderr);
    let doctor = scratch.run(["doctor"]);
    assert!(doctor.code == 0 && doctor.stdout.contains("Search\n"), "{}", doctor.stdout);
    let doctor = scratch.run(["doctor", "--json"]).json();
    assert_eq!(doctor["search"]["memory_ceiling_bytes"], 536_870_912);
}

#[test]
fn no_search_leads_out_of_the_workspace() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("inside.txt", "SECRET of our own\n");
        symlink("../outside", scratch.work().join("way")).unwrap();
        symlink("../outside/secret.txt", scratch.work().join("file")).unwrap();
        symlink(scratch.path("outside"), scratch.work().join("absolute")).unwrap();
        let found = scratch.call("clemini/grep", r#"{"pattern": "SECRET"}"#).json();
        assert_eq!(found["total_found"], 1, "{found}");
        let found = scratch.call("clemini/glob", r#"{"pattern": "**/*"}"#).json();
        assert_eq!(found["matches"], json!(["inside.txt"]));
        for directory in ["way", "absolute", "..", "../outside", "/etc", "file"] {
            for (tool, name) in [("clemini/grep", "directory"), ("wink/file_search", "base_path")] {
                let got =
                    scratch.call(tool, &json!({"pattern": "S*", name: directory}).to_string());
                let text = got.json().to_string();
                assert!(text.contains("outside"), "{tool} {directory}: {text}");
                assert!(!text.contains("secret.txt"), "{tool} {directory}: {text}");
            }
        }
    }
}

#[test]
fn bad_patterns_are_told_with_their_place() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "foo(bar)\n");
    let call = |tool: &str, args: Value| scratch.call(tool, &args.to_string()).json();
    let got = call("clemini/grep", json!({"pattern": "foo(bar"}));
    assert_eq!(
        (&got["error_code"], &got["context"]["position"]),
        (&json!("INVALID_ARGUMENT"), &json!(4))
    );
    let hint = got["context"]["hint"].as_str().unwrap();
    assert!(hint.contains(r"`foo\(bar`"), "{hint}");
    // What is offered works.
    assert_eq!(call("clemini/grep", json!({"pattern": r"foo\(bar"}))["total_found"], 1);
    for pattern in
        [r"(a{1,1000}){1,1000}", r"\w{1,900}x", "a\nb", "a\0b", r"\", "[", "*", "(?P<n", "a{2,1}"]
    {
        let got = call("clemini/grep", json!({"pattern": pattern}));
        assert_eq!(got["error_code"], "INVALID_ARGUMENT", "{pattern}: {got}");
        assert!(got["context"]["hint"].is_string(), "{pattern}: {got}");
    }
    let long = "a".repeat(100_000);
    assert_eq!(call("clemini/grep", json!({"pattern": long}))["error_code"], "INVALID_ARGUMENT");
    for glob in ["[a", "{a", "a}", "[z-a]", "a\\", ""] {
        let got = call("wink/file_search", json!({"pattern": glob}));
        assert_eq!(got["error"]["code"], "invalid_glob", "{glob}: {got}");
        let got = call("wink/grep_search", json!({"pattern": "x", "file_pattern": glob}));
        assert_eq!(got["error"]["code"], "invalid_glob", "{glob}: {got}");
    }
    assert_eq!(call("clemini/grep", json!({"pattern": ""}))["error_code"], "INVALID_ARGUMENT");
    assert_eq!(
        call("wink/grep_search", json!({"pattern": ""}))["error"]["code"],
        "invalid_parameters"
    );
    assert_eq!(
        call("wink/grep_search", json!({"pattern": "foo(bar)"}))["metadata"]["total_matches"],
        1
    );
}

#[test]
fn files_that_are_not_searched_are_told() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "needle\n");
    scratch.put("b.txt", "needle\n");
    std::fs::hard_link(scratch.work().join("b.txt"), scratch.path("outside/b.txt")).unwrap();
    let got = scratch.call("clemini/grep", r#"{"pattern": "needle"}"#).json();
    assert_eq!(got["total_found"], 1);
    assert!(got["warnings"][0].as_str().unwrap().contains("b.txt (it has several names"), "{got}");
    let args = [
        "-c",
        "files.hardlinks=allow",
        "call",
        "clemini/grep",
        r#"{"pattern": "needle"}"#,
        "--json",
    ];
    assert_eq!(scratch.run(args).json()["total_found"], 2);
}
