//! The official Python client, over pipes and over HTTP, in both protocols.

use std::path::Path;
use std::process::Command;

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

#[test]
fn the_python_client_lists_calls_follows_cancels_and_answers() {
    for mode in ["legacy", "auto"] {
        let scratch = Scratch::new();
        run(&scratch, &[mode, "pipes", env!("CARGO_BIN_EXE_toolcrib")]);
        let words = ["-c", "mcp.approve_over_http=on"];
        let server = RunningServer::start_with(&scratch, &words);
        let url = format!("http://{}/mcp", server.address);
        run(&scratch, &[mode, "http", &url, &server.token("agent")]);
    }
}
