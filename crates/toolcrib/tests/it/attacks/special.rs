//! Special files, giants, and roots that are not what they were.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{READERS, WRITERS, read, refused, write};
use crate::scratch::{Scratch, users};

#[test]
fn special_files_neither_hang_nor_open() {
    for user in users() {
        let scratch = Scratch::of(user);
        let work = scratch.work();
        let made = Command::new("mkfifo").arg(work.join("pipe")).status().unwrap();
        assert!(made.success());
        let _socket = UnixListener::bind(work.join("socket")).unwrap();
        for name in ["pipe", "socket"] {
            let path = work.join(name);
            let _ = Command::new("chmod").arg("666").arg(&path).status();
            let start = Instant::now();
            for reader in READERS {
                refused(&read(&scratch, reader, name), &format!("{user:?} {reader:?} {name}"));
            }
            for writer in WRITERS {
                refused(&write(&scratch, writer, name), &format!("{user:?} {writer:?} {name}"));
            }
            let args = json!({"action": "delete", "path": name}).to_string();
            refused(&scratch.call("nachos/filesystem", &args), name);
            assert!(start.elapsed() < Duration::from_secs(20), "{name} took {:?}", start.elapsed());
            assert!(fs::symlink_metadata(&path).is_ok(), "{name} is gone");
        }
    }
}

#[test]
fn kernel_file_systems_are_refused_even_inside_a_root() {
    let scratch = Scratch::new();
    let read = |path: &str| {
        let args = json!({"path": path}).to_string();
        scratch.run([
            "-C",
            "/",
            "-c",
            "files.broad_root=allow",
            "call",
            "wink/read_file",
            &args,
            "--json",
        ])
    };
    refused(&read("/proc/self/environ"), "environ");
    refused(&read("proc/kmsg"), "kmsg");
    refused(&read("/sys/kernel/notes"), "sysfs");
    refused(&read("/proc/self/fd/0"), "fd");
    refused(&read("/dev/null"), "device");
    let control = scratch.path("outside/secret.txt");
    assert!(read(control.to_str().unwrap()).stdout.contains("SECRET"), "the control");
    // The state folder lies below this root, and is still out of reach.
    let state = scratch.state().join("changes.jsonl");
    scratch.call("clemini/write_file", r#"{"file_path": "a", "content": "b"}"#);
    assert!(state.exists());
    refused(&read(state.to_str().unwrap()), "state");
    let args = json!({"path": scratch.state()}).to_string();
    let ran = scratch.run([
        "-C",
        "/",
        "-c",
        "files.broad_root=allow",
        "call",
        "wink/list_dir",
        &args,
        "--json",
    ]);
    refused(&ran, "state listing");
    let args = json!({"file_path": scratch.state().join("new"), "content": "x"}).to_string();
    let ran = scratch.run([
        "-C",
        "/",
        "-y",
        "-c",
        "files.broad_root=allow",
        "call",
        "clemini/write_file",
        &args,
        "--json",
    ]);
    refused(&ran, "state write");
    let args = json!({"action": "delete", "path": state}).to_string();
    let ran = scratch.run([
        "-C",
        "/",
        "-y",
        "-c",
        "files.broad_root=allow",
        "call",
        "nachos/filesystem",
        &args,
        "--json",
    ]);
    refused(&ran, "state delete");
    assert!(state.exists());
}

#[test]
fn roots_that_hold_too_much_are_refused() {
    let scratch = Scratch::new();
    for root in ["/", "/etc", "/proc", "/sys", "/dev", scratch.path("home").to_str().unwrap()] {
        let ran = scratch.run(["-C", root, "call", "wink/list_dir", "{}", "--json"]);
        assert_eq!(ran.code, 2, "{root}: {}", ran.stdout);
        assert_eq!(ran.json()["error"]["code"], "wrong_usage");
    }
    let mut command = scratch.command();
    command.env("TOOLCRIB_STATE", scratch.work().join("state")).args(["call", "wink/list_dir"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a root above the state folder");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("overlaps Toolcrib's own folder"),
        "{output:?}"
    );
}

#[test]
fn a_file_with_several_names_is_opened_only_if_the_operator_says_so() {
    for user in users() {
        let scratch = Scratch::of(user);
        fs::hard_link(scratch.path("outside/secret.txt"), scratch.work().join("hard")).unwrap();
        scratch.put("soft", "fine");
        for reader in READERS {
            refused(&read(&scratch, reader, "hard"), &format!("{user:?} {reader:?}"));
            assert_eq!(read(&scratch, reader, "soft").code, 0);
        }
        for writer in WRITERS {
            refused(&write(&scratch, writer, "hard"), &format!("{user:?} {writer:?}"));
        }
        let allow = ["-c", "files.hardlinks=allow", "-y", "call"];
        let ran = scratch.run(allow.into_iter().chain([
            "clemini/read_file",
            r#"{"file_path": "hard"}"#,
            "--json",
        ]));
        assert!(ran.stdout.contains("SECRET"), "{}", ran.stdout);
        let args = r#"{"file_path": "hard", "content": "new"}"#;
        let ran = scratch.run(allow.into_iter().chain(["clemini/write_file", args, "--json"]));
        assert_eq!(ran.code, 0, "{}", ran.stdout);
        assert_eq!(fs::read_to_string(scratch.path("outside/secret.txt")).unwrap(), "SECRET");
    }
}

#[test]
fn root_may_do_no_more_than_a_files_owner() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("closed", "SECRET");
        scratch.put("fixed", "old");
        let mode = |name: &str, mode| {
            fs::set_permissions(scratch.work().join(name), fs::Permissions::from_mode(mode))
                .unwrap();
        };
        mode("closed", 0o000);
        mode("fixed", 0o444);
        for reader in READERS {
            refused(&read(&scratch, reader, "closed"), &format!("{user:?} {reader:?}"));
            assert_eq!(read(&scratch, reader, "fixed").code, 0);
        }
        for writer in WRITERS {
            refused(&write(&scratch, writer, "fixed"), &format!("{user:?} {writer:?}"));
        }
        assert_eq!(scratch.text("fixed"), "old");
    }
}

#[test]
fn a_workspace_that_is_replaced_is_noticed() {
    let scratch = Scratch::new();
    scratch.put("f", "fine");
    let mut child = scratch
        .command()
        .args(["call", "--batch"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut ask = |path: &str| -> Value {
        use std::io::{BufRead, Write};
        let call = json!({"id": 1, "tool": "clemini/read_file", "args": {"file_path": path}});
        writeln!(input, "{call}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert!(ask("f")["reply"]["contents"].is_string());
    fs::rename(scratch.work(), scratch.path("moved")).unwrap();
    assert!(ask("f")["reply"]["error"].as_str().unwrap().contains("is gone"));
    symlink("/", scratch.work()).unwrap();
    let answer = ask("etc/passwd").to_string();
    assert!(answer.contains("replaced") && !answer.contains("root:x:0"), "{answer}");
    fs::remove_file(scratch.work()).unwrap();
    fs::rename(scratch.path("moved"), scratch.work()).unwrap();
    assert!(ask("f")["reply"]["contents"].is_string());
    drop(input);
    child.wait().unwrap();
}

#[test]
fn giants_are_read_in_part_and_listed_in_part() {
    let scratch = Scratch::new();
    let sparse = fs::File::create(scratch.work().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for reader in READERS {
        let start = Instant::now();
        let ran = read(&scratch, reader, "sparse");
        assert!(ran.stdout.len() < 64 << 20, "{reader:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{reader:?}");
    }
    for number in 0..20_000 {
        fs::File::create(scratch.work().join(format!("f{number}"))).unwrap();
    }
    let got = scratch.call("wink/list_dir", "{}").json();
    assert_eq!(got["metadata"]["total_entries"], 20_001);
    assert_eq!(got["metadata"]["pages"], 21);
    assert!(got["output"].as_str().unwrap().contains("Warning: Found 20001 entries"));
    let got = scratch.call("forgekeeper/read_dir", "{}").json();
    assert_eq!(
        (&got["result"]["total"], &got["result"]["truncated"]),
        (&json!(20_001), &json!(true))
    );
}
