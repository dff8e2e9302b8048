//! Claude Code and Codex work through us, with a model that plays a script.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::node_clients::{in_environment_of, installed};
use crate::running_server::wait_until;
use crate::scratch::{Ended, Ran, Scratch};
use crate::scripted_model::{ScriptedModel, Step, Turn, Wire};

/// What the model says at last.
const DONE: &str = "The sum is right now.";

fn read() -> Step {
    Step::Call("read_file", json!({"file_path": "sum.sh"}))
}

fn edit() -> Step {
    let (old, new) = ("1 - 1", "1 + 1");
    Step::Call("edit", json!({"file_path": "sum.sh", "old_string": old, "new_string": new}))
}

fn test() -> Step {
    Step::Call("bash", json!({"command": "sh check.sh"}))
}

/// A project with a sum that is wrong, and a client that has been given Toolcrib.
fn project(client: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.put("sum.sh", "echo $((1 - 1))\n");
    scratch.put("check.sh", "test \"$(sh sum.sh)\" = 2 && echo it is two\n");
    let ran = scratch.run(["mcp", "install", client, "--write"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    scratch
}

/// Returns a client that cannot reach anything but this machine.
fn client(scratch: &Scratch, program: &Path) -> Command {
    let mut command = in_environment_of(scratch, program);
    let nowhere = "http://127.0.0.1:9";
    command.env("HTTP_PROXY", nowhere).env("HTTPS_PROXY", nowhere).env("NO_PROXY", "127.0.0.1");
    command
}

/// Returns the only program of this name that is installed for this machine.
fn program(folder: &str, name: &str) -> std::path::PathBuf {
    let folders = std::fs::read_dir(installed(folder)).unwrap();
    let paths = folders.map(|entry| entry.unwrap().path().join(name));
    let found: Vec<_> = paths.filter(|path| path.is_file()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// Checks that the client did the task through us, and left nothing running.
#[track_caller]
fn check(scratch: &Scratch, turn: &Turn, ran: &Ran, name: &str) {
    let said = format!("{}\n{}\n{turn:#?}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, 0, "{said}");
    assert!(ran.stdout.contains(DONE), "{said}");
    for tool in ["mcp__toolcrib__edit", "mcp__toolcrib__bash"] {
        assert!(turn.tools.iter().any(|it| it == tool), "{said}");
    }
    assert!(turn.results.last().is_some_and(|it| it.contains("it is two")), "{said}");
    assert_eq!(scratch.text("sum.sh"), "echo $((1 + 1))\n", "{said}");
    let calls = scratch.run(["audit", "search", "--json"]).stdout;
    let calls: Vec<Value> = calls.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    for tool in ["clemini/read_file", "clemini/edit", "clemini/bash"] {
        let is_it = |call: &&Value| call["tool"] == tool && call["door"] == "mcp";
        let call = calls.iter().find(is_it).unwrap_or_else(|| panic!("{tool}: {calls:#?}"));
        assert!(call["client"].as_str().unwrap().starts_with(name), "{call}");
    }
    wait_until(|| !works_in(scratch));
}

/// Whether a process is in the workspace.
fn works_in(scratch: &Scratch) -> bool {
    let work = scratch.work().canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut folders = processes.filter_map(|it| std::fs::read_link(it.path().join("cwd")).ok());
    folders.any(|folder| folder.starts_with(&work))
}

#[test]
fn claude_code_mends_a_project_and_a_hook_answers_for_its_person() {
    let scratch = project("claude-code");
    let model = ScriptedModel::start(Wire::Messages, |turn| match turn.results.len() {
        _ if turn.tools.is_empty() => Step::Say("A title"),
        0 => read(),
        1 => edit(),
        2 => test(),
        _ => Step::Say(DONE),
    });
    let answer = json!({"hookSpecificOutput": {
        "hookEventName": "Elicitation", "action": "accept", "content": {"decision": "once"},
    }});
    scratch.put_at("answer.json", answer.to_string());
    let (asked, answer) = (scratch.path("asked.txt"), scratch.path("answer.json"));
    let hook = format!("cat >> {}; cat {}", asked.display(), answer.display());
    let hooks = json!([{"hooks": [{"type": "command", "command": hook}]}]);
    let settings = json!({"hooks": {"Elicitation": hooks}}).to_string();

    let mut command = client(&scratch, &program("node_modules/@anthropic-ai", "claude"));
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", model.address));
    command.env("ANTHROPIC_API_KEY", "none").env("DISABLE_AUTOUPDATER", "1");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    command.args(["--print", "--model", "scripted", "--settings", &settings]);
    command.args(["--allowedTools", "mcp__toolcrib", "--tools", "", "--", "Mend the sum."]);
    let ran: Ran = command.stdin(Stdio::null()).output().unwrap().into();
    check(&scratch, &model.last_turn(), &ran, "claude-code/");
    let asked = std::fs::read_to_string(asked).unwrap();
    assert!(asked.contains("sh check.sh"), "{asked}");
}

/// Approves what waits, as a person at another terminal.
fn approve(scratch: &Scratch) {
    let waits = scratch.run(["approvals", "list", "--json"]).json();
    let id = waits[0]["id"].as_str().unwrap_or_else(|| panic!("nothing waits: {waits}"));
    let approved = scratch.run(["approvals", "approve", id, "--yes"]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
}

#[test]
fn codex_mends_a_project_and_a_person_approves_at_another_terminal() {
    let scratch = Arc::new(project("codex"));
    // Without a person, Codex declines every form at once.
    let ran = scratch.run(["config", "set", "mcp.approve", "off"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let place = Arc::clone(&scratch);
    let model = ScriptedModel::start(Wire::Responses, move |turn| {
        let results = turn.results.len();
        // The call is parked. The person approves it, and the model makes it again.
        if results == 2 || results == 4 {
            approve(&place);
        }
        match results {
            0 => read(),
            1 | 2 => edit(),
            3 | 4 => test(),
            _ => Step::Say(DONE),
        }
    });
    let mut command = codex(&scratch, &model);
    command.args(["exec", "--json", "--skip-git-repo-check", "-c", "approval_policy='never'"]);
    let ran: Ran = command.arg("Mend the sum.").stdin(Stdio::null()).output().unwrap().into();
    check(&scratch, &model.last_turn(), &ran, "codex-mcp-client/");
}

/// Returns Codex with a model.
fn codex(scratch: &Scratch, model: &ScriptedModel) -> Command {
    let mut command = client(scratch, &installed("node_modules/.bin/node"));
    command.arg(installed("node_modules/@openai/codex/bin/codex.js"));
    let provider = format!(
        "{{name='local', base_url='http://{}/v1', wire_api='responses', request_max_retries=0, stream_max_retries=0}}",
        model.address
    );
    for setting in [
        "model='scripted'",
        "model_provider='local'",
        &format!("model_providers.local={provider}"),
        "analytics.enabled=false",
        "check_for_update_on_startup=false",
        "mcp_servers.toolcrib.default_tools_approval_mode='approve'",
        "mcp_servers.toolcrib.env_vars=['TOOLCRIB_STATE']",
    ] {
        command.args(["-c", setting]);
    }
    command
}

/// An editor that shows Codex to a person, who says yes to every form.
struct Editor {
    codex: Ended,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Everything that Codex has sent.
    text: String,
    /// What the person was asked.
    asked: Vec<String>,
}

impl Editor {
    fn start(mut codex: Command) -> Self {
        codex.arg("app-server").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut codex = codex.spawn().unwrap();
        let (input, output) = (codex.stdin.take().unwrap(), codex.stdout.take().unwrap());
        let output = BufReader::new(output);
        Self { codex: Ended(codex), input, output, text: String::new(), asked: Vec::new() }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn receive_until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            let message: Value = serde_json::from_str(&line)
                .unwrap_or_else(|err| panic!("{err}: {line:?} after {}", self.text));
            self.text.push_str(&line);
            if message["method"] == "mcpServer/elicitation/request" {
                self.asked.push(message["params"]["message"].as_str().unwrap().to_owned());
                let answer = json!({"action": "accept", "content": {"decision": "once"}});
                self.send(&json!({"id": message["id"], "result": answer}));
            }
            if is_it(&message) {
                return message;
            }
        }
    }

    fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({"id": id, "method": method, "params": params}));
        self.receive_until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Closes the editor. Returns how Codex ended, and what the person was asked.
    fn close(self) -> (Ran, Vec<String>) {
        let Self { mut codex, input, text, asked, .. } = self;
        drop(input);
        let code = codex.0.wait().unwrap().code().unwrap_or(-1);
        (Ran { code, stdout: text, stderr: String::new() }, asked)
    }
}

#[test]
fn codex_mends_a_project_and_a_person_answers_in_their_editor() {
    let scratch = project("codex");
    let model = ScriptedModel::start(Wire::Responses, |turn| match turn.results.len() {
        0 => read(),
        1 => edit(),
        2 => test(),
        _ => Step::Say(DONE),
    });
    let mut editor = Editor::start(codex(&scratch, &model));
    let about = json!({"name": "test-editor", "title": "Test", "version": "1"});
    editor.request(1, "initialize", json!({"clientInfo": about}));
    editor.send(&json!({"method": "initialized"}));
    let params = json!({"cwd": scratch.work(), "approvalPolicy": "on-request"});
    let thread = editor.request(2, "thread/start", params)["result"]["thread"]["id"].clone();
    let input = json!([{"type": "text", "text": "Mend the sum."}]);
    editor.request(3, "turn/start", json!({"threadId": thread, "input": input}));
    editor.receive_until(|message| message["method"] == "turn/completed");
    let (ran, asked) = editor.close();
    check(&scratch, &model.last_turn(), &ran, "codex-mcp-client/");
    assert!(asked.len() == 2 && asked[1].contains("sh check.sh"), "{asked:?}");
}
