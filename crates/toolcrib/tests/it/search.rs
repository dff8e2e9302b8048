//! Search as a user of the binary meets it: many calls in one process, the index from outside.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scratch::Scratch;

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
