//! Calls on the thread of their caller: they end as calls on other threads do.

use std::sync::Arc;
use std::thread;

use serde_json::json;
use toolcrib_core::{Cancel, ErrorKind, Outcome};
use toolcrib_runtime::{LateAnswer, Watchdog};

use crate::TOOLS;
use crate::harness::{Bench, Memory, No, asked, bench, yes};

/// Who answered a call.
#[derive(Debug, PartialEq, Eq)]
enum AnsweredBy {
    Caller,
    Watchdog,
}

/// Makes a call on this thread. Tells who answered.
fn call_here(
    bench: &Bench,
    watchdog: &Watchdog,
    (tool, act): (&str, &str),
    cancel: &Cancel,
) -> (AnsweredBy, Outcome) {
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _events = events.enter();
    let (send, receive) = std::sync::mpsc::channel();
    let late: LateAnswer = Arc::new(move |outcome| send.send(outcome).unwrap());
    let call = asked(tool, json!({"act": act}));
    match bench.runtime.call_here(call, cancel, watchdog, late) {
        Some(outcome) => (AnsweredBy::Caller, outcome),
        None => (AnsweredBy::Watchdog, receive.recv().unwrap()),
    }
}

#[track_caller]
fn check(bench: &Bench, tool: &str, act: &str, expect: (AnsweredBy, Option<ErrorKind>)) {
    let watchdog = Watchdog::default();
    let (by, outcome) = call_here(bench, &watchdog, (tool, act), &Cancel::default());
    let ended = format!("ended {}", expect.1.map_or("ok", ErrorKind::as_str));
    assert_eq!((by, outcome.error.map(|err| err.kind)), expect, "{tool} {act}");
    let lines = bench.memory.lines.lock().unwrap();
    let ends = lines.iter().filter(|line| line.starts_with("ended"));
    assert_eq!(ends.collect::<Vec<_>>(), [&ended], "{tool} {act}: it ends once");
    assert_eq!(watchdog.watched_calls(), 0);
}

#[test]
fn calls_end_as_on_another_thread() {
    for tool in TOOLS {
        check(&yes(), tool, "fine", (AnsweredBy::Caller, None));
        for act in ["panic_in_check", "panic_in_run"] {
            check(&yes(), tool, act, (AnsweredBy::Caller, Some(ErrorKind::Bug)));
        }
    }
    let declined = bench(Arc::new(No), Memory::default());
    check(&declined, "wild/writes", "fine", (AnsweredBy::Caller, Some(ErrorKind::Declined)));
    check(&yes(), "wild/nope", "fine", (AnsweredBy::Caller, Some(ErrorKind::NoTool)));
}

#[test]
fn a_call_that_stops_at_its_deadline_answers_itself_and_one_that_does_not_is_answered() {
    thread::scope(|scope| {
        for tool in ["wild/short_reads", "wild/short_writes"] {
            let timeout = || Some(ErrorKind::Timeout);
            scope.spawn(move || check(&yes(), tool, "wait", (AnsweredBy::Caller, timeout())));
            scope.spawn(move || check(&yes(), tool, "hang", (AnsweredBy::Watchdog, timeout())));
        }
    });
}

#[test]
fn a_call_that_is_planned_too_long_ends_with_timeout() {
    let planned = |cancel: &Cancel, tool: &str| {
        let watchdog = Watchdog::default();
        let (_, outcome) = call_here(&yes(), &watchdog, (tool, "plan_too_long"), cancel);
        outcome.error.map(|err| err.kind)
    };
    let (nobody, somebody) = (Cancel::default(), Cancel::default());
    assert_eq!(planned(&nobody, "wild/short_writes"), Some(ErrorKind::Timeout));
    // The control: a call that somebody cancels ends with that.
    somebody.cancel();
    assert_eq!(planned(&somebody, "wild/writes"), Some(ErrorKind::Cancelled));
}

#[test]
fn a_cancelled_call_ends() {
    let (bench, parent) = (yes(), Cancel::default());
    let later = parent.clone();
    let canceller = thread::spawn(move || later.cancel());
    let (watchdog, cancel) = (Watchdog::default(), parent.child());
    let (_, outcome) = call_here(&bench, &watchdog, ("wild/reads", "wait"), &cancel);
    canceller.join().unwrap();
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::Cancelled);
    assert_eq!(parent.waiting_futures(), 0);
}
