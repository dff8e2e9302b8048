//! A racer that swaps a directory for a link to outside, as fast as it can, against every kind of
//! file call. The naive way leaks under it; ours must not.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::scratch::Scratch;

/// How long the race lasts.
const LAPS: Duration = Duration::from_secs(30);

/// Swaps `name` between a directory and a link to `outside` until told to stop.
fn swap(work: &Path, name: &str, outside: &str, stop: &AtomicBool) -> usize {
    let (name, link) = (work.join(name), work.join(format!("{name}-link")));
    symlink(outside, &link).unwrap();
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, &name, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        swaps += 1;
    }
    swaps
}

/// What a directory holds, by name.
fn held(folder: &Path) -> BTreeMap<String, String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Asks the same calls again and again of one process, and counts the answers.
fn ask(scratch: &Scratch, calls: &[Value], stop: &AtomicBool) -> (usize, usize, usize) {
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
    for call in calls.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
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

fn call(action: &str, path: &str) -> Value {
    let mut args = json!({"action": action, "path": path});
    if action == "write" {
        args["content"] = json!("inside");
    }
    json!({"tool": "nachos/filesystem", "args": args})
}

#[test]
fn a_racing_link_never_leads_outside() {
    let scratch = Scratch::new();
    scratch.put("d/secret.txt", "inside");
    scratch.put_at("outside/only-outside", "");
    // What only a leak could overwrite or delete.
    scratch.put_at("outside/victim", "precious");
    let before = held(&scratch.path("outside"));
    let stop = AtomicBool::new(false);
    let legs = [
        vec![call("read", "d/secret.txt")],
        vec![call("list", "d")],
        vec![call("write", "d/written")],
        vec![call("write", "d/victim"), call("delete", "d/victim")],
    ];
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&scratch.work(), "d", "../outside", &stop));
        let asked: Vec<_> =
            legs.iter().map(|calls| (calls, scope.spawn(|| ask(&scratch, calls, &stop)))).collect();
        let start = Instant::now();
        while start.elapsed() < LAPS && !swapper.is_finished() {
            std::thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
        let swaps = swapper.join().unwrap();
        assert!(swaps > 10_000, "only {swaps} swaps");
        for (calls, asked) in asked {
            let (done, refused, leaked) = asked.join().unwrap();
            let what = format!("{calls:?}: {done} done, {refused} refused, {leaked} leaked");
            assert_eq!(leaked, 0, "{what}");
            assert!(done > 0, "the call never worked: {what}");
            assert!(refused > 0, "the racer never met it: {what}");
        }
    });
    assert_eq!(held(&scratch.path("outside")), before, "something was changed outside");
}

/// The control: whoever checks first and opens after, as so many do, leaks under the same racer.
#[test]
fn the_naive_way_leaks_under_the_same_racer() {
    let scratch = Scratch::new();
    scratch.put("d/secret.txt", "inside");
    let work = scratch.work();
    let root = work.canonicalize().unwrap();
    let stop = AtomicBool::new(false);
    let outside = |name: &str| scratch.path(&format!("outside/{name}"));
    let is_inside = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&root));
    let (mut read, mut written, mut deleted) = (false, false, false);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&work, "d", "../outside", &stop));
        let start = Instant::now();
        while start.elapsed() < LAPS && !(read && written && deleted) {
            let path = work.join("d/secret.txt");
            read |=
                is_inside(&path) && fs::read_to_string(&path).is_ok_and(|text| text == "SECRET");
            if is_inside(&work.join("d")) {
                let _ = fs::write(work.join("d/written"), "x");
            }
            written |= outside("written").exists();
            if !deleted {
                fs::write(outside("victim"), "precious").unwrap();
                if is_inside(&work.join("d")) {
                    let _ = fs::remove_file(work.join("d/victim"));
                }
                deleted = !outside("victim").exists();
            }
        }
        stop.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
    });
    assert!(read && written && deleted, "read {read}, written {written}, deleted {deleted}");
}
