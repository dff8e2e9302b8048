//! Calls that wait for an answer, and what agents have to confirm. What a command does when it is approved is in
//! `tests/it/approvals.rs`.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::approval::{ApprovalStatus, ApprovalStore};
use toolcrib_core::policy::Answer;
use toolcrib_core::{Principal, Role};
use toolcrib_ledger::Approvals;
use toolcrib_runtime::{
    AlwaysYes, AnswerFuture, ApprovalAnswers, ApprovalError, Approved, Approver, Nobody, Question,
    Review, Runtime, SessionKind, Unattended,
};

use crate::opened::{Opened, Reply, Scratch, queue};

/// Someone who is not the one who asks.
fn a_person() -> Principal {
    Principal { name: "a person".to_owned(), role: Role::Approver }
}

fn answers(crib: &Opened) -> ApprovalAnswers {
    ApprovalAnswers {
        store: Arc::new(Approvals::new(&crib.crib.state)),
        recorder: Arc::clone(&crib.crib.recorder),
        clock: Arc::clone(&crib.crib.clock),
    }
}

/// Returns a runtime that parks what would be asked, as in one session.
fn parking(crib: &Opened, session: SessionKind, seconds: u64) -> Runtime {
    let time = std::time::Duration::from_secs(seconds);
    crib.crib.runtime(queue(&crib.crib, Unattended::Park(time), session)).unwrap()
}

/// Parks a call, and returns its id.
#[track_caller]
fn park(crib: &Opened, tool: &str, args: Value) -> String {
    let parked = crib.call_in(&parking(crib, SessionKind::SingleCall, 3600), tool, args);
    assert_eq!(parked.kind(), "approval_required", "{}", parked.text());
    let waits = format!("needs a person's approval and is parked as {}", parked.id());
    assert!(parked.text().contains(&waits), "{}", parked.text());
    parked.id().to_owned()
}

fn park_command(crib: &Opened, command: &str) -> String {
    park(crib, "clemini/bash", json!({"command": command}))
}

/// Approves a parked call and runs it with these settings.
fn approve(scratch: &Scratch, settings: &[&str], id: &str) -> Result<Reply, ApprovalError> {
    let crib = scratch.open_with(settings);
    match answers(&crib).approve(id, &a_person(), None)? {
        Approved::RunsElsewhere => panic!("{id} is not parked, or runs elsewhere"),
        Approved::RunsHere(parked) => {
            let runtime = crib.crib.runtime(parked.approver).unwrap();
            Ok(crib.carry_out(&runtime, parked.call))
        }
    }
}

#[track_caller]
fn check_closed(result: Result<Reply, ApprovalError>, expect: Option<ApprovalStatus>) {
    match (result.err(), expect) {
        (Some(ApprovalError::Closed(got)), Some(expect)) => assert_eq!(got, expect),
        (Some(ApprovalError::NotFound), None) => {}
        (err, expect) => panic!("{err:?}, not {expect:?}"),
    }
}

#[test]
fn without_anyone_to_ask_it_is_refused_at_once_or_parked() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let refused = crib.call("wink/create_file", json!({"path": "a", "content": "x"}));
    assert_eq!(refused.json()["error"]["code"], "approval_required", "{}", refused.text());
    let store = Approvals::new(&crib.crib.state);
    assert_eq!(store.all().unwrap().len(), 0);
    let id = park_command(&crib, "touch made; echo ran >> log");
    assert!(!scratch.work().join("made").exists());
    let (pending, status) = answers(&crib).find(&id).unwrap();
    assert_eq!(status, ApprovalStatus::Pending);
    assert_eq!(pending.args["command"], "touch made; echo ran >> log");
    assert_eq!(pending.question.rule, "tier 3 in mode standard");
    let reading = pending.question.runs.unwrap().to_string();
    assert!(reading.contains("runs `touch made`"), "{reading}");
}

#[test]
fn an_approved_call_runs_once() {
    let scratch = Scratch::new();
    let id = park(&scratch.open(), "wink/create_file", json!({"path": "a", "content": "x"}));
    assert!(!scratch.work().join("a").exists());
    let ran = approve(&scratch, &[], &id).unwrap();
    assert_eq!(ran.done(), id, "it is the call that was parked");
    assert_eq!(scratch.text("a"), "x");
    check_closed(approve(&scratch, &[], &id), Some(ApprovalStatus::TakenUp));
}

#[test]
fn what_expired_was_denied_or_is_not_there_is_not_run() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let parked = crib.call_in(
        &parking(&crib, SessionKind::SingleCall, 0),
        "clemini/bash",
        json!({"command": "touch late"}),
    );
    check_closed(approve(&scratch, &[], parked.id()), Some(ApprovalStatus::Expired));
    let id = park_command(&crib, "touch denied");
    answers(&crib).deny(&id, &a_person(), "not now").unwrap();
    check_closed(approve(&scratch, &[], &id), Some(ApprovalStatus::Denied));
    for odd in ["", "nothing", "../grants", "01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        check_closed(approve(&scratch, &[], odd), None);
    }
    let denied = scratch.record().into_iter().find(|line| line["event"] == "denied").unwrap();
    assert_eq!(
        (&denied["detail"]["by"], &denied["detail"]["words"]),
        (&json!("a person"), &json!("not now"))
    );
}

#[test]
fn a_call_that_policy_refuses_by_the_time_of_the_approval_does_not_run() {
    let scratch = Scratch::new();
    let id = park_command(&scratch.open(), "touch later");
    assert_eq!(approve(&scratch, &["mode=strict"], &id).unwrap().kind(), "refused");
    assert!(!scratch.work().join("later").exists());
}

#[test]
fn a_call_that_someone_changed_in_the_store_does_not_run() {
    let scratch = Scratch::new();
    let id = park_command(&scratch.open(), "touch good");
    let file = scratch.state().join("approvals").join(format!("{id}.json"));
    let text = fs::read_to_string(&file).unwrap().replace("touch good", "touch evil");
    fs::write(&file, text).unwrap();
    assert_eq!(approve(&scratch, &[], &id).unwrap().kind(), "declined");
    assert!(!scratch.work().join("evil").exists());
}

#[test]
fn a_call_whose_script_changed_since_the_question_does_not_run() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("run.sh", "touch good");
    let id = park_command(&crib, "sh run.sh");
    scratch.put("run.sh", "touch evil");
    assert_eq!(approve(&scratch, &[], &id).unwrap().kind(), "declined");
    let filler = format!("echo {}; cd sub && ./run.sh", "x ".repeat(150));
    for command in ["cd sub && ./run.sh", "sh -c 'cd sub; ./run.sh'", &filler] {
        scratch.put("sub/run.sh", "touch good");
        let id = park_command(&crib, command);
        scratch.put("sub/run.sh", "touch evil");
        assert_eq!(approve(&scratch, &[], &id).unwrap().kind(), "declined", "{command}");
    }
    assert!(!scratch.work().join("evil").exists() && !scratch.work().join("good").exists());
}

#[test]
fn a_call_whose_files_changed_since_the_question_does_not_run() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("one/", "");
    scratch.put("two/", "");
    let link = scratch.work().join("lnk");
    symlink("one", &link).unwrap();
    let write = json!({"file_path": "lnk/f", "content": "x"});
    let id = park(&crib, "clemini/write_file", write.clone());
    fs::remove_file(&link).unwrap();
    symlink("two", &link).unwrap();
    assert_eq!(approve(&scratch, &[], &id).unwrap().kind(), "declined");
    assert!(!scratch.work().join("two/f").exists());
    let id = park(&crib, "clemini/write_file", write);
    approve(&scratch, &[], &id).unwrap().done();
    assert_eq!(scratch.text("two/f"), "x", "the control: nothing changed");
}

/// Returns what changed since the question about a parked call, as `approvals show` prints it.
fn changes(scratch: &Scratch, id: &str) -> Vec<String> {
    let crib = scratch.open();
    let (pending, _) = answers(&crib).find(id).unwrap();
    let runtime = crib.crib.runtime(Arc::new(Nobody)).unwrap();
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    events.block_on(runtime.changes_since_question(&pending))
}

#[test]
fn a_parked_call_is_refused_with_what_changed_since_the_question() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("Makefile", "all:");
    scratch.put("tpl/a", "one");
    scratch.put("other", "one");
    let id = park_command(&crib, "make && cp -r tpl out");
    scratch.put("other", "two");
    assert_eq!(changes(&scratch, &id), [""; 0], "the control: it has nothing to do with `other`");
    scratch.put("tpl/b", "two");
    scratch.put("GNUmakefile", "all: evil");
    let expect = ["`GNUmakefile` is new", "`tpl` changed: `b` in it is new"];
    assert_eq!(changes(&scratch, &id), expect);
    let refused = approve(&scratch, &[], &id).unwrap();
    assert_eq!(refused.kind(), "declined");
    let words = "something changed after the question: `GNUmakefile` is new, and 1 other thing changed; the agent must make the call again";
    assert!(refused.text().contains(words), "{}", refused.text());
    assert!(!scratch.work().join("out").exists());
}

#[test]
fn a_parked_edit_is_told_what_changed_since_the_question() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("a", "one");
    let edit = json!({"file_path": "a", "content": "two"});
    let id = park(&crib, "clemini/write_file", edit.clone());
    assert_eq!(changes(&scratch, &id), [""; 0], "the control");
    scratch.put("a", "three");
    assert_eq!(changes(&scratch, &id), ["`a` changed"]);
    fs::remove_file(scratch.work().join("a")).unwrap();
    assert_eq!(changes(&scratch, &id), ["`a` is gone"]);
    assert_eq!(approve(&scratch, &[], &id).unwrap().kind(), "declined");
    assert!(!scratch.work().join("a").exists());
    let id = park(&crib, "clemini/write_file", edit);
    approve(&scratch, &[], &id).unwrap().done();
    assert_eq!(scratch.text("a"), "two", "the control: nothing changed");
}

#[test]
fn an_agent_confirms_only_what_it_was_told_to() {
    let scratch = Scratch::new();
    scratch.put("target/x", "");
    let crib = scratch.open();
    // Nobody can be asked, so a confirmed command is parked.
    let session = parking(&crib, SessionKind::ManyCalls, 3600);
    let call = |args: Value| crib.call_in(&session, "clemini/bash", args).0.reply;
    let plain = json!({"command": "rm -rf target/"});
    let confirmed = json!({"command": "rm -rf target/", "confirmed": true});
    // A confirmation that nobody asked for has no effect.
    let reply = call(confirmed.clone());
    assert_eq!(reply["needs_confirmation"], true, "{reply}");
    let reply = call(plain);
    assert_eq!(reply["error"], "Command requires confirmation. Re-run with confirmed=true");
    assert_eq!(reply["error_code"], "NEEDS_CONFIRMATION");
    let reply = call(json!({"command": "rm -rf other/", "confirmed": true}));
    assert_eq!(reply["needs_confirmation"], true, "{reply}");
    // A confirmed command is put before a person; the model's confirmation alone does not run it.
    let reply = call(confirmed);
    assert!(reply["context"]["approval_id"].is_string(), "{reply}");
    let reply = call(json!({"command": "rm -rf /", "confirmed": true}));
    assert_eq!(reply["error"], "Command blocked: recursive delete on root");
    assert_eq!(reply["error_code"], "BLOCKED");
    // A single call has no session in which the agent could be told to confirm.
    let single = |confirmed: bool| {
        let args = json!({"command": "rm -rf target/", "confirmed": confirmed});
        crib.call("clemini/bash", args).0.reply
    };
    assert_eq!(single(false)["needs_confirmation"], true);
    let reply = single(true);
    assert!(reply["error"].as_str().unwrap().contains("needs a person's approval"), "{reply}");
    assert!(scratch.work().join("target/x").exists());
}

#[test]
fn equal_calls_of_a_session_are_one_question() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let runtime = parking(&crib, SessionKind::ManyCalls, 3600);
    let write = |crib: &Opened, runtime: &Runtime, content: &str| {
        let args = json!({"file_path": "log", "content": content});
        let parked = crib.call_in(runtime, "clemini/write_file", args);
        assert_eq!(parked.kind(), "approval_required", "{}", parked.text());
        let (_, rest) = parked.text().split_once("parked as ").unwrap();
        rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>()
    };
    let waiting = || {
        let store = Approvals::new(&crib.crib.state);
        let all = store.all().unwrap();
        let now = jiff::Timestamp::now();
        all.iter().filter(|it| store.status(it, now).unwrap() == ApprovalStatus::Pending).count()
    };
    let first = write(&crib, &runtime, "one");
    for _ in 0..5 {
        assert_eq!(write(&crib, &runtime, "one"), first);
    }
    assert_eq!(waiting(), 1);
    // Another call is another question, and so is the same one from another session.
    assert_ne!(write(&crib, &runtime, "two"), first);
    let other = scratch.open();
    let theirs = parking(&other, SessionKind::ManyCalls, 3600);
    assert_ne!(write(&other, &theirs, "one"), first);
    assert_eq!(waiting(), 3);
    // The answer is for all of them. Who asks again is told it, once; then there is a new question.
    answers(&crib).deny(&first, &a_person(), "not now").unwrap();
    let repeat = |content: &str| {
        let args = json!({"file_path": "log", "content": content});
        crib.call_in(&runtime, "clemini/write_file", args)
    };
    let told = repeat("one");
    assert_eq!(told.kind(), "declined", "{}", told.text());
    assert!(told.text().contains("was declined: not now"), "{}", told.text());
    let again = write(&crib, &runtime, "one");
    assert_ne!(again, first);
    assert_eq!(write(&crib, &runtime, "one"), again);
}

#[test]
fn who_repeats_a_call_that_was_approved_and_ran_is_told_so_once() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let runtime = parking(&crib, SessionKind::ManyCalls, 3600);
    let write = || {
        let args = json!({"file_path": "log", "content": "one"});
        crib.call_in(&runtime, "clemini/write_file", args)
    };
    let parked = write();
    assert_eq!(parked.kind(), "approval_required");
    approve(&scratch, &[], parked.id()).unwrap();
    assert_eq!(fs::read_to_string(scratch.work().join("log")).unwrap(), "one", "the control");
    let told = write();
    assert_eq!(told.kind(), "declined", "{}", told.text());
    let ran = format!("was approved since, and made as call {}", parked.id());
    assert!(told.text().contains(&ran), "{}", told.text());
    assert_eq!(write().kind(), "approval_required", "it can be asked for again");
}

/// A yes that was given beforehand. Another program writes a file before the call runs.
struct YesBeforehand {
    yes: AlwaysYes,
    file: std::path::PathBuf,
}

impl Approver for YesBeforehand {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        fs::write(&self.file, "someone else's").unwrap();
        self.yes.ask(question)
    }

    fn review(&self) -> Review {
        self.yes.review()
    }
}

#[test]
fn a_yes_given_beforehand_is_not_bound_to_what_files_held() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "as it was");
    // No command can start here, so a command that is let through fails for that reason.
    let crib = scratch.open_with(&["sandbox.bubblewrap=/nowhere/bwrap"]);
    let (args, file) = (json!({"command": "sh run.sh"}), scratch.work().join("run.sh"));
    let path = file.clone();
    let seen = crib.answer_after("clemini/bash", args.clone(), move || {
        fs::write(&path, "someone else's").unwrap();
    });
    assert_eq!(seen.kind(), "changed", "the control: {}", seen.text());
    scratch.put("run.sh", "as it was");
    let yes = AlwaysYes("--yes".to_owned());
    let runtime = crib.crib.runtime(Arc::new(YesBeforehand { yes, file })).unwrap();
    let got = crib.call_in(&runtime, "clemini/bash", args);
    assert_eq!(scratch.text("run.sh"), "someone else's");
    assert_ne!(got.kind(), "changed", "{}", got.text());
}

#[test]
fn a_question_names_what_an_answer_does_not_pin() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "");
    let crib = scratch.open();
    for (command, word) in [("sh *.sh", "*.sh"), ("sh $FILE", "$FILE"), ("sh run.sh", "")] {
        let declined = crib.ask("clemini/bash", json!({"command": command}), move |question| {
            let unpinned = question.pins.unpinned.concat();
            assert_eq!(unpinned.contains(&format!("`{word}`")), !word.is_empty(), "{unpinned}");
            Answer::No("a person".to_owned(), String::new())
        });
        assert_eq!(declined.kind(), "declined", "{}", declined.text());
    }
}
