//! Tools that come and go while calls run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use serde_json::{Value, json};
use toolcrib_core::{Cancel, ErrorKind, LoadedTools, Shelf, Toolset};
use toolcrib_runtime::{LiveRuntime, Runtime};

use crate::guest::shelf;
use crate::harness::{self, Bench, COMPILED, Memory, No, asked, yes};

const SWAPS: usize = 50;
const CALLS: usize = 10_000;
const CALLERS: usize = 4;

/// Answers calls with the runtime in force, as doors do.
fn call(live: &LiveRuntime, tool: &str, act: &str) -> toolcrib_core::Outcome {
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let runtime: Arc<Runtime> = live.current();
    events.block_on(runtime.call(asked(tool, json!({"act": act})), Cancel::default()))
}

#[test]
fn no_call_is_lost_while_tools_change_and_each_has_one_version() {
    let live = LiveRuntime::new(yes().runtime);
    let changes = live.changes();
    let start = Barrier::new(CALLERS + 1);
    let is_over = AtomicBool::new(false);
    let replies: Vec<String> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let mut versions = Vec::new();
                    while versions.len() < CALLS / CALLERS || !is_over.load(Ordering::Acquire) {
                        let outcome = call(&live, "guest/pure", "fine");
                        assert!(outcome.error.is_none(), "{}", outcome.text);
                        versions.push(outcome.reply["ok"]["version"].as_str().unwrap().to_owned());
                    }
                    versions
                })
            })
            .collect();
        start.wait();
        for number in 1..=SWAPS {
            live.replace_toolset(Toolset::everything(shelf(&number.to_string())));
        }
        is_over.store(true, Ordering::Release);
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert!(replies.len() >= CALLS, "{}", replies.len());
    assert!(changes.has_changed().unwrap());
    let last = call(&live, "guest/pure", "fine");
    assert_eq!(last.reply["ok"]["version"], SWAPS.to_string());
}

#[test]
fn a_call_that_began_ends_on_its_version_after_the_tool_is_gone() {
    let live = Arc::new(LiveRuntime::new(yes().runtime));
    let held = live.current();
    live.replace_toolset(Toolset::everything(COMPILED));
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let begun = asked("guest/reads", json!({"act": "fine"}));
    let outcome = events.block_on(held.call(begun, Cancel::default()));
    assert_eq!(outcome.reply["ok"]["version"], "one");
    let outcome = call(&live, "guest/reads", "fine");
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::NoTool);
    assert!(call(&live, "wild/reads", "fine").error.is_none(), "the control");
}

#[test]
fn a_shelf_has_each_name_once() {
    let whole = shelf("one");
    let pure = whole.tools().find(|it| it.full_name().as_str() == "guest/pure").unwrap();
    let twice = [pure.clone(), pure];
    let empty = || Shelf::from(COMPILED);
    let catalogues = || vec![twice[0].catalogue];
    let both = LoadedTools { catalogues: catalogues(), tools: twice.to_vec() };
    assert_eq!(empty().with(both).err().unwrap().as_str(), "guest/pure");
    let one = LoadedTools { catalogues: catalogues(), tools: twice[..1].to_vec() };
    assert!(empty().with(one).is_ok(), "the control");
}

/// Returns the reply of a tool that was told to call another.
fn inner(bench: &Bench, outer: &str, tool: &str, args: Value) -> Value {
    let args = json!({"act": "call", "tool": tool, "with": args});
    let outcome = bench.call(outer, args);
    assert!(outcome.error.is_none(), "{}", outcome.text);
    outcome.reply["ok"].clone()
}

#[test]
fn a_loaded_tool_calls_others_by_the_same_path() {
    let bench = yes();
    let fine = json!({"act": "fine"});
    assert_eq!(
        inner(&bench, "guest/reads", "wild/writes", fine.clone())["inner"]["ok"]["done"],
        true
    );
    let expect = [
        "guest/reads asked in session",
        "decided allow by policy",
        "started, Buffered",
        "wild/writes asked in session",
        "waits",
        "decided allow by test",
        "started, Synced",
        "ended ok",
        "ended ok",
    ];
    assert_eq!(*bench.memory.lines.lock().unwrap(), expect);
    // What policy denies, it denies to tools too, and what a person declines.
    assert_eq!(
        inner(&bench, "guest/reads", "wild/blocked", fine.clone())["inner"]["bad"],
        "refused"
    );
    let no = harness::bench(Arc::new(No), Memory::default());
    assert_eq!(inner(&no, "guest/reads", "wild/writes", fine.clone())["inner"]["bad"], "declined");
    assert_eq!(inner(&no, "guest/reads", "wild/nope", fine)["inner"]["bad"], "no_tool");
}

#[test]
fn a_tool_that_a_tool_called_calls_none_and_a_compiled_tool_calls_none() {
    let bench = yes();
    let call = json!({"act": "call", "tool": "wild/reads", "with": {"act": "fine"}});
    assert_eq!(inner(&bench, "wild/reads", "wild/reads", json!({"act": "fine"}))["calls"], "none");
    let nested = inner(&bench, "guest/reads", "guest/reads", call.clone());
    assert_eq!(nested["inner"]["ok"]["calls"], "none", "{nested}");
    let once = inner(&bench, "guest/reads", "wild/reads", json!({"act": "fine"}));
    assert_eq!(once["inner"]["ok"]["done"], true, "the control");
}

#[test]
fn a_call_that_is_cancelled_takes_its_inner_call_along() {
    let cancel = Cancel::default();
    let later = cancel.clone();
    let canceller = thread::spawn(move || later.cancel());
    let args = json!({"act": "call", "tool": "wild/reads", "with": {"act": "wait"}});
    let outcome = yes().cancelled_call("guest/reads", args, cancel);
    canceller.join().unwrap();
    let told = outcome.error.map(|err| err.kind);
    assert!(
        told == Some(ErrorKind::Cancelled) || outcome.text.contains("cancelled"),
        "{}",
        outcome.text
    );
}
