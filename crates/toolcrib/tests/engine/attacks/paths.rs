//! Paths and links that lead elsewhere than they say.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{READERS, WRITERS, delete, read, refused, write};
use crate::opened::{Scratch, for_each_user};

/// Puts something to find into the workspace, and links that lead out of it.
fn set_trap(scratch: &Scratch) {
    scratch.put("ok.txt", "fine\n");
    scratch.put("sub/inner.txt", "fine\n");
    scratch.put_at("project-evil/x", "SECRET");
    let work = scratch.work();
    for (target, link) in [
        ("../outside/secret.txt", "rel"),
        ("/etc/passwd", "abs"),
        ("/proc/self/root/etc/passwd", "magic"),
        ("/proc/self/fd/0", "fd0"),
        ("../project/ok.txt", "updown"),
        ("../outside", "dir"),
        ("loop", "loop"),
        ("../outside/fresh.txt", "dangling"),
        ("sub/inner.txt", "inside"),
    ] {
        symlink(target, work.join(link)).unwrap();
    }
    symlink(work.join("ok.txt"), work.join("absin")).unwrap();
}

#[test]
fn paths_that_lead_outside_are_refused_by_every_tool() {
    for_each_user(|scratch| {
        set_trap(scratch);
        let crib = scratch.open();
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
            let got = read(&crib, reader, "ok.txt");
            assert!(
                got.kind() == "ok" && got.text().contains("fine"),
                "{reader:?}: {}",
                got.text()
            );
            let got = read(&crib, reader, "inside");
            assert!(
                got.kind() == "ok" && got.text().contains("fine"),
                "{reader:?}: {}",
                got.text()
            );
            let got = read(&crib, reader, &format!("{root}/sub/../ok.txt"));
            assert!(
                got.kind() == "ok" && got.text().contains("fine"),
                "{reader:?}: {}",
                got.text()
            );
            for path in paths.iter().map(String::as_str).chain(links) {
                refused(&read(&crib, reader, path), &format!("{reader:?} {path}"));
            }
        }
    });
}

#[test]
fn nothing_is_written_outside_or_half_way_there() {
    for_each_user(|scratch| {
        set_trap(scratch);
        let crib = scratch.open();
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
                refused(&write(&crib, writer, path), &format!("{writer:?} {path}"));
            }
        }
        let names = |name: &str| -> Vec<_> {
            let folder = fs::read_dir(scratch.path(name)).unwrap();
            let mut names: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names("outside"), ["secret.txt"]);
        assert_eq!(names("project-evil"), ["x"]);
        assert!(!scratch.work().join("a").exists() && !scratch.work().join("newdir").exists());
        assert_eq!(fs::read_to_string(scratch.path("outside/secret.txt")).unwrap(), "SECRET");
        // The control: a write through a link that stays inside, and one that makes directories.
        let got = write(&crib, ("clemini/write_file", "file_path"), "inside");
        got.done();
        assert_eq!(scratch.text("sub/inner.txt"), "EVIL");
        assert!(scratch.work().join("inside").is_symlink());
        let got = write(&crib, ("clemini/write_file", "file_path"), "made/for/this.txt");
        got.done();
    });
}

#[test]
fn the_answer_does_not_tell_what_is_outside() {
    let scratch = Scratch::new();
    set_trap(&scratch);
    let crib = scratch.open();
    symlink("../outside/missing.txt", scratch.work().join("gone")).unwrap();
    for reader in READERS {
        let level = |path: &str| {
            let mut reply = read(&crib, reader, path).json().clone();
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
    let scratch = Scratch::new();
    set_trap(&scratch);
    let crib = scratch.open();
    for reader in READERS {
        let got = read(&crib, reader, "ok.txt\0.png");
        assert_eq!(got.kind(), "bad_args", "{reader:?}: {}", got.text());
    }
}

#[test]
fn protected_names_are_not_written_in_any_spelling() {
    for_each_user(|scratch| {
        let crib = scratch.open();
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
                refused(&write(&crib, writer, path), &format!("{writer:?} {path}"));
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
            let what = format!("{tool} {args}");
            refused(&crib.approve(tool, args), &what);
        }
        assert_eq!(scratch.text(".git/config"), "[core]\n");
        assert!(!scratch.work().join(".toolcrib").exists());
        let got = write(&crib, ("clemini/write_file", "file_path"), ".gitignore");
        got.done();
    });
}

#[test]
fn names_that_mislead_are_shown_escaped_and_can_be_passed_back() {
    for_each_user(|scratch| {
        let crib = scratch.open();
        let names: [&[u8]; 5] =
            [b"\xff\xfe", b"\x1b[2J\x1b[Hx", "photo\u{202e}gpj.exe".as_bytes(), b"$'q'", b"a\nb"];
        for name in names {
            fs::write(scratch.work().join(OsStr::from_bytes(name)), "fine\n").unwrap();
        }
        let got = crib.approve("nachos/filesystem", json!({"action": "list", "path": "."}));
        assert!(!got.text().contains(['\u{1b}', '\u{202e}']), "{}", got.text());
        let listed = got.json()["result"].as_array().unwrap().clone();
        assert_eq!(listed.len(), names.len());
        for name in listed {
            let got = read(&crib, READERS[1], name.as_str().unwrap());
            assert!(got.text().contains("fine"), "{name}: {}", got.text());
        }
    });
}

#[test]
fn names_that_look_like_options_are_names() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for name in ["-rf", "--pre=sh", "--"] {
        let got = write(&crib, WRITERS[1], name);
        got.done();
        assert!(read(&crib, READERS[1], name).text().contains("EVIL"));
    }
}

#[test]
fn a_link_is_deleted_as_a_link_and_a_root_never() {
    let scratch = Scratch::new();
    set_trap(&scratch);
    let crib = scratch.open();
    for path in ["rel", "dir", "abs", "loop"] {
        assert_eq!(delete(&crib, path).kind(), "ok", "{path}");
        assert!(fs::symlink_metadata(scratch.work().join(path)).is_err());
    }
    assert_eq!(fs::read_to_string(scratch.path("outside/secret.txt")).unwrap(), "SECRET");
    for path in [".", "sub", "sub/..", scratch.work().to_str().unwrap(), "sub/", "./"] {
        refused(&delete(&crib, path), path);
    }
    assert!(scratch.work().join("sub/inner.txt").exists());
}
