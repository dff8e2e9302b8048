//! Calls that wait for an answer, and what agents have to confirm.

use serde_json::{Value, json};

use crate::prompt::{KEYS, Keys, Session};
use crate::scratch::Scratch;

/// Parks a call, and returns its id.
fn park(scratch: &Scratch, settings: &[&str], command: &str) -> String {
    let command = format!("command={command}");
    let words = ["call", "--park", "clemini/bash", &command, "--json"];
    let got = scratch.run([settings, &words].concat());
    assert_eq!(got.code, 4, "{}", got.stdout);
    let reply = got.json();
    reply["context"]["approval_id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}

#[test]
fn without_anyone_to_ask_it_is_refused_at_once_or_parked() {
    let scratch = Scratch::new();
    let got = scratch.run(["call", "wink/create_file", "path=a", "content=x", "--json"]);
    assert_eq!(got.code, 4);
    assert_eq!(got.json()["error"]["code"], "approval_required", "{}", got.stdout);
    assert!(scratch.run(["approvals", "list"]).stdout.contains("No call is waiting"));

    let id = park(&scratch, &[], "touch made; echo ran >> log");
    assert!(!scratch.work().join("made").exists());
    let shown = scratch.run(["approvals", "show", &id]).stdout;
    for part in ["pending", "touch made", "tier 3 in mode standard", "runs `touch made`"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Another process can approve the call, and the call runs once however many try.
    let tries: Vec<_> = (0..4)
        .map(|_| {
            let mut command = scratch.command();
            command.args(["--yes", "approvals", "approve", &id, "--json"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    let done = tries
        .into_iter()
        .filter_map(|mut it| it.wait().ok())
        .filter(std::process::ExitStatus::success);
    assert!(done.count() >= 1);
    assert_eq!(scratch.text("log"), "ran\n");
    let listed = scratch.run(["approvals", "list", "--all", "--json"]).json();
    assert_eq!(listed[0]["status"], "taken up", "{listed}");
}

#[test]
fn what_was_denied_or_changed_or_is_not_there_is_not_run() {
    let scratch = Scratch::new();
    let approve = |id: &str| scratch.run(["--yes", "approvals", "approve", id]).code;
    let id = park(&scratch, &[], "touch denied");
    assert_eq!(scratch.run(["--yes", "approvals", "deny", &id, "not", "now"]).code, 0);
    assert_eq!((approve(&id), approve("nothing")), (1, 1));
    let id = park(&scratch, &["-c", "policy.park_seconds=1"], "touch late");
    let is_over =
        || scratch.run(["approvals", "show", &id, "--json"]).json()["status"] == "expired";
    while !is_over() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(approve(&id), 1);
    scratch.put("run.sh", "touch good");
    let id = park(&scratch, &[], "sh run.sh");
    scratch.put("run.sh", "touch evil");
    assert_eq!(approve(&id), 3);
    for name in ["denied", "late", "good", "evil"] {
        assert!(!scratch.work().join(name).exists(), "{name}");
    }
    let id = park(&scratch, &[], "sh run.sh");
    assert_eq!(approve(&id), 0, "the control: nothing changed");
    assert!(scratch.work().join("evil").exists());
}

#[test]
fn a_call_whose_folder_changed_is_shown_as_such_and_not_run() {
    let scratch = Scratch::new();
    scratch.put("tpl/a", "one");
    let approve = |id: &str| scratch.run(["--yes", "approvals", "approve", id]);
    let id = park(&scratch, &[], "cp -r tpl out");
    let shown = scratch.run(["approvals", "show", &id]).stdout;
    assert!(!shown.contains("changed:") && !shown.contains("not pinned:"), "{shown}");
    scratch.put("tpl/a", "two");
    let shown = scratch.run(["approvals", "show", &id]).stdout;
    assert!(shown.contains("  changed:    `tpl` changed: `a` in it changed\n"), "{shown}");
    let json = scratch.run(["approvals", "show", &id, "--json"]).json();
    assert_eq!(json["changed"], json!(["`tpl` changed: `a` in it changed"]), "{json}");
    assert_eq!(json["pins"], Value::Null, "{json}");
    let got = approve(&id);
    assert_eq!(got.code, 3, "{}", got.stderr);
    assert!(
        got.stderr.contains("`a` in it changed; the agent must make the call again"),
        "{}",
        got.stderr
    );
    assert!(!scratch.work().join("out").exists());
    let id = park(&scratch, &[], "cp -r tpl out");
    assert_eq!(approve(&id).code, 0, "the control: nothing changed");
    assert_eq!(scratch.text("out/a"), "two");
    let id = park(&scratch, &[], "python3 main.py");
    let shown = scratch.run(["approvals", "show", &id]).stdout;
    assert!(shown.contains("  not pinned: the other files that `python3` reads\n"), "{shown}");
}

#[test]
fn a_models_confirmation_is_enough_where_the_operator_says_so() {
    let scratch = Scratch::new();
    scratch.put("target/x", "");
    let call = |number: u32, args: Value| {
        json!({"id": number, "tool": "clemini/bash", "args": args}).to_string()
    };
    let lines = [
        call(1, json!({"command": "rm -rf target/"})),
        call(2, json!({"command": "rm -rf target/", "confirmed": true})),
    ];
    let lines = lines.join("\n");
    let got = scratch.feed(["call", "--batch"], lines.as_bytes());
    assert_eq!(got.stdout.matches("needs_confirmation").count(), 1, "{}", got.stdout);
    assert!(scratch.work().join("target/x").exists(), "by default it is not: {}", got.stdout);
    let got = scratch.feed(["-c", "policy.confirm=model", "call", "--batch"], lines.as_bytes());
    assert!(
        got.stdout.contains("needs_confirmation") && got.stdout.contains("\"exit_code\":0"),
        "{}",
        got.stdout
    );
    assert!(!scratch.work().join("target").exists());
}

#[test]
fn with_yes_an_agent_confirms_and_nobody_is_asked() {
    let scratch = Scratch::new();
    scratch.put("target/x", "");
    let line = |args: Value| json!({"id": 1, "tool": "clemini/bash", "args": args}).to_string();
    let first = line(json!({"command": "rm -rf target/"}));
    let got = scratch.feed(["--yes", "call", "--batch"], first.as_bytes());
    assert!(got.stdout.contains("NEEDS_CONFIRMATION"), "{}", got.stdout);
    assert!(scratch.work().join("target/x").exists());
    let lines =
        format!("{first}\n{}", line(json!({"command": "rm -rf target/", "confirmed": true})));
    let got = scratch.feed(["--yes", "call", "--batch"], lines.as_bytes());
    assert!(got.stdout.contains("\"exit_code\":0"), "{}", got.stdout);
    assert!(!scratch.work().join("target").exists());
    // The control: a single call is of whoever wrote `--yes`.
    scratch.put("target/x", "");
    assert_eq!(scratch.call("clemini/bash", r#"{"command": "rm -rf target/"}"#).code, 0);
    assert!(!scratch.work().join("target").exists());
}

#[test]
fn an_approved_call_is_answered_where_it_is_approved() {
    let scratch = Scratch::new();
    let id = park(&scratch, &[], "touch made; echo what it printed");
    let got = scratch.run(["--yes", "approvals", "approve", &id]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(got.stdout.contains("what it printed"), "{}", got.stdout);
    assert!(scratch.work().join("made").exists());
}

#[test]
fn a_parked_edit_is_shown_with_its_difference() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\ntwo\n");
    let edit = r#"{"file_path": "a.txt", "old_string": "two", "new_string": "2"}"#;
    assert_eq!(scratch.run(["call", "--park", "clemini/edit", edit]).code, 4);
    let listed = scratch.run(["approvals", "list", "--json"]).json();
    let id = listed[0]["id"].as_str().unwrap();
    let shown = scratch.run(["approvals", "show", &id[..12]]).stdout;
    assert!(shown.contains("- two") && shown.contains("+ 2"), "{shown}");
    // A no needs no terminal, and no `--yes`.
    let denied = scratch.run(["approvals", "deny", &id[..12].to_lowercase(), "not", "now"]);
    assert_eq!(denied.code, 0, "{}", denied.stderr);
    assert_eq!(scratch.run(["--yes", "approvals", "approve", id]).code, 1);
    assert_eq!(scratch.text("a.txt"), "one\ntwo\n");
}

#[test]
fn a_parked_call_is_answered_with_the_keys_of_the_prompt() {
    let scratch = Scratch::new();
    let asked = |id: &str| {
        let words = ["approvals", "approve", id];
        let mut session = Session::start_with(&scratch, &words, "", Keys::Single);
        session.wait_for(KEYS);
        session
    };
    // The same page as in the process that asked.
    let id = park(&scratch, &[], "touch made");
    let mut session = asked(&id);
    for part in
        ["wants to run a command in project", "  │ touch made", "a always: commands that begin"]
    {
        assert!(session.seen.contains(part), "{part}: {}", session.seen);
    }
    assert_eq!(session.answer("n"), 3);
    assert!(!scratch.work().join("made").exists());
    assert_eq!(scratch.run(["approvals", "show", &id, "--json"]).json()["status"], "denied");
    // Without an answer it still waits.
    let id = park(&scratch, &["-c", "policy.approval_seconds=1"], "touch made");
    let words = ["-c", "policy.approval_seconds=1", "approvals", "approve", &id];
    let mut session = Session::start_with(&scratch, &words, "", Keys::Single);
    session.wait_for("still waits");
    assert_eq!(session.child.wait().unwrap().code(), Some(4));
    assert_eq!(scratch.run(["approvals", "show", &id, "--json"]).json()["status"], "pending");
    // A key makes the grant, here as there.
    let mut session = asked(&id);
    assert_eq!(session.answer("a"), 0, "{}", session.seen);
    assert!(scratch.work().join("made").exists());
    std::fs::remove_file(scratch.work().join("made")).unwrap();
    assert_eq!(scratch.run(["call", "clemini/bash", "command=touch made"]).code, 0);
    assert!(scratch.work().join("made").exists());
    // On a terminal, what waits is shown as it is asked.
    let id = park(&scratch, &[], "mkdir other");
    let mut session = Session::start(&scratch, &["approvals", "show", &id], "");
    session.wait_for("refuse it: toolcrib approvals deny ");
    for part in ["wants to run a command in project", "  │ mkdir other", "Asks"] {
        assert!(session.seen.contains(part), "{part}: {}", session.seen);
    }
}
