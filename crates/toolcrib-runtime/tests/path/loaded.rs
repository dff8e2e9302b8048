//! Tools that come and go while calls run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use serde_json::json;
use toolcrib_core::{Cancel, ErrorKind, LoadedTools, Shelf, Toolset};
use toolcrib_runtime::{LiveRuntime, Runtime};

use crate::harness::{COMPILED, asked, shelf, yes};

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
