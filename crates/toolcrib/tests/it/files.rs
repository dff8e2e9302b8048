//! What a write keeps, and what it leaves when it fails.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Command;

use serde_json::json;

use crate::privilege::{is_root, may_mount, skip};
use crate::scratch::{Scratch, users};

fn edit(scratch: &Scratch, path: &str, old: &str, new: &str) -> crate::scratch::Ran {
    let args = json!({"file_path": path, "old_string": old, "new_string": new});
    scratch.call("clemini/edit", &args.to_string())
}

#[test]
fn an_edit_keeps_encoding_mark_line_ends_and_mode() {
    let utf16 = |text: &str, mark: u16, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(mark).chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    for user in users() {
        let scratch = Scratch::of(user);
        let cases: Vec<(&str, Vec<u8>, Vec<u8>)> = vec![
            ("plain", b"a\nold\n".to_vec(), b"a\nnew\nline\n".to_vec()),
            ("crlf", b"a\r\nold\r\n".to_vec(), b"a\r\nnew\r\nline\r\n".to_vec()),
            ("mark", b"\xef\xbb\xbfold\n".to_vec(), b"\xef\xbb\xbfnew\nline\n".to_vec()),
            (
                "wide",
                utf16("old\r\n", 0xfeff, u16::to_le_bytes),
                utf16("new\r\nline\r\n", 0xfeff, u16::to_le_bytes),
            ),
            (
                "big",
                utf16("old", 0xfeff, u16::to_be_bytes),
                utf16("new\nline", 0xfeff, u16::to_be_bytes),
            ),
            ("no-end", b"old".to_vec(), b"new\nline".to_vec()),
            ("mixed", b"a\nb\r\nold\n".to_vec(), b"a\nb\r\nnew\nline\n".to_vec()),
        ];
        for (name, before, after) in cases {
            scratch.put(name, &before);
            let path = scratch.work().join(name);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
            let owner = fs::metadata(&path).unwrap().uid();
            let ran = edit(&scratch, name, "old", "new\nline");
            assert_eq!(ran.code, 0, "{name}: {}", ran.stdout);
            assert_eq!(fs::read(&path).unwrap(), after, "{user:?} {name}");
            let meta = fs::metadata(&path).unwrap();
            assert_eq!((meta.mode() & 0o7777, meta.uid()), (0o750, owner), "{user:?} {name}");
        }
    }
}

#[test]
fn what_is_not_text_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    for (name, bytes) in
        [("latin", &b"caf\xe9 old"[..]), ("binary", b"old\0"), ("half", b"\xff\xfeo")]
    {
        scratch.put(name, bytes);
        let ran = edit(&scratch, name, "old", "new");
        assert_eq!(ran.json()["error_code"], "BINARY_FILE", "{name}");
        assert_eq!(fs::read(scratch.work().join(name)).unwrap(), bytes);
    }
}

#[test]
fn files_that_root_makes_belong_to_the_owner_of_the_place() {
    if !is_root() {
        let test = "files::files_that_root_makes_belong_to_the_owner_of_the_place";
        return skip(test, "only root can give a folder to another user");
    }
    let scratch = Scratch::new();
    chown(scratch.work(), Some(1234), Some(1235)).unwrap();
    let ran =
        scratch.call("clemini/write_file", r#"{"file_path": "new/file.txt", "content": "x"}"#);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    for name in ["new", "new/file.txt"] {
        let meta = fs::metadata(scratch.work().join(name)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (1234, 1235), "{name}");
    }
}

#[test]
fn a_new_file_has_the_usual_mode() {
    let scratch = Scratch::new();
    let ran = scratch.call("clemini/write_file", r#"{"file_path": "new.txt", "content": "x"}"#);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    fs::write(scratch.work().join("control"), "").unwrap();
    let mode = |name: &str| fs::metadata(scratch.work().join(name)).unwrap().mode();
    assert_eq!(mode("new.txt"), mode("control"));
}

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

#[test]
fn a_write_leaves_nothing_beside_the_file() {
    let scratch = Scratch::new();
    for content in ["one", "two", "three"] {
        let args = json!({"file_path": "a.txt", "content": content}).to_string();
        assert_eq!(scratch.call("clemini/write_file", &args).code, 0);
    }
    let names: Vec<_> =
        fs::read_dir(scratch.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
}
