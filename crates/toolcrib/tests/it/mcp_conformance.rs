//! The official conformance suite of MCP, against Toolcrib with the tools that the suite expects. They are ordinary tools:
//! every call of the suite is decided and recorded.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::node_clients::{installed, node};
use crate::running_server::RunningServer;
use crate::scratch::{Ended, Scratch};

/// The suite, as `make test` installs it.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// Returns the program of the example `conformance`, which cargo builds with the tests.
fn example() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    program.parent().unwrap().join("examples/conformance")
}

/// Runs all scenarios that a revision of the protocol requires, and those that the suite does not score. Returns what the
/// suite printed.
fn run_suite(revision: &str) -> String {
    let scratch = Scratch::new();
    let mut command = Command::new(example());
    let of_scratch = scratch.command();
    command.env_clear().current_dir(scratch.work());
    command.envs(of_scratch.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["-c", "mcp.toolset=[\"conformance\"]"]);
    let log = File::create(scratch.path("server.log")).unwrap();
    let server = RunningServer::over(&scratch, command, log.into());
    let (address, token) = (format!("http://{}", server.address), server.token("agent"));
    let mut proxy = node(&scratch);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp_conformance.js");
    proxy.arg(script).args([&address, &token]).stdout(Stdio::piped());
    let mut proxy = Ended(proxy.spawn().unwrap());
    let mut url = String::new();
    BufReader::new(proxy.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let mut suite = node(&scratch);
    suite.arg(installed(SUITE)).args(["server", "--url", url.trim(), "--requirements", revision]);
    let output = suite.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let recorded =
        scratch.run(["audit", "search", "--tool", "conformance/test_simple_text", "--json"]);
    assert!(recorded.stdout.contains("test_simple_text"), "{}", recorded.stderr);
    text
}

/// Checks that no scenario failed, scored or not, and that as many ran as are known.
fn check(text: &str, scenarios: usize) {
    let passed = text.lines().filter(|line| line.starts_with('✓')).count();
    assert!(!text.contains('✗'), "{text}");
    assert_eq!(passed, scenarios, "{text}");
}

#[test]
fn all_scenarios_of_2026_07_28_pass_and_those_of_tasks() {
    let text = run_suite("2026-07-28");
    check(&text, 50);
    for scenario in ["tasks-lifecycle", "tasks-mrtr-input", "tasks-mrtr-composition"] {
        assert!(text.contains(&format!("✓ {scenario}")), "{text}");
    }
}

#[test]
fn all_scenarios_of_2025_11_25_pass() {
    check(&run_suite("2025-11-25"), 33);
}
