//! Every call is on the record, refused calls too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib::CliErrorKind;
use toolcrib_core::ErrorKind;
use toolcrib_core::change::UndoLog;
use toolcrib_ledger::{CallFilter, StateFolder, Stats, find_calls, verify};

use crate::opened::{Scratch, as_nobody};
use crate::place::{User, users};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn every_call_is_asked_decided_and_ended_on_the_record() {
    let scratch = Scratch::new();
    scratch.put("a", "fine\n");
    let id = scratch.open().approve("wink/read_file", json!({"path": "a"})).done();
    let record = scratch.record();
    let events: Vec<&str> = record.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["asked", "decided", "started", "ended"]);
    assert!(record.iter().all(|line| line["trace_id"] == id && line["act"] == "tool_call"));
    assert_eq!(record[0]["args_preview"], r#"{"path":"a"}"#);
    assert_eq!(record[1]["decision"], "allow");
    assert_eq!(record[1]["rule"], "tier 1 in mode standard");
    assert_eq!(record[3]["status"], "ok");
    assert_eq!(mode(&scratch.state()), 0o700);
    for file in fs::read_dir(scratch.state().join("context_log")).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn refused_and_failed_calls_are_on_the_record_too() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let last = || scratch.record().pop().unwrap();
    for (tool, args, error) in [
        ("nope", json!({}), "no_tool"),
        ("wink/read_file", json!({}), "bad_args"),
        ("wink/read_file", json!({"path": "missing"}), "not_found"),
        ("wink/create_file", json!({"path": "a", "content": ""}), "approval_required"),
    ] {
        assert_eq!(crib.call(tool, args).kind(), error);
        let last = last();
        assert_eq!((&last["event"], &last["error"]), (&json!("ended"), &json!(error)), "{last}");
    }
    let strict = scratch.open_with(&["mode=strict"]);
    let replace = || {
        let args = json!({"path": "a", "old_string": "b", "new_string": "c"});
        strict.call("wink/replace_string_in_file", args).kind()
    };
    // What would fail anyway is not brought before policy.
    assert_eq!(replace(), "not_found");
    scratch.put("a", "b");
    assert_eq!(replace(), "refused");
    assert_eq!(last()["error"], "refused");
}

#[test]
fn previews_can_be_left_out() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&["record.previews=off"]);
    crib.call("forgekeeper/echo", json!({"text": "private"})).done();
    let record = scratch.record();
    assert_eq!(record.len(), 4);
    assert!(!json!(record).to_string().contains("private"));
}

#[test]
fn what_cannot_be_recorded_is_not_written() {
    let scratch = Scratch::of(*users().last().unwrap());
    let check = || {
        scratch.put("a", "fine\n");
        scratch.open().write("b", "1").done();
        let log = scratch.state().join("context_log");
        set_mode(&log, 0o500);
        set_mode(&scratch.state(), 0o500);
        for file in fs::read_dir(&log).unwrap() {
            set_mode(&file.unwrap().path(), 0o400);
        }
        let crib = scratch.open();
        let refused = crib.write("b", "2");
        assert_eq!(refused.kind(), "unrecorded");
        assert!(refused.text().contains("the record cannot be written"), "{}", refused.text());
        assert_eq!(scratch.text("b"), "1");
        let read = crib.approve("clemini/read_file", json!({"file_path": "a"}));
        assert_eq!(read.kind(), "ok", "reading goes on: {}", read.text());
        assert!(read.0.unrecorded.is_some());
        // Nor does looking at it need to write.
        let state = StateFolder::open(&scratch.state()).unwrap();
        assert!(verify(&state).unwrap().problems.is_empty());
        assert!(!find_calls(&state, &CallFilter::default(), 10).unwrap().is_empty());
        let mut stats = Stats::open(&state).unwrap();
        crib.crib.maintenance.run(&mut stats).unwrap();
        assert!(!stats.tools().unwrap().is_empty());
    };
    match scratch.user {
        User::Own => check(),
        User::Nobody => as_nobody(check),
    }
}

#[test]
fn without_a_state_folder_reading_goes_on_and_nothing_is_changed() {
    let mut scratch = Scratch::new();
    scratch.put("a", "text of a");
    scratch.put_at("plain", "");
    let nowhere = scratch.path("plain").join("state");
    scratch.environment.insert("TOOLCRIB_STATE".to_owned(), nowhere.into());
    let crib = scratch.open();
    let warnings = crib.crib.settings.warnings.join("\n");
    assert!(warnings.contains("no state folder at"), "{warnings}");
    let read = crib.call("wink/read_file", json!({"path": "a"}));
    read.done();
    assert!(read.text().contains("text of a"), "{}", read.text());
    assert_eq!(crib.write("b", "x").kind(), "unrecorded");
    assert!(!scratch.work().join("b").exists());
}

#[test]
fn a_state_folder_that_is_not_ours_alone_is_refused() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.state()).unwrap();
    set_mode(&scratch.state(), 0o777);
    let refused = scratch.try_open(&[]).err();
    assert_eq!(refused.map(|err| err.kind), Some(CliErrorKind::State));
    set_mode(&scratch.state(), 0o700);
    scratch.open().call("forgekeeper/get_time", json!({})).done();
}

#[test]
fn a_legacy_form_that_cannot_be_written_takes_nothing_away() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.state().join("tools_audit.jsonl")).unwrap();
    set_mode(&scratch.state(), 0o700);
    let crib = scratch.open_with(&["record.legacy=on"]);
    let got = crib.call("forgekeeper/echo", json!({"text": "hello"}));
    let unrecorded = got.0.unrecorded.as_ref().unwrap().to_string();
    assert!(unrecorded.contains("tools_audit.jsonl"), "{unrecorded}");
    let history = crib.crib.history_of(got.id()).unwrap();
    assert_eq!(history.outcome().as_str(), "ok");
}

#[test]
fn settings_and_the_legacy_form_are_recorded_too() {
    let scratch = Scratch::new();
    let echo = json!({"text": "hello"});
    scratch.open_with(&["record.legacy=on"]).call("forgekeeper/echo", echo.clone()).done();
    let text = fs::read_to_string(scratch.state().join("tools_audit.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&line["name"], &line["status"]), (&json!("echo"), &json!("ok")));
    assert_eq!(line["args_preview"], "{\"text\":\"hello\"}");
    assert!(line["elapsed_ms"].is_u64(), "{line}");
    scratch.open_with(&["mode=strict"]).call("forgekeeper/echo", echo);
    let settings: Vec<Value> =
        scratch.whole_record().into_iter().filter(|line| line["event"] == "settings").collect();
    assert_eq!(settings.len(), 2, "{settings:?}");
    assert_eq!(settings[1]["detail"]["mode"]["value"], "strict", "{settings:?}");
}

#[test]
fn nothing_in_the_files_can_mislead_a_terminal() {
    let scratch = Scratch::new();
    let args = json!({"text": "a\u{1b}[2J\u{2028}\u{85}b"});
    scratch.open().call("forgekeeper/echo", args).done();
    for entry in fs::read_dir(scratch.state().join("context_log")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(['\u{1b}', '\u{2028}', '\u{85}']), "{text}");
    }
}

#[test]
fn an_undo_is_on_the_record_like_any_call() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let id = crib.write("a", "1").done();
    let (undo, _) = crib.undo(&id, toolcrib_runtime::undo::UndoScope::Unchanged).unwrap();
    let record = scratch.record();
    let mine = record.iter().filter(|line| line["trace_id"] == undo);
    let events: Vec<&str> = mine.map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["asked", "decided", "started", "ended"]);
    let (changes, undone) = crib.crib.journal.history().unwrap();
    assert!(changes.iter().any(|change| change.call.0 == undo), "it can be undone itself");
    assert_eq!((undone[0].call.0.as_str(), undone[0].by.0.as_str()), (&*id, &*undo));
    let missing = crib.undo("01UNKNOWN", toolcrib_runtime::undo::UndoScope::Unchanged);
    assert_eq!(missing.err().map(|err| err.kind), Some(ErrorKind::NotFound));
    assert_eq!(scratch.record().pop().unwrap()["error"], "not_found");
}
