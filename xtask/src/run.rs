//! `cargo xtask run`: a server in a scratch project, and two agents that make real calls, one over HTTP and one over MCP,
//! so that every view of the page has something to show. Ctrl-C stops them all, and the scratch folder is removed.

#![expect(clippy::print_stdout, reason = "a chore tells what it does")]

mod expected_end;
mod mcp_agent;

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use expected_end::ExpectedEnd;
use mcp_agent::McpAgent;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::check::{announce, survive_interrupts};
use crate::tools;

/// How long the agent waits between the calls that it makes until the end.
const PAUSE: Duration = Duration::from_secs(3);

/// The files of the scratch project.
const FILES: [(&str, &str); 4] = [
    ("README.md", "# Weather\n\nPrints the weather of a town.\n"),
    (
        "src/main.rs",
        "mod town;\n\nfn main() {\n    let town = town::from_args();\n    println!(\"{town}: sunny\");\n}\n",
    ),
    (
        "src/town.rs",
        "/// Returns the town that the user named.\npub fn from_args() -> String {\n    std::env::args().nth(1).unwrap()\n}\n",
    ),
    ("docs/plan.md", "- [x] print a line\n- [ ] say it when no town is named\n"),
];

/// A module that the agent proposes as a tool.
const MODULE: &str = r#"export const name = "count_words";
export const description = "Counts the words of a text.";
export const parameters = {
  type: "object",
  properties: { text: { type: "string", description: "The text." } },
  required: ["text"],
};
export const examples = [{ about: "three words", args: { text: "one two three" }, reply: { words: 3 } }];
export async function execute({ text }) {
  return { words: text.split(/\s+/).filter(Boolean).length };
}
"#;

/// One call of the agent: what the reader is told, the tool and its arguments as words of `toolcrib call`, and how the
/// call ends.
struct AgentCall {
    about: &'static str,
    words: &'static [&'static str],
    end: ExpectedEnd,
}

/// A command that deletes, as an argument.
const DELETING: &str =
    "command=mkdir -p target && cp docs/plan.md target/plan.md && rm docs/plan.md";

const CALLS: [AgentCall; 10] = [
    AgentCall {
        about: "reads a file",
        words: &["clemini/read_file", "file_path=src/main.rs"],
        end: ExpectedEnd::Done,
    },
    AgentCall {
        about: "searches",
        words: &["clemini/grep", "pattern=town"],
        end: ExpectedEnd::Done,
    },
    AgentCall {
        about: "lists files",
        words: &["clemini/glob", "pattern=**/*.rs"],
        end: ExpectedEnd::Done,
    },
    AgentCall {
        about: "runs a command",
        words: &["clemini/bash", "command=wc -l src/*.rs"],
        end: ExpectedEnd::Done,
    },
    AgentCall {
        about: "reads a file that is not there",
        words: &["clemini/read_file", "file_path=src/wether.rs"],
        end: ExpectedEnd::Failed,
    },
    AgentCall {
        about: "is refused a file outside",
        words: &["clemini/read_file", "file_path=/etc/shadow"],
        end: ExpectedEnd::Failed,
    },
    AgentCall {
        about: "asks to change a file",
        words: &[
            "clemini/edit",
            "file_path=src/town.rs",
            "old_string=    std::env::args().nth(1).unwrap()",
            "new_string=    std::env::args().nth(1).unwrap_or_else(|| \"Oslo\".to_owned())",
        ],
        end: ExpectedEnd::Waits,
    },
    AgentCall {
        about: "asks to create a file",
        words: &[
            "forgekeeper/write_file",
            "path=docs/towns.md",
            "content=# Towns\n\n- Oslo\n- Bergen\n",
        ],
        end: ExpectedEnd::Waits,
    },
    AgentCall {
        about: "tries a command that deletes a file",
        words: &["clemini/bash", DELETING],
        end: ExpectedEnd::Unconfirmed,
    },
    AgentCall {
        about: "confirms it, and asks to run it",
        words: &["clemini/bash", DELETING, "confirmed=true"],
        end: ExpectedEnd::Waits,
    },
];

/// What the agent over MCP does: what the reader is told, the tool, its arguments, and how the call ends.
fn mcp_calls() -> [(&'static str, &'static str, Value, ExpectedEnd); 3] {
    [
        ("reads the plan", "read_file", json!({"file_path": "docs/plan.md"}), ExpectedEnd::Done),
        ("searches", "grep", json!({"pattern": "unwrap"}), ExpectedEnd::Done),
        (
            "asks to tick off a line of the plan",
            "edit",
            json!({
                "file_path": "docs/plan.md",
                "old_string": "- [ ] say it",
                "new_string": "- [x] say it",
            }),
            ExpectedEnd::Waits,
        ),
    ]
}

/// Starts the server and the agents, and waits until a person stops them.
pub fn run() -> Result<(), Box<dyn Error>> {
    survive_interrupts()?;
    let scratch = tempfile::Builder::new().prefix("toolcrib-run-").tempdir()?;
    write_project(&scratch)?;
    announce("starting the server in a scratch project");
    println!("    {}", scratch.path().join("project").display());
    let mut server = DemoServer::start(&scratch)?;
    let made = make_calls(&server, &scratch);
    // Ctrl-C also ends the call that runs. Then nothing failed.
    if made.is_err() && server.ends_soon()? {
        return server.end();
    }
    let _mcp_agent = made?;
    println!("\n{}", server.invitation);
    println!(
        "The first agent goes on reading. Ctrl-C stops everything, and removes the scratch project."
    );
    let mut turn = CALLS[..4].iter().cycle();
    while server.is_running()? {
        std::thread::sleep(PAUSE);
        if let Some(call) = turn.next()
            && server.is_running()?
        {
            server.call(call.words)?;
        }
    }
    server.end()
}

/// Makes the calls of both agents. Returns the one over MCP, which stays connected.
fn make_calls(server: &DemoServer, scratch: &TempDir) -> Result<McpAgent, Box<dyn Error>> {
    announce("an agent makes calls over HTTP");
    for call in &CALLS {
        tell(call.about, server.call(call.words)?, call.end)?;
    }
    let code = format!("code={MODULE}");
    let proposal = [
        "plugins/propose_tool",
        "name=count_words",
        "description=Counts the words of a text.",
        &code,
        "reasoning=words are counted by hand",
    ];
    tell("proposes a tool", server.call(&proposal)?, ExpectedEnd::Done)?;
    announce("another agent makes calls over MCP");
    let mut agent = McpAgent::start(toolcrib(scratch.path()))?;
    for (about, tool, args, end) in mcp_calls() {
        tell(about, agent.call(tool, &args)?, end)?;
    }
    Ok(agent)
}

/// Prints how a call ended. An end that is not the expected one leaves a view of the page without its content.
fn tell(about: &str, end: ExpectedEnd, expected: ExpectedEnd) -> Result<(), Box<dyn Error>> {
    println!("    {about:<46} {}", end.in_words());
    if end == expected {
        return Ok(());
    }
    let expected = expected.in_words();
    Err(format!("the call that {about} should have ended as: {expected}").into())
}

fn write_project(scratch: &TempDir) -> Result<(), Box<dyn Error>> {
    for (name, text) in FILES {
        let path = scratch.path().join("project").join(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, text)?;
    }
    Ok(fs::create_dir_all(scratch.path().join("home"))?)
}

/// The server that runs.
struct DemoServer {
    child: Child,
    /// What it prints after its start. The pipe stays open, because a server that cannot print would stop.
    _output: Lines<BufReader<ChildStdout>>,
    address: String,
    /// The line with the link that logs in.
    invitation: String,
    folder: std::path::PathBuf,
}

/// Whatever goes wrong, no server is left running.
impl Drop for DemoServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl DemoServer {
    fn start(scratch: &TempDir) -> Result<Self, Box<dyn Error>> {
        let mut command = toolcrib(scratch.path());
        // Another server may have the usual port.
        command.args(["serve", "--address", "127.0.0.1:0", "--login-link", "-c", "log.level=warn"]);
        // The agent may propose a tool.
        command.args(["-c", "plugins.self_update=on"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let (mut address, mut invitation) = (None, None);
        while address.is_none() || invitation.is_none() {
            let Some(line) = output.next() else {
                return Err("the server did not start: see above".into());
            };
            let line = line?;
            if let Some(it) = line.strip_prefix("Listening on ") {
                address = Some(it.to_owned());
            } else if line.starts_with("Open ") {
                invitation = Some(line);
            }
        }
        let folder = scratch.path().to_owned();
        let (address, invitation) = (address.unwrap_or_default(), invitation.unwrap_or_default());
        Ok(Self { child, _output: output, address, invitation, folder })
    }

    /// Makes a call as the agent. Returns how it ended.
    fn call(&self, words: &[&str]) -> Result<ExpectedEnd, Box<dyn Error>> {
        let mut command = toolcrib(&self.folder);
        command.args(["call", "--json"]).args(words);
        command.args(["--server", &self.address, "--token-file"]);
        command.arg(self.folder.join("state/first_tokens/agent"));
        let done = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
        // Each catalogue has its own form for it, and all of them name the reason.
        let waits = String::from_utf8_lossy(&done.stdout).contains("\"approval_required\"");
        Ok(match done.status.code() {
            Some(0) => ExpectedEnd::Done,
            Some(4) if waits => ExpectedEnd::Waits,
            Some(4) => ExpectedEnd::Unconfirmed,
            _ => ExpectedEnd::Failed,
        })
    }

    fn is_running(&mut self) -> Result<bool, Box<dyn Error>> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Returns whether the server ends within a second.
    fn ends_soon(&mut self) -> Result<bool, Box<dyn Error>> {
        for _ in 0..20 {
            if !self.is_running()? {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(false)
    }

    fn end(mut self) -> Result<(), Box<dyn Error>> {
        let status = self.child.wait()?;
        println!("The server has stopped, and the scratch project is removed.");
        match status.code() {
            Some(0 | 130) | None => Ok(()),
            Some(code) => Err(format!("the server ended with {code}: see above").into()),
        }
    }
}

/// A command of the built binary, with everything that it keeps below `folder`.
fn toolcrib(folder: &Path) -> Command {
    let mut command = Command::new(tools::target_folder().join("debug/toolcrib"));
    command
        .current_dir(folder.join("project"))
        .env("HOME", folder.join("home"))
        .env("TOOLCRIB_STATE", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("home/config"))
        .env_remove("TOOLCRIB_SERVER")
        .env_remove("TOOLCRIB_TOKEN_FILE");
    command
}
