//! Finds the calls on the record by what is known of them.

use toolcrib_core::{
    CallId, Caller, Door, Durability, Effect, Event, Moment, Principal, Recorder, Role, SessionId,
    Usage,
};
use toolcrib_ledger::{
    CallFilter, CallHistory, CallOutcome, CallerFilter, RecordedDecision, find_calls,
};

use super::{Place, USER, call};

#[test]
fn a_call_that_ended_in_a_later_hour_is_found_with_its_end() {
    let place = Place::new();
    let recorder = place.recorder();
    let (id, session) = (CallId("01A".to_owned()), SessionId("s".to_owned()));
    let tool = "wink/read_file".into();
    let event = |at: &str, moment| {
        let at = at.parse().unwrap();
        Event { at, call: &id, session: &session, trace: None, tool: &tool, moment }
    };
    let asked =
        Moment::Asked { args: "{}", digest: "d".to_owned(), effect: Effect::Read, caller: &USER };
    recorder.record(&event("2026-11-01T00:59:00Z", asked), Durability::Written).unwrap();
    call(&recorder, 100, "wink/read_file", "a", 10, None);
    let usage = Usage::default();
    let ended = Moment::Ended {
        touched: None,
        network: None,
        error: None,
        elapsed_us: 1,
        version: None,
        reply: "{}",
        saved_as: None,
        usage,
        has_task: false,
        command_end: None,
    };
    recorder.record(&event("2026-11-01T04:30:00Z", ended), Durability::Written).unwrap();
    let until = Some("2026-11-01T00:59:30Z".parse().unwrap());
    let wanted = CallFilter { until, tool: Some("read_file".into()), ..CallFilter::default() };
    let found = find_calls(&place.state, &wanted, 10).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].id(), found[0].outcome()), ("01A", CallOutcome::Ok));
}

#[test]
fn pages_of_calls_follow_one_another_without_a_gap() {
    let place = Place::new();
    let recorder = place.recorder();
    // A call every 40 seconds, so they are in many files.
    for number in 0..500 {
        call(&recorder, number, "wink/read_file", "a", 10, None);
    }
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let wanted = CallFilter { before, ..CallFilter::default() };
        let page = find_calls(&place.state, &wanted, 30).unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.seq());
        assert!(page.iter().all(|call| call.outcome() == CallOutcome::Ok));
        found.extend(page.iter().map(|call| call.id().to_owned()));
    }
    let all: Vec<String> = (0..500).rev().map(|number| format!("call-{number}")).collect();
    assert_eq!(found, all);
}

#[test]
fn calls_are_found_by_session_door_and_decision() {
    let place = Place::new();
    let recorder = place.recorder();
    let agent = Caller {
        principal: Principal { name: "ci".to_owned(), role: Role::Agent },
        door: Door::Mcp,
        client: None,
        connection: None,
        via: None,
    };
    let record = |id: &str, session: &str, caller: &Caller, verdict: &'static str, by| {
        let (id, session) = (CallId(id.to_owned()), SessionId(session.to_owned()));
        let (at, tool) = ("2026-11-01T00:00:00Z".parse().unwrap(), "wink/create_file".into());
        let digest = "d".to_owned();
        for moment in [
            Moment::Asked { args: "{}", digest, effect: Effect::Write, caller },
            Moment::Decided { verdict, rule: "a rule", by },
        ] {
            let event =
                Event { at, call: &id, session: &session, trace: None, tool: &tool, moment };
            recorder.record(&event, Durability::Written).unwrap();
        }
    };
    record("01A", "s", &USER, "allow", None);
    record("01B", "s", &agent, "deny", None);
    record("01C", "other", &agent, "allow", Some("ada"));
    let check = |wanted: CallFilter, expected: &[&str]| {
        let found = find_calls(&place.state, &wanted, 10).unwrap();
        let ids: Vec<&str> = found.iter().map(CallHistory::id).collect();
        assert_eq!(ids, expected, "{wanted:?}");
    };
    let none = CallFilter::default;
    let through = |door| CallerFilter { door: Some(door), ..CallerFilter::default() };
    check(CallFilter { session: Some("s".to_owned()), ..none() }, &["01B", "01A"]);
    check(CallFilter { session: Some("s ".to_owned()), ..none() }, &[]);
    check(CallFilter { caller: through(Door::Mcp), ..none() }, &["01C", "01B"]);
    check(CallFilter { caller: through(Door::Terminal), ..none() }, &["01A"]);
    for (decision, expected) in [
        (RecordedDecision::Allow, &["01C", "01A"][..]),
        (RecordedDecision::Ask, &["01C"][..]),
        (RecordedDecision::Deny, &["01B"][..]),
    ] {
        check(CallFilter { decision: Some(decision), ..none() }, expected);
    }
    check(CallFilter { changed_files: true, ..none() }, &[]);
}
