//! "Always" for edits: what a grant for a folder covers, and what it does not answer.

use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolcrib_core::policy::{Answer, Covers};
use toolcrib_runtime::Choice;

use crate::opened::Scratch;

/// A setting with which no command can start, because a test of the engine starts no process.
const NO_SANDBOX: &str = "sandbox.bubblewrap=/nowhere/bwrap";

#[test]
fn a_grant_for_edits_covers_text_below_its_folder_and_nothing_else() {
    let scratch = Scratch::new();
    scratch.put("src/a.txt", "one\n");
    scratch.put("src2/a.txt", "one\n");
    scratch.put("out/", "");
    symlink("../out", scratch.work().join("src/link")).unwrap();
    let crib = scratch.open_with(&[NO_SANDBOX]);
    let decide = |tool: &str, args: Value| crib.explain(tool, args).decision.verdict().as_str();
    let write =
        |path: &str| decide("clemini/write_file", json!({"file_path": path, "content": "x"}));
    let args = json!({"file_path": "src/a.txt", "old_string": "one", "new_string": "two"});
    assert_eq!(write("src/b.txt"), "ask", "the control");
    let offered = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&offered);
    let answered = crib.ask("clemini/edit", args, move |question| {
        let words = question.shown.grants.iter().map(|offer| offer.words.clone());
        seen.lock().unwrap().extend(words);
        // The second, because each call of this test is a session of its own.
        Answer::Always("a person".to_owned(), question.shown.grants[1].wish.clone())
    });
    answered.done();
    let offered = offered.lock().unwrap();
    assert_eq!(offered[0], "edits below src/, in this session");
    assert_eq!(offered[1], "edits below src/, here, for 8 hours");
    for path in ["src/a.txt", "src/b.txt", "src/deep/c.txt"] {
        assert_eq!(write(path), "allow", "{path}");
    }
    let create = json!({"path": "src/d.txt", "content": "x"});
    assert_eq!(decide("wink/create_file", create), "allow", "any tool that edits");
    for path in ["a.txt", "src2/a.txt", "src/../a.txt", "src/link/a.txt", "src/.vscode/tasks.json"]
    {
        assert_ne!(write(path), "allow", "{path}");
    }
    // Neither a command nor a deletion is an edit.
    assert_eq!(crib.decide_command("touch src/a.txt"), "ask");
    assert_eq!(crib.decide_command("echo x > src/a.txt"), "ask");
}

#[test]
fn a_rule_that_asks_is_answered_by_no_grant_for_a_folder() {
    let scratch = Scratch::new();
    scratch.put_rules("[[rule]]\npaths = [\"src/key.txt\"]\neffect = \"ask\"\n");
    scratch.put("src/key.txt", "one\n");
    let crib = scratch.open_with(&[NO_SANDBOX]);
    let root = scratch.work().canonicalize().unwrap().display().to_string();
    crib.grant("clemini/write_file", &Covers::Edits(root));
    let decide = |path: &str| {
        let args = json!({"file_path": path, "content": "x"});
        crib.explain("clemini/write_file", args).decision.verdict().as_str()
    };
    assert_eq!((decide("src/key.txt"), decide("src/other.txt")), ("ask", "allow"));
    // So it is not offered there, either.
    let args = json!({"file_path": "src/key.txt", "content": "x"});
    crib.ask("clemini/write_file", args, |question| {
        let is_wide = |it: &Choice| matches!(it.0, Covers::Edits(_));
        assert!(!question.choices.iter().any(is_wide), "{:?}", question.choices);
        Answer::No("a person".to_owned(), String::new())
    });
}
