//! Taking back: exactly what a call did, and nothing else.

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// Makes a call and returns its id.
#[track_caller]
fn call(scratch: &Scratch, tool: &str, args: &Value) -> String {
    let ran = scratch.call(tool, &args.to_string());
    assert_eq!(ran.code, 0, "{tool}: {}", ran.stdout);
    scratch.record().last().unwrap()["trace_id"].as_str().unwrap().to_owned()
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
fn force_and_redo_work_from_another_directory() {
    let scratch = Scratch::new();
    scratch.put("a", "before");
    let id = call(&scratch, "clemini/write_file", &json!({"file_path": "a", "content": "ours"}));
    scratch.put("a", "a person's work");
    let elsewhere = scratch.path("outside").display().to_string();
    let undo = |words: &[&str]| scratch.run([&["-C", &elsewhere, "undo"], words].concat());
    let ran = undo(&[&id]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("was changed after"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    let ran = undo(&[&id, "--force", "--json"]);
    assert_eq!((ran.code, scratch.text("a")), (0, "before".to_owned()), "{}", ran.stderr);
    let by = ran.json()["by"].as_str().unwrap().to_owned();
    assert_eq!(undo(&[&by]).code, 0);
    assert_eq!(scratch.text("a"), "a person's work");
    let ran = undo(&[&id]);
    assert!(ran.code == 1 && ran.stderr.contains("already"), "{}", ran.stderr);
}
