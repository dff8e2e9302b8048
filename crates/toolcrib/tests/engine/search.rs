//! Search as tools offer it: bad patterns, and nothing outside of the workspace.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::opened::{Scratch, for_each_user};

#[test]
fn no_search_leads_out_of_the_workspace() {
    for_each_user(|scratch| {
        scratch.put("inside.txt", "SECRET of our own\n");
        symlink("../outside", scratch.work().join("way")).unwrap();
        symlink("../outside/secret.txt", scratch.work().join("file")).unwrap();
        symlink(scratch.path("outside"), scratch.work().join("absolute")).unwrap();
        let crib = scratch.open();
        let found = crib.reply("clemini/grep", &json!({"pattern": "SECRET"}));
        assert_eq!(found["total_found"], 1, "{found}");
        let found = crib.reply("clemini/glob", &json!({"pattern": "**/*"}));
        assert_eq!(found["matches"], json!(["inside.txt"]));
        for directory in ["way", "absolute", "..", "../outside", "/etc", "file"] {
            for (tool, name) in [("clemini/grep", "directory"), ("wink/file_search", "base_path")] {
                let text = crib.reply(tool, &json!({"pattern": "S*", name: directory})).to_string();
                assert!(text.contains("outside"), "{tool} {directory}: {text}");
                assert!(!text.contains("secret.txt"), "{tool} {directory}: {text}");
            }
        }
    });
}

#[test]
fn bad_patterns_are_told_with_their_place() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "foo(bar)\n");
    let crib = scratch.open();
    let call = |tool: &str, args: Value| crib.reply(tool, &args);
    let got = call("clemini/grep", json!({"pattern": "foo(bar"}));
    assert_eq!(
        (&got["error_code"], &got["context"]["position"]),
        (&json!("INVALID_ARGUMENT"), &json!(4))
    );
    let hint = got["context"]["hint"].as_str().unwrap();
    assert!(hint.contains(r"`foo\(bar`"), "{hint}");
    // What is offered works.
    assert_eq!(call("clemini/grep", json!({"pattern": r"foo\(bar"}))["total_found"], 1);
    for pattern in
        [r"(a{1,1000}){1,1000}", r"\w{1,900}x", "a\nb", "a\0b", r"\", "[", "*", "(?P<n", "a{2,1}"]
    {
        let got = call("clemini/grep", json!({"pattern": pattern}));
        assert_eq!(got["error_code"], "INVALID_ARGUMENT", "{pattern}: {got}");
        assert!(got["context"]["hint"].is_string(), "{pattern}: {got}");
    }
    let long = "a".repeat(100_000);
    assert_eq!(call("clemini/grep", json!({"pattern": long}))["error_code"], "INVALID_ARGUMENT");
    for glob in ["[a", "{a", "a}", "[z-a]", "a\\", ""] {
        let got = call("wink/file_search", json!({"pattern": glob}));
        assert_eq!(got["error"]["code"], "invalid_glob", "{glob}: {got}");
        let got = call("wink/grep_search", json!({"pattern": "x", "file_pattern": glob}));
        assert_eq!(got["error"]["code"], "invalid_glob", "{glob}: {got}");
    }
    assert_eq!(call("clemini/grep", json!({"pattern": ""}))["error_code"], "INVALID_ARGUMENT");
    assert_eq!(
        call("wink/grep_search", json!({"pattern": ""}))["error"]["code"],
        "invalid_parameters"
    );
    assert_eq!(
        call("wink/grep_search", json!({"pattern": "foo(bar)"}))["metadata"]["total_matches"],
        1
    );
}

#[test]
fn files_that_are_not_searched_are_told() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "needle\n");
    scratch.put("b.txt", "needle\n");
    std::fs::hard_link(scratch.work().join("b.txt"), scratch.path("outside/b.txt")).unwrap();
    let needle = json!({"pattern": "needle"});
    let got = scratch.open().reply("clemini/grep", &needle);
    assert_eq!(got["total_found"], 1);
    assert!(got["warnings"][0].as_str().unwrap().contains("b.txt (it has several names"), "{got}");
    let got = scratch.open_with(&["files.hardlinks=allow"]).reply("clemini/grep", &needle);
    assert_eq!(got["total_found"], 2);
}
