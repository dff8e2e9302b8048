//! Calls that wait for an answer, and what agents have to confirm.

use serde_json::{Value, json};

use crate::scratch::{Scratch, Session};

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
    assert!(scratch.run(["approvals", "list"]).stdout.contains("Nothing waits"));

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
fn what_expired_was_denied_or_is_not_there_is_not_run() {
    let scratch = Scratch::new();
    let approve = |id: &str| scratch.run(["--yes", "approvals", "approve", id]);
    let id = park(&scratch, &["-c", "policy.park_seconds=1"], "touch late");
    let is_over =
        || scratch.run(["approvals", "show", &id, "--json"]).json()["status"] == "expired";
    while !is_over() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(approve(&id).code, 1);
    let id = park(&scratch, &[], "touch denied");
    assert_eq!(scratch.run(["--yes", "approvals", "deny", &id, "not", "now"]).code, 0);
    assert_eq!(approve(&id).code, 1);
    for odd in ["", "nothing", "../grants", "01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        assert_eq!(approve(odd).code, 1, "{odd}");
    }
    assert!(!scratch.work().join("late").exists() && !scratch.work().join("denied").exists());
    // A call that policy refuses by the time of the approval does not run.
    let id = park(&scratch, &[], "touch later");
    let got = scratch.run(["--yes", "--mode", "strict", "approvals", "approve", &id]);
    assert_eq!(got.code, 3, "{}{}", got.stdout, got.stderr);
    assert!(!scratch.work().join("later").exists());
    // A call that someone changed in the store is not the one that was asked about, so it does not run.
    let id = park(&scratch, &[], "touch good");
    let file = scratch.state().join("approvals").join(format!("{id}.json"));
    let text = std::fs::read_to_string(&file).unwrap().replace("touch good", "touch evil");
    std::fs::write(&file, text).unwrap();
    assert_eq!(approve(&id).code, 3);
    assert!(!scratch.work().join("evil").exists());
    // A call whose script changed since the question does not run.
    scratch.put("run.sh", "touch good");
    let id = park(&scratch, &[], "sh run.sh");
    scratch.put("run.sh", "touch evil");
    assert_eq!(approve(&id).code, 3);
    assert!(!scratch.work().join("evil").exists() && !scratch.work().join("good").exists());
    let filler = format!("echo {}; cd sub && ./run.sh", "x ".repeat(150));
    for command in ["cd sub && ./run.sh", "sh -c \"cd sub; ./run.sh\"", &filler] {
        scratch.put("sub/run.sh", "touch good");
        let id = park(&scratch, &[], &command.replace('"', "'"));
        scratch.put("sub/run.sh", "touch evil");
        assert_eq!(approve(&id).code, 3, "{command}");
    }
    let id = park(&scratch, &[], "sh run.sh");
    assert_eq!(approve(&id).code, 0, "the control: nothing changed");
    assert!(scratch.work().join("evil").exists());
    // A call whose files changed since the question does not run.
    let words = ["call", "--park", "clemini/write_file", "file_path=lnk/f", "content=x", "--json"];
    scratch.put("one/", "");
    scratch.put("two/", "");
    std::os::unix::fs::symlink("one", scratch.work().join("lnk")).unwrap();
    let reply = scratch.run(words).json();
    let id =
        reply["context"]["approval_id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
    std::fs::remove_file(scratch.work().join("lnk")).unwrap();
    std::os::unix::fs::symlink("two", scratch.work().join("lnk")).unwrap();
    assert_eq!(approve(&id).code, 3);
    assert!(!scratch.work().join("two/f").exists());
}

#[test]
fn an_agent_confirms_only_what_it_was_told_to() {
    let scratch = Scratch::new();
    scratch.put("target/x", "");
    // Nobody can be asked, so a confirmed command is parked.
    let mut session = Session::parking(&scratch);
    let mut call = |args: Value| session.call("clemini/bash", args);
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
    assert!(scratch.work().join("target/x").exists());
    let reply = call(json!({"command": "rm -rf /", "confirmed": true}));
    assert_eq!(reply["error"], "Command blocked: recursive delete on root");
    assert_eq!(reply["error_code"], "BLOCKED");
    session.end();
    // A single call has no session in which the agent could be told to confirm.
    let single = |confirmed: &str| {
        let words = ["call", "clemini/bash", "command=rm -rf target/", confirmed, "--json"];
        scratch.run(words).json()
    };
    assert_eq!(single("confirmed:=false")["needs_confirmation"], true);
    let reply = single("confirmed:=true");
    assert!(reply["error"].as_str().unwrap().contains("needs a person's approval"), "{reply}");
    // The operator can say that a model's confirmation is enough.
    let lines = [json!({"id": 1, "tool": "clemini/bash", "args": {"command": "rm -rf target/"}}).to_string(),
        json!({"id": 2, "tool": "clemini/bash", "args": {"command": "rm -rf target/", "confirmed": true}}).to_string()];
    let got = scratch
        .feed(["-c", "policy.confirm=model", "call", "--batch"], lines.join("\n").as_bytes());
    assert!(
        got.stdout.contains("needs_confirmation") && got.stdout.contains("\"exit_code\":0"),
        "{}",
        got.stdout
    );
    assert!(!scratch.work().join("target").exists());
}
