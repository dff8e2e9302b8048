//! The official Python client, over pipes and over HTTP, in both protocols.

use std::path::Path;
use std::process::Command;

use crate::client_scenario::Scenario;
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// What the client does. It fails with what is wrong.
const SCRIPT: &str = include_str!("mcp_python.py");

/// Returns the folder that `make test` installs the client into.
fn installed() -> std::path::PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    program.parent().and_then(Path::parent).unwrap().join("tools/mcp")
}

#[track_caller]
fn run(scratch: &Scratch, words: &[&str]) {
    let mut command = Command::new("python3");
    for (name, value) in scratch.command().get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.env("PYTHONPATH", installed()).env("PATH", "/usr/bin:/bin");
    command.current_dir(scratch.work()).args(["-c", SCRIPT]).args(words);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.ends_with("all done\n"), "{said}");
}

/// Lets the client play a scenario over pipes and over HTTP.
#[track_caller]
fn play(scenario: Scenario) {
    for mode in ["legacy", "auto"] {
        let scratch = Scratch::new();
        scenario.prepare(&scratch);
        let words = [mode, scenario.name(), env!("CARGO_BIN_EXE_toolcrib")];
        run(&scratch, &words);
        let server = RunningServer::start(&scratch);
        let url = format!("http://{}/mcp", server.address);
        run(&scratch, &[&words[..], &[&url, &server.token("agent")]].concat());
    }
}

#[test]
fn the_python_client_lists_calls_follows_cancels_and_answers() {
    play(Scenario::Use);
}

#[test]
fn a_late_answer_in_the_python_client_does_not_count() {
    play(Scenario::Expire);
}
