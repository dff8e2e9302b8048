//! `toolcrib audit`: what is shown, searched, followed and exported from the record.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// Verifies the record and returns the report.
pub(crate) fn verified(scratch: &Scratch) -> Value {
    let got = scratch.run(["audit", "verify", "--json"]);
    let value = got.json();
    assert_eq!(value["ok"] == true, got.code == 0, "{value}");
    value
}

#[test]
fn what_was_done_can_be_found_and_told() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\ntwo\n");
    scratch
        .call("clemini/edit", r#"{"file_path": "a.txt", "old_string": "two", "new_string": "2"}"#);
    scratch.call("clemini/bash", r#"{"command": "echo printed; touch c; exit 3"}"#);
    scratch.run(["call", "wink/create_file", "path=b", "content=x"]);
    scratch.run(["call", "wink/read_file", "path=none"]);
    let search = |flags: &[&str]| -> Vec<Value> {
        let words = [&["audit", "search", "--json"], flags].concat();
        let got = scratch.run(words);
        got.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(search(&[]).len(), 4);
    let one = |flags: &[&str]| {
        let found = search(flags);
        assert_eq!(found.len(), 1, "{flags:?}: {found:?}");
        found[0].clone()
    };
    assert_eq!(one(&["--outcome", "refused"])["tool"], "wink/create_file");
    assert_eq!(one(&["--outcome", "error"])["error"], "not_found");
    assert_eq!(one(&["--tool", "clemini/bash"])["by"], "--yes");
    assert_eq!(one(&["--text", "PRINTED", "--since", "1h"])["tool"], "clemini/bash");
    assert!(search(&["--until", "1h"]).is_empty());
    assert_eq!(search(&["--actor", "--yes"]).len(), 0, "a flag is no one");
    assert_eq!(search(&["--actor=--yes"]).len(), 2);
    let edit = one(&["--tool", "edit"]);
    let shown = scratch.run(["audit", "show", edit["call"].as_str().unwrap()]).stdout;
    for part in [
        "clemini/edit ok",
        "asked:",
        "decided:",
        "answered by --yes",
        "a.txt",
        "- two",
        "+ 2",
        "undo:",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let bash = one(&["--tool", "bash"]);
    let shown = scratch.run(["audit", "show", bash["call"].as_str().unwrap(), "--json"]).json();
    assert_eq!(
        (&shown["output_saved"], &shown["outcome"]),
        (&json!(true), &json!("command_failed")),
        "{shown}"
    );
    assert_eq!(shown["directory"], scratch.work().display().to_string());
    let lines = scratch.record();
    let started = lines.iter().find(|line| line["terms"].is_string()).unwrap();
    assert!(started["terms"].as_str().unwrap().starts_with("strict; memory"), "{started}");
    let tail = scratch.run(["audit", "tail", "-n", "2"]).stdout;
    assert!(tail.lines().count() == 2 && tail.contains("not_found"), "{tail}");
    let csv = scratch.run(["audit", "export", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.contains("\"'--yes\""), "no cell is a formula: {csv}");
    let lines = scratch.run(["audit", "export", "--tool", "edit"]).stdout;
    assert_eq!(lines.lines().count(), 5, "{lines}");
    for (words, code) in [
        (&["audit", "show", "nope"][..], 1),
        (&["audit", "search", "--since", "tomorrow"], 2),
        (&["audit", "search", "--limit", "0"], 2),
        (&["stats", "errors", "nope"], 5),
        (&["stats", "errors", "nachos/calculator"], 1),
        (&["stats", "clear", "errors", "nope"], 5),
    ] {
        let got = scratch.run(words);
        assert_eq!(got.code, code, "{words:?}: {}", got.stderr);
        assert!(got.stderr.starts_with("error: "), "{words:?}: {}", got.stderr);
    }
}

#[test]
fn following_shows_lines_as_they_come() {
    use std::io::{BufRead, BufReader};
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/echo", "text=first"]);
    let mut child = scratch
        .command()
        .args(["audit", "tail", "-f", "-n", "1", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"event\":\"ended\""));
    scratch.run(["call", "forgekeeper/echo", "text=second"]);
    let next = lines.next().unwrap().unwrap();
    assert!(next.contains("second") && next.contains("\"event\":\"asked\""), "{next}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_is_shown_of_the_record_has_no_secrets() {
    let scratch = Scratch::new();
    let key = format!("sk-proj-{}", "Zb12Cd34Ef56Gh78Ij90Kl12");
    scratch.put("conf.py", "api_key = \"placeholder\"\nname = 1\n");
    let args = format!(
        r#"{{"file_path": "conf.py", "old_string": "placeholder\"\nname = 1", "new_string": "{key}\"\nname = 2"}}"#
    );
    assert_eq!(scratch.call("clemini/edit", &args).code, 0);
    let found = scratch.run(["audit", "search", "--tool", "edit", "--json"]).json();
    let shown = scratch.run(["audit", "show", found["call"].as_str().unwrap()]).stdout;
    assert!(shown.contains("name = 2") && !shown.contains(&key), "{shown}");
    let command = format!("command=curl -H 'Authorization: Bearer {key}' https://x.example/");
    scratch.run(["call", "--park", "clemini/bash", &command]);
    for words in [&["approvals", "list"][..], &["approvals", "list", "--json"]] {
        let listed = scratch.run(words).stdout;
        assert!(listed.contains("curl") && !listed.contains(&key), "{listed}");
    }
    // What a key is cut off at does not swallow the calls behind it.
    let cut = format!("content=-----BEGIN {}-----", "PRIVATE KEY");
    scratch.run(["call", "--park", "clemini/write_file", "file_path=k", &cut]);
    scratch.run(["call", "--park", "clemini/write_file", "file_path=z", "content=three"]);
    let listed = scratch.run(["approvals", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
    // Whoever answers sees what they answer about.
    let listed = scratch.run(["approvals", "list", "--json"]).json();
    let id = listed[0]["id"].as_str().unwrap();
    assert!(scratch.run(["approvals", "show", id]).stdout.contains(&key));
}

#[test]
fn rules_that_come_and_change_are_on_the_record_and_in_an_export() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    scratch.put(
        "more.toml",
        "[[rule]]\nid = \"builds\"\nargv = [\"cargo\", \"build\"]\neffect = \"allow\"\n",
    );
    assert_eq!(scratch.run(["rules", "add", "more.toml"]).code, 0);
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let export = || -> Vec<Value> {
        let text = scratch.run(["audit", "export"]).stdout;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let lines = export();
    let added = lines.iter().find(|line| line["act"] == "rules").unwrap();
    assert_eq!(added["detail"]["rules"], serde_json::json!(["builds"]), "{added}");
    // By hand, too.
    let own = scratch.path("home/.config/toolcrib/rules.toml");
    let text = fs::read_to_string(&own).unwrap().replace("allow", "deny");
    fs::write(&own, text).unwrap();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let lines = export();
    let settings = lines.iter().filter(|line| line["event"] == "settings");
    let hashes: Vec<Value> =
        settings.map(|it| it["detail"][own.to_str().unwrap()]["rules"].clone()).collect();
    let [first, second] = &hashes[hashes.len() - 2..] else { panic!("{hashes:?}") };
    assert!(first.is_string() && second.is_string() && first != second, "{hashes:?}");
    // An export is everything, in its order.
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn who_said_no_elsewhere_is_in_the_story() {
    let scratch = Scratch::new();
    let parked = scratch.run(["call", "--park", "clemini/write_file", "file_path=p", "content=x"]);
    assert_ne!(parked.code, 0);
    let found = scratch.run(["audit", "search", "--json"]).json();
    let id = found["call"].as_str().unwrap();
    assert!(!scratch.run(["audit", "show", id]).stdout.contains("denied:"), "the control");
    scratch.run(["approvals", "deny", "--yes", id, "not", "today"]);
    let shown = scratch.run(["audit", "show", &id.to_lowercase()]).stdout;
    assert!(shown.contains("denied:") && shown.contains("not today"), "{shown}");
    let user = format!("user {}", rustix::process::getuid().as_raw());
    let by = scratch.run(["audit", "search", "--actor", &user, "--json"]).json();
    assert_eq!((&by["call"], &by["by"]), (&id.into(), &user.into()), "{by}");
}

#[test]
fn a_difference_that_cannot_be_shown_is_said() {
    let scratch = Scratch::new();
    scratch.put("secret", "password=hunter2hunter2\n");
    let edit = r#"{"file_path": "secret", "old_string": "hunter2hunter2", "new_string": "hunter3hunter3"}"#;
    scratch.call("clemini/edit", edit);
    scratch.put("binary", [0xff, 0xfe, 0]);
    scratch.call("clemini/write_file", r#"{"file_path": "binary", "content": "text"}"#);
    for (tool, why) in [("edit", "only in redacted secrets"), ("write_file", "not text")] {
        let found = scratch.run(["audit", "search", "--tool", tool, "--json"]).json();
        let shown = scratch.run(["audit", "show", found["call"].as_str().unwrap()]).stdout;
        let line = shown.lines().find(|line| line.contains(why));
        assert!(line.is_some_and(|line| !line.contains("undo")), "{shown}");
    }
}
