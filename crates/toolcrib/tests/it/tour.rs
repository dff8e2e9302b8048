//! The tour: at a terminal the person takes part, and without one it needs nobody. It leaves nothing.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::keys::is_put_back;
use crate::prompt::{KEYS, Session};
use crate::scratch::{Ran, Scratch};

const PRESS_ENTER: &str = "Press Enter to run it.";

/// The tour, with a temporary folder of its own.
fn tour(scratch: &Scratch) -> (Command, PathBuf) {
    let temporary = scratch.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = scratch.command();
    command.env("TMPDIR", &temporary).env("TERM", "xterm").env("NO_COLOR", "1").arg("tour");
    (command, temporary)
}

/// Answers the question, and goes on when the tour waits for Enter. A key that comes too soon is asked for again.
fn answer(session: &mut Session, key: &str) {
    const TOO_SOON: &str = "only just appeared";
    session.wait_for(KEYS);
    session.press(key);
    while session.wait_for_any(&[PRESS_ENTER, TOO_SOON]) == TOO_SOON {
        session.seen.clear();
        session.press(key);
    }
}

#[track_caller]
fn assert_empty(folder: &PathBuf) {
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn without_a_terminal_the_answer_is_no_and_the_tour_goes_on() {
    let scratch = Scratch::new();
    let (mut command, temporary) = tour(&scratch);
    // What the person has set neither changes the tour nor is changed by it.
    command.env("TOOLCRIB_MODE", "permissive");
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let next = format!("\n  {} doctor\n", env!("CARGO_BIN_EXE_toolcrib"));
    for shown in [
        "1/6 ",
        "6/6 ",
        "$ toolcrib undo --last\n",
        "Toolcrib would ask here",
        "(exit 4)",
        "removed   hello.txt",
        "Access denied",
        "Read-only file system",
        "clemini/bash",
        "The scratch project is deleted.",
        &next,
    ] {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("root:x:0") && !ran.stdout.contains(PRESS_ENTER));
    assert_empty(&temporary);
    assert!(!scratch.state().exists());
}

#[test]
fn a_person_answers_one_question_and_takes_one_change_back() {
    for (key, said, undone) in
        [("y", "approved once", "restored  hello.txt"), ("n", "you said no", "removed   hello.txt")]
    {
        let scratch = Scratch::new();
        let (command, temporary) = tour(&scratch);
        let mut session = Session::on_terminal(command, "");
        answer(&mut session, key);
        assert!(session.seen.contains(said), "{key}: {}", session.seen);
        assert!(!session.seen.contains(undone), "it waits: {}", session.seen);
        session.press("\n");
        session.wait_for(" doctor\r\n");
        assert!(session.seen.contains(undone), "{key}: {}", session.seen);
        assert_eq!(session.child.wait().unwrap().code(), Some(0));
        assert!(is_put_back(&session));
        assert_empty(&temporary);
    }
}

#[test]
fn an_interrupt_ends_the_tour_and_leaves_nothing() {
    for at in [KEYS, PRESS_ENTER] {
        let scratch = Scratch::new();
        let (command, temporary) = tour(&scratch);
        let mut session = Session::on_terminal(command, "");
        if at == KEYS {
            session.wait_for(at);
        } else {
            answer(&mut session, "y");
        }
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1, "the control");
        let pid = session.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        session.wait_for("The tour has ended.");
        assert_eq!(session.child.wait().unwrap().signal(), Some(2), "{at}");
        assert!(is_put_back(&session), "{at}");
        assert_empty(&temporary);
    }
}

#[test]
fn a_reader_that_goes_away_does_not_keep_the_scratch_project() {
    let scratch = Scratch::new();
    let (mut command, temporary) = tour(&scratch);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    assert_empty(&temporary);
}
