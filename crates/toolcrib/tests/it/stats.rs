//! The statistics: figures, regressions and quarantine.

use serde_json::json;
use toolcrib_core::{Durability, Effect, ErrorKind, Event, Moment, Recorder, SessionId, Usage};
use toolcrib_ledger::{Previews, RecordWriter, Redactor, StateFolder};

use crate::scratch::Scratch;

/// Records calls of one tool in one hour of the past, as if they had been made then.
pub(crate) fn record_calls(
    recorder: &RecordWriter,
    hours_ago: i64,
    count: u64,
    elapsed_us: u64,
    version: &str,
) {
    let hour = jiff::SignedDuration::from_hours(hours_ago);
    let at = jiff::Timestamp::now().checked_sub(hour).unwrap();
    for number in 0..count {
        let (id, session) = (toolcrib_ledger::new_call_id(), SessionId("past".to_owned()));
        let tool = "nachos/calculator".into();
        let event = |moment| Event { at, call: &id, session: &session, tool: &tool, moment };
        let asked = Moment::Asked { args: "{}", digest: "d".to_owned(), effect: Effect::None };
        recorder.record(&event(asked), Durability::Buffered).unwrap();
        let error = (number % 50 == 0).then_some((ErrorKind::Failed, "it failed"));
        // No two calls take exactly as long.
        let elapsed_us = elapsed_us + number * elapsed_us / count / 4;
        let ended = Moment::Ended {
            touched: None,
            has_task: false,
            error,
            elapsed_us,
            version: Some(version),
            reply: "{}",
            usage: Usage::default(),
        };
        recorder.record(&event(ended), Durability::Written).unwrap();
    }
}

#[test]
fn a_tool_that_got_slower_is_found_kept_out_and_let_in_again() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), json!({}));
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
    let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), json!({}));
    record_calls(&recorder, 0, 200, 4000, "a");
    drop(recorder);
    // The next call finds it, though nobody asks for the figures.
    assert_eq!(add(), 3);
    let found = regression(&["-c", "stats.quarantine=high"]);
    assert_eq!(found["regression"]["severity"], "high", "{found}");
    assert_eq!(found["baseline"]["sampleSize"], 200, "{found}");
    for key in ["avgExecutionMs", "p95ExecutionMs", "errorRate", "periodStart", "periodEnd"] {
        assert!(!found["current"][key].is_null(), "{key}: {found}");
    }
    // Found, it is kept out, and that is on the record.
    assert_eq!(add(), 3);
    let stats = scratch.run(["stats", "--json"]).json();
    assert!(stats["tools"][0]["keptOutSince"].is_string(), "{stats}");
    assert!(scratch.run(["stats"]).stdout.contains("in quarantine since"));
    assert!(scratch.record().iter().any(|line| line["event"] == "quarantined"));
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
fn another_version_is_compared_with_the_one_before_it() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), json!({}));
    // Both of this day: no span of time would tell them apart.
    record_calls(&recorder, 1, 100, 1000, "a");
    record_calls(&recorder, 0, 100, 2000, "b");
    drop(recorder);
    let found = scratch.run(["stats", "regression", "calculator", "--json"]).json();
    let found = &found["regression"];
    assert_eq!(found["baseline"]["versions"], json!(["a"]), "{found}");
    assert_eq!(found["current"]["versions"], json!(["b"]), "{found}");
    assert_eq!(found["regression"]["severity"], "high", "{found}");
}

#[test]
fn short_calls_are_measured_too() {
    let scratch = Scratch::new();
    scratch.put("a", "x".repeat(10_000));
    let line = r#"{"id": 1, "tool": "wink/read_file", "args": {"path": "a"}}"#;
    scratch.feed(["call", "--batch"], [line; 200].join("\n").as_bytes());
    let shown = scratch.run(["stats", "resources", "wink/read_file", "--json"]).json();
    let cpu = shown["resources"]["resources"]["cpu"]["totalMs"].as_f64().unwrap();
    let read = shown["resources"]["resources"]["disk"]["avgReadBytes"].as_u64().unwrap();
    // Two hundred reads take more than a millisecond of any processor's time.
    assert!(cpu > 1.0 && (10_000..20_000).contains(&read), "{shown}");
}

#[test]
fn what_left_the_workspace_is_refused_and_no_failure_of_the_tool() {
    let scratch = Scratch::new();
    scratch.run(["call", "wink/read_file", "path=/etc/passwd"]);
    scratch.run(["call", "wink/read_file", "path=missing"]);
    let refused = scratch.run(["audit", "search", "--outcome", "refused"]).stdout;
    assert!(refused.contains("/etc/passwd") && !refused.contains("missing"), "{refused}");
    let stats = scratch.run(["stats", "--json"]).json();
    let tool = &stats["tools"][0];
    assert_eq!((&tool["refused"], &tool["errors"]), (&1.into(), &1.into()), "{stats}");
}

#[test]
fn figures_of_a_contract_with_codes_have_its_codes() {
    let scratch = Scratch::new();
    let told = scratch.run(["call", "--json", "forgekeeper/read_file", "path=missing"]);
    scratch.run(["call", "wink/read_file", "path=missing"]);
    assert!(told.stdout.contains("ENOENT"), "{}", told.stdout);
    let one = scratch.run(["stats", "errors", "forgekeeper/read_file", "--json"]).json();
    assert_eq!(one["stats"]["errorTypes"], serde_json::json!({"ENOENT": 1}), "{one}");
    assert_eq!(one["stats"]["lastError"]["code"], "ENOENT");
    assert_eq!(one["stats"]["firstErrorDetail"]["args"]["path"], "missing");
    let all = scratch.run(["stats", "errors", "--json"]).json();
    let codes: Vec<_> =
        all["stats"].as_array().unwrap().iter().map(|it| &it["errorTypes"]).collect();
    let expect = [serde_json::json!({"ENOENT": 1}), serde_json::json!({"not_found": 1})];
    assert_eq!(codes, expect.iter().collect::<Vec<_>>(), "{all}");
}
