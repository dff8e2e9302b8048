//! Every call leaves its lines, refused ones too.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::scratch::{Scratch, users};

fn events(scratch: &Scratch) -> Vec<String> {
    scratch.record().iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_call_is_asked_decided_and_ended_on_the_record() {
    let scratch = Scratch::new();
    scratch.put("a", "fine\n");
    scratch.call("wink/read_file", r#"{"path": "a"}"#);
    assert_eq!(events(&scratch), ["asked", "decided", "started", "ended"]);
    let record = scratch.record();
    let call = &record[0]["trace_id"];
    assert!(record.iter().all(|line| line["trace_id"] == *call && line["act"] == "tool_call"));
    assert_eq!(record[0]["args_preview"], r#"{"path":"a"}"#);
    assert_eq!(record[1]["decision"], "allow");
    assert_eq!(record[1]["rule"], "tier 1 in mode standard");
    assert_eq!(record[3]["status"], "ok");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scratch.state()), 0o700);
    for file in fs::read_dir(scratch.state().join("context_log")).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn refused_and_failed_calls_are_on_the_record_too() {
    let scratch = Scratch::new();
    for (words, error) in [
        (["call", "nope", "{}"], "no_tool"),
        (["call", "wink/read_file", "{}"], "bad_args"),
        (["call", "wink/read_file", r#"{"path": "missing"}"#], "not_found"),
        (["call", "wink/create_file", r#"{"path": "a", "content": ""}"#], "approval_required"),
    ] {
        scratch.run(words);
        let record = scratch.record();
        let last = record.last().unwrap();
        assert_eq!((&last["event"], &last["error"]), (&json!("ended"), &json!(error)), "{last}");
    }
    let ran = scratch.run([
        "--mode",
        "strict",
        "call",
        "wink/replace_string_in_file",
        r#"{"path": "a", "old_string": "b", "new_string": "c"}"#,
    ]);
    // What would fail anyway is not brought before policy.
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    scratch.put("a", "b");
    let ran = scratch.run([
        "--mode",
        "strict",
        "call",
        "wink/replace_string_in_file",
        r#"{"path": "a", "old_string": "b", "new_string": "c"}"#,
    ]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(scratch.record().last().unwrap()["error"], "refused");
}

#[test]
fn previews_can_be_left_out() {
    let scratch = Scratch::new();
    scratch.run(["-c", "record.previews=off", "call", "forgekeeper/echo", "text=private"]);
    let record = scratch.record();
    assert_eq!(record.len(), 4);
    assert!(!json!(record).to_string().contains("private"));
}

#[test]
fn what_cannot_be_recorded_is_not_written() {
    let scratch = Scratch::of(*users().last().unwrap());
    scratch.put("a", "fine\n");
    assert_eq!(scratch.call("clemini/write_file", r#"{"file_path": "b", "content": "1"}"#).code, 0);
    let log = scratch.state().join("context_log");
    fs::set_permissions(&log, fs::Permissions::from_mode(0o500)).unwrap();
    fs::set_permissions(scratch.state(), fs::Permissions::from_mode(0o500)).unwrap();
    for file in fs::read_dir(&log).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o400)).unwrap();
    }
    let ran = scratch.call("clemini/write_file", r#"{"file_path": "b", "content": "2"}"#);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("the record cannot be written"), "{}", ran.stdout);
    assert_eq!(scratch.text("b"), "1");
    let ran = scratch.call("clemini/read_file", r#"{"file_path": "a"}"#);
    assert_eq!(ran.code, 0, "reading goes on: {}", ran.stdout);
    assert!(ran.stderr.contains("the record cannot be written"), "{}", ran.stderr);
    // Nor does looking at it need to write.
    for words in [&["audit", "verify"][..], &["stats"], &["audit", "search"]] {
        let ran = scratch.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
    }
}
