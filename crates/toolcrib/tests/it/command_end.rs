//! What a person sees of a command: its output as it is printed, and one line about its end.

use crate::prompt::Session;
use crate::scratch::Scratch;

#[test]
fn output_is_shown_while_the_command_runs() {
    let scratch = Scratch::new();
    let command = "command=echo begun; while ! [ -e go ]; do sleep 0.01; done; echo ended; exit 3";
    let mut session = Session::start(&scratch, &["--yes", "call", "clemini/bash", command], "");
    session.wait_for("begun\r\n");
    assert!(!session.seen.contains("ended"), "{}", session.seen);
    scratch.put("go", "");
    session.wait_for("ended\r\n");
    session.wait_for("✗ exit 3 in ");
    assert_eq!(session.seen.matches("begun").count(), 1, "{}", session.seen);
    assert_eq!(session.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_command_that_fails_is_a_failure_in_every_catalogue() {
    let scratch = Scratch::new();
    for (tool, settings) in [
        ("clemini/bash", &[][..]),
        ("wink/run_in_terminal", &[]),
        ("forgekeeper/run_bash", &["-c", "forgekeeper.bash=true"]),
    ] {
        for (code, ends) in [(0, 0), (3, 1)] {
            let args = format!("command=echo out; echo err >&2; exit {code}");
            let words = [&["--yes"], settings, &["call", tool, &args]].concat();
            let ran = scratch.run(words);
            assert_eq!(ran.code, ends, "{tool}: {}{}", ran.stdout, ran.stderr);
            assert_eq!(ran.stdout, "out\n", "{tool}");
            let line = format!("exit {code} in ");
            assert!(ran.stderr.starts_with("err\n"), "{tool}: {}", ran.stderr);
            assert!(ran.stderr.contains(&line), "{tool}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_pipe_gets_the_output_alone_and_the_end_names_what_changed() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\n");
    let command = "command=printf 'no end'; echo two >> a.txt; touch made";
    let ran = scratch.run(["--yes", "call", "clemini/bash", command]);
    assert_eq!(ran.stdout, "no end");
    for part in ["✓ exit 0 in ", " · made made · changed a.txt · undo: toolcrib undo "] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let id = ran.stderr.trim().rsplit(' ').next().unwrap();
    assert_eq!(scratch.run(["--yes", "undo", id]).code, 0);
    assert_eq!(scratch.text("a.txt"), "one\n");
    // The control: a command that changes nothing names nothing.
    let ran = scratch.run(["--yes", "call", "clemini/bash", "command=true"]);
    assert!(ran.stderr.contains("✓ exit 0") && !ran.stderr.contains('·'), "{}", ran.stderr);
}
