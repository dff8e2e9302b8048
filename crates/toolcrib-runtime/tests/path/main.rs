//! The path of a call around tools that misbehave: none of them takes the process down.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::panic, reason = "that is how these tools misbehave")]
#![expect(clippy::disallowed_methods, reason = "deadlines are measured from outside")]

mod guest;
mod harness;
mod loaded;
mod memory;
mod own_thread;
mod replay;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_core::{Cancel, ErrorKind};
use toolcrib_runtime::{AlwaysYes, Nobody};

use harness::{
    Bench, ENTERED, Memory, No, PARSED, RESOLVED, asked, bench, with_session_bytes, yes,
};

/// Compiled tools, and the same as loaded ones.
const TOOLS: [&str; 6] =
    ["wild/pure", "wild/reads", "wild/writes", "guest/pure", "guest/reads", "guest/writes"];

#[test]
fn one_bad_tool_never_takes_the_process_down() {
    let bench = yes();
    for tool in TOOLS {
        for act in ["panic_in_check", "panic_in_run"] {
            let outcome = bench.call(tool, json!({"act": act}));
            assert_eq!(outcome.reply["bad"], "internal_error", "{tool} {act}");
            assert!(!outcome.text.contains("SECRET"), "{}", outcome.text);
        }
        bench.check(tool, "fine", None);
    }
}

#[test]
fn a_call_ends_at_its_deadline_even_if_the_tool_does_not() {
    thread::scope(|scope| {
        let tools =
            ["wild/short_reads", "wild/short_writes", "guest/short_reads", "guest/short_writes"];
        for tool in tools {
            scope.spawn(move || {
                let start = Instant::now();
                yes().check(tool, "hang", Some(ErrorKind::Timeout));
                assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
            });
        }
        scope.spawn(|| {
            let outcome = yes().call("wild/short_writes", json!({"act": "hang"}));
            assert_eq!(outcome.error.unwrap().context["outcome"], "unknown");
        });
        scope.spawn(|| yes().check("wild/short_writes", "wait", Some(ErrorKind::Timeout)));
    });
}

#[test]
fn a_call_that_is_planned_too_long_ends_with_timeout_and_nobody_is_asked() {
    let bench = yes();
    bench.check("wild/short_writes", "plan_too_long", Some(ErrorKind::Timeout));
    let is_asked = |bench: &Bench| {
        bench.memory.lines.lock().unwrap().iter().any(|line| line.starts_with("decided"))
    };
    assert!(!is_asked(&bench), "{:?}", bench.memory.lines);
    // The controls: a call that is planned in time is asked about, and one that somebody cancels ends with that.
    let bench = yes();
    bench.check("wild/writes", "fine", None);
    assert!(is_asked(&bench), "{:?}", bench.memory.lines);
    let cancel = Cancel::default();
    cancel.cancel();
    let outcome = yes().cancelled_call("wild/writes", json!({"act": "plan_too_long"}), cancel);
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::Cancelled);
}

#[test]
fn a_cancelled_call_ends() {
    let bench = yes();
    let cancel = Cancel::default();
    let later = cancel.clone();
    // At once: on a busy machine, a later one comes after the deadline.
    let canceller = thread::spawn(move || later.cancel());
    let outcome = bench.cancelled_call("wild/reads", json!({"act": "wait"}), cancel);
    canceller.join().unwrap();
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::Cancelled);
}

#[test]
fn bytes_sent_to_hosts_count_as_bytes_written() {
    let bench = with_session_bytes(150);
    bench.check("wild/reads", "send", None);
    bench.check("wild/reads", "send", None);
    let outcome = bench.call("wild/reads", json!({"act": "send"}));
    assert_eq!(outcome.error.map(|err| err.kind), Some(ErrorKind::Refused), "{}", outcome.text);
    assert!(outcome.text.contains("this one has written 200"), "{}", outcome.text);
    // The control: what is received counts where it is written to a file.
    let bench = with_session_bytes(150);
    for _ in 0..3 {
        bench.check("wild/reads", "receive", None);
    }
}

#[test]
fn a_reply_over_the_limit_is_refused_with_its_size() {
    for tool in TOOLS {
        let outcome = yes().call(tool, json!({"act": "large"}));
        let error = outcome.error.unwrap();
        assert_eq!(error.kind, ErrorKind::OutputTooLarge, "{tool}");
        assert_eq!(error.context["limit_bytes"], 1000);
        assert!(outcome.text.len() < 1000);
    }
}

#[test]
fn nobody_is_asked_about_a_call_that_would_fail_anyway() {
    let bench = bench(Arc::new(No), Memory::default());
    bench.check("wild/writes", "refuse_in_check", Some(ErrorKind::BadArgs));
    assert!(!bench.memory.lines.lock().unwrap().iter().any(|line| line.contains("someone")));
    bench.check("wild/writes", "fine", Some(ErrorKind::Declined));
    assert!(
        bench.memory.lines.lock().unwrap().iter().any(|line| line == "decided deny by someone")
    );
}

#[test]
fn without_a_yes_nothing_is_entered() {
    let nobody = bench(Arc::new(Nobody), Memory::default());
    nobody.check("wild/writes", "count", Some(ErrorKind::ApprovalNeeded));
    nobody.check("guest/writes", "count", Some(ErrorKind::ApprovalNeeded));
    for catalogue in ["wild", "guest"] {
        let (writes, blocked) = (format!("{catalogue}/writes"), format!("{catalogue}/blocked"));
        let no = bench(Arc::new(No), Memory::default());
        no.check(&writes, "count", Some(ErrorKind::Declined));
        yes().check(&blocked, "count", Some(ErrorKind::Refused));
    }
    assert_eq!(ENTERED.load(Ordering::Relaxed), 0);
    yes().check("wild/writes", "count", None);
    yes().check("guest/writes", "count", None);
    assert_eq!(ENTERED.load(Ordering::Relaxed), 2, "the control");
}

#[test]
fn every_call_is_on_the_record_from_asked_to_ended() {
    let bench = yes();
    bench.call("wild/writes", json!({"act": "fine", "talk": "theirs", "number": "1"}));
    bench.call("wild/pure", json!({"act": "nonsense"}));
    bench.call("wild/nope", json!({}));
    let expect = [
        "wild/writes asked in theirs",
        "waits",
        "decided allow by test",
        "started, Synced",
        "ended ok",
        "wild/pure asked in session",
        "ended bad_args",
        "wild/nope asked in session",
        "ended no_tool",
    ];
    assert_eq!(*bench.memory.lines.lock().unwrap(), expect);
}

#[test]
fn what_cannot_be_recorded_is_not_written_and_still_read() {
    let full = || Memory { is_full: true, ..Memory::default() };
    let call = |tool: &str| {
        let bench = bench(Arc::new(AlwaysYes("test".to_owned())), full());
        bench.call(tool, json!({"act": "fine"})).error.map(|err| err.kind)
    };
    assert_eq!(call("wild/writes"), Some(ErrorKind::Unrecorded));
    assert_eq!(call("wild/reads"), None);
    assert_eq!(call("wild/pure"), None);
}

#[test]
fn a_preview_decides_and_does_not_enter() {
    let bench = bench(Arc::new(Nobody), Memory::default());
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = |tool: &str| asked(tool, json!({"act": "panic_in_run"}));
    let preview = events.block_on(bench.runtime.preview(call("wild/writes"), Cancel::default()));
    let preview = preview.ok().unwrap();
    assert_eq!(preview.decision.to_string(), "ask (tier 2 in mode standard)");
    let preview = events.block_on(bench.runtime.preview(call("wild/blocked"), Cancel::default()));
    assert_eq!(preview.ok().unwrap().decision.verdict().as_str(), "deny");
}

#[test]
fn a_command_is_parsed_once_and_its_paths_are_resolved_once_before_anybody_is_asked() {
    let bench = bench(Arc::new(No), Memory::default());
    bench.check("wild/writes", "command", Some(ErrorKind::Declined));
    assert_eq!(*PARSED.lock().unwrap(), ["cat a b"]);
    let mut resolved = RESOLVED.lock().unwrap().clone();
    resolved.sort();
    assert_eq!(resolved, ["./a", "./b", "./cat"]);
}
