//! The statistics: figures, regressions and quarantine.

use serde_json::json;
use toolcrib_ledger::{Previews, RecordWriter, Redactor, StateFolder};

use crate::past::record_calls;
use crate::scratch::Scratch;

#[test]
fn a_tool_that_got_slower_is_shown_and_let_in_again() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), &json!({}));
    record_calls(&recorder, 48, 200, 1000, "a");
    record_calls(&recorder, 1, 40, 1050, "a");
    drop(recorder);
    let add = || {
        scratch
            .run(["-c", "stats.quarantine=high", "call", "nachos/calculator", "expression=1+1"])
            .code
    };
    let regression = |flags: &[&str]| {
        let words = [flags, &["stats", "regression", "nachos/calculator", "--json"]].concat();
        scratch.run(words).json()["regression"].clone()
    };
    assert_eq!(regression(&[])["regression"]["detected"], false);
    let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), &json!({}));
    record_calls(&recorder, 0, 200, 4000, "a");
    drop(recorder);
    // The next call finds it, though nobody asks for the figures.
    assert_eq!(add(), 3);
    let found = regression(&["-c", "stats.quarantine=high"]);
    assert_eq!(found["regression"]["severity"], "high", "{found}");
    // Found, it is kept out.
    assert_eq!(add(), 3);
    let stats = scratch.run(["stats", "--json"]).json();
    assert!(stats["tools"][0]["keptOutSince"].is_string(), "{stats}");
    assert!(scratch.run(["stats"]).stdout.contains("in quarantine since"));
    let got = scratch.run(["stats", "clear", "regression", "nachos/calculator", "--json"]).json();
    assert_eq!(got["action"], "baseline_reset", "{got}");
    assert!(got["newBaseline"]["avgExecutionMs"].as_f64().unwrap() > 3.0, "{got}");
    // Once more, with nothing new: it is the same.
    let again = scratch.run(["stats", "clear", "regression", "nachos/calculator", "--json"]).json();
    assert_eq!(again["newBaseline"]["avgExecutionMs"], got["newBaseline"]["avgExecutionMs"]);
    assert_eq!(add(), 0);
    assert_eq!(regression(&[])["regression"]["detected"], false);
}

#[test]
fn figures_of_a_contract_with_codes_have_its_codes() {
    let scratch = Scratch::new();
    let told = scratch.run(["call", "--json", "forgekeeper/read_file", "path=missing"]);
    scratch.run(["call", "wink/read_file", "path=missing"]);
    assert!(told.stdout.contains("ENOENT"), "{}", told.stdout);
    let one = scratch.run(["stats", "errors", "forgekeeper/read_file", "--json"]).json();
    assert_eq!(one["tool"], "read_file", "{one}");
    assert_eq!(one["stats"]["lastError"]["message"], "ENOENT: file not found");
    assert_eq!(one["stats"]["topErrors"][0]["message"], "ENOENT: file not found");
    assert_eq!(one["stats"]["topErrors"][0]["percentage"], 100.0);
    // By the bare name that the report has, though another catalogue has a tool of that name.
    let bare = scratch.run(["stats", "errors", "read_file", "--json"]).json();
    assert_eq!(bare, one);
    assert_eq!(one["stats"]["errorTypes"], serde_json::json!({"ENOENT": 1}), "{one}");
    assert_eq!(one["stats"]["lastError"]["code"], "ENOENT");
    assert_eq!(one["stats"]["firstErrorDetail"]["args"]["path"], "missing");
    let all = scratch.run(["stats", "errors", "--json"]).json();
    let codes: Vec<_> =
        all["stats"].as_array().unwrap().iter().map(|it| &it["errorTypes"]).collect();
    let expect = [serde_json::json!({"ENOENT": 1}), serde_json::json!({"not_found": 1})];
    assert_eq!(codes, expect.iter().collect::<Vec<_>>(), "{all}");
    for report in ["errors", "resources", "regression"] {
        let all = scratch.run(["stats", report, "--json"]).json();
        let list = if report == "errors" { "stats" } else { report };
        let list = if report == "regression" { "regressions" } else { list };
        let names: Vec<_> =
            all[list].as_array().unwrap().iter().map(|it| &it["toolName"]).collect();
        assert_eq!(names, ["read_file", "wink/read_file"], "{all}");
    }
    for words in [&["errors", "nonexistent"][..], &["clear", "errors", "nonexistent"]] {
        let got = scratch.run([&["stats"], words, &["--json"]].concat());
        let expect = serde_json::json!({"ok": false, "error": "tool_not_found",
            "message": "Tool 'nonexistent' not found"});
        assert_eq!((got.code, got.json()), (5, expect));
    }
    let never = scratch.run(["stats", "resources", "echo", "--json"]);
    assert_eq!((never.code, &never.json()["message"]), (1, &"Tool 'echo' was never called".into()));
}
