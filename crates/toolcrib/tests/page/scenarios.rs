//! What people do on the page, each in a browser of its own.

use crate::browser::play;
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// Lets a script use the page of a server that has just started.
#[track_caller]
fn scenario(script: &str) {
    scenario_with(&[], script);
}

#[track_caller]
fn scenario_with(environment: &[(&str, &str)], script: &str) {
    let scratch = Scratch::new();
    scratch.put("notes.txt", "one two three\n");
    scratch.put("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
    let server = RunningServer::start(&scratch);
    play(&server, &scratch, environment, script);
}

#[test]
fn log_in_and_out() {
    scenario(include_str!("log_in.js"));
}

#[test]
fn approve_decline_and_always() {
    scenario(include_str!("answer.js"));
}

#[test]
fn approve_decline_and_always_by_keyboard() {
    scenario_with(&[("KEYBOARD", "1")], include_str!("answer.js"));
}

#[test]
fn tail_stories_undo_verify_and_export() {
    scenario(include_str!("audit.js"));
}

#[test]
fn tail_stories_undo_verify_and_export_by_keyboard() {
    scenario_with(&[("KEYBOARD", "1")], include_str!("audit.js"));
}

#[test]
fn a_session_and_the_undo_of_all_of_it() {
    scenario(include_str!("sessions.js"));
}

#[test]
fn a_session_and_the_undo_of_all_of_it_by_keyboard() {
    scenario_with(&[("KEYBOARD", "1")], include_str!("sessions.js"));
}

#[test]
fn a_tail_stays_short_and_finds_a_server_that_starts_again() {
    let scratch = Scratch::new();
    scratch.put("notes.txt", "one two three\n");
    let server = RunningServer::start(&scratch);
    let path = |path: std::path::PathBuf| path.display().to_string();
    let pid = server.child.id().to_string();
    let (state, home) = (path(scratch.state()), path(scratch.path("home")));
    let environment = [
        ("SERVER_PID", pid.as_str()),
        ("STATE", &state),
        ("SERVER_HOME", &home),
        ("TOOLCRIB", env!("CARGO_BIN_EXE_toolcrib")),
    ];
    play(&server, &scratch, &environment, include_str!("audit_bounds.js"));
}
