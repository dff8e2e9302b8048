//! The statistics: what is counted, and what is compared.

use serde_json::{Value, json};
use toolcrib_ledger::{
    CallFilter, CallHistory, CallOutcome, Previews, RecordWriter, Redactor, StateFolder, Stats,
    comparisons, find_calls, report, verify,
};

use crate::opened::{Opened, Scratch};
use crate::past::record_calls;

/// Returns the figures after a round of maintenance.
fn figures(crib: &Opened) -> Stats {
    let mut stats = Stats::open(&crib.crib.state).unwrap();
    crib.crib.maintenance.run(&mut stats).unwrap();
    stats
}

/// Returns the regression of the tool that calls were recorded of.
fn regression(crib: &Opened) -> Value {
    let (stats, spans, now) = (figures(crib), crib.crib.spans(), crib.crib.clock.now());
    let hours = stats.hours(spans.oldest_hour(now)).unwrap();
    let compared = comparisons(&stats.tools().unwrap(), &hours, now, spans);
    let (name, found) = &compared[0];
    json!(report::regression(name, found))
}

fn recorder(state: &StateFolder) -> RecordWriter {
    RecordWriter::new(state, Previews::On, Redactor::default(), &json!({}))
}

#[test]
fn a_tool_that_got_slower_is_found_and_kept_out() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let past = recorder(&state);
    record_calls(&past, 48, 200, 1000, "a");
    record_calls(&past, 1, 40, 1050, "a");
    drop(past);
    let add = || {
        let crib = scratch.open_with(&["stats.quarantine=high"]);
        crib.call("nachos/calculator", json!({"expression": "1+1"})).kind()
    };
    assert_eq!(regression(&scratch.open())["regression"]["detected"], false);
    assert_eq!(add(), "ok");
    let past = recorder(&state);
    record_calls(&past, 0, 200, 4000, "a");
    drop(past);
    // The next call finds it, though nobody asks for the figures.
    assert_eq!(add(), "refused");
    let found = regression(&scratch.open());
    assert_eq!(found["regression"]["severity"], "high", "{found}");
    assert_eq!(found["baseline"]["sampleSize"], 200, "{found}");
    for key in ["avgExecutionMs", "p95ExecutionMs", "errorRate", "periodStart", "periodEnd"] {
        assert!(!found["current"][key].is_null(), "{key}: {found}");
    }
    assert!(scratch.record().iter().any(|line| line["event"] == "quarantined"));
}

#[test]
fn another_version_is_compared_with_the_one_before_it() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let past = recorder(&state);
    // Both of this day: no span of time would tell them apart.
    record_calls(&past, 1, 100, 1000, "a");
    record_calls(&past, 0, 100, 2000, "b");
    drop(past);
    let found = regression(&scratch.open());
    assert_eq!(found["baseline"]["versions"], json!(["a"]), "{found}");
    assert_eq!(found["current"]["versions"], json!(["b"]), "{found}");
    assert_eq!(found["regression"]["severity"], "high", "{found}");
}

#[test]
fn short_calls_are_measured_too() {
    let scratch = Scratch::new();
    scratch.put("a", "x".repeat(10_000));
    let crib = scratch.open();
    for _ in 0..200 {
        crib.call("wink/read_file", json!({"path": "a"})).done();
    }
    let tools = figures(&crib).tools().unwrap();
    let (name, figures) = &tools[0];
    let shown = json!(report::used(name, figures, &|tool| crib.crib.limits_of(tool)));
    let cpu = shown["resources"]["cpu"]["totalMs"].as_f64().unwrap();
    let read = shown["resources"]["disk"]["avgReadBytes"].as_u64().unwrap();
    // Two hundred reads take more than a millisecond of any processor's time.
    assert!(cpu > 1.0 && (10_000..20_000).contains(&read), "{shown}");
}

#[test]
fn what_left_the_workspace_is_refused_and_no_failure_of_the_tool() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let outside = crib.call("wink/read_file", json!({"path": "/etc/passwd"}));
    crib.call("wink/read_file", json!({"path": "missing"}));
    let filter = CallFilter { outcome: Some(CallOutcome::Refused), ..CallFilter::default() };
    let refused = find_calls(&crib.crib.state, &filter, 10).unwrap();
    let refused: Vec<&str> = refused.iter().map(CallHistory::id).collect();
    assert_eq!(refused, [outside.id()]);
    let tools = figures(&crib).tools().unwrap();
    let errors = &tools[0].1.errors;
    assert_eq!((errors.refused, errors.errors), (1, 1));
}

#[test]
fn a_clock_that_is_ahead_removes_nothing() {
    let scratch = Scratch::new();
    let state = StateFolder::open(&scratch.state()).unwrap();
    let past = recorder(&state);
    for hours_ago in [24 * 20, 48, 3, 0] {
        record_calls(&past, hours_ago, 5, 1000, "a");
    }
    let mut stats = Stats::open(&state).unwrap();
    stats.fold().unwrap();
    let now = jiff::Timestamp::now();
    let later = now.checked_add(jiff::SignedDuration::from_hours(24 * 365)).unwrap();
    assert_eq!(stats.apply_retention(&past, later, 30).unwrap().removed, 0);
    assert_eq!(stats.apply_retention(&past, now, 15).unwrap().removed, 1, "the control");
    assert!(verify(&state).unwrap().problems.is_empty());
}
