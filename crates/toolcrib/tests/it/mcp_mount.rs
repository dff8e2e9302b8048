//! MCP servers that are mounted: their tools are decided, recorded and watched for changes like any other.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp_client::{McpClient, Protocol};
use crate::node_clients::installed;
use crate::running_server::wait_until;
use crate::scratch::{Scratch, Session, users};

/// A server with one tool, whose description is `DESCRIPTION`.
const SERVER: &str = r#"
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
while read -r line; do
  id=0; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"server/discover"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}";;
    *'"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"toy","version":"1"}}';;
    *'"tools/list"'*) answer '{"tools":[{"name":"who","description":"DESCRIPTION","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true}}]}';;
    *'"tools/call"'*) answer "{\"content\":[{\"type\":\"text\",\"text\":\"secret ${SECRET-none}, token ${TOKEN-none}\"}]}";;
  esac
done
"#;

/// Writes a server's file, and returns its path.
fn write_server(scratch: &Scratch, file: &str, text: &str) -> PathBuf {
    let name = format!("servers/{file}");
    scratch.put_at(&name, text);
    scratch.path(&name)
}

fn settings(scratch: &Scratch, text: &str) {
    scratch.put_at("home/.config/toolcrib/config.toml", text);
}

fn mount(scratch: &Scratch, more: &str) {
    let folder = scratch.path("servers");
    let folder = folder.display();
    settings(
        scratch,
        &format!(
            "[mcp.toy]\ncommand = [\"/bin/bash\", \"{folder}/toy.sh\"]\nfolders = [\"{folder}\"]\n{more}"
        ),
    );
}

#[test]
fn a_mounted_tool_is_asked_about_runs_and_is_on_the_record() {
    for user in users() {
        let scratch = Scratch::of(user);
        write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who."));
        mount(&scratch, "env = [\"TOKEN\"]\n");
        // That the server hints at a tool that only reads lowers nothing: the tier is the operator's.
        let asked = scratch.run(["call", "toy/who", r#"{"text":"a"}"#]);
        assert!(asked.stderr.contains("needs a person's approval"), "{}", asked.stderr);
        let call = ["--yes", "call", "toy/who", r#"{"text":"a"}"#, "--json"];
        let mut command = scratch.command();
        command.env("TOKEN", "t1").env("SECRET", "s1").args(call);
        let output = command.output().unwrap();
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        let content = json!([{"type": "text", "text": "secret none, token t1"}]);
        assert_eq!(reply, json!({"content": content, "isError": false}));
        let bad = scratch.call("toy/who", "{}");
        assert_eq!(bad.json()["isError"], true, "{}", bad.stdout);
        assert!(bad.stdout.contains("`text` is missing"), "{}", bad.stdout);
        let listed = scratch.run(["tools"]);
        assert!(listed.stdout.contains("toy/who"), "{}", listed.stdout);
        let record = scratch.run(["audit", "tail"]).stdout;
        for part in ["loaded      toy", "started     toy/who", "ended       toy/who"] {
            assert!(record.contains(part), "{part}: {record}");
        }
    }
}

#[test]
fn mcp_clients_are_offered_a_mounted_server_that_the_toolset_names_as_soon_as_it_is_mounted() {
    let scratch = Scratch::new();
    write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who."));
    mount(&scratch, "tier = 1\n");
    let words = ["-c", "mcp.toolset=[\"toy\"]"];
    let mut client = McpClient::start(&scratch, Protocol::Session, json!({}), &words);
    wait_until(|| {
        let listed = client.request("tools/list", json!({}));
        listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "who")
    });
    let reply = client.call("who", json!({"text": "a"}));
    assert_eq!(reply["content"][0]["text"], "secret none, token none", "{reply}");
}

#[test]
fn a_changed_tool_waits_until_a_person_accepts_it() {
    let scratch = Scratch::new();
    write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who."));
    mount(&scratch, "");
    let call = || scratch.call("toy/who", r#"{"text":"a"}"#);
    assert_eq!(call().code, 0);
    write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who, and mails it."));
    let refused = call();
    assert!(refused.stdout.contains("has changed `who`"), "{}", refused.stdout);
    assert!(!scratch.run(["tools"]).stdout.contains("toy/who"), "it is not on offer");
    let shown = scratch.run(["plugins", "servers"]).stdout;
    assert!(shown.contains("-  \"description\": \"Says who.\""), "{shown}");
    assert!(shown.contains("+  \"description\": \"Says who, and mails it.\""), "{shown}");
    let agent = scratch.run(["plugins", "accept", "toy"]);
    assert!(agent.stderr.contains("only a person"), "{}", agent.stderr);
    assert_eq!(scratch.run(["--yes", "plugins", "accept", "toy"]).stdout, "Accepted: who\n");
    assert_eq!(call().code, 0);
}

#[test]
fn bad_servers_and_servers_of_projects_are_told_and_harm_nothing_else() {
    let scratch = Scratch::new();
    for (text, part) in [
        ("[mcp.toy]\ncomand = 'x'\n", "unknown field `comand`"),
        ("[mcp.wink]\ncommand = 'x'\n", "is a catalogue already"),
        ("[mcp.a__b]\ncommand = 'x'\n", "name of a server"),
        ("mcp.toy = 'x'\n", "no setting `mcp.toy`"),
    ] {
        settings(&scratch, text);
        let ran = scratch.run(["tools"]);
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    settings(&scratch, "[mcp.toy]\ncommand = 'no-such-program'\n");
    let listed = scratch.run(["tools"]);
    assert!(listed.stderr.contains("server toy was never mounted"), "{}", listed.stderr);
    let broken = scratch.call("toy/who", "{}");
    assert!(broken.stderr.contains("no tool of toy is on offer"), "{}", broken.stderr);
    let echo = scratch.call("forgekeeper/echo", r#"{"text":"a"}"#);
    assert_eq!(echo.code, 0, "{}", echo.stdout);
    assert!(!echo.stderr.contains("toy"), "it needs no server: {}", echo.stderr);
    settings(&scratch, "");
    scratch.put(".toolcrib/config.toml", "[mcp.toy]\ncommand = 'true'\n");
    let ran = scratch.run(["tools"]);
    assert!(ran.stderr.contains("a project may not set this"), "{}", ran.stderr);
}

#[test]
fn a_call_of_another_tool_waits_for_no_server() {
    let scratch = Scratch::new();
    write_server(&scratch, "toy.sh", "exit 3");
    mount(&scratch, "");
    assert_eq!(scratch.call("forgekeeper/echo", r#"{"text":"a"}"#).code, 0);
    assert!(!scratch.run(["tools"]).stdout.contains("toy/who"));
    let failures = scratch.state().join("plugins/failed_starts/toy.json");
    assert!(!failures.exists(), "it was not started");
    write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who."));
    assert_eq!(scratch.call("toy/who", r#"{"text":"a"}"#).code, 0, "the control");
    write_server(&scratch, "toy.sh", "exit 3");
    assert!(scratch.run(["tools"]).stdout.contains("toy/who"), "pins are enough to list tools");
    let failed = scratch.call("toy/who", r#"{"text":"a"}"#);
    assert!(failed.stdout.contains("exited with code 3"), "{}", failed.stdout);
    let mut failed = scratch.call("toy/who", r#"{"text":"a"}"#);
    for _ in 0..5 {
        failed = scratch.call("toy/who", r#"{"text":"a"}"#);
    }
    assert!(failed.stdout.contains("the last time: the MCP server `toy`"), "{}", failed.stdout);
    write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who."));
    assert_eq!(scratch.run(["plugins", "reload"]).code, 0);
    assert_eq!(scratch.call("toy/who", r#"{"text":"a"}"#).code, 0, "a reload ends the pause");
}

/// Returns the processes whose command line has a text.
fn processes(text: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let id = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let is_it = String::from_utf8_lossy(&line).contains(text);
        is_it.then(|| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).flatten()
    };
    entries.filter_map(id).collect()
}

#[test]
fn a_server_that_is_killed_200_times_leaves_no_call_without_an_answer_and_no_process() {
    let scratch = Scratch::new();
    let server = write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who."));
    let server = server.display().to_string();
    mount(&scratch, "tier = 1\n");
    let mut session = Session::start(&scratch, &[]);
    let args = json!({"text": "a"});
    let (mut random, mut cut) = (20_261_118_u64, 0);
    for round in 0..200 {
        // Once it is up, the pause after a kill is none. The last kill may only end it now.
        let mut replies = (0..5).map(|_| session.call("toy/who", args.clone()));
        assert!(replies.any(|reply| reply["isError"] == false), "{round}");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let id = session.ask("toy/who", args.clone());
        std::thread::sleep(Duration::from_micros((random >> 33) % 1_500));
        for process in processes(&server) {
            let _ = kill_process(process, Signal::KILL);
        }
        let (answered, reply) = session.hear();
        assert_eq!(answered, id, "{round}");
        cut += usize::from(reply["isError"] == true);
    }
    assert!(cut > 0, "no kill came in time");
    session.end();
    wait_until(|| processes(&server).is_empty());
}

#[test]
fn no_server_outlives_a_toolcrib_that_is_killed() {
    let scratch = Scratch::new();
    let server = write_server(&scratch, "toy.sh", &SERVER.replace("DESCRIPTION", "Says who."));
    let server = server.display().to_string();
    mount(&scratch, "tier = 1\n");
    for signal in [Signal::KILL, Signal::TERM] {
        let mut session = Session::start(&scratch, &[]);
        session.call("toy/who", json!({"text": "a"}));
        assert!(!processes(&server).is_empty(), "the control");
        kill_process(Pid::from_raw(i32::try_from(session.id()).unwrap()).unwrap(), signal).unwrap();
        wait_until(|| processes(&server).is_empty());
    }
}

#[test]
fn a_server_of_the_official_sdk_answers() {
    let scratch = Scratch::new();
    let packages = fs::canonicalize(installed("")).unwrap();
    let packages = packages.display();
    let sdk = format!("{packages}/node_modules/@modelcontextprotocol/sdk/dist/esm/server");
    let server = write_server(
        &scratch,
        "sums.mjs",
        &format!(
            "import {{ McpServer }} from '{sdk}/mcp.js';\n\
             import {{ StdioServerTransport }} from '{sdk}/stdio.js';\n\
             import {{ z }} from '{packages}/node_modules/zod/index.js';\n\
             const server = new McpServer({{ name: 'sums', version: '1' }});\n\
             const inputSchema = {{ a: z.number(), b: z.number() }};\n\
             const add = async ({{ a, b }}) => ({{ content: [{{ type: 'text', text: String(a + b) }}] }});\n\
             server.registerTool('get-sum', {{ description: 'Adds.', inputSchema }}, add);\n\
             await server.connect(new StdioServerTransport());\n"
        ),
    );
    settings(
        &scratch,
        &format!(
            "[mcp.sums]\ncommand = [\"{packages}/node_modules/.bin/node\", \"{}\"]\nfolders = [\"{}\", \"{packages}\"]\n",
            server.display(),
            scratch.path("servers").display()
        ),
    );
    let sum = scratch.call("sums/get-sum", r#"{"a":2,"b":40}"#);
    assert_eq!(sum.json()["content"][0]["text"], "42", "{} {}", sum.stdout, sum.stderr);
}
