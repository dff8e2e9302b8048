//! The keys that answer a question, and the terminal that they come from.

use std::fs::File;
use std::io::Write;
use std::process::Command;

use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::prompt::{CALL, KEYS, Keys, Session};
use crate::scratch::Scratch;

const TOUCH: [&str; 3] = ["call", "clemini/bash", "command=touch made"];

/// Asks about a command on a terminal that sends each key at once.
fn asked_for_a_key(scratch: &Scratch) -> Session {
    let mut session = Session::start_with(scratch, &TOUCH, "", Keys::Single);
    session.wait_for(KEYS);
    session
}

/// Whether the terminal shows what is typed, and reads lines, as before the question.
pub(crate) fn is_put_back(session: &Session) -> bool {
    let modes = tcgetattr(&session.master).unwrap().local_modes;
    modes.contains(LocalModes::ICANON | LocalModes::ECHO)
}

#[test]
fn one_key_answers() {
    for (key, code) in [("y", 0), ("a", 0), ("n", 3), ("\n", 3), ("\u{1b}", 3), ("\u{4}", 3)] {
        let scratch = Scratch::new();
        let mut session = asked_for_a_key(&scratch);
        assert!(!is_put_back(&session), "the control");
        assert_eq!(session.answer(key), code, "{key:?}");
        assert_eq!(scratch.work().join("made").exists(), code == 0, "{key:?}");
        assert!(is_put_back(&session), "{key:?}");
        // One key made a grant that the next call uses.
        if key == "a" {
            std::fs::remove_file(scratch.work().join("made")).unwrap();
            let ran = scratch.run(TOUCH);
            assert_eq!(ran.code, 0);
            assert!(ran.stderr.contains(" · allowed by grant 01"), "{}", ran.stderr);
        }
    }
}

#[test]
fn pasted_text_and_keys_that_are_held_answer_nothing() {
    let scratch = Scratch::new();
    // Held before the question came.
    let mut session = Session::start_with(&scratch, &TOUCH, "yyyyyyyy", Keys::Single);
    session.wait_for(KEYS);
    for pasted in ["yes\ny\n", "yyyy", "a\na\na\n", "\u{1b}[Ay"] {
        session.seen.clear();
        session.master.write_all(pasted.as_bytes()).unwrap();
        session.wait_for("Several keys arrived at once");
    }
    assert!(!scratch.work().join("made").exists());
    assert_eq!(session.answer("n"), 3);
}

#[test]
fn the_terminal_is_put_back_however_the_question_ends() {
    for way in ["interrupt", "elsewhere", "late"] {
        let scratch = Scratch::new();
        let seconds = if way == "late" { "1" } else { "60" };
        let time = format!("policy.approval_seconds={seconds}");
        let call = [&["-c", &time], &TOUCH[..]].concat();
        let mut session = Session::start_with(&scratch, &call, "", Keys::Single);
        session.wait_for(KEYS);
        let code = match way {
            "interrupt" => {
                // As the terminal itself does on Ctrl-C.
                let pid = session.child.id().to_string();
                Command::new("kill").args(["-INT", &pid]).status().unwrap();
                None
            }
            "elsewhere" => {
                let listed = scratch.run(["approvals", "list", "--json"]).json();
                let id = listed[0]["id"].as_str().unwrap();
                assert_eq!(scratch.run(["--yes", "approvals", "deny", id]).code, 0);
                Some(3)
            }
            _ => Some(3),
        };
        assert_eq!(session.child.wait().unwrap().code(), code, "{way}");
        assert!(is_put_back(&session), "{way}");
        assert!(!scratch.work().join("made").exists(), "{way}");
    }
}

#[test]
fn an_answer_from_elsewhere_counts_while_a_reason_is_typed() {
    let scratch = Scratch::new();
    let mut session = asked_for_a_key(&scratch);
    session.press("c");
    session.wait_for("Why not?");
    let listed = scratch.run(["approvals", "list", "--json"]).json();
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(scratch.run(["--yes", "approvals", "approve", id]).code, 0);
    session.wait_for("exit 0 in ");
    assert_eq!(session.child.wait().unwrap().code(), Some(0), "{}", session.seen);
    assert!(!session.seen.contains("you said no"), "{}", session.seen);
    assert!(scratch.work().join("made").exists());
}

#[test]
fn a_closed_terminal_means_no() {
    let scratch = Scratch::new();
    let mut session = asked_for_a_key(&scratch);
    let closed = File::open("/dev/null").unwrap();
    drop(std::mem::replace(&mut session.master, closed));
    session.child.wait().unwrap();
    assert!(!scratch.work().join("made").exists());
    let last = scratch.record().last().unwrap().clone();
    assert_eq!(last["event"], "ended", "{last}");
}

#[test]
fn a_question_follows_the_size_of_its_terminal() {
    let scratch = Scratch::new();
    let mut session = asked_for_a_key(&scratch);
    session.seen.clear();
    let size = Winsize { ws_row: 10, ws_col: 40, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&session.master, size).unwrap();
    session.wait_for("wants to run");
    session.wait_for("?");
    assert!(session.seen.lines().all(|row| row.chars().count() <= 40), "{}", session.seen);
    assert_eq!(session.answer("n"), 3);
}

#[test]
fn a_resize_shows_what_the_next_key_answers() {
    let scratch = Scratch::new();
    let mut session = asked_for_a_key(&scratch);
    for (key, shown) in [("e", "Always allow what?"), ("1", "y store it")] {
        session.seen.clear();
        session.master.write_all(key.as_bytes()).unwrap();
        session.wait_for(shown);
    }
    session.seen.clear();
    let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&session.master, size).unwrap();
    session.wait_for("y store it");
    assert!(!session.seen.contains("once"), "{}", session.seen);
    assert_eq!(session.answer("y"), 0);
    assert_eq!(scratch.run(["grants", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn nobody_approves_what_has_only_just_appeared() {
    let scratch = Scratch::new();
    let mut command = scratch.command();
    command.env("TERM", "xterm").args(["-c", "ask.delay_ms=10000"]).args(TOUCH);
    let mut session = Session::on_terminal(command, "");
    session.wait_for(KEYS);
    for key in ["y", "a"] {
        session.seen.clear();
        session.master.write_all(key.as_bytes()).unwrap();
        session.wait_for("only just appeared");
    }
    // The key that quits a program is a key like others, and no is no at once.
    session.seen.clear();
    session.master.write_all(b"\x1c").unwrap();
    session.wait_for("Several keys arrived at once");
    assert_eq!(session.answer("n"), 3);
    assert!(is_put_back(&session));
    assert!(!scratch.work().join("made").exists());
}

#[test]
fn a_question_names_the_file_that_a_link_or_a_detour_leads_to() {
    let scratch = Scratch::new();
    scratch.put("Makefile", "all:\n");
    scratch.put("docs/", "");
    std::os::unix::fs::symlink("../Makefile", scratch.work().join("docs/notes.md")).unwrap();
    let detour = format!("path={}Makefile", "docs/../".repeat(20));
    for (path, named) in [
        ("path=docs/notes.md", "Makefile, spelled docs/notes.md"),
        (&detour, "Makefile, spelled docs/../"),
    ] {
        let call = ["call", "nachos/filesystem", "action=write", path, "content=evil:"];
        let mut session = Session::start_with(&scratch, &call, "", Keys::Single);
        session.wait_for(KEYS);
        for part in ["wants to change Makefile (+1 -1)", named] {
            assert!(session.seen.contains(part), "{part}: {}", session.seen);
        }
        assert_eq!(session.answer("n"), 3);
    }
    let call = ["call", "clemini/bash", "command=echo x | tee docs/notes.md"];
    let mut session = Session::start_with(&scratch, &call, "", Keys::Single);
    session.wait_for(KEYS);
    let named = "changes Makefile, spelled docs/notes.md";
    assert!(session.seen.contains(named), "{}", session.seen);
    assert_eq!(session.answer("n"), 3);
}

#[test]
fn a_person_is_asked_on_the_terminal_when_output_is_redirected() {
    let scratch = Scratch::new();
    let run = |redirections: &str| {
        let own = scratch.command();
        let binary = own.get_program().to_str().unwrap();
        let script = format!("{binary} call clemini/bash command='touch made' {redirections}");
        let mut command = Command::new("sh");
        command.current_dir(scratch.work()).env("TERM", "xterm");
        command.env("TOOLCRIB_ASK_DELAY_MS", "0");
        for (name, value) in own.get_envs() {
            command.env(name, value.unwrap());
        }
        command.args(["-c", &script]);
        Session::on_terminal(command, "")
    };
    for redirections in ["> out", "2> err", "< /dev/null > out"] {
        let mut session = run(redirections);
        session.wait_for(KEYS);
        assert_eq!(session.answer("y"), 0, "{redirections}");
        std::fs::remove_file(scratch.work().join("made")).unwrap();
    }
    // The control: where nothing is on the terminal, nobody is there.
    assert_eq!(run("< /dev/null > out 2> err").child.wait().unwrap().code(), Some(4));
}

#[test]
fn the_form_of_questions_is_a_setting() {
    for (style, tool, form) in [
        ("auto", "clemini", KEYS),
        ("auto", "wink", "Approve? (y/n/always): "),
        ("toolcrib", "wink", KEYS),
        ("wink", "clemini", "Approve? (y/n/always): "),
    ] {
        let scratch = Scratch::new();
        let setting = format!("ask.style={style}");
        let call = match tool {
            "wink" => &CALL[..],
            _ => &TOUCH[..],
        };
        let mut session = Session::start(&scratch, &[&["-c", &setting], call].concat(), "");
        session.wait_for(form);
        assert_eq!(session.answer("n\n"), 3, "{style}");
    }
}
