//! Both generations of the official TypeScript client, over pipes and over HTTP.

use crate::client_scenario::Scenario;
use crate::node_clients::node;
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// What a client does. It fails with what is wrong.
const SCRIPT: &str = include_str!("mcp_typescript.js");

#[track_caller]
fn run(scratch: &Scratch, words: &[&str]) {
    let mut command = node(scratch);
    command.args(["-e", SCRIPT]).args(words);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}\n{stderr}");
    assert!(said.ends_with("all done\n"), "{words:?}: {said}\n{stderr}");
}

/// Lets a client play a scenario over pipes and over HTTP.
#[track_caller]
fn play(sdk: &str, scenario: Scenario) {
    let scratch = Scratch::new();
    scenario.prepare(&scratch);
    let work = scratch.work();
    let words = [sdk, scenario.name(), work.to_str().unwrap(), env!("CARGO_BIN_EXE_toolcrib")];
    run(&scratch, &words);
    let server = RunningServer::start(&scratch);
    let url = format!("http://{}/mcp", server.address);
    run(&scratch, &[&words[..], &[&url, &server.token("agent")]].concat());
}

#[test]
fn the_typescript_clients_list_call_follow_cancel_and_answer() {
    for sdk in ["legacy", "modern"] {
        play(sdk, Scenario::Use);
    }
}

#[test]
fn a_late_answer_in_a_typescript_client_does_not_count() {
    for sdk in ["legacy", "modern"] {
        play(sdk, Scenario::Expire);
    }
}
