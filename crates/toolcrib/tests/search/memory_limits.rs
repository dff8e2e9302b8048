//! Files and patterns that exhaust the memory of a naive searcher, under a memory limit that the kernel enforces. `make
//! bench` has the full sizes; these are large enough to fail without bounds.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Runs one search with at most this many megabytes of memory. It counts all results, however many there are.
fn search(root: &Path, megabytes: u64, args: &Value) -> Value {
    let script = format!("ulimit -v {}; exec \"$@\"", megabytes * 1024);
    let output = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_toolcrib")])
        .args(["call", "clemini/grep", &args.to_string(), "--json"])
        .current_dir(root)
        .env("TOOLCRIB_STATE", root.parent().unwrap().join("state"))
        .env("TOOLCRIB_SEARCH_COUNT_LIMIT", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|err| panic!("{err}: {args} {}", String::from_utf8_lossy(&output.stderr)))
}

fn fill(path: &Path, piece: &[u8], size: usize) {
    let block = piece.repeat((1 << 20) / piece.len());
    let mut file = std::fs::File::create(path).unwrap();
    for _ in 0..size.div_ceil(block.len()) {
        file.write_all(&block).unwrap();
    }
}

#[test]
fn memory_is_bounded_whatever_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    std::fs::create_dir(&root).unwrap();
    fill(&root.join("line"), b"one line without an end ", 400 << 20);
    fill(&root.join("lines"), b"a line of text that goes on for a while\n", 100 << 20);
    std::fs::write(root.join("small"), "needle\n").unwrap();
    let found = search(&root, 400, &json!({"pattern": "needle"}));
    assert_eq!(found["total_found"], 1, "{found}");
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(warning.contains("line (one line is longer than 64 MB"), "{found}");
    let found = search(&root, 400, &json!({"pattern": ".*", "head_limit": 3}));
    assert_eq!(found["count"], 3, "{found}");
    assert!(found["total_found"].as_u64().unwrap() > 2_000_000, "{found}");
    let found = search(&root, 400, &json!({"pattern": "x*"}));
    assert_eq!(found["truncated"], true, "{}", found["error"]);
    assert!(found["matches"].as_array().unwrap().len() > 1000);
}

#[test]
fn patterns_that_blow_up_are_refused_or_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    std::fs::create_dir(&root).unwrap();
    fill(&root.join("long"), &b"aaaaaaaaaaaaaaaaaaaaaaaa ".repeat(440), 11 << 10);
    for pattern in [r"(a{0,100}){0,100}b", r"(\w{1,60} ){1,60}z", r"(x+x+)+y", r"((a*)*)*b"] {
        let got = search(&root, 400, &json!({"pattern": pattern}));
        assert!(
            got["total_found"] == 0 || got["error_code"] == "INVALID_ARGUMENT",
            "{pattern}: {got}"
        );
    }
}
