//! Retention: old segments are packed and removed, and clocks that are ahead remove nothing.

use std::fs;

use serde_json::json;
use toolcrib_ledger::{Previews, RecordWriter, Redactor, StateFolder};

use crate::audit::verified;
use crate::past::record_calls;
use crate::scratch::Scratch;

#[test]
fn old_files_are_packed_and_removed_and_the_record_stays_whole() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), &json!({}));
    for hours_ago in [24 * 20, 24 * 10, 48, 3] {
        record_calls(&recorder, hours_ago, 20, 1000, "a");
    }
    drop(recorder);
    let before = scratch.run(["stats", "errors", "--json"]).stdout;
    let names = || -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(scratch.state().join("context_log"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("ctx-"))
            .collect();
        names.sort();
        names
    };
    let packed = names();
    assert_eq!(packed.iter().filter(|name| name.contains(".gz")).count(), 3, "{packed:?}");
    assert_eq!(verified(&scratch)["lines"], 161);
    assert_eq!(scratch.run(["stats", "errors", "--json"]).stdout, before);
    scratch.run(["stats", "rebuild"]);
    assert_eq!(scratch.run(["stats", "errors", "--json"]).stdout, before);
    let found =
        scratch.run(["audit", "search", "--tool", "calculator", "--json", "-n", "1000"]).stdout;
    assert_eq!(found.lines().count(), 80);
    scratch.run(["-c", "record.keep_days=15", "stats"]);
    assert_eq!(names().len(), packed.len(), "one went, and one came for the note");
    let whole = verified(&scratch);
    assert_eq!((&whole["ok"], &whole["first"]), (&json!(true), &json!(42)), "{whole}");
    // What was folded stays.
    assert_eq!(scratch.run(["stats", "errors", "--json"]).stdout, before);
}

#[test]
fn a_clock_that_was_ahead_hides_and_removes_nothing() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), &json!({}));
    record_calls(&recorder, 48, 5, 1000, "a");
    record_calls(&recorder, -24 * 365, 5, 1000, "a");
    record_calls(&recorder, 1, 5, 1000, "a");
    drop(recorder);
    let count = |words: &[&str]| {
        let all = [&["audit"], words, &["--tool", "calculator"]].concat();
        scratch.run(all).stdout.matches("\"trace_id\"").count()
    };
    assert_eq!(count(&["export", "--until", "0s"]), 20, "ten calls of two lines");
    assert_eq!(count(&["export"]), 30);
    let found = scratch.run(["audit", "search", "--until", "0s", "--json"]).stdout;
    assert_eq!(found.lines().count(), 10, "{found}");
}
