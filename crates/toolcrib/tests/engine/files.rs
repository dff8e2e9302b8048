//! What a write keeps, and what it leaves.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};

use serde_json::json;

use crate::opened::{Opened, Reply, Scratch, for_each_user};
use crate::privilege::{is_root, skip};

fn edit(crib: &Opened, path: &str, old: &str, new: &str) -> Reply {
    let args = json!({"file_path": path, "old_string": old, "new_string": new});
    crib.approve("clemini/edit", args)
}

#[test]
fn an_edit_keeps_encoding_mark_line_ends_and_mode() {
    let utf16 = |text: &str, mark: u16, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(mark).chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    for_each_user(|scratch| {
        let crib = scratch.open();
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
            scratch.set_mode(name, 0o750);
            let path = scratch.work().join(name);
            let owner = fs::metadata(&path).unwrap().uid();
            edit(&crib, name, "old", "new\nline").done();
            assert_eq!(fs::read(&path).unwrap(), after, "{name}");
            let meta = fs::metadata(&path).unwrap();
            assert_eq!((meta.mode() & 0o7777, meta.uid()), (0o750, owner), "{name}");
        }
    });
}

#[test]
fn what_is_not_text_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for (name, bytes) in
        [("latin", &b"caf\xe9 old"[..]), ("binary", b"old\0"), ("half", b"\xff\xfeo")]
    {
        scratch.put(name, bytes);
        let refused = edit(&crib, name, "old", "new");
        assert_eq!(refused.json()["error_code"], "BINARY_FILE", "{name}");
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
    scratch.open().write("new/file.txt", "x").done();
    for name in ["new", "new/file.txt"] {
        let meta = fs::metadata(scratch.work().join(name)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (1234, 1235), "{name}");
    }
}

#[test]
fn a_new_file_has_the_usual_mode() {
    let scratch = Scratch::new();
    scratch.open().write("new.txt", "x").done();
    fs::write(scratch.work().join("control"), "").unwrap();
    let mode = |name: &str| fs::metadata(scratch.work().join(name)).unwrap().mode();
    assert_eq!(mode("new.txt"), mode("control"));
}

#[test]
fn a_write_leaves_nothing_beside_the_file() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for content in ["one", "two", "three"] {
        crib.write("a.txt", content).done();
    }
    let names: Vec<_> =
        fs::read_dir(scratch.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
}
