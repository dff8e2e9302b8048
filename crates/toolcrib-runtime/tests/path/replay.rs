//! Recorded calls, decided again under other rules.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::policy::grant::NoGrants;
use toolcrib_core::policy::{Layer, Policy, rules_in};
use toolcrib_core::recorded_call::RecordedCall;
use toolcrib_core::{CallId, Caller, Mode, SessionId, Verdict};
use toolcrib_runtime::{Judge, Nobody, Replay, Runtime};

use crate::harness::{Memory, Unread, bench};

const DENIES_READS: &str = r#"
[[rule]]
id = "no-reads"
tool = "wild/reads"
effect = "deny"
because = "not today"
"#;

fn recorded(id: &str, tool: &str, args: Option<Value>, verdict: Option<Verdict>) -> RecordedCall {
    RecordedCall {
        id: CallId(id.to_owned()),
        at: jiff::Timestamp::UNIX_EPOCH,
        caller: None,
        tool: tool.into(),
        args,
        verdict,
        rule: "the rule of then".to_owned(),
        is_declined: false,
    }
}

/// Replays calls under these rules. Fails if that leaves anything on the record.
fn replay(rules: &str, calls: Vec<RecordedCall>) -> Replay {
    let bench = bench(Arc::new(Nobody), Memory::default());
    let rules = rules_in(rules, "test", Layer::Operator, None).unwrap().rules;
    let policy = Arc::new(Policy::new(Mode::Standard, rules));
    let judge = Arc::new(Judge::new(policy, Arc::new(Unread), Arc::new(NoGrants)));
    let runtime = Runtime { judge, ..bench.runtime };
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let caller = Arc::new(Caller::at_terminal("test"));
    let replay =
        events.block_on(Replay::run(&runtime, &SessionId("replay".to_owned()), &caller, calls));
    assert!(bench.memory.lines.lock().unwrap().is_empty());
    replay
}

#[test]
fn call_that_was_allowed_and_would_be_denied_is_shown_with_both_decisions() {
    // A call that would be run, and not only decided again, would panic.
    let args = || Some(json!({"act": "panic_in_run"}));
    let allowed = || recorded("one", "wild/reads", args(), Some(Verdict::Allow));
    let Replay { same, unknown, changed } = replay(DENIES_READS, vec![allowed()]);
    assert_eq!((same, unknown), (0, 0));
    let [changed] = &changed[..] else { panic!("{changed:?}") };
    assert_eq!((changed.call.id.0.as_str(), changed.before), ("one", Verdict::Allow));
    assert_eq!(changed.now.verdict(), Verdict::Deny);
    assert_eq!(changed.now.rule, "rule `no-reads`: not today");
    let Replay { same, unknown, changed } = replay("", vec![allowed()]);
    assert_eq!((same, unknown, changed.len()), (1, 0, 0), "without the rule, nothing changes");
}

#[test]
fn calls_that_stay_the_same_are_counted() {
    let args = || Some(json!({"act": "fine"}));
    let calls = vec![
        recorded("one", "wild/pure", args(), Some(Verdict::Allow)),
        recorded("two", "wild/writes", args(), Some(Verdict::Ask)),
        recorded("three", "wild/blocked", args(), Some(Verdict::Deny)),
        recorded("four", "wild/reads", args(), Some(Verdict::Deny)),
    ];
    let Replay { same, unknown, changed } = replay(DENIES_READS, calls);
    assert_eq!((same, unknown, changed.len()), (4, 0, 0));
}

#[test]
fn call_that_cannot_be_decided_again_is_unknown() {
    let args = |act: &str| Some(json!({"act": act}));
    let calls = vec![
        recorded("no arguments", "wild/reads", None, Some(Verdict::Allow)),
        recorded("never decided", "wild/reads", args("fine"), None),
        recorded("no such tool", "wild/gone", args("fine"), Some(Verdict::Allow)),
        recorded("arguments of another time", "wild/reads", args("nonsense"), Some(Verdict::Allow)),
    ];
    let Replay { same, unknown, changed } = replay(DENIES_READS, calls);
    assert_eq!((same, unknown, changed.len()), (0, 4, 0));
}
