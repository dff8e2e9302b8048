//! The memory of a process that answers many calls: what it holds for calls does not grow with their number.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::wiring::call_at_terminal;
use toolcrib_core::policy::Answer;
use toolcrib_core::{Call, Cancel, SessionId};
use toolcrib_runtime::{
    AlwaysYes, AnswerFuture, Approver, Question, Runtime, SessionKind, Unattended, Watchdog,
};

use crate::opened::{Scratch, queue};

/// How many calls are made.
const CALLS: usize = 100_000;

/// How many sessions make them.
const SESSIONS: usize = 50;

/// The settings with which every counter has something to count.
const SETTINGS: [&str; 3] =
    ["policy.calls_per_minute=1000000", "policy.session_bytes=1000000000", "policy.tainted=ask"];

/// Everything that is held in memory for calls, by name.
fn held(runtime: &Runtime, watchdog: &Watchdog, parent: &Cancel) -> BTreeMap<&'static str, usize> {
    let mut held: BTreeMap<_, _> = runtime.held_counts().into_iter().collect();
    held.insert("watched calls", watchdog.watched_calls());
    held.insert("futures that wait for a token", parent.waiting_futures());
    held
}

/// Calls that succeed and calls that fail, most of them short.
fn ask(number: usize) -> (&'static str, Value) {
    match number % 50 {
        0 => ("clemini/read_file", json!({"file_path": "a.txt"})),
        1 => ("clemini/read_file", json!({"file_path": format!("missing-{number}")})),
        2 => ("nachos/calculator", json!({"expression": "1+", "sessionId": format!("{number}")})),
        3 => ("clemini/none", json!({"number": number})),
        4 => ("clemini/bash", json!({"command": format!("rm -rf {number}")})),
        _ => ("forgekeeper/echo", json!({"text": format!("{number}")})),
    }
}

fn call(number: usize) -> Call {
    let (tool, args) = ask(number);
    let session = SessionId(format!("session-{}", number % SESSIONS));
    call_at_terminal(session, tool, args)
}

#[test]
fn what_a_process_holds_does_not_grow_with_its_calls() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\ntwo\n");
    let crib = scratch.open_with(&SETTINGS);
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _events = events.enter();
    let nobody = queue(&crib.crib, Unattended::Refuse, SessionKind::ManyCalls);
    let runtime = crib.crib.runtime(nobody).unwrap();
    let (watchdog, parent) = (Watchdog::default(), Cancel::default());
    let mut first = BTreeMap::new();
    for number in 0..CALLS {
        let token = parent.child();
        let made = runtime.call_here(call(number), &token, &watchdog, Arc::new(|_| {}));
        assert!(made.is_some());
        if number == CALLS / 10 {
            first = held(&runtime, &watchdog, &parent);
        }
    }
    let last = held(&runtime, &watchdog, &parent);
    // Those that count sessions and tools count the same ones; all others are empty between calls.
    for (name, count) in &last {
        let most = match *name {
            "rate windows" => 5 * SESSIONS,
            "sessions with a quota" => SESSIONS,
            // Each is another command. Up to this many are remembered, and then all are forgotten.
            "calls to confirm" => 10_000,
            _ => 0,
        };
        assert!(*count <= most, "{name}: {} after a tenth, {count} now", first[name]);
    }
    assert_eq!(first["rate windows"], last["rate windows"]);
    assert_eq!(last["sessions with a quota"], SESSIONS, "the control: they are counted");
}

/// A person who never answers.
struct NoAnswer;

impl Approver for NoAnswer {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(std::future::pending::<Answer>())
    }
}

#[test]
fn what_is_held_for_a_call_is_counted_until_it_ends() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&SETTINGS);
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let runtime = crib.crib.runtime(Arc::new(NoAnswer)).unwrap();
    let (watchdog, parent) = (Watchdog::default(), Cancel::default());
    std::thread::scope(|threads| {
        let calls: Vec<_> = (0..3)
            .map(|number| {
                let (runtime, watchdog, parent, events) = (&runtime, &watchdog, &parent, &events);
                threads.spawn(move || {
                    let _events = events.enter();
                    let args = json!({"file_path": format!("{number}"), "content": "x"});
                    let call = Call { tool: "clemini/write_file".into(), args, ..call(number) };
                    let token = parent.child();
                    runtime.call_here(call, &token, watchdog, Arc::new(|_| {})).is_some()
                })
            })
            .collect();
        while parent.waiting_futures() < 3 {
            std::thread::yield_now();
        }
        let now = held(&runtime, &watchdog, &parent);
        assert_eq!((now["arguments of open calls"], now["reservations"]), (3, 3), "{now:?}");
        parent.cancel();
        assert!(calls.into_iter().all(|call| call.join().unwrap()));
    });
    let after = held(&runtime, &watchdog, &parent);
    for name in ["arguments of open calls", "reservations", "futures that wait for a token"] {
        assert_eq!(after[name], 0, "{name}");
    }
    let _events = events.enter();
    let yes = crib.crib.runtime(Arc::new(AlwaysYes("test".to_owned()))).unwrap();
    let made = yes.call_here(call(5), &Cancel::default(), &watchdog, Arc::new(|_| {}));
    assert!(made.unwrap().error.is_none(), "calls go on");
}
