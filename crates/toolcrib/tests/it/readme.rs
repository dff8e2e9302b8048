//! The commands of the README work when they are pasted into bash, in order, in an empty folder.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::prompt::{KEYS, Session};
use crate::scratch::Scratch;

/// What the shell shows when it waits for a command, behind the exit code of the last one.
const READY: &str = "ready> ";

/// What the shell shows when it waits for the rest of a command.
const MORE: &str = "more> ";

/// The commands that need a clone of the repository and a build.
const IN_THE_CLONE: [&str; 2] = ["make run", "cargo install --path crates/toolcrib"];

/// What follows a command that is to fail.
const IS_STOPPED: &str = "# stopped";

/// What bash says of a line with a `!` that it takes for a line typed before. The line does not run, and has no exit code.
const NO_EVENT: &str = "event not found";

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    fs::read_to_string(path).unwrap()
}

/// Returns the blocks of commands of a page, each in lines.
fn blocks(page: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    // A block in a list is indented with the list.
    let mut indent = 0;
    for line in page.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some("sh"), None) => {
                indent = line.len() - line.trim_start().len();
                open = Some(Vec::new());
            }
            (Some(""), Some(_)) => blocks.extend(open.take()),
            (Some(language), _) => panic!("a block of `{language}` cannot be pasted"),
            (None, Some(block)) => block.push(line.get(indent..).unwrap_or_default()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block does not end");
    blocks
}

/// A person's shell, in an empty folder.
fn shell(scratch: &Scratch) -> Session {
    let binary = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    let folder = binary.parent().unwrap().display();
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-i"])
        .current_dir(scratch.work())
        .env("PATH", format!("{folder}:/usr/bin:/bin"))
        .env("HOME", scratch.path("home"))
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        // The test answers faster than people read.
        .env("TOOLCRIB_ASK_DELAY_MS", "0")
        .env("PS1", format!("<$?>{READY}"))
        .env("PS2", MORE);
    Session::on_terminal(bash, "")
}

/// Pastes one line, and approves what it asks about. Returns what was shown, once the shell waits for the next line.
fn paste(session: &mut Session, line: &str) -> String {
    session.seen.clear();
    session.master.write_all(format!("{line}\n").as_bytes()).unwrap();
    if session.wait_for_any(&[READY, MORE, KEYS]) == KEYS {
        session.master.write_all(b"y").unwrap();
        session.wait_for(READY);
    }
    session.seen.clone()
}

#[test]
fn every_command_of_the_readme_works_when_it_is_pasted() {
    let scratch = Scratch::new();
    let page = readme();
    let blocks = blocks(&page);
    assert!(blocks.len() >= 5, "only {} blocks", blocks.len());
    let mut session = shell(&scratch);
    session.wait_for(READY);
    let (mut asked, mut stopped) = (0, 0);
    for block in &blocks {
        for (number, line) in block.iter().enumerate() {
            let command = line.split("  #").next().unwrap_or_default().trim();
            if IN_THE_CLONE.contains(&command) {
                continue;
            }
            let shown = paste(&mut session, line);
            if shown.contains(KEYS) {
                asked += 1;
                // What is pasted behind a command that asks would be lost.
                assert_eq!(number + 1, block.len(), "it asks, so it ends its block: {line}");
            }
            assert!(!shown.contains(NO_EVENT), "{line}\n{shown}");
            let Some((before, _)) = shown.rsplit_once(READY) else { continue };
            let is_stopped = line.contains(IS_STOPPED);
            stopped += usize::from(is_stopped);
            assert_eq!(!before.ends_with("<0>"), is_stopped, "{line}\n{shown}");
        }
    }
    assert!(asked > 0 && stopped > 0, "{asked} commands asked, {stopped} were stopped");
}

#[test]
fn a_line_that_bash_takes_otherwise_is_found() {
    let scratch = Scratch::new();
    let mut session = shell(&scratch);
    session.wait_for(READY);
    // A shell that is typed into replaces `!b`, unless single quotes are around it.
    assert!(paste(&mut session, "echo \"a!b\"").contains(NO_EVENT), "{}", session.seen);
    assert!(!paste(&mut session, "echo 'a!b'").contains(NO_EVENT), "{}", session.seen);
    assert!(paste(&mut session, "toolcrib nonsense").contains("<2>"), "{}", session.seen);
}
