//! Every call is on the record, refused calls too.

use serde_json::Value;

use crate::scratch::{Ran, Scratch};

#[test]
fn a_call_through_the_binary_is_on_the_record() {
    let scratch = Scratch::new();
    scratch.put("a", "fine\n");
    scratch.call("wink/read_file", r#"{"path": "a"}"#);
    let record = scratch.record();
    let events: Vec<&str> = record.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["asked", "decided", "started", "ended"]);
    scratch.run(["call", "nope", "{}"]);
    assert_eq!(scratch.record().last().unwrap()["error"], "no_tool");
}

#[test]
fn settings_are_in_the_tail_of_the_record() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/echo", "text=hello"]);
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
