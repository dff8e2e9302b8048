//! Taking back: exactly what a call did, and nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::scratch::{Scratch, users};

/// Makes a call and returns its id.
#[track_caller]
fn call(scratch: &Scratch, tool: &str, args: &Value) -> String {
    let ran = scratch.call(tool, &args.to_string());
    assert_eq!(ran.code, 0, "{tool}: {}", ran.stdout);
    scratch.record().last().unwrap()["trace_id"].as_str().unwrap().to_owned()
}

#[test]
fn every_kind_of_write_can_be_taken_back_and_brought_back() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("edited", "before\n");
        scratch.put("deleted", b"\xff\0binary");
        fs::set_permissions(scratch.work().join("deleted"), fs::Permissions::from_mode(0o640))
            .unwrap();
        symlink("edited", scratch.work().join("link")).unwrap();
        scratch.put("config", "old");
        let calls = [
            (
                "clemini/edit",
                json!({"file_path": "edited", "old_string": "before", "new_string": "after"}),
            ),
            ("nachos/filesystem", json!({"action": "delete", "path": "deleted"})),
            ("nachos/filesystem", json!({"action": "delete", "path": "link"})),
            ("wink/create_file", json!({"path": "new/deep/file", "content": "x"})),
            (
                "clemini/write_file",
                json!({"file_path": "config", "content": "new", "backup": true}),
            ),
            ("wink/create_directory", json!({"path": "made/here"})),
        ];
        let ids: Vec<String> =
            calls.iter().map(|(tool, args)| call(&scratch, tool, args)).collect();
        let state = || {
            let text = |name: &str| fs::read(scratch.work().join(name)).ok();
            let target = fs::read_link(scratch.work().join("link")).ok();
            let there = |name: &str| scratch.work().join(name).exists();
            (
                text("edited"),
                text("deleted"),
                target,
                text("new/deep/file"),
                text("config"),
                text("config.bak"),
                there("new"),
                there("made"),
            )
        };
        let after = state();
        let mut undone = Vec::new();
        for id in &ids {
            let ran = scratch.run(["undo", id, "--json"]);
            assert_eq!(ran.code, 0, "{user:?} {}{}", ran.stdout, ran.stderr);
            undone.push(ran.json()["by"].as_str().unwrap().to_owned());
        }
        let (edited, deleted, link, new, config, backup, has_new, has_made) = state();
        assert_eq!(edited.unwrap(), b"before\n");
        assert_eq!(deleted.unwrap(), b"\xff\0binary");
        let mode = fs::metadata(scratch.work().join("deleted")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(link.unwrap().to_str(), Some("edited"));
        assert_eq!((new, config.unwrap(), backup), (None, b"old".to_vec(), None));
        assert!(!has_new && !has_made, "directories were left");
        for id in undone {
            let ran = scratch.run(["undo", &id, "--json"]);
            assert_eq!(ran.code, 0, "{user:?} {}{}", ran.stdout, ran.stderr);
        }
        let again = state();
        assert_eq!(
            (&again.0, &again.1, &again.2, &again.4),
            (&after.0, &after.1, &after.2, &after.4)
        );
        assert_eq!((&again.3, &again.5), (&after.3, &after.5));
    }
}

#[test]
fn a_file_that_changed_since_is_left_alone_unless_told() {
    let scratch = Scratch::new();
    scratch.put("a", "before");
    let id = call(&scratch, "clemini/write_file", &json!({"file_path": "a", "content": "ours"}));
    scratch.put("a", "a person's work");
    let ran = scratch.run(["undo", &id]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("was changed after") && ran.stderr.contains("--force"),
        "{}",
        ran.stderr
    );
    assert_eq!(scratch.text("a"), "a person's work");
    let ran = scratch.run(["undo", &id, "--force", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(scratch.text("a"), "before");
    let by = ran.json()["by"].as_str().unwrap().to_owned();
    assert_eq!(scratch.run(["undo", &by]).code, 0);
    assert_eq!(scratch.text("a"), "a person's work", "even forced, nothing is lost");
}

#[test]
fn a_call_is_taken_back_once() {
    let scratch = Scratch::new();
    let id = call(&scratch, "wink/create_file", &json!({"path": "a", "content": "1"}));
    assert_eq!(scratch.run(["undo", &id]).code, 0);
    scratch.put("a", "a person's");
    let ran = scratch.run(["undo", &id]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("already"), "{}", ran.stderr);
    assert_eq!(scratch.text("a"), "a person's");
    let ran = scratch.run(["undo", "01UNKNOWN"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("not known"), "{}", ran.stderr);
}

#[test]
fn a_directory_that_got_other_content_stays() {
    let scratch = Scratch::new();
    let id = call(&scratch, "wink/create_file", &json!({"path": "dir/ours", "content": "1"}));
    scratch.put("dir/theirs", "precious");
    assert_eq!(scratch.run(["undo", &id]).code, 0);
    assert!(!scratch.work().join("dir/ours").exists());
    assert_eq!(scratch.text("dir/theirs"), "precious");
}

#[test]
fn undo_does_not_follow_a_link_that_was_put_in_the_way() {
    let scratch = Scratch::new();
    scratch.put("dir/a", "before");
    let id =
        call(&scratch, "clemini/write_file", &json!({"file_path": "dir/a", "content": "ours"}));
    fs::rename(scratch.work().join("dir"), scratch.work().join("moved")).unwrap();
    symlink("../outside", scratch.work().join("dir")).unwrap();
    scratch.put_at("outside/a", "ours");
    for words in [vec!["undo", &id], vec!["undo", &id, "--force"]] {
        let ran = scratch.run(&words);
        assert_ne!(ran.code, 0, "{}", ran.stdout);
    }
    assert_eq!(fs::read_to_string(scratch.path("outside/a")).unwrap(), "ours");
}

#[test]
fn the_list_shows_what_each_call_changed() {
    let scratch = Scratch::new();
    let ran = scratch.run(["undo"]);
    assert!(ran.code == 0 && ran.stderr.contains("No call has changed a file"), "{}", ran.stderr);
    let id = call(&scratch, "wink/create_file", &json!({"path": "a", "content": "1"}));
    call(&scratch, "wink/read_file", &json!({"path": "a"}));
    let ran = scratch.run(["undo"]);
    assert!(ran.stdout.contains(&id) && ran.stdout.contains("created"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("read_file"), "{}", ran.stdout);
    let listed = scratch.run(["undo", "--json"]).json();
    assert_eq!((&listed["total"], &listed["calls"][0]["call"]), (&json!(1), &json!(id)));
}

#[test]
fn undo_works_from_another_directory() {
    let scratch = Scratch::new();
    let id = call(&scratch, "wink/create_file", &json!({"path": "a", "content": "1"}));
    let elsewhere = scratch.path("outside");
    let ran = scratch.run(["-C", elsewhere.to_str().unwrap(), "undo", &id]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!scratch.work().join("a").exists());
}
