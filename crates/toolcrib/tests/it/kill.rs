//! Death in the middle of a write leaves the old content or the new one.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::scratch::Scratch;

#[test]
fn a_killed_write_leaves_the_old_content_or_the_new() {
    let scratch = Scratch::new();
    let content = |number: usize| format!("{number}\n").repeat(200_000);
    scratch.put("target.txt", content(0));
    let write = |number: usize| {
        let args = scratch.path("args.json");
        fs::write(
            &args,
            json!({"file_path": "target.txt", "content": content(number)}).to_string(),
        )
        .unwrap();
        scratch
            .command()
            .args(["--yes", "call", "clemini/write_file", "-", "--json"])
            .stdin(fs::File::open(&args).unwrap())
            .stdout(Stdio::null())
            // It says each time that the one before was killed.
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    // How long a write takes when nobody kills it.
    let start = Instant::now();
    assert!(write(1).wait().unwrap().success());
    let whole = start.elapsed();

    let (mut killed, mut old, mut new, mut last) = (0, 0, 0, 1);
    // The next kill comes later after an old content and sooner after a new one, so that they gather
    // around the moment that matters.
    let mut wait = whole / 2;
    let step = whole / 20;
    for number in 2..202 {
        let mut child = write(number);
        std::thread::sleep(wait);
        let _ = child.kill();
        if !child.wait().unwrap().success() {
            killed += 1;
        }
        let found = scratch.text("target.txt");
        if found == content(number) {
            new += 1;
            last = number;
            wait = wait.saturating_sub(step);
        } else {
            assert!(found == content(last), "after write {number} the file is torn");
            old += 1;
            wait += step;
        }
    }
    assert!(killed > 50, "only {killed} of 200 writes were killed");
    assert!(old > 0 && new > 0, "the kills all came at one end: {old} old, {new} new");
    // The file can be written as before, and nothing is in the way.
    assert!(write(999).wait().unwrap().success());
    assert_eq!(scratch.text("target.txt"), content(999));
    let left: Vec<_> = fs::read_dir(scratch.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "target.txt")
        .collect();
    assert!(left.len() <= 3, "temporary files left behind: {left:?}");
}

#[test]
fn an_interrupt_ends_a_waiting_call_cleanly() {
    let scratch = Scratch::new();
    scratch.put("a", "old");
    assert_eq!(scratch.call("clemini/write_file", r#"{"file_path": "b", "content": "x"}"#).code, 0);
    // Whoever holds the directory's lock keeps every write in it waiting.
    let held = fs::File::open(scratch.work()).unwrap();
    held.lock().unwrap();
    let before = scratch.record().len();
    let child = scratch
        .command()
        .args([
            "--yes",
            "call",
            "clemini/write_file",
            r#"{"file_path": "a", "content": "new"}"#,
            "--json",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // On the record as decided means it is running, and so waiting for the lock.
    let start = Instant::now();
    while scratch.record().len() < before + 2 {
        assert!(start.elapsed() < Duration::from_secs(20), "the call never got to run");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    // A shell that sees the signal ends its loop, too.
    assert_eq!(output.status.signal(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("cancelled"));
    assert_eq!(scratch.text("a"), "old");
    assert_eq!(scratch.record().last().unwrap()["error"], "cancelled");
}
