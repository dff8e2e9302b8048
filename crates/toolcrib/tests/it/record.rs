//! Every call is on the record, refused calls too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch, User, users};

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

#[test]
fn without_a_state_folder_reading_goes_on_and_nothing_is_changed() {
    let scratch = Scratch::new();
    scratch.put("a", "text of a");
    scratch.put_at("plain", "");
    let run = |words: &[&str]| -> Ran {
        let mut command = scratch.command();
        command.env("TOOLCRIB_STATE", scratch.path("plain").join("state"));
        command.args(words).stdin(Stdio::null()).output().unwrap().into()
    };
    let got = run(&["call", "wink/read_file", "path=a"]);
    assert_eq!(got.code, 0, "{}{}", got.stdout, got.stderr);
    assert!(got.stdout.contains("text of a"), "{}", got.stdout);
    assert!(got.stderr.contains("no state folder at"), "{}", got.stderr);
    let got = run(&["--yes", "call", "clemini/write_file", "file_path=b", "content=x"]);
    assert_eq!(got.code, 1, "{}{}", got.stdout, got.stderr);
    assert!(!scratch.work().join("b").exists());
    // One that is not ours alone is refused, as before.
    if users().len() > 1 {
        let scratch = Scratch::of(User::Own);
        fs::create_dir_all(scratch.state()).unwrap();
        let open = PermissionsExt::from_mode(0o777);
        fs::set_permissions(scratch.state(), open).unwrap();
        assert_eq!(scratch.run(["call", "forgekeeper/get_time", "{}"]).code, 2);
    }
}

#[test]
fn what_we_say_ourselves_is_read_again() {
    let scratch = Scratch::new();
    scratch.put("a", "x");
    scratch.run(["call", "wink/read_file", "path=a"]);
    let mut command = scratch.command();
    command.env("SORT_KEY", "resources");
    let got: Ran =
        command.args(["stats", "clear", "resources", "wink/read_file"]).output().unwrap().into();
    assert_eq!(got.code, 0, "{}", got.stderr);
    let shown = scratch.run(["stats", "resources", "wink/read_file", "--json"]).json();
    assert_eq!(shown["resources"]["totalCalls"], 0, "{shown}");
}

#[test]
fn a_legacy_form_that_cannot_be_written_takes_nothing_away() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.state().join("tools_audit.jsonl")).unwrap();
    rustix::fs::chmod(scratch.state(), rustix::fs::Mode::RWXU).unwrap();
    let legacy = ["-c", "record.legacy=on", "call", "forgekeeper/echo", "text=hello"];
    let got = scratch.run(legacy);
    assert!(got.stderr.contains("tools_audit.jsonl"), "{}", got.stderr);
    let found = scratch.run(["audit", "search", "--tool", "echo", "--json"]).json();
    assert_eq!(found["outcome"], "ok", "{found}");
}

#[test]
fn settings_grants_and_the_legacy_form_are_recorded_too() {
    let scratch = Scratch::new();
    let legacy = ["-c", "record.legacy=on", "call", "forgekeeper/echo", "text=hello"];
    scratch.run(legacy);
    let text = fs::read_to_string(scratch.state().join("tools_audit.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&line["name"], &line["status"]), (&json!("echo"), &json!("ok")));
    assert_eq!(line["args_preview"], "{\"text\":\"hello\"}");
    scratch.run(["--mode", "strict", "call", "forgekeeper/echo", "text=hello"]);
    let tail = scratch.run(["audit", "tail", "-n", "100", "--json"]).stdout;
    let settings: Vec<Value> = tail
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["event"] == "settings")
        .collect();
    assert_eq!(settings.len(), 2, "{tail}");
    assert_eq!(settings[1]["detail"]["mode"]["value"], "strict", "{tail}");
}

#[test]
fn nothing_in_the_files_can_mislead_a_terminal() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/echo", "text=a\u{1b}[2J\u{2028}\u{85}b"]);
    let record = scratch.state().join("context_log");
    for entry in fs::read_dir(record).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(['\u{1b}', '\u{2028}', '\u{85}']), "{text}");
    }
}
