//! Bad input gets a clear error in the catalogue's format, and does no harm.

use serde_json::{Value, json};
use toolcrib::CliErrorKind;

use crate::opened::{Opened, Scratch};

#[track_caller]
fn check(crib: &Opened, tool: &str, args: Value, kind: &str, says: &str) {
    let got = crib.call(tool, args.clone());
    let text = got.0.reply.to_string();
    assert_eq!(got.kind(), kind, "{tool} {args}: {text}");
    // Catalogues differ in how they capitalise sentences and quote names.
    let level = |text: &str| text.to_lowercase().replace('`', "'");
    assert!(level(&text).contains(&level(says)), "{tool} {args}: {text}");
    assert!(!text.contains("panicked"), "{tool} {args}: {text}");
}

#[test]
fn arguments_that_do_not_fit_are_told_with_their_place() {
    let scratch = Scratch::new();
    scratch.put("a", "fine\n");
    let crib = scratch.open();
    let call =
        |args: Value, kind: &str, says: &str| check(&crib, "wink/read_file", args, kind, says);
    call(json!({}), "bad_args", "`path` is missing");
    call(json!({"path": 5}), "bad_args", "`path` must be a string, not the number 5");
    call(json!({"path": null}), "bad_args", "`path` must be a string, not null");
    for (line, says) in [
        (json!("5"), "`start_line` must be an integer"),
        (json!(0), "`start_line` must be at least 1, not 0"),
        (json!(-1), "`start_line` must be at least 1, not -1"),
        (json!(1.5), "`start_line` must be an integer, not the number 1.5"),
    ] {
        call(json!({"path": "a", "start_line": line}), "bad_args", says);
    }
    call(json!({"paht": "a"}), "bad_args", "did you mean `path`?");
    call(json!([1, 2]), "bad_args", "arguments must be an object");
    call(json!({"path": ""}), "bad_args", "the path is empty");
    // The positive control: arguments that look odd but are valid.
    let odd = br#"{"path": "a", "start_line": 1.0, "end_line": null}"#;
    call(toolcrib_core::json::parse(odd).unwrap(), "ok", "fine");
    check(
        &crib,
        "clemini/todo_write",
        json!({"todos": [{"content": "a", "activeForm": "b", "status": "done"}]}),
        "bad_args",
        "`todos[0].status` must be `pending`, `in_progress` or `completed`",
    );
}

#[test]
fn unknown_tools_are_answered_with_the_nearest() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let long = "x".repeat(10_000);
    for (tool, says) in [
        ("wink/raed_file", "did you mean `wink/read_file`"),
        ("calcualtor", "did you mean `nachos/calculator`"),
        ("read_file", "say which: `wink/read_file`, `clemini/read_file`"),
        ("../shell", "no tool `../shell`"),
        ("WINK/READ_FILE", "did you mean `wink/read_file`"),
        (&long, "no tool"),
    ] {
        check(&crib, tool, json!({}), "no_tool", says);
    }
    check(&crib, "calculator", json!({"expression": "1+1"}), "ok", "\"answer\":2");
    let crib = scratch.open_with(&["toolset=wink"]);
    check(&crib, "clemini/edit", json!({}), "not_offered", "not on offer");
    check(&crib, "list_dir", json!({}), "ok", "Contents of .");
}

#[test]
fn a_toolset_with_two_tools_of_one_name_is_not_loaded() {
    let scratch = Scratch::new();
    let refused = |toolset: &str| {
        let refused = scratch.try_open(&[&format!("toolset={toolset}")]).err().unwrap();
        assert_eq!(refused.kind, CliErrorKind::Settings);
        refused.message
    };
    let twice = refused("wink,clemini");
    let says = "`wink/read_file` and `clemini/read_file` share the name `read_file`";
    assert!(twice.contains(says), "{twice}");
    assert!(refused("wnik").contains("did you mean `wink`"));
    let both = scratch.open_with(&["toolset=wink,clemini/edit"]).crib.toolset().unwrap();
    assert!(
        both.find(&"clemini/edit".into()).is_ok() && both.find(&"clemini/grep".into()).is_err()
    );
}

#[test]
fn hikai_answers_an_unknown_tool_with_its_tool_result() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let mut reply = crib.reply("hikai/nope", &json!({"a": 1}));
    assert!(reply.as_object_mut().unwrap().remove("hint").unwrap().is_string());
    assert_eq!(reply, json!({"name": "nope", "input": {"a": 1}, "error": "Unknown tool: nope"}));
    check(&crib, "hikai/raed_file", json!({}), "no_tool", "hikai/read_file");
}
