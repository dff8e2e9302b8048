//! Paths, links and special files that try to lead a tool astray, as root and as an ordinary user.
//! Every refusal stands beside a call that shows the probe works.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch, users};

/// The ways to read, write, list and delete, by catalogue.
const READERS: [(&str, &str); 5] = [
    ("wink/read_file", "path"),
    ("clemini/read_file", "file_path"),
    ("nachos/filesystem", "path"),
    ("hikai/read_file", "path"),
    ("forgekeeper/read_file", "path"),
];
const WRITERS: [(&str, &str); 4] = [
    ("wink/create_file", "path"),
    ("clemini/write_file", "file_path"),
    ("nachos/filesystem", "path"),
    ("forgekeeper/write_file", "path"),
];

fn read(scratch: &Scratch, (tool, key): (&str, &str), path: &str) -> Ran {
    let mut args = json!({key: path});
    if tool == "nachos/filesystem" {
        args["action"] = json!("read");
    }
    scratch.call(tool, &args.to_string())
}

fn write(scratch: &Scratch, (tool, key): (&str, &str), path: &str) -> Ran {
    let mut args = json!({key: path, "content": "EVIL"});
    if tool == "nachos/filesystem" {
        args["action"] = json!("write");
    }
    scratch.call(tool, &args.to_string())
}

/// Asserts that a call was refused and told nothing.
#[track_caller]
fn refused(ran: &Ran, what: &str) {
    assert_ne!(ran.code, 0, "{what}: {}", ran.stdout);
    assert!(
        !ran.stdout.contains("SECRET") && !ran.stdout.contains("root:x:0"),
        "{what}: {}",
        ran.stdout
    );
}

/// A workspace with something to find inside, and links that lead out of it.
fn trap(user: crate::scratch::User) -> Scratch {
    let scratch = Scratch::of(user);
    scratch.put("ok.txt", "fine\n");
    scratch.put("sub/inner.txt", "fine\n");
    scratch.put_at("work-evil/x", "SECRET");
    let work = scratch.work();
    for (target, link) in [
        ("../outside/secret.txt", "rel"),
        ("/etc/passwd", "abs"),
        ("/proc/self/root/etc/passwd", "magic"),
        ("/proc/self/fd/0", "fd0"),
        ("../work/ok.txt", "updown"),
        ("../outside", "dir"),
        ("loop", "loop"),
        ("../outside/fresh.txt", "dangling"),
        ("sub/inner.txt", "inside"),
    ] {
        symlink(target, work.join(link)).unwrap();
    }
    symlink(work.join("ok.txt"), work.join("absin")).unwrap();
    scratch
}

#[test]
fn paths_that_lead_outside_are_refused_by_every_tool() {
    for user in users() {
        let scratch = trap(user);
        let root = scratch.work().display().to_string();
        let paths = [
            "../outside/secret.txt".to_owned(),
            format!("{root}-evil/x"),
            "/etc/passwd".to_owned(),
            format!("{root}/sub/../../outside/secret.txt"),
            format!("{root}//..//outside//secret.txt"),
            "....//....//etc/passwd".to_owned(),
            "%2e%2e%2foutside%2fsecret.txt".to_owned(),
            "~/.ssh/id_rsa".to_owned(),
            "$HOME/.ssh/id_rsa".to_owned(),
            "/proc/self/fd/3".to_owned(),
            "/dev/fd/0".to_owned(),
            "sub/../../outside/secret.txt".to_owned(),
            "missing/../../outside/secret.txt".to_owned(),
            r"$'\x2e\x2e'/outside/secret.txt".to_owned(),
            r"$'..\x2foutside'/secret.txt".to_owned(),
        ];
        let links = ["rel", "abs", "magic", "fd0", "updown", "dir/secret.txt", "loop", "absin"];
        for reader in READERS {
            let ran = read(&scratch, reader, "ok.txt");
            assert!(ran.code == 0 && ran.stdout.contains("fine"), "{reader:?}: {}", ran.stdout);
            let ran = read(&scratch, reader, "inside");
            assert!(ran.code == 0 && ran.stdout.contains("fine"), "{reader:?}: {}", ran.stdout);
            let ran = read(&scratch, reader, &format!("{root}/sub/../ok.txt"));
            assert!(ran.code == 0 && ran.stdout.contains("fine"), "{reader:?}: {}", ran.stdout);
            for path in paths.iter().map(String::as_str).chain(links) {
                refused(&read(&scratch, reader, path), &format!("{user:?} {reader:?} {path}"));
            }
        }
    }
}

#[test]
fn nothing_is_written_outside_or_half_way_there() {
    for user in users() {
        let scratch = trap(user);
        let root = scratch.work().display().to_string();
        let deep = format!("{}x", "a/".repeat(5000));
        for writer in WRITERS {
            for path in [
                "../outside/new.txt",
                "/etc/toolcrib-test",
                &format!("{root}-evil/new"),
                "newdir/../../outside/new.txt",
                "dir/new.txt",
                "dir/sub/new.txt",
                "dangling",
                "rel",
                "abs",
                &deep,
                "",
                ".",
                "sub",
                "sub/",
                "..",
                &"n".repeat(256),
            ] {
                refused(&write(&scratch, writer, path), &format!("{user:?} {writer:?} {path}"));
            }
        }
        let names = |name: &str| -> Vec<_> {
            let folder = fs::read_dir(scratch.path(name)).unwrap();
            let mut names: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names("outside"), ["secret.txt"]);
        assert_eq!(names("work-evil"), ["x"]);
        assert!(!scratch.work().join("a").exists() && !scratch.work().join("newdir").exists());
        assert_eq!(fs::read_to_string(scratch.path("outside/secret.txt")).unwrap(), "SECRET");
        // The control: a write through a link that stays inside, and one that makes directories.
        let ran = write(&scratch, ("clemini/write_file", "file_path"), "inside");
        assert_eq!(ran.code, 0, "{}", ran.stdout);
        assert_eq!(scratch.text("sub/inner.txt"), "EVIL");
        assert!(scratch.work().join("inside").is_symlink());
        let ran = write(&scratch, ("clemini/write_file", "file_path"), "made/for/this.txt");
        assert_eq!(ran.code, 0, "{}", ran.stdout);
    }
}

#[test]
fn the_answer_does_not_tell_what_is_outside() {
    let scratch = trap(crate::scratch::User::Own);
    symlink("../outside/missing.txt", scratch.work().join("gone")).unwrap();
    for reader in READERS {
        let level = |path: &str| {
            let mut reply = read(&scratch, reader, path).json();
            for key in ["execution_time_ms", "metadata"] {
                if let Some(reply) = reply.as_object_mut() {
                    reply.remove(key);
                }
            }
            reply.to_string().replace(path, "PATH")
        };
        assert_eq!(level("../outside/secret.txt"), level("../outside/missing.txt"), "{reader:?}");
        assert_eq!(level("rel"), level("gone"), "{reader:?}");
        assert_eq!(level("/etc/passwd"), level("/etc/missing"), "{reader:?}");
        assert_eq!(level("dir/secret.txt"), level("dir/missing.txt"), "{reader:?}");
    }
}

#[test]
fn a_path_with_a_nul_is_refused_before_anything_is_opened() {
    let scratch = trap(crate::scratch::User::Own);
    for reader in READERS {
        let ran = read(&scratch, reader, "ok.txt\0.png");
        assert_eq!(ran.code, 6, "{reader:?}: {}", ran.stdout);
    }
}

#[test]
fn protected_names_are_not_written_in_any_spelling() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put(".git/config", "[core]\n");
        scratch.put(".git/hooks/", "");
        scratch.put("sub/keep", "");
        symlink(".git", scratch.work().join("innocent")).unwrap();
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            ".GIT/config",
            "\u{ff0e}git/config",
            ".g\u{200d}it/config",
            "sub/.git/config",
            "innocent/config",
            "innocent/hooks/post-checkout",
            ".toolcrib/config.toml",
            ".Toolcrib/config.toml",
            ".toolcrib",
        ] {
            for writer in WRITERS {
                refused(&write(&scratch, writer, path), &format!("{user:?} {writer:?} {path}"));
            }
        }
        for (tool, args) in [
            ("wink/create_directory", json!({"path": ".toolcrib"})),
            ("wink/create_directory", json!({"path": "sub/.git/hooks"})),
            ("nachos/filesystem", json!({"action": "delete", "path": ".git/config"})),
            ("nachos/filesystem", json!({"action": "delete", "path": "innocent/config"})),
            (
                "clemini/edit",
                json!({"file_path": ".git/config", "old_string": "core", "new_string": "x"}),
            ),
        ] {
            refused(&scratch.call(tool, &args.to_string()), &format!("{user:?} {tool} {args}"));
        }
        assert_eq!(scratch.text(".git/config"), "[core]\n");
        assert!(!scratch.work().join(".toolcrib").exists());
        let ran = write(&scratch, ("clemini/write_file", "file_path"), ".gitignore");
        assert_eq!(ran.code, 0, "{}", ran.stdout);
    }
}

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
    assert!(String::from_utf8_lossy(&output.stderr).contains("must be apart"), "{output:?}");
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
fn names_that_mislead_are_shown_escaped_and_can_be_passed_back() {
    for user in users() {
        let scratch = Scratch::of(user);
        let names: [&[u8]; 5] =
            [b"\xff\xfe", b"\x1b[2J\x1b[Hx", "photo\u{202e}gpj.exe".as_bytes(), b"$'q'", b"a\nb"];
        for name in names {
            fs::write(scratch.work().join(OsStr::from_bytes(name)), "fine\n").unwrap();
        }
        let ran =
            scratch.run(["call", "nachos/filesystem", "action=list", "path=.", "--yes", "--json"]);
        assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{}", ran.stdout);
        let listed = ran.json()["result"].as_array().unwrap().clone();
        assert_eq!(listed.len(), names.len());
        for name in listed {
            let ran = read(&scratch, READERS[1], name.as_str().unwrap());
            assert!(ran.stdout.contains("fine"), "{name}: {}", ran.stdout);
        }
        let ran = scratch.run(["call", "wink/list_dir", "{}"]);
        assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{}", ran.stdout);
        assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("  ")).count(), names.len());
    }
}

#[test]
fn names_that_look_like_options_are_names() {
    let scratch = Scratch::new();
    for name in ["-rf", "--pre=sh", "--"] {
        let ran = write(&scratch, WRITERS[1], name);
        assert_eq!(ran.code, 0, "{}", ran.stdout);
        assert!(read(&scratch, READERS[1], name).stdout.contains("EVIL"));
    }
}

#[test]
fn a_link_is_deleted_as_a_link_and_a_root_never() {
    let scratch = trap(crate::scratch::User::Own);
    let delete = |path: &str| {
        scratch.call("nachos/filesystem", &json!({"action": "delete", "path": path}).to_string())
    };
    for path in ["rel", "dir", "abs", "loop"] {
        let ran = delete(path);
        assert_eq!(ran.code, 0, "{path}: {}", ran.stdout);
        assert!(fs::symlink_metadata(scratch.work().join(path)).is_err());
    }
    assert_eq!(fs::read_to_string(scratch.path("outside/secret.txt")).unwrap(), "SECRET");
    for path in [".", "sub", "sub/..", scratch.work().to_str().unwrap(), "sub/", "./"] {
        refused(&delete(path), path);
    }
    assert!(scratch.work().join("sub/inner.txt").exists());
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
