//! A person changes a call in their editor before they approve it.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::keys::is_put_back;
use crate::prompt::{KEYS, Session};
use crate::scratch::Scratch;

/// Starts a call with a shell script as the person's editor, which has the file as `$1`.
fn asked(scratch: &Scratch, words: &[&str], editor: &str) -> Session {
    let script = scratch.work().with_file_name("editor");
    std::fs::write(&script, format!("#!/bin/sh\n{editor}\n")).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = scratch.command();
    command.env("TERM", "xterm").env("TOOLCRIB_ASK_DELAY_MS", "0").env("NO_COLOR", "1");
    // A short name, so that messages have the same rows wherever the tests run.
    command.env("EDITOR", "../editor").args(words);
    let mut session = Session::on_terminal(command, "");
    session.wait_for(KEYS);
    session.seen.clear();
    session
}

const TOUCH: [&str; 3] = ["call", "clemini/bash", "command=touch sent"];

/// Returns the events of the calls on the record, each as `act event`.
fn events(scratch: &Scratch) -> Vec<(String, Value)> {
    let name =
        |it: &Value| format!("{} {}", it["act"].as_str().unwrap(), it["event"].as_str().unwrap());
    scratch.record().into_iter().map(|it| (name(&it), it)).collect()
}

#[test]
fn the_changed_call_is_asked_about_and_runs_in_place_of_the_sent_one() {
    let scratch = Scratch::new();
    let mut session = asked(&scratch, &TOUCH, "printf 'touch changed' > \"$1\"");
    session.press("m");
    session.wait_for("Toolcrib decides about the changed call");
    session.wait_for("touch changed");
    session.wait_for(KEYS);
    assert!(!session.seen.contains("touch sent"), "{}", session.seen);
    assert_eq!(session.answer("y"), 0);
    assert!(is_put_back(&session));
    assert!(scratch.work().join("changed").exists());
    assert!(!scratch.work().join("sent").exists());

    // Both calls are on the record, and each names the other.
    let events = events(&scratch);
    let changed: Vec<&Value> =
        events.iter().filter(|(name, _)| name == "approval changed").map(|it| &it.1).collect();
    let [from, to] = changed[..] else { panic!("{events:?}") };
    assert_eq!(from["detail"]["to"], to["trace_id"], "{from}");
    assert_eq!(to["detail"]["from"], from["trace_id"], "{to}");
    for (one, other) in [(from, to), (to, from)] {
        let shown = scratch.run(["audit", "show", one["trace_id"].as_str().unwrap()]).stdout;
        assert!(shown.contains(other["trace_id"].as_str().unwrap()), "{shown}");
    }
    let shown = scratch.run(["audit", "show", "--last"]).stdout;
    assert!(shown.contains("changed_by_person"), "{shown}");
}

#[test]
fn a_changed_call_that_policy_allows_runs_unasked_and_one_it_refuses_does_not_run() {
    for (saved, told, code) in
        [("echo harmless", "harmless", 0), ("rm -rf /", "Command blocked", 3)]
    {
        let scratch = Scratch::new();
        let mut session = asked(&scratch, &TOUCH, &format!("printf '{saved}' > \"$1\""));
        session.press("m");
        session.wait_for(told);
        assert_eq!(session.child.wait().unwrap().code(), Some(code), "{saved}");
        assert!(!session.seen.contains(KEYS), "{saved}: {}", session.seen);
        assert!(!scratch.work().join("sent").exists(), "{saved}");
    }
}

#[test]
fn the_agent_is_told_what_was_changed() {
    let scratch = Scratch::new();
    let words =
        ["call", "--json", "clemini/write_file", "file_path=a.txt", "content=sent by the agent"];
    let mut session = asked(&scratch, &words, "printf 'written by a person' > \"$1\"");
    session.press("m");
    session.wait_for("written by a person");
    session.wait_for(KEYS);
    session.press("y");
    session.wait_for("\"changed_by_person\":{\"content\":\"written by a person\"}");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
    let written = std::fs::read_to_string(scratch.work().join("a.txt")).unwrap();
    assert_eq!(written, "written by a person");
}

#[test]
fn what_is_not_changed_or_is_no_text_leaves_the_question_as_it_was() {
    for (editor, told) in [
        ("true", "You changed nothing"),
        ("echo >> \"$1\"", "You changed nothing"),
        ("exit 3", "failed (exit status: 3)"),
        ("rm \"$1\"", "could not be edited"),
        ("printf '\\377' > \"$1\"", "not UTF-8"),
    ] {
        let scratch = Scratch::new();
        let mut session = asked(&scratch, &TOUCH, editor);
        session.press("m");
        session.wait_for(told);
        session.wait_for(KEYS);
        assert!(!is_put_back(&session), "{editor}");
        assert_eq!(session.answer("y"), 0, "{editor}");
        assert!(scratch.work().join("sent").exists(), "{editor}");
    }
}

#[test]
fn an_answer_from_elsewhere_closes_the_editor() {
    let scratch = Scratch::new();
    let mut session = asked(&scratch, &TOUCH, "echo editor has opened; exec sleep 600");
    session.press("m");
    session.wait_for("editor has opened");
    let listed = scratch.run(["approvals", "list", "--json"]).json();
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(scratch.run(["--yes", "approvals", "deny", id]).code, 0);
    assert_eq!(session.child.wait().unwrap().code(), Some(3));
    assert!(is_put_back(&session));
    assert!(!scratch.work().join("sent").exists());
}
