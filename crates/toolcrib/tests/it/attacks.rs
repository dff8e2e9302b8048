//! Paths and names that try to lead astray, through the binary as root and as an ordinary user. The tables of such
//! paths are in `tests/engine/attacks/`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::scratch::{Scratch, users};

#[test]
fn what_is_outside_is_neither_read_nor_written() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("ok.txt", "fine");
        symlink("../outside/secret.txt", scratch.work().join("link")).unwrap();
        for path in ["../outside/secret.txt", "link", "/etc/passwd"] {
            let args = format!(r#"{{"file_path": "{path}", "content": "EVIL"}}"#);
            let ran = scratch.call("clemini/write_file", &args);
            assert_eq!(ran.code, 1, "{user:?} {path}: {}", ran.stdout);
            let ran = scratch.run(["call", "wink/read_file", &format!("path={path}"), "--json"]);
            assert_eq!(ran.code, 1, "{user:?} {path}: {}", ran.stdout);
            assert!(!ran.stdout.contains("SECRET"), "{user:?} {path}: {}", ran.stdout);
        }
        assert_eq!(fs::read_to_string(scratch.path("outside/secret.txt")).unwrap(), "SECRET");
        let ran = scratch.run(["call", "wink/read_file", "path=ok.txt", "--json"]);
        assert!(ran.stdout.contains("fine"), "the control: {}", ran.stdout);
    }
}

#[test]
fn a_root_that_holds_too_much_is_wrong_usage() {
    let scratch = Scratch::new();
    let ran = scratch.run(["-C", "/", "call", "wink/list_dir", "{}", "--json"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert_eq!(ran.json()["error"]["code"], "wrong_usage");
}

#[test]
fn names_that_mislead_are_shown_escaped() {
    let scratch = Scratch::new();
    let names: [&[u8]; 5] =
        [b"\xff\xfe", b"\x1b[2J\x1b[Hx", "photo\u{202e}gpj.exe".as_bytes(), b"$'q'", b"a\nb"];
    for name in names {
        fs::write(scratch.work().join(OsStr::from_bytes(name)), "fine\n").unwrap();
    }
    let ran = scratch.run(["call", "wink/list_dir", "{}"]);
    assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("  ")).count(), names.len());
}
