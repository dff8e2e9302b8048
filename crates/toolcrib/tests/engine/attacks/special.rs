//! Special files, giants, and roots that are not what they were.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib::CliErrorKind;

use super::{READERS, WRITERS, delete, read, refused, write};
use crate::opened::{Scratch, for_each_user};

#[test]
fn special_files_neither_hang_nor_open() {
    for_each_user(|scratch| {
        let work = scratch.work();
        scratch.put_pipe("pipe");
        let _socket = UnixListener::bind(work.join("socket")).unwrap();
        scratch.set_mode("socket", 0o666);
        let crib = scratch.open();
        for name in ["pipe", "socket"] {
            let start = Instant::now();
            for reader in READERS {
                refused(&read(&crib, reader, name), &format!("{reader:?} {name}"));
            }
            for writer in WRITERS {
                refused(&write(&crib, writer, name), &format!("{writer:?} {name}"));
            }
            refused(&delete(&crib, name), name);
            assert!(start.elapsed() < Duration::from_secs(20), "{name} took {:?}", start.elapsed());
            assert!(fs::symlink_metadata(work.join(name)).is_ok(), "{name} is gone");
        }
    });
}

#[test]
fn kernel_file_systems_are_refused_even_inside_a_root() {
    let scratch = Scratch::new();
    let crib = scratch.open_at(Path::new("/"), &["files.broad_root=allow"]);
    let read = |path: &Path| crib.call("wink/read_file", json!({"path": path}));
    for path in
        ["/proc/self/environ", "proc/kmsg", "/sys/kernel/notes", "/proc/self/fd/0", "/dev/null"]
    {
        refused(&read(Path::new(path)), path);
    }
    let control = read(&scratch.path("outside/secret.txt"));
    assert!(control.text().contains("SECRET"), "the control: {}", control.text());
    // The state folder lies below this root, and is still out of reach.
    let state = scratch.state().join("changes.jsonl");
    scratch.open().write("a", "b").done();
    assert!(state.exists());
    refused(&read(&state), "state");
    refused(&crib.call("wink/list_dir", json!({"path": scratch.state()})), "state listing");
    let new = scratch.state().join("new");
    refused(&crib.write(new.to_str().unwrap(), "x"), "state write");
    refused(&delete(&crib, state.to_str().unwrap()), "state delete");
    assert!(state.exists());
}

#[test]
fn roots_that_hold_too_much_are_refused() {
    let mut scratch = Scratch::new();
    let home = scratch.path("home");
    for root in ["/", "/etc", "/proc", "/sys", "/dev", home.to_str().unwrap()] {
        let refused = scratch.try_open_at(Path::new(root), &[]).err();
        assert_eq!(refused.map(|err| err.kind), Some(CliErrorKind::Workspace), "{root}");
    }
    scratch.open();
    let inside = scratch.work().join("state");
    scratch.environment.insert("TOOLCRIB_STATE".to_owned(), inside.into());
    let refused = scratch.try_open(&[]).err().unwrap();
    assert_eq!(refused.kind, CliErrorKind::Workspace, "a root above the state folder");
    assert!(refused.message.contains("overlaps Toolcrib's own folder"), "{refused}");
}

#[test]
fn a_file_with_several_names_is_opened_only_if_the_operator_says_so() {
    for_each_user(|scratch| {
        fs::hard_link(scratch.path("outside/secret.txt"), scratch.work().join("hard")).unwrap();
        scratch.put("soft", "fine");
        let crib = scratch.open();
        for reader in READERS {
            refused(&read(&crib, reader, "hard"), &format!("{reader:?}"));
            read(&crib, reader, "soft").done();
        }
        for writer in WRITERS {
            refused(&write(&crib, writer, "hard"), &format!("{writer:?}"));
        }
        let crib = scratch.open_with(&["files.hardlinks=allow"]);
        let got = read(&crib, READERS[1], "hard");
        assert!(got.text().contains("SECRET"), "{}", got.text());
        crib.write("hard", "new").done();
        assert_eq!(fs::read_to_string(scratch.path("outside/secret.txt")).unwrap(), "SECRET");
    });
}

#[test]
fn root_may_do_no_more_than_a_files_owner() {
    for_each_user(|scratch| {
        scratch.put("closed", "SECRET");
        scratch.put("fixed", "old");
        scratch.set_mode("closed", 0o000);
        scratch.set_mode("fixed", 0o444);
        let crib = scratch.open();
        for reader in READERS {
            refused(&read(&crib, reader, "closed"), &format!("{reader:?}"));
            read(&crib, reader, "fixed").done();
        }
        for writer in WRITERS {
            refused(&write(&crib, writer, "fixed"), &format!("{writer:?}"));
        }
        assert_eq!(scratch.text("fixed"), "old");
    });
}

#[test]
fn a_workspace_that_is_replaced_is_noticed() {
    let scratch = Scratch::new();
    scratch.put("f", "fine");
    let crib = scratch.open();
    let read = |path: &str| crib.call("clemini/read_file", json!({"file_path": path}));
    assert!(read("f").json()["contents"].is_string());
    fs::rename(scratch.work(), scratch.path("moved")).unwrap();
    assert!(read("f").json()["error"].as_str().unwrap().contains("is gone"));
    symlink("/", scratch.work()).unwrap();
    let answer = read("etc/passwd");
    refused(&answer, "the replaced workspace");
    assert!(answer.text().contains("replaced"), "{}", answer.text());
    fs::remove_file(scratch.work()).unwrap();
    fs::rename(scratch.path("moved"), scratch.work()).unwrap();
    assert!(read("f").json()["contents"].is_string());
}

#[test]
fn giants_are_read_in_part_and_listed_in_part() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let sparse = fs::File::create(scratch.work().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for reader in READERS {
        let start = Instant::now();
        let got = read(&crib, reader, "sparse");
        assert!(got.text().len() < 64 << 20, "{reader:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{reader:?}");
    }
    for number in 0..20_000 {
        fs::File::create(scratch.work().join(format!("f{number}"))).unwrap();
    }
    let got = crib.call("wink/list_dir", json!({}));
    let got = got.json();
    assert_eq!(got["metadata"]["total_entries"], 20_001);
    assert_eq!(got["metadata"]["pages"], 21);
    assert!(got["output"].as_str().unwrap().contains("Warning: Found 20001 entries"));
    let got = crib.call("forgekeeper/read_dir", json!({}));
    let got = got.json();
    assert_eq!(
        (&got["result"]["total"], &got["result"]["truncated"]),
        (&json!(20_001), &json!(true))
    );
}
