//! Calls of a mounted MCP server: what Toolcrib adds to the server's own answer.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::mcp_peer::RunningPeer;
use super::measure::{median, time};
use crate::tools::NPM_MOUNTED;

/// How many calls of a kind a round has.
const CALLS: usize = 300;

/// How many rounds there are, in turn.
const ROUNDS: usize = 7;

/// The reference server, in the folder of its packages.
const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// A server that does nothing but answer, in a language whose programs answer fast.
const ECHO_SERVER: &str = r#"
import json, sys
tool = {"name": "echo", "description": "Echoes", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    method = message["method"]
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}
    elif method == "tools/list":
        answer["result"] = {"tools": [tool]}
    elif method == "tools/call":
        text = message["params"]["arguments"]["message"]
        answer["result"] = {"content": [{"type": "text", "text": text}]}
    else:
        answer["error"] = {"code": -32601, "message": "unknown"}
    print(json.dumps(answer, separators=(",", ":")), flush=True)
"#;

/// Compares calls of two servers, each alone and mounted.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    NPM_MOUNTED.install()?;
    let scratch = tempfile::tempdir()?;
    let (folder, home) = (scratch.path().join("work"), scratch.path().join("home"));
    fs::create_dir_all(&folder)?;
    fs::create_dir_all(home.join(".config/toolcrib"))?;
    let script = folder.join("echo.py");
    fs::write(&script, ECHO_SERVER)?;
    let packages = fs::canonicalize(NPM_MOUNTED.folder())?;
    let python = vec!["/usr/bin/python3".to_owned(), text(&script)];
    let node =
        vec![text(&packages.join("node_modules/.bin/node")), text(&packages.join(EVERYTHING))];
    let servers = [
        ("a server of a few lines of Python", python),
        ("the reference server `everything`", node),
    ];
    println!(
        "Calls of a mounted MCP server, over the pipes of `toolcrib mcp`; medians of {ROUNDS} rounds in turn\n"
    );
    println!("| | its own answer | mounted | added | ratio |\n| --- | --- | --- | --- | --- |");
    for (about, command) in &servers {
        for (reads_only, what) in [(false, "may change something"), (true, "only reads")] {
            let folders = json!([folder, packages]);
            let settings = format!(
                "[mcp.peer]\ncommand = {}\nfolders = {folders}\ntier = 1\nreads_only = {reads_only}\n",
                json!(command)
            );
            fs::write(home.join(".config/toolcrib/config.toml"), settings)?;
            let (own, ours) = compare(program, command, &folder, &home)?;
            println!(
                "| {about}, which {what} | {own:.0} µs | {ours:.0} µs | {:.0} µs | {:.2} |",
                ours - own,
                ours / own
            );
        }
    }
    println!(
        "\nThe record of a call that may change something is on the disk before the call is made.\n"
    );
    Ok(())
}

/// Measures calls of a server alone and mounted, in turn. Returns both medians, in microseconds.
fn compare(
    program: &Path,
    command: &[String],
    folder: &Path,
    home: &Path,
) -> Result<(f64, f64), Box<dyn Error>> {
    let mut mounting = Command::new(program);
    mounting.args(["plugins", "servers"]).current_dir(folder).env("HOME", home);
    mounting.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
    time(&mut mounting)?;
    let mut alone = RunningPeer::start(Path::new(&command[0]), &command[1..], folder, home)?;
    let words = ["mcp", "-c", "mcp.toolset=[\"peer\"]"].map(str::to_owned);
    let mut mounted = RunningPeer::start(program, &words, folder, home)?;
    let args = json!({"message": "hello"});
    let (mut own, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (peer, times) in [(&mut alone, &mut own), (&mut mounted, &mut ours)] {
            for _ in 0..CALLS {
                let start = Instant::now();
                peer.call("echo", &args)?;
                times.push(start.elapsed());
            }
        }
    }
    Ok((micros(median(&mut own)), micros(median(&mut ours))))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
