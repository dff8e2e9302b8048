//! "Always" at the terminal: what it covers, what is offered, and that it holds.

use std::io::Read;
use std::time::Duration;

use toolcrib_core::policy::grant::{Covers, Grant, Grants, Scope};

use crate::prompt::{KEYS, Session};
use crate::scratch::Scratch;

/// Answers the questions that "always" leads to.
pub(crate) fn always(scratch: &Scratch, call: &[&str], answers: &str) -> (i32, String) {
    let mut session = Session::start(scratch, call, "");
    let form = if call.contains(&"wink/create_file") { "Approve? (y/n/always): " } else { KEYS };
    session.wait_for(form);
    let code = session.answer(answers);
    let mut rest = String::new();
    let _ = session.master.read_to_string(&mut rest);
    (code, session.seen + &rest)
}

#[test]
fn always_covers_what_was_shown_and_no_more() {
    let scratch = Scratch::new();
    let bash = |command: &str| {
        scratch.run(["call", "clemini/bash", &format!("command={command}"), "--json"]).code
    };
    assert_eq!(bash("touch a"), 4);
    let call = ["call", "clemini/bash", "command=touch a b"];
    // The grant covers the first two words, in this project.
    let (code, seen) = always(&scratch, &call, "e\n4\ny\n");
    assert_eq!(code, 0, "{seen}");
    for shown in [
        "a always: commands that begin with `touch`, here, for 8 hours",
        "stores clemini/bash argv = [\"touch\"]",
        "2  commands that begin with `touch`, here, until revoked",
        "3  commands that begin with `touch`, everywhere, until revoked",
        "4  commands that begin with `touch a`, here, for 8 hours",
        "5  commands that begin with `touch a b`, here, for 8 hours",
        "6  this exact call, here, until revoked",
        "stores clemini/bash argv = [\"touch\", \"a\"]",
        "Revoke with: toolcrib grants revoke ",
    ] {
        assert!(seen.contains(shown), "{shown}: {seen}");
    }
    assert_eq!(bash("touch a"), 0);
    assert_eq!(bash("touch a c"), 0);
    assert_eq!(bash("ls && touch a d"), 0);
    for other in
        ["touch b", "touch a; touch b", "touch a > x", "touch a $(id)", "./touch a", "TOUCH a"]
    {
        assert_eq!(bash(other), 4, "{other}");
    }
    // The grant does not apply in another project.
    scratch.put_at("elsewhere/", "");
    let elsewhere = scratch.path("elsewhere").display().to_string();
    let call = ["-C", &elsewhere, "call", "clemini/bash", "command=touch a", "--json"];
    assert_eq!(scratch.run(call).code, 4);
    let listed = scratch.run(["grants", "list", "--json"]).json();
    assert_eq!(listed[0]["use_count"], 3, "{listed}");
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(scratch.run(["grants", "revoke", id]).code, 0);
    assert_eq!(scratch.run(["grants", "revoke", id]).code, 1);
    assert_eq!(bash("touch a"), 4);
}

#[test]
fn what_is_too_broad_is_shown_and_not_offered() {
    let scratch = Scratch::new();
    let (code, seen) =
        always(&scratch, &["call", "clemini/bash", "command=cargo build"], "e\n\n\n");
    assert_eq!(code, 3, "{seen}");
    assert!(seen.contains("-  commands that begin with `cargo`: too broad"), "{seen}");
    assert!(seen.contains("1  commands that begin with `cargo build`"), "{seen}");
}

#[test]
fn a_grant_that_ends_while_its_call_waits_answers_nothing() {
    let scratch = Scratch::new();
    let call = ["call", "clemini/bash", "command=touch a"];
    let mut waiting = Session::start(&scratch, &call, "");
    waiting.wait_for(KEYS);
    let now = jiff::Timestamp::now();
    let expires = now.checked_add(jiff::SignedDuration::from_secs(2)).unwrap();
    let grant = Grant {
        id: "01A".to_owned(),
        tool_name: "clemini/bash".into(),
        param_pattern: String::new(),
        description: String::new(),
        created_at: now,
        last_used_at: None,
        use_count: 0,
        expires_at: Some(expires),
        enabled: true,
        scope: Scope::User,
        covers: Covers::Argv(vec!["touch".to_owned(), "a".to_owned()]),
        by: "user 0".to_owned(),
        principal: None,
        files: None,
    };
    let state = toolcrib_ledger::StateFolder::open(&scratch.state()).unwrap();
    toolcrib_ledger::GrantFile::new(&state).add(grant).unwrap();
    assert_eq!(scratch.run(call).code, 0, "the control: while it holds, it answers");
    std::fs::remove_file(scratch.work().join("a")).unwrap();
    while jiff::Timestamp::now() < expires {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(scratch.run(call).code, 4);
    assert_eq!(waiting.answer("n\n"), 3);
    assert!(!scratch.work().join("a").exists());
}
