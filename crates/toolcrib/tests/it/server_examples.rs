//! The examples of the specification are replies of a real server. This test makes each request again, and compares.
//! With `TOOLCRIB_WRITE_EXAMPLES=1`, it writes the examples anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Makes the requests, and keeps what came back.
struct Story<'a> {
    server: RunningServer<'a>,
    tokens: BTreeMap<&'static str, String>,
    specification: Value,
    examples: Map<String, Value>,
}

/// A request of one operation.
#[derive(Default)]
struct Asked<'a> {
    role: &'static str,
    path: &'a [(&'static str, &'a str)],
    query: &'a [(&'static str, &'a str)],
    body: Value,
}

impl Story<'_> {
    /// Makes a request of an operation as its example, and returns the reply.
    fn ask(&mut self, id: &str, asked: Asked<'_>) -> Value {
        let (template, method, operation) = self.operation(id);
        let mut path = template;
        for (name, value) in asked.path {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let query: Vec<String> =
            asked.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let target = format!("{path}{mark}{}", query.join("&"));
        let body = if asked.body.is_null() { String::new() } else { asked.body.to_string() };
        let token = &self.tokens[asked.role];
        let (status, reply) = self.server.send(token, &method.to_uppercase(), &target, "", &body);
        assert_eq!(status, 200, "{id}: {reply}");
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let faults: Vec<String> = jsonschema::validator_for(schema)
            .unwrap()
            .iter_errors(&reply)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{id}: {faults:?} in {reply}");
        let named = |pairs: &[(&str, &str)]| -> Map<String, Value> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
        };
        let mut example = json!({"reply": shortened(&reply)});
        if !asked.path.is_empty() {
            example["path"] = Value::Object(named(asked.path));
        }
        if !asked.query.is_empty() {
            example["query"] = Value::Object(named(asked.query));
        }
        if !asked.body.is_null() {
            example["body"] = asked.body;
        }
        let again = self.examples.insert(id.to_owned(), example);
        assert!(again.is_none(), "{id} has one example");
        reply
    }

    /// Returns the path, the method and the description of an operation.
    fn operation(&self, id: &str) -> (String, String, Value) {
        let paths = self.specification["paths"].as_object().unwrap();
        let mut all = paths.iter().flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, it)| (path, method, it))
        });
        let found = all.find(|(_, _, it)| it["operationId"] == id);
        let (path, method, operation) = found.unwrap_or_else(|| panic!("{id} is specified"));
        (path.clone(), method.clone(), operation.clone())
    }

    fn execute(&self, tool: &str, args: Value) -> Value {
        self.server.execute(&self.tokens["agent"], tool, args).1
    }

    /// Makes a call that waits for approval, and returns its id.
    fn parked(&self, path: &str) -> String {
        let waits = self.execute("write_file", json!({"path": path, "content": "hello\n"}));
        waits["approval"]["id"].as_str().unwrap_or_else(|| panic!("{waits}")).to_owned()
    }
}

/// Returns a value with the first two items of each list, which is enough for an example.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().take(2).map(shortened).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), shortened(value))).collect()
        }
        other => other.clone(),
    }
}

/// Returns a value without what is different in every run: ids, times, figures and places.
fn lasting(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(lasting).collect(),
        Value::Object(fields) => {
            // How a message is counted is a key, and two ends of a cancelled call have two messages.
            let name =
                |key: &String| if key.contains(' ') { "a text".to_owned() } else { key.clone() };
            let field = |(key, value): (&String, &Value)| (name(key), lasting(value));
            fields.iter().map(field).collect()
        }
        Value::Number(_) => json!(0),
        Value::String(text) if text.contains(' ') => json!("a text"),
        Value::String(text) => {
            let is_plain = |it: char| it.is_ascii_lowercase() || "._-/".contains(it);
            let is_fixed = text.chars().all(is_plain) && !text.starts_with('/');
            if is_fixed { value.clone() } else { json!("something") }
        }
        Value::Bool(_) | Value::Null => value.clone(),
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../toolcrib-serve/src/api/examples.json")
}

#[test]
fn every_operation_has_an_example_and_the_server_answers_it_so() {
    let scratch = Scratch::new();
    scratch.put("README.md", "# Hello\n");
    let server = RunningServer::start(&scratch);
    let tokens: BTreeMap<_, _> =
        ["agent", "approver", "admin"].map(|role| (role, server.token(role))).into();
    let (_, specification) = server.get(&tokens["agent"], "/api/openapi.json");
    let mut story = Story { server, tokens, specification, examples: Map::new() };
    make_calls(&mut story);
    answer_and_undo(&mut story);
    run_commands(&mut story);
    read_statistics(&mut story);
    change_rules(&mut story);
    bring_tools(&mut story);
    mount_servers(&mut story, &scratch);
    change_settings(&mut story);
    connect_clients(&mut story);
    look_around(&mut story);
    let Story { specification, examples, .. } = story;
    let is_json = |it: &Value| !it["responses"]["200"]["content"]["application/json"].is_null();
    for (path, methods) in specification["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values().filter(|it| is_json(it)) {
            let id = operation["operationId"].as_str().unwrap();
            let is_of_tool = path.starts_with("/api/tools/execute/") && !path.contains('{');
            assert!(is_of_tool || examples.contains_key(id), "{path} has an example");
        }
    }
    let examples = Value::Object(examples);
    if std::env::var_os("TOOLCRIB_WRITE_EXAMPLES").is_some() {
        let place = scratch.work().parent().unwrap().display().to_string();
        let text = serde_json::to_string_pretty(&examples).unwrap().replace(&place, "/home/ada");
        // The snippets for clients name the binary that is tested.
        let text = text.replace(env!("CARGO_BIN_EXE_toolcrib"), "/usr/local/bin/toolcrib");
        std::fs::write(file(), text + "\n").unwrap();
    }
    let written: Value = serde_json::from_str(&std::fs::read_to_string(file()).unwrap()).unwrap();
    for (id, example) in written.as_object().unwrap() {
        assert_eq!(
            lasting(&examples[id]["reply"]),
            lasting(&example["reply"]),
            "{id}: the server answers {}",
            examples[id]["reply"]
        );
    }
}

fn make_calls(story: &mut Story<'_>) {
    story.ask("list_tools", Asked { role: "agent", ..Asked::default() });
    let body = json!({"args": {"path": "README.md"}, "conv_id": "fix-the-tests", "iter": 1});
    let path: &[_] = &[("tool", "read_file")];
    story.ask("execute", Asked { role: "agent", path, body, ..Asked::default() });
    let body = json!({"args": {"command": "echo hello"}});
    let path: &[_] = &[("catalogue", "clemini"), ("tool", "bash")];
    story.ask("execute_by_full_name", Asked { role: "agent", path, body, ..Asked::default() });
}

fn answer_and_undo(story: &mut Story<'_>) {
    let id = story.parked("a.txt");
    story.ask("list_approvals", Asked { role: "approver", ..Asked::default() });
    let path: &[_] = &[("id", id.as_str())];
    story.ask("show_approval", Asked { role: "approver", path, ..Asked::default() });
    let body = json!({"decision": "approve"});
    story.ask("answer_approval", Asked { role: "approver", path, body, ..Asked::default() });
    let agent = story.tokens["agent"].clone();
    let status = format!("/api/calls/{id}");
    wait_until(|| !story.server.get(&agent, &status).1["outcome"].is_null());
    story.ask("call_status", Asked { role: "agent", path, ..Asked::default() });
    story.ask("list_changed_calls", Asked { role: "approver", ..Asked::default() });
    let body = json!({"force": false});
    let path: &[_] = &[("call", id.as_str())];
    story.ask("preview_undo", Asked { role: "approver", path, ..Asked::default() });
    let session: &[_] = &[("session", "http-agent")];
    let query: &[_] = &[("principal", "agent")];
    for id in ["show_session", "preview_undo_of_session"] {
        story.ask(id, Asked { role: "approver", path: session, query, ..Asked::default() });
    }
    let undone = story.ask("undo", Asked { role: "approver", path, body, ..Asked::default() });
    // The undo is undone, and what was undone before stays so.
    let body = json!({"calls": [undone["by"], id]});
    story.ask("undo_all", Asked { role: "approver", body, ..Asked::default() });

    let id = story.parked("b.txt");
    let approver = story.tokens["approver"].clone();
    let always = json!({"decision": "always"});
    let (status, _) = story.server.post(&approver, &format!("/api/approvals/{id}"), &always);
    assert_eq!(status, 200);
    wait_until(|| story.server.get(&approver, "/api/grants").1["count"] == 1);
    let grants = story.ask("list_grants", Asked { role: "approver", ..Asked::default() });
    let id = grants["grants"][0]["id"].as_str().unwrap().to_owned();
    let path: &[_] = &[("id", id.as_str())];
    story.ask("revoke_grant", Asked { role: "approver", path, ..Asked::default() });
}

fn run_commands(story: &mut Story<'_>) {
    let args = json!({"command": "sleep 1000", "run_in_background": true});
    let task = story.execute("clemini/bash", args);
    let id = task["task_id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
    let query: &[_] = &[("running", "true")];
    story.ask("list_tasks", Asked { role: "agent", query, ..Asked::default() });
    let path: &[_] = &[("id", id.as_str())];
    story.ask("show_task", Asked { role: "agent", path, ..Asked::default() });
    story.ask("kill_task", Asked { role: "agent", path, ..Asked::default() });

    let args = json!({"args": {"command": "printf 'one\\ntwo\\nthree\\n'"}});
    let agent = story.tokens["agent"].clone();
    story.server.post(&agent, "/api/tools/execute/clemini/bash", &args);
    let (_, tasks) = story.server.get(&agent, "/api/tasks?limit=1");
    let call = tasks["tasks"][0]["id"].as_str().unwrap().to_owned();
    let (path, query): (&[_], &[_]) =
        (&[("call", call.as_str())], &[("from", "2"), ("lines", "1")]);
    story.ask("read_output", Asked { role: "agent", path, query, ..Asked::default() });

    let admin = story.tokens["admin"].clone();
    let slow = json!({"args": {"command": "sleep 999"}}).to_string();
    let request =
        story.server.request(&agent, "POST", "/api/tools/execute/clemini/bash", "", &slow);
    let mut stream = std::net::TcpStream::connect(&story.server.address).unwrap();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let open = |story: &Story<'_>| {
        story.server.get(&admin, "/api/audit?outcome=open&limit=1").1["calls"][0]["call"].clone()
    };
    wait_until(|| open(story).is_string());
    let id = open(story).as_str().unwrap().to_owned();
    let path: &[_] = &[("id", id.as_str())];
    story.ask("cancel_call", Asked { role: "agent", path, ..Asked::default() });
    wait_until(|| open(story).is_null());
}

fn read_statistics(story: &mut Story<'_>) {
    story.execute("read_file", json!({"path": "nope.txt"}));
    story.ask("stats", Asked { role: "approver", ..Asked::default() });
    let query: &[_] = &[("window", "1h")];
    story.ask("overview", Asked { role: "approver", query, ..Asked::default() });
    story.ask("waiting", Asked { role: "approver", ..Asked::default() });
    let query: &[_] = &[("tool", "forgekeeper/read_file"), ("window", "24h")];
    story.ask("tool_series", Asked { role: "approver", query, ..Asked::default() });
    story.ask("rebuild_stats", Asked { role: "admin", ..Asked::default() });
    for (all, one, by_full_name) in [
        ("errors", "tool_errors", "tool_errors_by_full_name"),
        ("regressions", "tool_regression", "tool_regression_by_full_name"),
        ("resources", "tool_resources", "tool_resources_by_full_name"),
    ] {
        story.ask(all, Asked { role: "approver", ..Asked::default() });
        let path: &[_] = &[("tool", "read_file")];
        story.ask(one, Asked { role: "approver", path, ..Asked::default() });
        let path: &[_] = &[("catalogue", "clemini"), ("tool", "bash")];
        story.ask(by_full_name, Asked { role: "approver", path, ..Asked::default() });
    }
    for (one, by_full_name) in [
        ("clear_errors", "clear_errors_by_full_name"),
        ("clear_regression", "clear_regression_by_full_name"),
        ("clear_resources", "clear_resources_by_full_name"),
    ] {
        let path: &[_] = &[("tool", "read_file")];
        story.ask(one, Asked { role: "admin", path, ..Asked::default() });
        let path: &[_] = &[("catalogue", "clemini"), ("tool", "bash")];
        story.ask(by_full_name, Asked { role: "admin", path, ..Asked::default() });
    }
}

fn change_rules(story: &mut Story<'_>) {
    let toml = "[[rule]]\nid = \"no-secrets\"\ntool = \"read_file\"\npaths = [\"secrets/**\"]\n\
                effect = \"deny\"\nbecause = \"secrets are not for agents\"\n";
    let body = json!({ "toml": toml });
    story.ask("add_rules", Asked { role: "admin", body, ..Asked::default() });
    story.ask("list_rules", Asked { role: "approver", ..Asked::default() });
    let more = "[[rule]]\nid = \"notes\"\ntool = \"write_file\"\nwrites = [\"notes/**\"]\neffect = \"allow\"\n";
    let body = json!({"toml": more, "days": 7});
    story.ask("replay_rules", Asked { role: "approver", body, ..Asked::default() });
    let query: &[_] = &[("hours", "24")];
    story.ask("rule_uses", Asked { role: "approver", query, ..Asked::default() });
    // Which rules decided is told by the other tests.
    if let Some(rules) = story.examples.get_mut("rule_uses").map(|it| &mut it["reply"]["rules"]) {
        let named: Map<String, Value> =
            rules.as_object().unwrap().clone().into_iter().take(1).collect();
        *rules = Value::Object(named);
    }
    let body = json!({"tool": "write_file", "args": {"path": "c.txt", "content": "x"}});
    story.ask("explain", Asked { role: "agent", body, ..Asked::default() });
    let path: &[_] = &[("id", "no-secrets")];
    story.ask("remove_rule", Asked { role: "admin", path, ..Asked::default() });
}

fn bring_tools(story: &mut Story<'_>) {
    let code = |name: &str, result: &str| {
        format!(
            "export const name = '{name}';\n\
             export const description = 'Counts the lines of a text';\n\
             export const parameters = {{type: 'object', properties: {{text: {{type: 'string'}}}}, required: ['text']}};\n\
             export const examples = [{{about: 'two lines', args: {{text: 'a\\nb'}}, reply: {{lines: 2}}}}];\n\
             export async function execute(args) {{ return {{lines: {result}}}; }}\n"
        )
    };
    let count = "args.text.split('\\n').length";
    let propose = |name: &str, result: &str| {
        json!({
            "name": name,
            "description": "Counts the lines of a text",
            "code": code(name, result),
            "reasoning": "The agent counts lines all day",
        })
    };
    let path: &[_] = &[("tool", "count_lines")];
    let body = propose("count_lines", count);
    story.ask("propose_tool", Asked { role: "agent", body, ..Asked::default() });
    story.ask("list_proposals", Asked { role: "approver", ..Asked::default() });
    let shown = story.ask("show_proposal", Asked { role: "approver", path, ..Asked::default() });
    let body = json!({"hash": shown["proposal"]["hash"]});
    story.ask("approve_tool", Asked { role: "approver", path, body, ..Asked::default() });
    let agent = story.tokens["agent"].clone();
    let worse = propose("count_lines", "args.text.length");
    assert_eq!(story.server.post(&agent, "/api/tools/propose", &worse).0, 200);
    let body = json!({"reason": "the example fails"});
    story.ask("reject_tool", Asked { role: "approver", path, body, ..Asked::default() });
    let query: &[_] = &[("limit", "2")];
    story.ask("list_all_proposals", Asked { role: "approver", query, ..Asked::default() });
    assert_eq!(story.server.post(&agent, "/api/tools/propose", &worse).0, 200);
    let approver = story.tokens["approver"].clone();
    let approve = "/api/tools/approve/count_lines";
    assert_eq!(story.server.post(&approver, approve, &json!({})).0, 200);
    let body = json!({});
    story.ask("roll_back_plugin", Asked { role: "admin", path, body, ..Asked::default() });
    story.ask("disable_plugin", Asked { role: "admin", path, ..Asked::default() });
    story.ask("enable_plugin", Asked { role: "admin", path, ..Asked::default() });
    story.ask("list_plugins", Asked { role: "approver", ..Asked::default() });
    story.ask("show_plugin", Asked { role: "approver", path, ..Asked::default() });
    story.ask("reload_tools", Asked { role: "admin", ..Asked::default() });
    let admin = story.tokens["admin"].clone();
    let approval = |word: &str| json!({"plugins.approval_required": word});
    assert_eq!(story.server.post(&admin, "/api/settings", &approval("off")).0, 200);
    let body =
        json!({"name": "count_words", "code": code("count_words", "args.text.split(' ').length")});
    story.ask("write_tool", Asked { role: "admin", body, ..Asked::default() });
    assert_eq!(story.server.post(&admin, "/api/settings", &approval("on")).0, 200);
    assert_eq!(
        story.server.send(&admin, "POST", "/api/plugins/count_words/disable", "", "").0,
        200
    );
    assert_eq!(
        story.server.send(&admin, "POST", "/api/plugins/count_lines/disable", "", "").0,
        200
    );
}

fn mount_servers(story: &mut Story<'_>, scratch: &Scratch) {
    let file = scratch.path("servers.json");
    std::fs::write(&file, json!({"mcpServers": {}}).to_string()).unwrap();
    let admin = story.tokens["admin"].clone();
    let import = |files: Value| json!({ "mcp.import": files });
    assert_eq!(story.server.post(&admin, "/api/settings", &import(json!([file]))).0, 200);
    // The file is imported as it is. What comes to it later waits.
    assert_eq!(story.server.get(&admin, "/api/servers").1["count"], 0);
    let entry = json!({"command": "notes-server", "args": ["--all"]});
    std::fs::write(&file, json!({"mcpServers": {"notes": entry}}).to_string()).unwrap();
    let listed = story.ask("list_servers", Asked { role: "approver", ..Asked::default() });
    story.ask("list_workers", Asked { role: "approver", ..Asked::default() });
    let other = json!({"hash": "of something else"});
    let (status, refused) = story.server.post(&admin, "/api/servers/notes/accept", &other);
    assert_eq!((status, &refused["error"]), (409, &"changed_since_shown".into()), "{refused}");
    let path: &[_] = &[("name", "notes")];
    let body = json!({"hash": listed["servers"][0]["waiting_hash"]});
    story.ask("accept_server", Asked { role: "approver", path, body, ..Asked::default() });
    assert_eq!(story.server.post(&admin, "/api/settings", &import(json!([]))).0, 200);
}

fn change_settings(story: &mut Story<'_>) {
    story.ask("show_config", Asked { role: "agent", ..Asked::default() });
    let body = json!({"allowlist": ["get_time", "echo"], "maxReadBytes": 131_072});
    story.ask("change_config", Asked { role: "admin", body, ..Asked::default() });
    let body = json!({"policy.park_seconds": 3600, "serve.stop_seconds": 60});
    story.ask("change_settings", Asked { role: "admin", body, ..Asked::default() });
    story.ask("show_settings", Asked { role: "admin", ..Asked::default() });
    // One setting is enough for an example.
    if let Some(settings) =
        story.examples.get_mut("show_settings").map(|it| &mut it["reply"]["settings"])
    {
        *settings = json!({"mode": settings["mode"]});
    }
}

fn connect_clients(story: &mut Story<'_>) {
    story.ask("connect", Asked { role: "approver", ..Asked::default() });
    let query: &[_] = &[("hours", "24")];
    story.ask("list_callers", Asked { role: "approver", query, ..Asked::default() });
    let body = json!({"name": "code-agent", "role": "agent"});
    story.ask("add_token", Asked { role: "admin", body, ..Asked::default() });
    story.ask("list_tokens", Asked { role: "admin", ..Asked::default() });
    let path: &[_] = &[("name", "code-agent")];
    story.ask("rotate_token", Asked { role: "admin", path, ..Asked::default() });
    // A token that counts for nothing is a secret that looks like one.
    for id in ["add_token", "rotate_token"] {
        if let Some(token) = story.examples.get_mut(id).map(|it| &mut it["reply"]["token"]) {
            *token = json!("tcb_…");
        }
    }
    story.ask("revoke_token", Asked { role: "admin", path, ..Asked::default() });
}

fn look_around(story: &mut Story<'_>) {
    let query: &[_] = &[("tool", "read_file"), ("limit", "1")];
    let found = story.ask("search_audit", Asked { role: "approver", query, ..Asked::default() });
    let call = found["calls"][0]["call"].as_str().unwrap().to_owned();
    let path: &[_] = &[("id", call.as_str())];
    story.ask("show_call", Asked { role: "approver", path, ..Asked::default() });
    for (id, role) in [
        ("verify_audit", "approver"),
        ("list_sessions", "approver"),
        ("doctor", "admin"),
        ("version", "agent"),
        ("specification", "agent"),
    ] {
        story.ask(id, Asked { role, ..Asked::default() });
    }
    // What is found depends on the machine.
    if let Some(parts) = story.examples.get_mut("doctor").map(|it| &mut it["reply"]["parts"]) {
        *parts = json!({"version": parts["version"], "mode": parts["mode"]});
    }
    // The whole of it is no example of itself.
    if let Some(reply) = story.examples.get_mut("specification").map(|it| &mut it["reply"]) {
        *reply = json!({"openapi": reply["openapi"], "info": reply["info"]});
    }
}
