//! A command that wants a host which no setting lists: a person is asked while it runs.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;

use crate::prompt::{KEYS, Keys, Session};
use crate::scratch::Scratch;

/// Asks the proxy for a host, and prints what it answers. `localhost` is never on the open internet, so that no test
/// reaches anything.
const WANTS_HOST: &str = "command=exec 3<>/dev/tcp/127.0.0.1/3128; \
     printf 'CONNECT localhost:443 HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3; echo ended";

/// What the question about a host has.
const HOST_KEYS: &str = "let it through once";

/// Starts the command, and allows it.
fn running(scratch: &Scratch, keys: Keys) -> Session {
    let words = ["call", "clemini/bash", WANTS_HOST];
    let mut session = Session::start_with(scratch, &words, "", keys);
    session.wait_for(KEYS);
    session.seen.clear();
    let yes = if keys == Keys::Single { "y" } else { "y\n" };
    session.master.write_all(yes.as_bytes()).unwrap();
    session
}

#[test]
fn a_person_is_asked_about_the_host_and_the_answer_counts() {
    for (key, keys, said, event) in [
        ("n", Keys::Single, "a person said no", "host_refused"),
        ("\n", Keys::Single, "a person said no", "host_refused"),
        ("no\n", Keys::Lines, "a person said no", "host_refused"),
        ("c", Keys::Single, "a person said no: not now", "host_refused"),
        // Allowed, and refused all the same because of where it leads.
        ("y", Keys::Single, "not on the open internet", "host_allowed"),
    ] {
        let scratch = Scratch::new();
        let mut session = running(&scratch, keys);
        session.wait_for(HOST_KEYS);
        session.wait_for(KEYS);
        for shown in ["command was stopped at the network", "localhost:443", "sandbox.egress"] {
            assert!(session.seen.contains(shown), "{shown}: {}", session.seen);
        }
        session.master.write_all(key.as_bytes()).unwrap();
        if key == "c" {
            session.wait_for("Why not?");
            session.master.write_all(b"not now\n").unwrap();
        }
        session.wait_for(said);
        session.wait_for("exit 0 in ");
        assert_eq!(session.child.wait().unwrap().code(), Some(0), "the command itself goes on");
        let shown = scratch.run(["audit", "show", "--last"]).stdout;
        assert!(shown.contains(event) && shown.contains("by terminal: localhost:443"), "{shown}");
        assert!(shown.contains("host_asked"), "{shown}");
    }
}

#[test]
fn always_leaves_a_grant_that_can_be_revoked() {
    let scratch = Scratch::new();
    let mut session = running(&scratch, Keys::Single);
    session.wait_for(HOST_KEYS);
    session.wait_for("a always: connections to localhost:443");
    session.wait_for(KEYS);
    session.master.write_all(b"a").unwrap();
    session.wait_for("exit 0 in ");
    session.child.wait().unwrap();
    let grants = scratch.run(["grants", "list", "--json"]).stdout;
    assert!(grants.contains("connections to localhost:443"), "{grants}");
    // It is not asked again, not even without a terminal.
    let ran = scratch.run(["--yes", "call", "clemini/bash", WANTS_HOST]);
    assert!(ran.stdout.contains("not on the open internet"), "{}{}", ran.stdout, ran.stderr);
    let id = session.seen.split("grants revoke ").nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap();
    assert_eq!(scratch.run(["grants", "revoke", id]).code, 0, "{id}");
    // The control: without the grant and without a person, there is no way out.
    let ran = scratch.run(["--yes", "call", "clemini/bash", WANTS_HOST]);
    assert!(!ran.stdout.contains("open internet"), "{}", ran.stdout);
    assert!(ran.stderr.contains("Connection refused"), "{}", ran.stderr);
}

#[test]
fn another_terminal_can_answer_about_the_host() {
    for (words, said, event) in [
        (vec!["approve"], "not on the open internet", "host_allowed"),
        (vec!["deny", "not", "now"], "a person said no: not now", "host_refused"),
    ] {
        let scratch = Scratch::new();
        let mut session = running(&scratch, Keys::Single);
        session.wait_for(HOST_KEYS);
        session.wait_for(KEYS);
        let list = scratch.run(["approvals", "list", "--json"]).stdout;
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let id = list[0]["id"].as_str().unwrap().to_owned();
        assert!(id.ends_with("-host1") && list.as_array().unwrap().len() == 1, "{list}");
        let shown = scratch.run(["approvals", "show", &id]).stdout;
        for part in ["localhost:443", "sandbox.egress", "CONNECT localhost:443"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let lines = scratch.run(["approvals", "list"]).stdout;
        assert!(lines.contains(&id) && lines.contains("reach localhost:443"), "{lines}");
        let given = [&["--yes", "approvals", words[0], &id], &words[1..]].concat();
        let answered = scratch.run(given);
        assert_eq!(answered.code, 0, "{}", answered.stderr);
        let reaches = answered.stdout.contains("lets its command reach localhost:443");
        assert_eq!(reaches, words[0] == "approve", "{}", answered.stdout);
        session.wait_for("Answered elsewhere: localhost:443");
        session.wait_for(said);
        session.wait_for("exit 0 in ");
        assert_eq!(session.child.wait().unwrap().code(), Some(0), "the command itself goes on");
        let shown = scratch.run(["audit", "show", "--last"]).stdout;
        assert!(shown.contains(event) && shown.contains(": localhost:443"), "{shown}");
        // Who answered is on the record, also if the command had ended by then.
        let verdict = if words[0] == "approve" { "approved" } else { "denied: not now" };
        let answered = format!("localhost:443 {verdict}");
        assert!(shown.contains("host_answered") && shown.contains(&answered), "{shown}");
        // The first answer counts.
        let late = scratch.run(["--yes", "approvals", "deny", &id]);
        assert_eq!(late.code, 1, "{}{}", late.stdout, late.stderr);
    }
}

#[test]
fn a_question_about_a_host_ends_with_its_command() {
    let scratch = Scratch::new();
    let mut session = running(&scratch, Keys::Single);
    session.wait_for(HOST_KEYS);
    session.wait_for(KEYS);
    let waiting = || scratch.run(["approvals", "list", "--json"]).stdout;
    assert!(waiting().contains("-host1"), "{}", waiting());
    let id = rustix::process::Pid::from_child(&session.child);
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    session.child.wait().unwrap();
    assert_eq!(waiting().trim(), "[]");
}

#[test]
fn a_host_that_a_rule_denies_is_not_asked_about() {
    let scratch = Scratch::new();
    let rule = "[[rule]]\nid = \"no-local\"\nhosts = [\"localhost\"]\neffect = \"deny\"\n";
    scratch.put("deny.toml", rule);
    assert_eq!(scratch.run(["rules", "add", "deny.toml"]).code, 0);
    let mut session = running(&scratch, Keys::Single);
    session.wait_for("rule `no-local` denies the host");
    session.wait_for("exit 0 in ");
    assert!(!session.seen.contains(HOST_KEYS), "{}", session.seen);
}

#[test]
fn an_interrupt_takes_the_question_away() {
    let scratch = Scratch::new();
    let mut session = running(&scratch, Keys::Single);
    session.wait_for(HOST_KEYS);
    session.wait_for(KEYS);
    let id = rustix::process::Pid::from_child(&session.child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(session.child.wait().unwrap().signal(), Some(2));
}
