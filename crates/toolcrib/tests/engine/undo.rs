//! Undo: exactly what a call did, and nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use toolcrib_core::CallId;
use toolcrib_runtime::undo::UndoScope::{Everything, Unchanged};
use toolcrib_runtime::undo::{PreviewedUndo, UndoAction};

use crate::opened::{Scratch, for_each_user};

#[test]
fn every_kind_of_write_can_be_taken_back_and_brought_back() {
    for_each_user(|scratch| {
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
        let crib = scratch.open();
        let ids = calls.map(|(tool, args)| crib.approve(tool, args).done());
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
        let undone = ids.map(|id| crib.undo(&id, Unchanged).unwrap().0);
        let (edited, deleted, link, new, config, backup, has_new, has_made) = state();
        assert_eq!(edited.unwrap(), b"before\n");
        assert_eq!(deleted.unwrap(), b"\xff\0binary");
        let mode = fs::metadata(scratch.work().join("deleted")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(link.unwrap().to_str(), Some("edited"));
        assert_eq!((new, config.unwrap(), backup), (None, b"old".to_vec(), None));
        assert!(!has_new && !has_made, "directories were left");
        for id in undone {
            crib.undo(&id, Unchanged).unwrap();
        }
        assert_eq!(state(), after);
    });
}

#[test]
fn a_file_that_changed_since_is_left_alone_unless_told() {
    let scratch = Scratch::new();
    scratch.put("a", "before");
    let crib = scratch.open();
    let write = json!({"file_path": "a", "content": "ours"});
    let id = crib.approve("clemini/write_file", write).done();
    scratch.put("a", "a person's work");
    let refused = crib.undo(&id, Unchanged).unwrap_err();
    assert!(refused.message.contains("was changed after"), "{refused:?}");
    assert!(refused.hint.as_ref().is_some_and(|hint| hint.contains("--force")), "{refused:?}");
    assert_eq!(scratch.text("a"), "a person's work");
    let (by, _) = crib.undo(&id, Everything).unwrap();
    assert_eq!(scratch.text("a"), "before");
    crib.undo(&by, Unchanged).unwrap();
    assert_eq!(scratch.text("a"), "a person's work", "even forced, nothing is lost");
}

#[test]
fn a_call_is_taken_back_once() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let id = crib.approve("wink/create_file", json!({"path": "a", "content": "1"})).done();
    crib.undo(&id, Unchanged).unwrap();
    scratch.put("a", "a person's");
    let refused = crib.undo(&id, Unchanged).unwrap_err();
    assert!(refused.message.contains("already"), "{refused:?}");
    assert_eq!(scratch.text("a"), "a person's");
    let refused = crib.undo("01UNKNOWN", Unchanged).unwrap_err();
    assert!(refused.message.contains("not known"), "{refused:?}");
}

#[test]
fn a_directory_that_got_other_content_stays() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let id = crib.approve("wink/create_file", json!({"path": "dir/ours", "content": "1"})).done();
    scratch.put("dir/theirs", "precious");
    crib.undo(&id, Unchanged).unwrap();
    assert!(!scratch.work().join("dir/ours").exists());
    assert_eq!(scratch.text("dir/theirs"), "precious");
}

#[test]
fn undo_does_not_follow_a_link_that_was_put_in_the_way() {
    let scratch = Scratch::new();
    scratch.put("dir/a", "before");
    let crib = scratch.open();
    let write = json!({"file_path": "dir/a", "content": "ours"});
    let id = crib.approve("clemini/write_file", write).done();
    fs::rename(scratch.work().join("dir"), scratch.work().join("moved")).unwrap();
    symlink("../outside", scratch.work().join("dir")).unwrap();
    scratch.put_at("outside/a", "ours");
    for scope in [Unchanged, Everything] {
        assert!(crib.undo(&id, scope).is_err());
    }
    assert_eq!(fs::read_to_string(scratch.path("outside/a")).unwrap(), "ours");
}

#[test]
fn undo_works_from_another_directory() {
    let scratch = Scratch::new();
    let write = json!({"path": "a", "content": "1"});
    let id = scratch.open().approve("wink/create_file", write).done();
    let elsewhere = scratch.open_at(&scratch.path("outside"), &[]);
    elsewhere.undo(&id, Unchanged).unwrap();
    assert!(!scratch.work().join("a").exists());
}

#[test]
fn undo_touches_nothing_that_only_took_a_files_place() {
    let scratch = Scratch::new();
    scratch.put("d/f", "old");
    scratch.put("e/f", "new");
    scratch.put(".git/hooks/f", "new");
    let crib = scratch.open();
    let id = crib.write("d/f", "new").done();
    fs::rename(scratch.work().join("d"), scratch.work().join("d.moved")).unwrap();
    for target in ["e", ".git/hooks"] {
        symlink(target, scratch.work().join("d")).unwrap();
        for scope in [Unchanged, Everything] {
            assert!(crib.undo(&id, scope).is_err(), "{target}");
        }
        assert_eq!(scratch.text(&format!("{target}/f")), "new");
        fs::remove_file(scratch.work().join("d")).unwrap();
    }
    fs::rename(scratch.work().join("d.moved"), scratch.work().join("d")).unwrap();
    assert!(crib.undo(&id, Unchanged).is_ok(), "the control");
    assert_eq!(scratch.text("d/f"), "old");
}

#[test]
fn undo_is_for_the_directory_that_was_changed_and_no_other_of_its_name() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    let id = scratch.open().write("f", "new").done();
    fs::rename(scratch.work(), scratch.path("moved")).unwrap();
    fs::create_dir(scratch.work()).unwrap();
    scratch.put("f", "new");
    assert!(scratch.open().undo(&id, Unchanged).is_err());
    assert_eq!(scratch.text("f"), "new");
}

#[test]
fn a_change_that_failed_cannot_be_taken_back() {
    for_each_user(|scratch| {
        scratch.put("closed/", "");
        scratch.set_mode("closed", 0o555);
        let crib = scratch.open();
        let failed = crib.approve("wink/create_directory", json!({"path": "closed/x"}));
        assert_eq!(failed.kind(), "permission_denied", "{}", failed.text());
        scratch.set_mode("closed", 0o755);
        scratch.put("closed/x/", "");
        assert!(crib.undo(failed.id(), Unchanged).is_err());
        assert!(scratch.work().join("closed/x").is_dir());
    });
}

#[test]
fn a_directory_made_anew_since_is_kept() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let id = crib.approve("wink/create_directory", json!({"path": "d"})).done();
    fs::remove_dir(scratch.work().join("d")).unwrap();
    fs::create_dir(scratch.work().join("d")).unwrap();
    let (_, restored) = crib.undo(&id, Unchanged).unwrap();
    assert_eq!(restored[0].action.as_str(), "kept");
    assert!(scratch.work().join("d").is_dir());
}

#[test]
fn a_preview_says_what_undo_then_does_and_changes_nothing() {
    let scratch = Scratch::new();
    scratch.put("a", "one two\n");
    scratch.put("kept", "before\n");
    let crib = scratch.open();
    let edit = |path: &str, old: &str, new: &str| {
        let args = json!({"file_path": path, "old_string": old, "new_string": new});
        CallId(crib.approve("clemini/edit", args).done())
    };
    let first = edit("a", "one", "1");
    let second = edit("a", "two", "2");
    let kept = edit("kept", "before", "after");
    let made = json!({"path": "new/file", "content": "x"});
    let made = CallId(crib.approve("wink/create_file", made).done());
    scratch.put("kept", "by hand\n");
    let actions = |calls: &[&CallId]| -> Vec<Option<Vec<&'static str>>> {
        let calls: Vec<CallId> = calls.iter().map(|it| (*it).clone()).collect();
        let previews = crib.crib.preview_undo(&calls).unwrap();
        let words = |preview: PreviewedUndo| {
            let paths = preview.paths.into_iter();
            paths.map(|path| path.action.map(UndoAction::as_str).ok()).collect()
        };
        previews.into_iter().map(words).collect()
    };
    // Alone, the first edit is below the second one. After the second, it fits.
    assert_eq!(actions(&[&first]), [None]);
    let all = [&made, &kept, &second, &first];
    let expected =
        [Some(vec!["removed", "removed"]), None, Some(vec!["restored"]), Some(vec!["restored"])];
    assert_eq!(actions(&all), expected);
    assert_eq!(fs::read(scratch.work().join("a")).unwrap(), b"1 2\n", "nothing is undone yet");
    for (call, expected) in all.into_iter().zip(expected) {
        let done = crib.undo(&call.0, Unchanged).ok();
        let done = done.map(|(_, files)| files.iter().map(|it| it.action.as_str()).collect());
        assert_eq!(done, expected, "{call:?}");
    }
    assert_eq!(fs::read(scratch.work().join("a")).unwrap(), b"one two\n");
    // What was undone is not undone again, and what is not known is said.
    let calls = [made, CallId("01NONE".to_owned())];
    let reasons: Vec<String> = crib
        .crib
        .preview_undo(&calls)
        .unwrap()
        .iter()
        .map(|it| it.reason().unwrap().message.clone())
        .collect();
    assert!(reasons[0].contains("was undone already"), "{reasons:?}");
    assert!(reasons[1].contains("is not known"), "{reasons:?}");
}
