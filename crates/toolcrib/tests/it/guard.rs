//! What nearly went wrong once: each of these was found by someone who tried to break it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::privilege::may_mount;
use crate::scratch::Scratch;

fn write(scratch: &Scratch, path: &str, content: &str) -> crate::scratch::Ran {
    scratch.call("clemini/write_file", &json!({"file_path": path, "content": content}).to_string())
}

fn last_call(scratch: &Scratch) -> String {
    scratch.record().last().unwrap()["trace_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_workspace_given_with_dots_does_not_shift_absolute_paths() {
    let scratch = Scratch::new();
    scratch.put("f", "root");
    scratch.put("sub/f", "sub");
    let args = json!({"file_path": scratch.work().join("sub/f"), "content": "new"}).to_string();
    let output = scratch
        .command()
        .current_dir(scratch.work().join("sub"))
        .args(["-C", "..", "--yes", "call", "clemini/write_file", &args])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((scratch.text("f"), scratch.text("sub/f")), ("root".to_owned(), "new".to_owned()));
}

#[test]
fn of_many_undos_of_one_call_one_works() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    assert_eq!(write(&scratch, "f", "new").code, 0);
    let id = last_call(&scratch);
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = scratch.command();
            command.args(["undo", &id]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let worked = children
        .into_iter()
        .filter_map(|mut child| child.wait().ok())
        .filter(std::process::ExitStatus::success);
    assert_eq!(worked.count(), 1);
    assert_eq!(scratch.text("f"), "old");
}

#[test]
fn runtimes_with_different_state_folders_lose_no_update() {
    const EACH: usize = 60;
    let scratch = Scratch::new();
    scratch.put("list.txt", "END\n");
    let children: Vec<_> = ["a", "b", "c", "d"]
        .map(|who| {
            let input = scratch.path(&format!("calls-{who}"));
            let line = |number: usize| {
                let new = format!("{who}-{number}\nEND");
                let args = json!({"file_path": "list.txt", "old_string": "END", "new_string": new});
                format!("{}\n", json!({"id": number, "tool": "clemini/edit", "args": args}))
            };
            fs::write(&input, (0..EACH).map(line).collect::<String>()).unwrap();
            let mut command = scratch.command();
            command
                .env("TOOLCRIB_STATE", scratch.path(&format!("state-{who}")))
                .args(["--yes", "call", "--batch"])
                .stdin(fs::File::open(input).unwrap())
                .stdout(Stdio::piped());
            command.spawn().unwrap()
        })
        .into_iter()
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(scratch.text("list.txt").lines().count(), 4 * EACH + 1);
}

#[test]
fn what_is_deleted_was_kept() {
    let scratch = Scratch::new();
    let path = scratch.work().join("f");
    fs::write(&path, "version 0").unwrap();
    let stop = AtomicBool::new(false);
    let call = json!({"tool": "nachos/filesystem", "args": {"action": "delete", "path": "f"}});
    let input = format!("{call}\n").repeat(500);
    let gone = std::thread::scope(|scope| {
        let racer = scope.spawn(|| save_over_and_over(&path, &scratch.path("aside"), &stop));
        // How many calls find the file there depends on how busy the machine is.
        let mut deletes = 0;
        for _ in 0..50 {
            let replies = scratch.feed(["--yes", "call", "--batch"], input.as_bytes()).stdout;
            deletes += replies.matches("\"success\":true").count();
            if deletes > 20 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        racer.join().unwrap()
    });
    assert!(gone.len() > 10, "only {} deletes", gone.len());
    let mut kept = contents(&scratch.work());
    kept.extend(contents(&scratch.state().join("objects")));
    for version in gone {
        assert!(kept.contains(&version), "{version} was deleted and not kept");
    }
}

/// Saves version after version over a file, as editors do. Returns the versions that somebody else
/// took away: at the moment of the next save the name was free.
fn save_over_and_over(path: &Path, aside: &Path, stop: &AtomicBool) -> Vec<String> {
    let (mut gone, mut number) = (Vec::new(), 0_u64);
    while !stop.load(Ordering::Relaxed) {
        let last = format!("version {number}");
        number += 1;
        fs::write(aside, format!("version {number}")).unwrap();
        match renameat_with(CWD, aside, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => gone.push(last),
            Err(_) => fs::rename(aside, path).unwrap(),
        }
        // Sometimes in the middle of a delete, sometimes not.
        std::thread::sleep(std::time::Duration::from_millis(number % 30));
    }
    gone
}

fn contents(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Programs that keep a file from being replaced, and that let it go again, without its path. Root
/// can make it immutable, where the file system knows that; a mount is not replaced anywhere.
const PINS: [(&[&str], &[&str]); 2] = [
    (&["chattr", "+i"], &["chattr", "-i"]),
    (&["sh", "-c", "mount --bind \"$0\" \"$0\""], &["umount"]),
];

#[test]
fn an_undo_that_fails_half_way_gives_back_what_it_took() {
    if !may_mount("guard::an_undo_that_fails_half_way_gives_back_what_it_took") {
        return;
    }
    let mut failed = 0;
    for (pin, unpin) in PINS {
        let scratch = Scratch::new();
        scratch.put("s", "old");
        let args = r#"{"file_path": "s", "content": "new", "backup": true}"#;
        assert_eq!(scratch.call("clemini/write_file", args).code, 0);
        let id = last_call(&scratch);
        let run = |words: &[&str]| {
            let done =
                Command::new(words[0]).args(&words[1..]).arg(scratch.work().join("s")).output();
            done.is_ok_and(|output| output.status.success())
        };
        if !run(pin) {
            continue;
        }
        let ran = scratch.run(["undo", &id]);
        assert!(run(unpin), "{unpin:?}");
        assert_eq!(ran.code, 1, "{pin:?} {}", ran.stdout);
        let texts = (scratch.text("s"), scratch.text("s.bak"));
        assert_eq!(texts, ("new".to_owned(), "old".to_owned()), "{pin:?}");
        assert_eq!(scratch.run(["undo", &id]).code, 0, "the control: {pin:?}");
        failed += 1;
    }
    assert!(failed > 0, "nothing kept the file from being replaced");
}

#[test]
fn undo_does_not_wait_for_ever() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    assert_eq!(write(&scratch, "f", "new").code, 0);
    let id = last_call(&scratch);
    let held = fs::File::open(scratch.work()).unwrap();
    held.lock().unwrap();
    let start = std::time::Instant::now();
    let ran = scratch.run(["undo", &id]);
    assert!(ran.code != 0 && ran.stderr.contains("holds the lock"), "{}", ran.stderr);
    assert!(start.elapsed().as_secs() < 60);
    assert_eq!(scratch.text("f"), "new");
}
