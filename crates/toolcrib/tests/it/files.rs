//! What a write leaves when it fails.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::privilege::may_mount;
use crate::scratch::{Scratch, users};

#[test]
fn a_write_past_the_file_size_limit_fails_and_leaves_the_old_content() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("small.txt", "old");
        let args = scratch.path("args.json");
        let content = "x".repeat(300_000);
        fs::write(&args, json!({"file_path": "small.txt", "content": content}).to_string())
            .unwrap();
        let program = env!("CARGO_BIN_EXE_toolcrib");
        let line = format!("ulimit -f 100; exec {program} --yes call clemini/write_file - --json");
        let run = |line: &str| {
            let mut command = Command::new("bash");
            let plain = scratch.command();
            command.args(["-c", line]).current_dir(scratch.work()).env_clear();
            for (name, value) in plain.get_envs() {
                command.env(name, value.unwrap());
            }
            command.stdin(fs::File::open(&args).unwrap()).output().unwrap()
        };
        let output = run(&line);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("file size limit"));
        assert_eq!(scratch.text("small.txt"), "old");
        assert_eq!(fs::read_dir(scratch.work()).unwrap().count(), 1, "something was left behind");
        let output = run(&line.replace("ulimit -f 100", "ulimit -f 100000"));
        assert_eq!(output.status.code(), Some(0), "the control: {output:?}");
    }
}

#[test]
fn a_full_disk_fails_and_leaves_the_old_content() {
    if !may_mount("files::a_full_disk_fails_and_leaves_the_old_content") {
        return;
    }
    let scratch = Scratch::new();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
        .arg(scratch.work())
        .status()
        .unwrap();
    assert!(mounted.success());
    let check = || {
        scratch.put("a.txt", "old");
        let content = "x".repeat(400_000);
        let args = json!({"file_path": "a.txt", "content": content}).to_string();
        let ran =
            scratch.feed(["--yes", "call", "clemini/write_file", "-", "--json"], args.as_bytes());
        assert_eq!(ran.code, 1);
        assert!(ran.stdout.contains("disk is full"), "{}", ran.stdout);
        assert_eq!(scratch.text("a.txt"), "old");
        let args = json!({"file_path": "deep/er/b.txt", "content": content}).to_string();
        let ran =
            scratch.feed(["--yes", "call", "clemini/write_file", "-", "--json"], args.as_bytes());
        assert_eq!(ran.code, 1);
        assert_eq!(fs::read_dir(scratch.work()).unwrap().count(), 1, "something was left behind");
        let ran = scratch.call("clemini/write_file", r#"{"file_path": "a.txt", "content": "new"}"#);
        assert_eq!(ran.code, 0, "the control: {}", ran.stdout);
    };
    let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
    let _ = Command::new("umount").arg(scratch.work()).status();
    checked.unwrap();
}
