//! The rate limit and the quotas of a session.

use serde_json::{Value, json};
use toolcrib::CliErrorKind;

use crate::opened::{Opened, Reply, Scratch};

fn add(crib: &Opened) -> Reply {
    crib.call("nachos/calculator", json!({"expression": "1+1"}))
}

/// Writes ten bytes.
fn write(crib: &Opened, name: &str) -> Reply {
    crib.approve("clemini/write_file", json!({"file_path": name, "content": "0123456789"}))
}

#[test]
fn too_many_calls_a_minute_are_refused_and_counted_by_tool() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&["policy.calls_per_minute=2"]);
    assert_eq!((add(&crib).kind(), add(&crib).kind()), ("ok", "ok"));
    let third = add(&crib);
    assert_eq!(third.kind(), "refused");
    assert!(third.text().contains("limit of 2 calls a minute"), "{}", third.text());
    crib.call("forgekeeper/echo", json!({"text": "x"})).done();
}

#[test]
fn another_name_for_the_conversation_does_not_make_another_session() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&["policy.calls_per_minute=2"]);
    let named = |name: &str| -> Value {
        let args = json!({"expression": "1+1", "sessionId": name});
        crib.call("nachos/calculator", args).json()["error"]["code"].clone()
    };
    assert_eq!((named("s0"), named("s1")), (Value::Null, Value::Null));
    assert_eq!(named("s2"), "POLICY_DENIED");
    assert!(scratch.record().iter().any(|line| line["conv_id"] == "s2"));
}

#[test]
fn a_rate_that_is_neither_a_number_nor_a_word_is_refused() {
    let scratch = Scratch::new();
    for odd in ["abc", "0", "-1", ""] {
        let refused = scratch.try_open(&[&format!("policy.calls_per_minute={odd}")]).err();
        assert_eq!(refused.map(|err| err.kind), Some(CliErrorKind::Settings), "{odd}");
    }
    for word in ["off", "preset", "1"] {
        assert!(scratch.try_open(&[&format!("policy.calls_per_minute={word}")]).is_ok(), "{word}");
    }
}

#[test]
fn a_session_writes_no_more_than_its_quota() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&["policy.session_bytes=25"]);
    write(&crib, "a").done();
    write(&crib, "b").done();
    let refused = write(&crib, "c");
    assert!(refused.text().contains("this one has written"), "{}", refused.text());
    assert!(scratch.work().join("b").exists() && !scratch.work().join("c").exists());
}

#[test]
fn one_tool_writes_no_more_than_its_quota_and_another_still_writes() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&["policy.tool_bytes=25"]);
    write(&crib, "a").done();
    write(&crib, "b").done();
    let refused = write(&crib, "c");
    assert!(refused.text().contains("bytes with one tool"), "{}", refused.text());
    crib.approve("wink/create_file", json!({"path": "e", "content": "0123456789"})).done();
    assert!(scratch.work().join("e").exists() && !scratch.work().join("c").exists());
}

#[test]
fn the_preset_rate_depends_on_the_mode() {
    for (mode, most) in [("strict", 5), ("standard", 15), ("permissive", 60)] {
        let scratch = Scratch::new();
        let mode = format!("mode={mode}");
        let crib = scratch.open_with(&[&mode, "policy.calls_per_minute=preset"]);
        assert!((0..most).all(|_| add(&crib).kind() == "ok"), "{mode}");
        assert_eq!(add(&crib).kind(), "refused", "{mode}");
    }
}
