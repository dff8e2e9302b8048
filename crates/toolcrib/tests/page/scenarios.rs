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
fn see_how_all_tools_do() {
    scenario(include_str!("overview.js"));
}

#[test]
fn see_how_one_tool_does_and_try_it() {
    scenario(include_str!("tool.js"));
}
