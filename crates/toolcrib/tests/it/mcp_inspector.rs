//! The official Inspector: it finds nothing to complain about in our schemas, and asks people in its own way.

use serde_json::json;
use toolcrib_tools::CATALOGUES;

use crate::node_clients::{installed, node};
use crate::running_server::wait_until;
use crate::scratch::{Ran, Scratch};

const INSPECTOR: &str = "node_modules/@modelcontextprotocol/inspector/clients";

/// The eras of the protocol, as the Inspector calls them.
const ERAS: [&str; 2] = ["legacy", "modern"];

fn run(scratch: &Scratch, program: &str, words: &[&str]) -> Ran {
    let mut command = node(scratch);
    // It would look for the keys of the person who runs the tests.
    command.env("MCP_INSPECTOR_SECRET_STORE", "memory");
    command.arg(installed(INSPECTOR).join(program)).args(words).current_dir(scratch.work());
    command.output().unwrap().into()
}

#[test]
fn the_inspector_finds_every_schema_portable() {
    let scratch = Scratch::new();
    let catalogues: Vec<&str> = CATALOGUES.iter().map(|it| it.name).collect();
    let toolset = format!("mcp.toolset={}", json!(catalogues));
    for era in ERAS {
        let program = env!("CARGO_BIN_EXE_toolcrib");
        let options = ["--method", "tools/list", "--strict", "--format", "json"];
        let server = ["--protocol-era", era, program, "mcp", "-c", &toolset];
        let ran = run(&scratch, "cli/build/index.js", &[&options[..], &server].concat());
        // Mere warnings do not change the exit code.
        let report = ran.json();
        assert_eq!(report.get("schemaFindings"), None, "{era}: {}", ran.stderr);
        assert_eq!(ran.code, 0, "{era}: {}", ran.stderr);
        let tools = report["result"]["tools"].as_array().unwrap();
        for catalogue in CATALOGUES {
            let is_its_own = |name: &str| {
                let name = name.strip_prefix(&format!("{}__", catalogue.name)).unwrap_or(name);
                catalogue.tools.iter().any(|tool| tool.declaration().name == name)
            };
            let is_there = tools.iter().any(|tool| tool["name"].as_str().is_some_and(is_its_own));
            assert!(is_there, "{era} {}: {report}", catalogue.name);
        }
    }
}

/// `mcpdo`, which keeps its connections in a process of its own.
struct Mcpdo<'a>(&'a Scratch);

impl Mcpdo<'_> {
    fn run(&self, words: &[&str]) -> Ran {
        let words = [&["--format", "json"], words].concat();
        run(self.0, "mcpdo/build/mcp-bin.js", &words)
    }
}

impl Drop for Mcpdo<'_> {
    fn drop(&mut self) {
        self.run(&["daemon", "stop"]);
        wait_until(|| self.run(&["daemon", "status"]).stdout.contains("\"running\": false"));
    }
}

#[test]
fn a_person_answers_with_mcpdo() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.put("old.txt", "x\n");
        let mcpdo = Mcpdo(&scratch);
        let program = env!("CARGO_BIN_EXE_toolcrib");
        let connected = mcpdo.run(&["connect", "--era", era, program, "mcp"]).json();
        assert_eq!(connected["protocolEra"], era, "{connected}");
        let name = connected["name"].as_str().unwrap();
        let answer = |answer: &str| {
            let call = ["tools/call", "bash", "command:=rm -f old.txt"];
            let called = mcpdo.run(&[&["--connection", name], &call[..]].concat());
            let asked = called.json()["elicitationPending"].clone();
            assert!(asked["message"].as_str().unwrap().contains("deletes old.txt"), "{asked}");
            let id = asked["elicitationId"].as_str().unwrap();
            mcpdo.run(&["elicitation/respond", id, answer]).json()
        };
        assert_eq!(answer("--decline")["isError"], true);
        assert!(scratch.work().join("old.txt").exists());
        assert_eq!(answer("decision:=once")["isError"], false);
        assert!(!scratch.work().join("old.txt").exists());
    }
}
