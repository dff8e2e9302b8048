//! The life of a plugin, with its races, its crashes and its enemies.

use std::fs;
use std::sync::Barrier;
use std::sync::atomic::Ordering;
use std::thread;

use serde_json::json;
use toolcrib_core::{Caller, Role};

use super::*;
use crate::examination::ProposalFaults;
use crate::lifecycle_fixture::{Fixture, agent, approver, code, copy_folder, new_tool};
use crate::proposal_store::{MAX_PENDING, MAX_PENDING_OF_ONE};
use crate::propose::NewTool;

fn kinds(refused: Result<ToolProposal, ProposalFaults>) -> Vec<PluginErrorKind> {
    refused.unwrap_err().0.into_iter().map(|err| err.kind).collect()
}

#[test]
fn a_tool_is_proposed_approved_and_loaded_and_the_record_tells_it() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    let proposal = fixture.propose("hello", "one");
    assert_eq!(proposal.expires_at.as_second(), 60);
    assert!(proposal.examples.iter().all(|it| it.is_ok) && proposal.examples.len() == 1);
    assert_eq!(fixture.active(), [""; 0], "nothing runs yet");
    assert!(!fixture.module("hello").exists());
    let activated = lifecycle.approve("hello", Some(proposal.hash.short()), &approver("bob"));
    let activated = activated.unwrap();
    assert_eq!((&activated.hash, activated.at.as_second()), (&proposal.hash, 0));
    assert_eq!(activated.written.unwrap(), fixture.module("hello"));
    assert_eq!(fixture.active(), ["one"]);
    let written = fs::read_to_string(fixture.module("hello")).unwrap();
    assert_eq!(written, code("hello", "one", json!({})));
    let second = fixture.propose("hello", "two");
    assert_eq!(second.replaces, Some(proposal.hash));
    assert_eq!(fixture.active(), ["one"], "the old version runs until somebody approves");
    lifecycle.approve(second.id.as_str(), None, &approver("bob")).unwrap();
    assert_eq!(fixture.active(), ["two"]);
    let third = fixture.propose("hello", "three");
    let (rejected, _) = lifecycle.reject("hello", "no need", &approver("bob")).unwrap();
    assert_eq!(rejected.id, third.id);
    assert_eq!(fixture.active(), ["two"]);
    let told = ["proposed", "approved", "proposed", "approved", "proposed", "rejected"];
    assert_eq!(fixture.events(), told);
    let notes = fixture.recorder.all.lock().unwrap();
    assert_eq!((notes[0].1.as_str(), notes[0].2["by"].as_str()), ("agent", Some("ada")));
    assert_eq!((notes[1].1.as_str(), notes[1].2["by"].as_str()), ("approver", Some("bob")));
    assert_eq!((&notes[5].2["words"], &notes[5].2["proposer"]), (&json!("no need"), &json!("ada")));
}

#[test]
fn every_fault_is_told_at_once_and_nothing_is_kept() {
    let fixture = Fixture::new();
    let propose = |name: &str, code: String| {
        kinds(fixture.lifecycle.propose(new_tool(name, code), &agent("ada")))
    };
    let faulty = json!({
        "name": "other", "description": "A.", "parameters": {"type": "array"},
        "permissions": {"read": ["logs/a", "etc"]},
    });
    assert_eq!(
        propose("shell", faulty.to_string()),
        [
            PluginErrorKind::BadName,
            PluginErrorKind::NameTaken,
            PluginErrorKind::BadSchema,
            PluginErrorKind::TooManyPermissions
        ]
    );
    assert_eq!(propose("hello", "{".to_owned()), [PluginErrorKind::BadModule]);
    for name in ["", "../hello", "a/b", "/etc/passwd", "..", "a\0b", "Hello"] {
        assert_eq!(propose(name, code(name, "x", json!({}))), [PluginErrorKind::BadName]);
    }
    let reasoning = "x".repeat(MAX_WORDS_BYTES + 1);
    let wordy = NewTool { reasoning, ..new_tool("hello", code("hello", "x", json!({}))) };
    let refused = fixture.lifecycle.propose(wordy, &agent("ada"));
    assert_eq!(kinds(refused), [PluginErrorKind::TooLarge]);
    assert!(!fixture.state("").exists() && fixture.events().is_empty());
    // The control: what the maximum covers is taken.
    fixture.propose_code("hello", code("hello", "x", json!({"read": ["logs/a"]})));
}

#[test]
fn examples_that_fail_are_told_to_whoever_reviews() {
    let fixture = Fixture::new();
    let exports = json!({
        "name": "hello", "description": "A.", "parameters": {"type": "object"},
        "examples": [
            {"about": "good", "args": {"a": 1}, "reply": {"a": 1}},
            {"about": "any reply", "args": {"a": 1}},
            {"about": "wrong", "args": {"a": 1}, "reply": {"a": 2}},
            {"about": "thrown", "args": {"throw": true}},
        ],
    });
    let proposal = fixture.propose_code("hello", exports.to_string());
    let told: Vec<_> = proposal.examples.iter().map(|it| it.message.as_deref()).collect();
    assert_eq!(told, [None, None, Some(r#"it returned {"a":1}"#), Some("it threw")]);
}

#[test]
fn nobody_approves_their_own_proposal_and_the_local_user_answers_for_agents() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    fixture.propose("hello", "one");
    for role in [Role::Agent, Role::Approver, Role::Admin] {
        let own = Principal { name: "ada".to_owned(), role };
        let kind = lifecycle.approve("hello", None, &own).unwrap_err().kind;
        assert_eq!(kind, PluginErrorKind::OwnProposal, "whatever the role is by now");
        let kind = lifecycle.reject("hello", "", &own).unwrap_err().kind;
        assert_eq!(kind, PluginErrorKind::OwnProposal);
    }
    lifecycle.approve("hello", None, &approver("bob")).unwrap();
    // A proposal at the terminal is one of an agent that the user started; the user looks at it.
    let user = Caller::at_terminal("eve");
    let new = new_tool("mine", code("mine", "one", json!({})));
    lifecycle.propose(new, &user).unwrap();
    lifecycle.approve("mine", None, &user.principal).unwrap();
    assert_eq!(fixture.active().len(), 2);
}

#[test]
fn an_approval_is_for_what_was_shown() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    let bob = approver("bob");
    let shown = fixture.propose("hello", "one");
    lifecycle.reject("hello", "", &bob).unwrap();
    let other = fixture.propose("hello", "two");
    let kind = |hash: &str| lifecycle.approve("hello", Some(hash), &bob).unwrap_err().kind;
    assert_eq!(kind(shown.hash.as_str()), PluginErrorKind::Changed);
    assert_eq!(kind(&other.hash.as_str()[..4]), PluginErrorKind::Changed, "too short to mean it");
    assert_eq!(kind(""), PluginErrorKind::Changed);
    assert_eq!(fixture.active(), [""; 0]);
    lifecycle.approve("hello", Some(other.hash.as_str()), &bob).unwrap();
    assert_eq!(fixture.active(), ["two"]);
}

#[test]
fn of_many_answers_one_wins() {
    for round in 0..5 {
        let fixture = Fixture::new();
        let proposal = fixture.propose("hello", "one");
        let barrier = Barrier::new(8);
        let won: Vec<bool> = thread::scope(|scope| {
            let answers: Vec<_> = (0..8)
                .map(|number| {
                    // Each has a lock and files of its own, as another process would.
                    let (lifecycle, barrier) = (fixture.lifecycle.clone(), &barrier);
                    scope.spawn(move || {
                        let by = approver(&format!("bob{number}"));
                        barrier.wait();
                        let answered = if number % 2 == 0 {
                            lifecycle.approve("hello", None, &by).map(drop)
                        } else {
                            lifecycle.reject("hello", "", &by).map(drop)
                        };
                        answered.map_err(|err| assert_eq!(err.kind, PluginErrorKind::Closed))
                    })
                })
                .collect();
            answers.into_iter().map(|it| it.join().unwrap().is_ok()).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{round}: {won:?}");
        let is_approved = won.iter().position(|won| *won).unwrap() % 2 == 0;
        assert_eq!(fixture.active().len(), usize::from(is_approved));
        assert_eq!(fixture.module("hello").exists(), is_approved);
        assert_eq!(fixture.events().len(), 2, "{:?}", fixture.events());
        let approval = fixture.state(&format!("approvals/{}.json", proposal.hash));
        assert_eq!(approval.exists(), is_approved);
    }
}

#[test]
fn one_proposal_of_a_name_waits_even_in_a_race() {
    let fixture = Fixture::new();
    let barrier = Barrier::new(4);
    let taken: usize = thread::scope(|scope| {
        let tries: Vec<_> = (0..4)
            .map(|number| {
                let (lifecycle, barrier) = (fixture.lifecycle.clone(), &barrier);
                scope.spawn(move || {
                    // `he_llo` looks like `hello`.
                    let name = if number % 2 == 0 { "hello" } else { "he_llo" };
                    let new = new_tool(name, code(name, &number.to_string(), json!({})));
                    barrier.wait();
                    usize::from(lifecycle.propose(new, &agent(&format!("ada{number}"))).is_ok())
                })
            })
            .collect();
        tries.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(taken, 1);
    assert_eq!(fixture.lifecycle.pending().unwrap().len(), 1);
    let again = new_tool("hello", code("hello", "more", json!({})));
    let name = &fixture.lifecycle.pending().unwrap()[0].proposal.name;
    let refused = kinds(fixture.lifecycle.propose(again, &agent("eve")));
    let expect =
        if name == "hello" { PluginErrorKind::AlreadyPending } else { PluginErrorKind::NameTaken };
    assert_eq!(refused, [expect]);
}

#[test]
fn the_proposals_that_wait_are_bounded() {
    let fixture = Fixture::new();
    let propose = |number: usize, by: &str| {
        let name = format!("t{number}");
        let new = new_tool(&name, code(&name, "x", json!({})));
        fixture.lifecycle.propose(new, &agent(by))
    };
    for number in 0..MAX_PENDING_OF_ONE {
        propose(number, "ada").unwrap();
    }
    assert_eq!(kinds(propose(900, "ada")), [PluginErrorKind::Busy]);
    for number in MAX_PENDING_OF_ONE..MAX_PENDING {
        propose(number, &format!("agent{}", number / MAX_PENDING_OF_ONE)).unwrap();
    }
    assert_eq!(kinds(propose(900, "eve")), [PluginErrorKind::Busy]);
    fixture.lifecycle.reject("t0", "", &approver("bob")).unwrap();
    propose(900, "eve").unwrap();
    fixture.clock.set(60);
    assert_eq!(fixture.lifecycle.pending().unwrap().len(), 0);
    propose(901, "ada").unwrap();
}

#[test]
fn a_proposal_expires_once_and_can_be_made_again() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    lifecycle.expire().unwrap();
    assert!(!fixture.state("").exists(), "nothing to expire makes nothing");
    let proposal = fixture.propose("hello", "one");
    fixture.clock.set(59);
    lifecycle.expire().unwrap();
    assert_eq!(lifecycle.pending().unwrap().len(), 1);
    fixture.clock.set(60);
    assert_eq!(lifecycle.pending().unwrap().len(), 0);
    let late = lifecycle.approve("hello", None, &approver("bob")).unwrap_err();
    assert_eq!(late.kind, PluginErrorKind::Closed);
    lifecycle.expire().unwrap();
    assert_eq!(fixture.events(), ["proposed", "expired"], "told once");
    // A clock that goes back does not open it again.
    fixture.clock.set(0);
    let late = lifecycle.approve(proposal.id.as_str(), None, &approver("bob")).unwrap_err();
    assert_eq!(late.kind, PluginErrorKind::Closed);
    fixture.propose("hello", "one");
    lifecycle.approve("hello", None, &approver("bob")).unwrap();
    assert_eq!(fixture.active(), ["one"]);
}

#[test]
fn what_cannot_be_recorded_does_not_happen() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    let broken = &fixture.recorder.is_broken;
    broken.store(true, Ordering::Relaxed);
    let new = new_tool("hello", code("hello", "one", json!({})));
    assert_eq!(kinds(lifecycle.propose(new, &agent("ada"))), [PluginErrorKind::Store]);
    assert_eq!(lifecycle.pending().unwrap().len(), 0);
    broken.store(false, Ordering::Relaxed);
    fixture.propose("hello", "one");
    broken.store(true, Ordering::Relaxed);
    let refused = lifecycle.approve("hello", None, &approver("bob")).unwrap_err();
    assert_eq!(refused.kind, PluginErrorKind::Store);
    assert_eq!(fixture.active(), [""; 0]);
    assert_eq!(fixture.events(), ["proposed"]);
    // The answer was given. It takes effect when it can be recorded.
    broken.store(false, Ordering::Relaxed);
    lifecycle.expire().unwrap();
    assert_eq!(fixture.active(), ["one"]);
    assert_eq!(fixture.events(), ["proposed", "approved"]);
}

/// The files of an approval, in the order in which they are written, after the answer.
const STEPS: [&str; 5] = ["approval", "module", "state", "generation", "done"];

#[test]
fn a_crash_between_two_steps_leaves_a_state_that_loads_and_is_finished_later() {
    for lost in 0..=STEPS.len() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        fixture.approve("hello", "one");
        let second = fixture.propose("hello", "two");
        let (state, tools) = (fixture.state(""), lifecycle.rules.tools_folder.clone());
        let (old_state, old_tools) =
            (fixture.folder.path().join("old"), fixture.folder.path().join("old_tools"));
        copy_folder(&state, &old_state);
        copy_folder(&tools, &old_tools);
        lifecycle.approve("hello", None, &approver("bob")).unwrap();
        // Takes the last steps back, as if the process had died before them.
        for step in &STEPS[STEPS.len() - lost..] {
            let take_back = |name: &str| fs::copy(old_state.join(name), state.join(name));
            match *step {
                "approval" => {
                    fs::remove_file(state.join(format!("approvals/{}.json", second.hash))).unwrap();
                }
                "module" => {
                    fs::copy(old_tools.join("hello.mjs"), tools.join("hello.mjs")).unwrap();
                }
                "state" => drop(take_back("tools/hello.json").unwrap()),
                "generation" => drop(take_back("generation").unwrap()),
                _ => fs::remove_file(state.join(format!("proposals/{}.done", second.id.as_str())))
                    .unwrap(),
            }
        }
        let version = if lost >= 3 { "one" } else { "two" };
        assert_eq!(fixture.active(), [version], "{lost} steps lost: one version, and whole");
        lifecycle.expire().unwrap();
        assert_eq!(fixture.active(), ["two"], "{lost} steps lost: the approval is finished");
        let module = fs::read_to_string(fixture.module("hello")).unwrap();
        assert_eq!(module, code("hello", "two", json!({})));
        let history = lifecycle.store.states.find("hello").unwrap().unwrap().history;
        assert_eq!(history.len(), 2, "{lost} steps lost: it became active once");
        let generation = fs::read(lifecycle.store.generation_file()).unwrap();
        assert_ne!(generation, fs::read(old_state.join("generation")).unwrap());
        lifecycle.expire().unwrap();
        assert_eq!(generation, fs::read(lifecycle.store.generation_file()).unwrap());
    }
}

#[test]
fn later_changes_wait_until_an_interrupted_approval_is_finished() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    fixture.approve("hello", "one");
    fixture.propose("hello", "two");
    fixture.recorder.is_broken.store(true, Ordering::Relaxed);
    lifecycle.approve("hello", None, &approver("bob")).unwrap_err();
    fixture.recorder.is_broken.store(false, Ordering::Relaxed);
    assert_eq!(fixture.active(), ["one"]);
    lifecycle.roll_back("hello", None, &approver("bob")).unwrap();
    lifecycle.expire().unwrap();
    assert_eq!(fixture.active(), ["one"], "the roll-back came after the approval");
    let told = ["proposed", "approved", "proposed", "approved", "rolled_back"];
    assert_eq!(fixture.events(), told);
}

#[test]
fn nothing_loads_without_its_approval_or_with_other_files() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    let proposal = fixture.approve("hello", "one");
    let problem = || {
        let active = lifecycle.store.active(ApprovalRule::Always).unwrap();
        assert!(active.tools.is_empty());
        active.problems[0].error.kind
    };
    let approval = fixture.state(&format!("approvals/{}.json", proposal.hash));
    let kept = fs::read(&approval).unwrap();
    fs::remove_file(&approval).unwrap();
    assert_eq!(problem(), PluginErrorKind::NotApproved);
    fs::write(&approval, kept).unwrap();
    assert_eq!(fixture.active(), ["one"]);
    let file = fixture.state(&format!("versions/{}/files/tool.mjs", proposal.hash));
    fs::write(&file, code("hello", "evil", json!({}))).unwrap();
    assert_eq!(problem(), PluginErrorKind::Store);
    // A tool's state that names another tool's version loads nothing either.
    fixture.approve("other", "two");
    fs::copy(fixture.state("tools/other.json"), fixture.state("tools/hello.json")).unwrap();
    let active = lifecycle.store.active(ApprovalRule::Always).unwrap();
    assert_eq!((active.tools.len(), active.problems[0].name.as_str()), (1, "hello"));
}

#[test]
fn a_proposal_whose_code_was_changed_or_whose_permissions_are_too_many_now_is_not_approved() {
    let fixture = Fixture::new();
    let bob = approver("bob");
    let proposal = fixture.propose_code("hello", code("hello", "x", json!({"read": ["logs"]})));
    let mut strict = fixture.lifecycle.clone();
    strict.rules.max = Permissions::default();
    let refused = strict.approve("hello", None, &bob).unwrap_err();
    assert_eq!(refused.kind, PluginErrorKind::TooManyPermissions);
    let file = fixture.state(&format!("versions/{}/files/tool.mjs", proposal.hash));
    let good = fs::read(&file).unwrap();
    fs::write(&file, "evil").unwrap();
    let refused = fixture.lifecycle.approve("hello", None, &bob).unwrap_err();
    assert_eq!(refused.kind, PluginErrorKind::Store);
    fs::write(&file, good).unwrap();
    fixture.lifecycle.approve("hello", None, &bob).unwrap();
    assert_eq!(fixture.active(), ["x"]);
}

#[test]
fn an_approved_tool_runs_though_its_folder_cannot_be_written() {
    let fixture = Fixture::new();
    let mut lifecycle = fixture.lifecycle.clone();
    let file = fixture.folder.path().join("file");
    fs::write(&file, "").unwrap();
    lifecycle.rules.tools_folder = file;
    fixture.propose("hello", "one");
    let activated = lifecycle.approve("hello", None, &approver("bob")).unwrap();
    assert_eq!(activated.written.unwrap_err().kind, PluginErrorKind::Store);
    assert_eq!(fixture.active(), ["one"]);
}

#[test]
fn unknown_proposals_are_not_found_and_make_nothing() {
    let fixture = Fixture::new();
    for tool in ["hello", "", "../x", "prop_01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        let kind = fixture.lifecycle.approve(tool, None, &approver("bob")).unwrap_err().kind;
        assert_eq!(kind, PluginErrorKind::NotFound, "{tool}");
    }
    assert!(!fixture.state("").exists());
}

#[test]
fn the_code_of_old_rejected_proposals_is_forgotten_and_approved_code_is_not() {
    let fixture = Fixture::new();
    let lifecycle = &fixture.lifecycle;
    let bob = approver("bob");
    let approved = fixture.approve("hello", "one");
    let first = fixture.propose("bad", "first");
    lifecycle.reject("bad", "", &bob).unwrap();
    for number in 0..200 {
        fixture.propose("bad", &number.to_string());
        lifecycle.reject("bad", "", &bob).unwrap();
    }
    fixture.propose("bad", "last");
    let has_version =
        |proposal: &ToolProposal| fixture.state(&format!("versions/{}", proposal.hash)).exists();
    assert!(has_version(&approved) && !has_version(&first));
    assert_eq!(lifecycle.review(first.id.as_str()).unwrap_err().kind, PluginErrorKind::NotFound);
    assert_eq!(lifecycle.proposals().unwrap().len(), 201);
    assert_eq!(fixture.active(), ["one"]);
}

#[test]
fn nothing_is_examined_loaded_or_approved_while_tools_of_others_are_off() {
    let fixture = Fixture::new();
    fixture.propose("hello", "one");
    fixture.drop_module("other", &code("other", "x", json!({})));
    let mut off = fixture.lifecycle.clone();
    off.rules.is_enabled = false;
    let new = || new_tool("fresh", code("fresh", "x", json!({})));
    let admin = approver("bob");
    let kinds = [
        off.propose(new(), &agent("ada")).unwrap_err().0[0].kind,
        off.examine("fresh", new().source).unwrap_err().0[0].kind,
        off.write("fresh", &code("fresh", "x", json!({})), &admin).unwrap_err().0[0].kind,
        off.approve("hello", None, &admin).unwrap_err().kind,
        off.reload(&admin).unwrap_err().kind,
    ];
    assert_eq!(kinds, [PluginErrorKind::Off; 5]);
    off.reject("hello", "no", &admin).unwrap();
    fixture.lifecycle.propose(new(), &agent("ada")).expect("the control");
}
