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

#[test]
fn a_type_finds_files_with_hidden_names() {
    let scratch = Scratch::new();
    for path in [".golangci.yml", "a.yml", ".github/ci.yml", ".env", "ignored.yml"] {
        scratch.put(path, "needle\n");
    }
    scratch.put(".ignore", "ignored.yml\n");
    let files = |kind: Option<&str>| {
        let mut args = json!({"pattern": "needle", "output_mode": "files_with_matches"});
        if let Some(kind) = kind {
            args["type"] = json!(kind);
        }
        scratch.open().reply("clemini/grep", &args)["matches"].clone()
    };
    assert_eq!(files(None), json!(["a.yml"]));
    assert_eq!(files(Some("yaml")), json!([".golangci.yml", "a.yml"]));
    assert_eq!(files(Some("yml")), json!([".golangci.yml", "a.yml"]));
    assert_eq!(files(Some("env")), json!([".env"]));
}

#[test]
fn a_search_for_a_type_tells_of_denied_files_with_hidden_names() {
    let scratch = Scratch::new();
    for path in ["secrets/a.yml", "secrets/.b.yml", "secrets/.c.env", "open.yml"] {
        scratch.put(path, "needle\n");
    }
    let rules = "[[rule]]\nid = \"no\"\neffect = \"deny\"\npaths = [\"secrets/**\"]\n";
    scratch.put_rules(rules);
    let crib = scratch.open();
    let plain = crib.reply("clemini/grep", &json!({"pattern": "needle"}));
    assert_eq!(plain["matches"].as_array().unwrap().len(), 1, "{plain}");
    assert_eq!(plain["warnings"], json!(["1 file is left out: policy denies it"]));
    // The number is the same for every type: it tells nothing of the names.
    for kind in ["yaml", "env", "rust"] {
        let typed = crib.reply("clemini/grep", &json!({"pattern": "needle", "type": kind}));
        assert_eq!(typed["warnings"], json!(["3 files are left out: policy denies them"]));
    }
}

/// The totals of a search are exact up to the count limit. Beyond it, the reply says that there are more.
#[test]
fn totals_are_exact_up_to_the_limit() {
    let scratch = Scratch::new();
    // Five lines that match in each of four files, one of them twice on a line.
    for number in 0..4 {
        scratch
            .put(&format!("f{number}.txt"), "needle needle\nx\nneedle\nneedle\nneedle\nneedle\n");
    }
    let grep = |limit: u64, mode: &str, more: Value| {
        let mut args = json!({"pattern": "needle", "output_mode": mode});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let crib = scratch.open_with(&[&format!("search.count_limit={limit}")]);
        let got = crib.reply("clemini/grep", &args);
        (got["total_found"].clone(), got.get("total_is_at_least").cloned(), got["count"].clone())
    };
    let exact = |total: u64, count: u64| (json!(total), None, json!(count));
    let at_least = |total: u64, count: u64| (json!(total), Some(json!(true)), json!(count));
    let first = json!({"head_limit": 2});
    assert_eq!(grep(21, "content", first.clone()), exact(20, 2));
    assert_eq!(grep(20, "content", first.clone()), exact(20, 2));
    assert_eq!(grep(19, "content", first.clone()), at_least(19, 2));
    assert_eq!(grep(1, "content", first.clone()), at_least(2, 2));
    assert_eq!(grep(0, "content", first.clone()), exact(20, 2));
    // What is on the page and before it is known.
    assert_eq!(grep(1, "content", json!({"head_limit": 2, "offset": 7})), at_least(9, 2));
    assert_eq!(grep(1, "content", json!({"head_limit": 2, "offset": 18})), exact(20, 2));
    assert_eq!(grep(1, "content", json!({})), exact(20, 20));
    assert_eq!(grep(4, "files_with_matches", first.clone()), exact(4, 2));
    assert_eq!(grep(3, "files_with_matches", first.clone()), at_least(3, 2));
    assert_eq!(grep(20, "count", first.clone()), exact(20, 2));
    assert_eq!(grep(12, "count", first.clone()), at_least(12, 2));
    assert_eq!(grep(5, "count", first), at_least(10, 2));
    let bad = scratch.try_open(&["search.count_limit=-1"]);
    assert!(bad.err().unwrap().to_string().contains("search.count_limit"));
}

#[test]
fn the_limit_leaves_out_denied_files_as_before() {
    let scratch = Scratch::new();
    scratch.put("a/secret.txt", "needle\n".repeat(50));
    scratch.put("b.txt", "needle\n".repeat(5));
    scratch.put("c/secret.txt", "needle\n".repeat(50));
    let rules = "[[rule]]\nid = \"no\"\neffect = \"deny\"\npaths = [\"**/secret.txt\"]\n";
    scratch.put_rules(rules);
    let grep = |limit: &str| {
        let args = json!({"pattern": "needle", "head_limit": 1});
        scratch.open_with(&[limit]).reply("clemini/grep", &args)
    };
    for (limit, total, is_at_least) in [("5", 5, None), ("4", 4, Some(json!(true)))] {
        let got = grep(&format!("search.count_limit={limit}"));
        assert_eq!(got["total_found"], total, "{got}");
        assert_eq!(got.get("total_is_at_least").cloned(), is_at_least, "{got}");
        assert_eq!(got["warnings"], json!(["2 files are left out: policy denies them"]));
    }
}

#[test]
fn wink_says_at_least() {
    let scratch = Scratch::new();
    for number in 0..10 {
        scratch.put(&format!("f{number}.txt"), "needle\n");
    }
    let args = json!({"pattern": "needle", "max_results": 2});
    let got = scratch.open_with(&["search.count_limit=4"]).reply("wink/grep_search", &args);
    let output = got["output"].as_str().unwrap();
    assert!(output.starts_with("Found at least 4 matches for 'needle':\n"), "{output}");
    assert!(output.ends_with("Warning: Found at least 4 matches, showing first 2\n"), "{output}");
    let metadata = &got["metadata"];
    assert_eq!(
        (&metadata["total_matches"], &metadata["total_is_at_least"]),
        (&json!(4), &json!(true))
    );
    // The files up to the one where counting stopped.
    assert_eq!(metadata["files_searched"], 5, "{metadata}");
    let got = scratch.open_with(&["search.count_limit=10"]).reply("wink/grep_search", &args);
    assert!(got["output"].as_str().unwrap().starts_with("Found 10 matches"), "{got}");
    assert_eq!(got["metadata"]["files_searched"], 10);
    assert!(got["metadata"].get("total_is_at_least").is_none());
}
