//! A racer that swaps a directory for a link to outside, as fast as it can, against every kind of
//! file call. The naive way leaks under it; ours must not.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::scratch::Scratch;

/// How long the race lasts.
const LAPS: Duration = Duration::from_secs(30);

/// Swaps `d` between a directory and a link to outside until told to stop.
fn swap(work: PathBuf, stop: &AtomicBool) -> usize {
    let (name, link) = (work.join("d"), work.join("d-link"));
    symlink("../outside", &link).unwrap();
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, &name, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        swaps += 1;
    }
    swaps
}

/// Checks first and opens after, as so many do. Returns how often that gave away what is outside.
fn naive(work: &Path, stop: &AtomicBool) -> usize {
    let root = work.canonicalize().unwrap();
    let mut leaks = 0;
    while !stop.load(Ordering::Relaxed) {
        let path = work.join("d/secret.txt");
        let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(&root));
        if is_inside && fs::read_to_string(&path).is_ok_and(|text| text == "SECRET") {
            leaks += 1;
        }
    }
    leaks
}

/// Asks the same call again and again of one process, and counts the answers.
fn ask(scratch: &Scratch, call: &Value, stop: &AtomicBool) -> (usize, usize, usize) {
    let mut child = scratch
        .command()
        .args(["--yes", "call", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut done, mut refused, mut leaked) = (0, 0, 0);
    let mut line = String::new();
    while !stop.load(Ordering::Relaxed) {
        writeln!(input, "{call}").unwrap();
        line.clear();
        output.read_line(&mut line).unwrap();
        if line.contains("SECRET") || line.contains("only-outside") {
            leaked += 1;
        } else if line.contains(r#""success":true"#) {
            done += 1;
        } else {
            refused += 1;
        }
    }
    drop(input);
    child.wait().unwrap();
    (done, refused, leaked)
}

#[test]
fn a_racing_link_never_leads_outside() {
    let scratch = Arc::new(Scratch::new());
    scratch.put("d/secret.txt", "inside");
    scratch.put_at("outside/only-outside", "");
    let before = fs::read_dir(scratch.path("outside")).unwrap().count();
    let stop = Arc::new(AtomicBool::new(false));
    let calls = [
        json!({"tool": "nachos/filesystem", "args": {"action": "read", "path": "d/secret.txt"}}),
        json!({"tool": "nachos/filesystem", "args": {"action": "list", "path": "d"}}),
        json!({"tool": "nachos/filesystem", "args": {"action": "write", "path": "d/new", "content": "x"}}),
        json!({"tool": "nachos/filesystem", "args": {"action": "delete", "path": "d/new"}}),
    ];
    let leaks = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(scratch.work(), &stop));
        let naive = scope.spawn(|| naive(&scratch.work(), &stop));
        let asked: Vec<_> =
            calls.iter().map(|call| (call, scope.spawn(|| ask(&scratch, call, &stop)))).collect();
        let start = Instant::now();
        while start.elapsed() < LAPS && !swapper.is_finished() {
            std::thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
        let swaps = swapper.join().unwrap();
        assert!(swaps > 10_000, "only {swaps} swaps");
        for (call, asked) in asked {
            let (done, refused, leaked) = asked.join().unwrap();
            let what = format!("{call}: {done} done, {refused} refused, {leaked} leaked");
            assert_eq!(leaked, 0, "{what}");
            assert!(done > 0, "the call never worked: {what}");
            assert!(refused > 0, "the racer never met it: {what}");
        }
        leaks.store(naive.join().unwrap(), Ordering::Relaxed);
    });
    let after = fs::read_dir(scratch.path("outside")).unwrap().count();
    assert_eq!(after, before, "something was written or deleted outside");
    let leaks = leaks.into_inner();
    assert!(leaks > 0, "the naive way did not leak, so this race proves nothing");
}
