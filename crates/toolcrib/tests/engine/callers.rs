//! Who makes a call: what rules, grants, approvals and the record know about it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::approval::ApprovalStore;
use toolcrib_core::policy::Answer;
use toolcrib_core::{Call, CallTrace, Caller, Door, Principal, Role, SessionId};
use toolcrib_ledger::{Approvals, CallFilter, EventKind, TokenFile, find_calls, new_call_id};
use toolcrib_runtime::{
    ApprovalAnswers, ApprovalError, Approved, Nobody, Runtime, SessionKind, Unattended,
};

use crate::opened::{Opened, Reply, Scratch, queue};

fn over_http(name: &str, role: Role) -> Arc<Caller> {
    let principal = Principal { name: name.to_owned(), role };
    let client = Some("test-client/1".to_owned());
    Arc::new(Caller { principal, door: Door::Http, client, connection: None, via: None })
}

fn call_of(caller: &Arc<Caller>, tool: &str, args: Value) -> Call {
    let session = SessionId(format!("http-{}", caller.principal.name));
    Call::new(new_call_id(), session, Arc::clone(caller), tool.into(), args)
}

fn echo(crib: &Opened, runtime: &Runtime, caller: &Arc<Caller>) -> Reply {
    crib.carry_out(runtime, call_of(caller, "forgekeeper/echo", json!({"text": "hi"})))
}

fn write(crib: &Opened, runtime: &Runtime, caller: &Arc<Caller>) -> Reply {
    let args = json!({"file_path": "a.txt", "content": "hello"});
    crib.carry_out(runtime, call_of(caller, "clemini/write_file", args))
}

/// Says yes to a call of one caller, with the grant that is offered first.
fn grant_to(crib: &Opened, caller: &Arc<Caller>) {
    let args = json!({"file_path": "a.txt", "content": "hello"});
    let call = call_of(caller, "clemini/write_file", args);
    crib.answer_call(call, |question| {
        let wish = question.shown.grants[0].wish.clone();
        Answer::Always("a person".to_owned(), wish)
    });
}

#[test]
fn rules_can_name_a_principal_a_role_and_a_door() {
    let (ci, docs) = (over_http("ci", Role::Agent), over_http("docs", Role::Agent));
    let admin = over_http("root", Role::Admin);
    let user = toolcrib::wiring::user_at_terminal();
    for (condition, refused) in [
        (r#"principal = "ci""#, [true, false, false, false]),
        (r#"principal = ["ci", "docs"]"#, [true, true, false, false]),
        (r#"role = "agent""#, [true, true, false, false]),
        (r#"door = "http""#, [true, true, true, false]),
        (r#"role = ["agent", "admin"], principal = "root""#, [false, false, true, false]),
        (r#"door = "terminal""#, [false, false, false, true]),
        (r#"role = "user", door = "http""#, [false; 4]),
    ] {
        let scratch = Scratch::new();
        scratch
            .put_rules(&format!("rule = [{{ tool = \"echo\", effect = \"deny\", {condition} }}]"));
        let crib = scratch.open();
        let runtime = crib.crib.runtime(Arc::new(Nobody)).unwrap();
        let callers = [&ci, &docs, &admin, &user];
        let got = callers.map(|caller| echo(&crib, &runtime, caller).kind() == "refused");
        assert_eq!(got, refused, "{condition}");
    }
}

#[test]
fn a_rule_that_allows_can_be_for_some_callers() {
    let scratch = Scratch::new();
    scratch.put_rules("[[rule]]\ntool = \"write_file\"\neffect = \"allow\"\nprincipal = \"ci\"\n");
    let crib = scratch.open();
    let runtime = crib.crib.runtime(Arc::new(Nobody)).unwrap();
    assert_eq!(write(&crib, &runtime, &over_http("ci", Role::Agent)).kind(), "ok");
    assert_eq!(write(&crib, &runtime, &over_http("docs", Role::Agent)).kind(), "approval_required");
}

#[test]
fn a_rule_with_an_unknown_role_or_door_is_refused() {
    for (condition, expect) in [
        ("role = \"boss\"", "`role` must be `user`, `agent`, `approver` or `admin`, not `boss`"),
        (
            "door = \"window\"",
            "`door` must be `terminal`, `http`, `mcp`, `nats`, `plugin` or `agent`, not `window`",
        ),
        ("principal = []", "`principal` is empty"),
    ] {
        let scratch = Scratch::new();
        scratch.put_rules(&format!("[[rule]]\ntool = \"echo\"\neffect = \"deny\"\n{condition}\n"));
        let err = scratch.try_open(&[]).err().unwrap().to_string();
        assert!(err.contains(expect), "{err}");
    }
}

#[test]
fn a_grant_covers_the_calls_of_the_one_who_asked_and_of_nobody_else() {
    let (ci, docs) = (over_http("ci", Role::Agent), over_http("docs", Role::Agent));
    let ci_as_admin = over_http("ci", Role::Admin);
    let user = toolcrib::wiring::user_at_terminal();
    for (granted, others) in
        [(&ci, [&docs, &ci_as_admin, &user]), (&user, [&ci, &docs, &ci_as_admin])]
    {
        let scratch = Scratch::new();
        let crib = scratch.open();
        grant_to(&crib, granted);
        let runtime = crib.crib.runtime(Arc::new(Nobody)).unwrap();
        assert_eq!(write(&crib, &runtime, granted).kind(), "ok");
        for other in others {
            assert_eq!(write(&crib, &runtime, other).kind(), "approval_required", "{other:?}");
        }
    }
}

#[test]
fn nobody_answers_the_question_about_their_own_call() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let park = Unattended::Park(Duration::from_hours(1));
    let runtime = crib.crib.runtime(queue(&crib.crib, park, SessionKind::ManyCalls)).unwrap();
    let ci = over_http("ci", Role::Admin);
    // A question of a token that does not count any more is closed.
    let tokens = TokenFile::new(&crib.crib.state);
    tokens.add("ci", Role::Admin, crib.crib.clock.now()).unwrap();
    let parked = write(&crib, &runtime, &ci);
    assert_eq!(parked.kind(), "approval_required");
    let store = Approvals::new(&crib.crib.state);
    assert_eq!(store.find(parked.id()).unwrap().caller, *ci);
    let answers = ApprovalAnswers {
        store: Arc::new(store),
        recorder: Arc::clone(&crib.crib.recorder),
        clock: Arc::clone(&crib.crib.clock),
    };
    let own = answers.approve(parked.id(), &ci.principal, None);
    assert!(matches!(own, Err(ApprovalError::OwnCall)));
    assert!(matches!(answers.deny(parked.id(), &ci.principal, ""), Err(ApprovalError::OwnCall)));
    let ada = Principal { name: "ada".to_owned(), role: Role::Approver };
    let Ok(Approved::RunsHere(approved)) = answers.approve(parked.id(), &ada, None) else {
        panic!("another principal may approve it");
    };
    assert_eq!(*approved.call.caller, *ci, "it runs as the call of the one who asked");
    let runtime = crib.crib.runtime(approved.approver).unwrap();
    assert_eq!(crib.carry_out(&runtime, approved.call).kind(), "ok");
    for actor in ["ci", "ada", "test-client/1"] {
        let filter = CallFilter { actor: Some(actor.to_owned()), ..CallFilter::default() };
        let found = find_calls(&crib.crib.state, &filter, 9).unwrap();
        assert!(found.iter().any(|call| call.id() == parked.id()), "{actor}");
    }
    let nobody = CallFilter { actor: Some("docs".to_owned()), ..CallFilter::default() };
    assert!(find_calls(&crib.crib.state, &nobody, 9).unwrap().is_empty());
}

#[test]
fn the_record_has_the_callers_own_conversation_trace_and_iteration() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let runtime = crib.crib.runtime(Arc::new(Nobody)).unwrap();
    let ci = over_http("ci", Role::Agent);
    let plain = echo(&crib, &runtime, &ci);
    // A trace that is the id of another call does not make it that call.
    let traced = Call {
        conversation: Some(SessionId("conv_abc123".to_owned())),
        trace: Some(CallTrace { id: Some(plain.id().to_owned()), iteration: 2 }),
        ..call_of(&ci, "forgekeeper/echo", json!({"text": "traced"}))
    };
    let id = traced.id.0.clone();
    crib.carry_out(&runtime, traced);
    let find = |call: &str| {
        crib.crib.recorder.flush();
        let filter = CallFilter { call: Some(call.to_owned()), ..CallFilter::default() };
        find_calls(&crib.crib.state, &filter, 9).unwrap()
    };
    let [history] = &find(&id)[..] else { panic!("one call has the id {id}") };
    let asked = history.last(&EventKind::Asked).unwrap();
    assert_eq!(asked.call.trace.as_deref(), Some(plain.id()));
    assert_eq!((&*asked.call.conversation, asked.call.iteration), ("conv_abc123", 2));
    assert_eq!(asked.call.caller.to_caller().as_ref(), Some(&*ci));
    let [history] = &find(plain.id())[..] else { panic!("one call has the id {}", plain.id()) };
    assert_eq!(history.last(&EventKind::Asked).unwrap().call.trace, None);
    let line = last_line(&scratch.state().join("context_log"));
    assert_eq!((&line["trace_id"], &line["call"]), (&plain.id().into(), &id.into()));
    assert_eq!((&line["conv_id"], &line["iter"]), (&"conv_abc123".into(), &2.into()));
}

/// Returns the last line of the record.
fn last_line(folder: &Path) -> Value {
    let mut segments: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    segments.sort();
    let text = fs::read_to_string(segments.last().unwrap()).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}
