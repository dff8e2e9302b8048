//! `toolcrib mcp`, as clients of both protocols meet it.

use serde_json::{Value, json};

use crate::mcp_client::{McpClient, PROTOCOLS, Protocol, accept, with_forms};
use crate::running_server::wait_until;
use crate::scratch::Scratch;

/// A command that policy asks about.
const DELETE: &str = "rm -f old.txt && echo gone";

fn delete() -> Value {
    json!({"command": DELETE})
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn tools_are_listed_called_and_recorded_with_the_client() {
    for protocol in PROTOCOLS {
        let scratch = Scratch::new();
        scratch.put("notes.txt", "hello\n");
        let mut client = McpClient::start(&scratch, protocol, json!({}), &[]);
        let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
        let tools = listed.as_array().unwrap();
        let found = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(found("read_file")["annotations"]["readOnlyHint"], true);
        assert_eq!(found("bash")["annotations"]["readOnlyHint"], false);
        assert_eq!(found("bash")["inputSchema"]["type"], "object");
        assert_eq!(client.request("tools/list", json!({}))["result"]["tools"], listed);

        let result = client.call("read_file", json!({"file_path": "notes.txt"}));
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(result["structuredContent"]["contents"], "1: hello");
        let call = result["_meta"]["dev.toolcrib/call"].as_str().unwrap().to_owned();
        assert_eq!(client.close(), 0);
        let story = scratch.run(["audit", "show", &call, "--json"]).json();
        assert_eq!((&story["door"], &story["client"]), (&json!("mcp"), &json!("test-client/1")));
        assert_eq!(story["role"], "user", "{story}");
    }
}

#[test]
fn other_tools_can_be_chosen_and_shared_names_have_their_catalogue() {
    let scratch = Scratch::new();
    let names = |words: &[&str]| {
        let mut client = McpClient::start(&scratch, Protocol::Session, json!({}), words);
        let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--toolset", "nachos/calculator"]), ["calculator"]);
    let both =
        names(&["-c", "mcp.toolset=[\"wink/read_file\", \"hikai/read_file\", \"wink/list_dir\"]"]);
    assert_eq!(both, ["wink__read_file", "list_dir", "hikai__read_file"]);
    let wrong = scratch.run(["mcp", "-c", "mcp.toolset=[\"wonk\"]"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("did you mean `wink`?") && wrong.stdout.is_empty(),
        "{}",
        wrong.stderr
    );
}

#[test]
fn tools_of_a_large_set_are_found_by_words_and_called_as_themselves() {
    let scratch = Scratch::new();
    scratch.put("notes.txt", "hello\n");
    scratch.put("old.txt", "x\n");
    let words = ["-c", "mcp.search=on", "-c", "mcp.toolset=[\"clemini\", \"nachos\"]"];
    let mut client = McpClient::start(&scratch, Protocol::Stateless, with_forms(), &words);
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["find_tools", "use_tool"]);
    let found = client.call("find_tools", json!({"query": "read FILE", "limit": 2}));
    let tools = found["structuredContent"]["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (2, &json!("read_file")), "{found}");
    assert!(tools[0]["inputSchema"]["properties"]["file_path"].is_object(), "{found}");
    let args = json!({"name": "read_file", "arguments": {"file_path": "notes.txt"}});
    let read = client.call("use_tool", args);
    assert_eq!(read["structuredContent"]["contents"], "1: hello", "{read}");
    let call = read["_meta"]["dev.toolcrib/call"].as_str().unwrap();
    let story = scratch.run(["audit", "show", call, "--json"]).json();
    assert_eq!(story["tool"], "clemini/read_file", "{story}");
    // A person is asked about the tool itself.
    let args = json!({"name": "bash", "arguments": delete()});
    let (form, result) = client.call_asked("use_tool", args, accept("once", ""));
    assert!(form["message"].as_str().unwrap().contains(DELETE), "{form}");
    assert_eq!(result["isError"], false, "{result}");
    let nothing = client.call("find_tools", json!({"query": "zzzz"}));
    assert!(nothing["isError"] == true && text(&nothing).contains("read_file"), "{nothing}");
    let wrong = client.call("use_tool", json!({"x": 1}));
    assert!(wrong["isError"] == true && text(&wrong).contains("needs {name"), "{wrong}");
    let args = json!({"name": "use_tool", "arguments": {"name": "zzzz"}});
    let unknown = client.request("tools/call", args);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("`find_tools`"), "{unknown}");
}

#[test]
fn a_form_says_what_it_does_not_show() {
    for protocol in PROTOCOLS {
        let scratch = Scratch::new();
        let mut client = McpClient::start(&scratch, protocol, with_forms(), &[]);
        let content: String = (0..5000).map(|line| format!("line {line}\n")).collect();
        let args = json!({"file_path": "long.txt", "content": content});
        let (form, result) = client.call_asked("write_file", args, accept("no", ""));
        let message = form["message"].as_str().unwrap();
        let shown = message.matches("+ line").count();
        assert!(message.contains(&format!("NOT SHOWN: {} more lines", 5000 - shown)), "{message}");
        assert_eq!(result["isError"], true);
    }
}

#[test]
fn a_question_that_nobody_waits_for_cannot_be_approved() {
    let scratch = Scratch::new();
    scratch.put("old.txt", "x\n");
    let mut client = McpClient::start(&scratch, Protocol::Session, with_forms(), &[]);
    let id = client.ask("tools/call", json!({"name": "bash", "arguments": delete()}));
    assert_eq!(client.receive()["method"], "elicitation/create");
    let waits = scratch.run(["approvals", "list", "--json"]).json();
    let call = waits[0]["id"].as_str().unwrap_or_else(|| panic!("{waits}")).to_owned();
    let params = json!({"requestId": id});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    let pending = || scratch.run(["approvals", "list", "--json"]).stdout.contains(&call);
    wait_until(|| !pending());
    let late = scratch.run(["approvals", "approve", &call, "--yes"]);
    assert_ne!(late.code, 0, "{}", late.stdout);
    assert!(scratch.work().join("old.txt").exists());
}

#[test]
fn a_tool_asks_the_person_at_the_client() {
    let args = json!({"question": "Which port?", "options": ["3000", "8080"]});
    for protocol in PROTOCOLS {
        let scratch = Scratch::new();
        let mut client = McpClient::start(&scratch, protocol, with_forms(), &[]);
        let answer = json!({"action": "accept", "content": {"answer": "2"}});
        let (form, result) = client.call_asked("ask_user", args.clone(), answer);
        let message = form["message"].as_str().unwrap();
        assert!(message.contains("Which port?") && message.contains("2. 8080"), "{message}");
        assert!(text(&result).contains("8080"), "{result}");
        let decline = json!({"action": "decline"});
        let (_, result) = client.call_asked("ask_user", args.clone(), decline);
        assert!(text(&result).contains("did not want to answer"), "{result}");
        // A client that shows no forms has nobody who could be asked.
        let mut client = McpClient::start(&scratch, protocol, json!({}), &[]);
        let result = client.call("ask_user", args.clone());
        assert!(text(&result).contains("nobody here who could be asked"), "{result}");
    }
}

#[test]
fn a_person_is_asked_in_the_client_and_their_answer_counts() {
    for protocol in PROTOCOLS {
        let scratch = Scratch::new();
        let words = ["-c", "mcp.approve=always"];
        let mut client = McpClient::start(&scratch, protocol, with_forms(), &words);
        scratch.put("old.txt", "x\n");
        let (form, result) = client.call_asked("bash", delete(), accept("no", "keep it"));
        let message = form["message"].as_str().unwrap();
        assert!(message.contains(DELETE) && message.contains("It deletes old.txt."), "{message}");
        assert!(message.contains("Why you are asked: deletes files"), "{message}");
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains("keep it"), "{result}");
        assert!(scratch.work().join("old.txt").exists());

        let (_, result) = client.call_asked("bash", delete(), json!({"action": "decline"}));
        assert_eq!(result["isError"], true, "{result}");
        assert!(scratch.work().join("old.txt").exists());

        // The control: with a yes it runs, and is asked about again.
        let (form, result) = client.call_asked("bash", delete(), accept("once", ""));
        assert_eq!(result["isError"], false, "{result}");
        assert!(!scratch.work().join("old.txt").exists());
        let choices = form["requestedSchema"]["properties"]["decision"]["oneOf"].clone();
        assert_eq!(choices[1]["const"], "always_1", "{choices}");

        let (_, result) = client.call_asked("bash", delete(), accept("always_1", ""));
        assert_eq!(result["isError"], false, "{result}");
        // Nobody is asked any more.
        assert_eq!(client.call("bash", delete())["isError"], false);
        assert_eq!(client.close(), 0);
        let grants = scratch.run(["grants", "list"]).stdout;
        assert!(grants.contains("test-client/1"), "{grants}");
    }
}

#[test]
fn a_form_that_is_closed_without_an_answer_leaves_the_question_in_the_queue() {
    for protocol in PROTOCOLS {
        let scratch = Scratch::new();
        let mut client = McpClient::start(&scratch, protocol, with_forms(), &[]);
        scratch.put("old.txt", "x\n");
        let (_, result) = client.call_asked("bash", delete(), json!({"action": "cancel"}));
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains("approvals"), "{result}");
        // The same call again is the same question.
        client.call_asked("bash", delete(), json!({"action": "cancel"}));
        let waits = scratch.run(["approvals", "list", "--json"]).json();
        assert_eq!(waits.as_array().map(Vec::len), Some(1), "{waits}");
        let call = waits[0]["id"].as_str().unwrap_or_else(|| panic!("{waits}")).to_owned();
        assert!(text(&result).contains(&call), "{result}");
        let approved = scratch.run(["approvals", "approve", &call, "--yes"]);
        assert_eq!(approved.code, 0, "{}", approved.stderr);
        assert!(!scratch.work().join("old.txt").exists());
        // The agent gets the outcome of what ran meanwhile.
        let told = client.call("bash", delete());
        assert!(text(&told).contains("gone"), "{told}");
    }
}

#[test]
fn the_form_of_an_edit_has_its_difference() {
    for protocol in PROTOCOLS {
        let scratch = Scratch::new();
        scratch.put("a.txt", "one\ntwo\n");
        let mut client = McpClient::start(&scratch, protocol, with_forms(), &[]);
        let args = json!({"file_path": "a.txt", "old_string": "two", "new_string": "three"});
        let (form, result) = client.call_asked("edit", args, accept("once", ""));
        let message = form["message"].as_str().unwrap();
        assert!(message.contains("- two") && message.contains("+ three"), "{message}");
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(scratch.text("a.txt"), "one\nthree\n");
    }
}

#[test]
fn answers_count_only_as_far_as_the_settings_trust_clients() {
    for protocol in PROTOCOLS {
        for setting in ["mcp.approve=off", "mcp.approve_tier_3=off"] {
            let scratch = Scratch::new();
            scratch.put("old.txt", "x\n");
            let mut client = McpClient::start(&scratch, protocol, with_forms(), &["-c", setting]);
            let result = client.call("bash", json!({"command": DELETE, "confirmed": true}));
            let result = if text(&result).contains("NEEDS_CONFIRMATION") {
                client.call("bash", json!({"command": DELETE, "confirmed": true}))
            } else {
                result
            };
            assert!(text(&result).contains("is parked as"), "{setting}: {result}");
            assert!(scratch.work().join("old.txt").exists());
        }
    }
    // Without trust in "always", it is not offered, and counts for nothing.
    let scratch = Scratch::new();
    scratch.put("old.txt", "x\n");
    let mut client = McpClient::start(&scratch, Protocol::Session, with_forms(), &[]);
    let (form, result) = client.call_asked("bash", delete(), accept("always_1", ""));
    let choices = form["requestedSchema"]["properties"]["decision"]["oneOf"].clone();
    assert_eq!(choices.as_array().map(Vec::len), Some(2), "{choices}");
    assert_eq!(result["isError"], true, "{result}");
    assert!(scratch.work().join("old.txt").exists());
    let mut client = McpClient::start(&scratch, Protocol::Stateless, with_forms(), &[]);
    let (_, result) = client.call_asked("bash", delete(), accept("always_1", ""));
    assert_eq!(result["resultType"], "input_required", "it is asked again: {result}");
    assert!(scratch.work().join("old.txt").exists());
}

#[test]
fn a_client_without_forms_is_told_where_the_call_waits() {
    for protocol in PROTOCOLS {
        let scratch = Scratch::new();
        let mut client = McpClient::start(&scratch, protocol, json!({}), &[]);
        scratch.put("a.txt", "old\n");
        let args = json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"});
        let result = client.call("edit", args.clone());
        assert_eq!(result["isError"], true, "{result}");
        let id = result["_meta"]["dev.toolcrib/error"]["context"]["approval_id"].as_str().unwrap();
        let approved = scratch.run(["approvals", "approve", id, "--yes"]);
        assert_eq!(approved.code, 0, "{}", approved.stderr);
        assert_eq!(scratch.text("a.txt"), "new\n");
        // The agent that makes the call again gets the outcome, once. After that it is a new call.
        let again = client.call("edit", args.clone());
        assert_eq!(again["structuredContent"]["replacements"], 1, "{again}");
        assert_eq!(again["_meta"]["dev.toolcrib/call"], id, "{again}");
        let new = client.call("edit", args);
        assert!(text(&new).contains("String not found"), "{new}");
    }
}

#[test]
fn a_state_is_for_one_call_of_one_client_and_counts_once() {
    let scratch = Scratch::new();
    scratch.put("old.txt", "x\n");
    scratch.put("other.txt", "x\n");
    let mut client = McpClient::start(&scratch, Protocol::Stateless, with_forms(), &[]);
    let asked = client.call("bash", delete());
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let retry = |command: &str, state: &str| {
        json!({
            "name": "bash",
            "arguments": {"command": command},
            "inputResponses": {"approval": accept("once", "")},
            "requestState": state,
        })
    };
    // Another call, a state that was changed, and the state of another process.
    let other = client.request("tools/call", retry("rm -f other.txt", &state));
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let changed = client.request("tools/call", retry(DELETE, &format!("{state}A")));
    assert_eq!(changed["error"]["code"], -32602, "{changed}");
    let mut second = McpClient::start(&scratch, Protocol::Stateless, with_forms(), &[]);
    let foreign = second.request("tools/call", retry(DELETE, &state));
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    assert!(scratch.work().join("old.txt").exists() && scratch.work().join("other.txt").exists());
    // Without an answer, the question is asked again.
    let mut unanswered = retry(DELETE, &state);
    unanswered["inputResponses"] = json!({});
    let again = client.request("tools/call", unanswered)["result"].clone();
    assert_eq!(again["resultType"], "input_required", "{again}");
    // The control: the state itself counts, and once.
    let result = client.request("tools/call", retry(DELETE, &state))["result"].clone();
    assert_eq!(result["isError"], false, "{result}");
    scratch.put("old.txt", "x\n");
    let replayed = client.request("tools/call", retry(DELETE, &state))["result"].clone();
    assert_eq!(
        text(&replayed),
        text(&result),
        "the outcome is told, and the call does not run again"
    );
    assert!(scratch.work().join("old.txt").exists());
}

#[test]
fn bad_messages_are_answered_and_the_next_one_is_served() {
    let scratch = Scratch::new();
    let mut client = McpClient::start(&scratch, Protocol::Session, json!({}), &[]);
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(33 << 20));
    for (line, code, says) in [
        ("nonsense", -32700, "not JSON"),
        ("[]", -32600, "no batches"),
        ("{\"id\": 5}", -32600, "neither a method nor a result"),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":7}}"#,
            -32602,
            "tools/call",
        ),
        (&long, -32600, "longer than"),
    ] {
        client.send_line(line);
        let reply = client.receive();
        let shown: String = line.chars().take(40).collect();
        assert_eq!(reply["error"]["code"], code, "{shown}: {reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(says), "{shown}: {reply}");
    }
    let unknown = client.request("tools/call", json!({"name": "read_fil", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("did you mean `read_file`?"));
    let method = client.request("tools/nothing", json!({}));
    assert_eq!(method["error"]["code"], -32601, "{method}");
    // Arguments that do not fit are an error of the tool, which a model can read and mend.
    let wrong = client.call("read_file", json!({"file_path": 3}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    // The control: it still serves.
    scratch.put("a.txt", "x\n");
    assert_eq!(client.call("read_file", json!({"file_path": "a.txt"}))["isError"], false);
    assert_eq!(client.close(), 0);
}

/// Whether a process is `sleep SECONDS`.
pub(crate) fn sleeps(seconds: &str) -> bool {
    let line = format!("sleep\0{seconds}\0");
    let is_it = |process: std::fs::DirEntry| {
        std::fs::read(process.path().join("cmdline")).is_ok_and(|it| it == line.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().flatten().any(is_it)
}

#[test]
fn a_cancelled_call_and_a_closed_connection_leave_nothing_running() {
    let scratch = Scratch::new();
    let mut client = McpClient::start(&scratch, Protocol::Session, json!({}), &[]);
    let sleep = |seconds: &str| json!({"name": "bash", "arguments": {"command": format!("sleep {seconds}")}});
    let id = client.ask("tools/call", sleep("611.25"));
    wait_until(|| sleeps("611.25"));
    let params = json!({"requestId": id, "reason": "enough"});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    wait_until(|| !sleeps("611.25"));
    client.ask("tools/call", sleep("612.25"));
    wait_until(|| sleeps("612.25"));
    assert_eq!(client.close(), 0);
    assert!(!sleeps("612.25"));
}

#[test]
fn resources_show_what_became_of_calls_and_go_the_path_of_calls() {
    let scratch = Scratch::new();
    scratch.put("a b.txt", "text\n");
    scratch.put(".env", "SECRET=1\n");
    let mut client = McpClient::start(&scratch, Protocol::Stateless, with_forms(), &[]);
    let ran = client.call("bash", json!({"command": "echo out; echo err >&2"}));
    let call = ran["_meta"]["dev.toolcrib/call"].as_str().unwrap().to_owned();
    let mut read = |uri: &str| client.request("resources/read", json!({"uri": uri}));
    let content =
        |reply: &Value| reply["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(content(&read(&format!("toolcrib://calls/{call}/output"))), "out\n");
    assert_eq!(content(&read(&format!("toolcrib://calls/{call}/stderr"))), "err\n");
    assert!(content(&read(&format!("toolcrib://calls/{call}"))).contains("clemini/bash"));
    assert_eq!(content(&read("toolcrib://files/a%20b.txt")), "text\n");
    scratch.put("long.txt", "line\n".repeat(1000));
    let long = read("toolcrib://files/long.txt");
    assert!(
        long["error"]["message"].as_str().unwrap().contains("has 1000 lines, too many"),
        "{long}"
    );
    for uri in ["toolcrib://files/../../etc/passwd", "toolcrib://calls/01ABC", "file:///etc/passwd"]
    {
        assert_eq!(read(uri)["error"]["code"], -32602, "{uri}");
    }
    let args = json!({"file_path": "a b.txt", "old_string": "text", "new_string": "words"});
    let (_, edited) = client.call_asked("edit", args, accept("once", ""));
    let call = edited["_meta"]["dev.toolcrib/call"].as_str().unwrap();
    let uri = format!("toolcrib://calls/{call}/diff");
    let diff = client.request("resources/read", json!({"uri": uri}));
    assert!(content(&diff).contains("-text") && content(&diff).contains("+words"), "{diff}");
    let wanted = json!({
        "ref": {"type": "ref/resource", "uri": "toolcrib://calls/{call}"},
        "argument": {"name": "call", "value": &call[..4]},
    });
    let completed = client.request("completion/complete", wanted);
    assert_eq!(completed["result"]["completion"]["total"], 1, "{completed}");
    let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn prompts_take_their_argument() {
    let scratch = Scratch::new();
    let mut client = McpClient::start(&scratch, Protocol::Session, json!({}), &[]);
    let mut get = |params: Value| client.request("prompts/get", params);
    let filled = get(json!({"name": "fix_test", "arguments": {"command": "make check"}}));
    let message = filled["result"]["messages"][0]["content"]["text"].clone();
    assert!(message.as_str().unwrap().contains("Run `make check`"), "{filled}");
    assert_eq!(get(json!({"name": "fix_test"}))["error"]["code"], -32602);
    assert_eq!(get(json!({"name": "fix_tests"}))["error"]["code"], -32602);
    assert!(get(json!({"name": "review_changes"}))["result"]["messages"].is_array());
}

#[test]
fn a_client_is_told_when_the_tools_change() {
    let scratch = Scratch::new();
    let mut client = McpClient::start(&scratch, Protocol::Session, json!({}), &[]);
    client.request("tools/list", json!({}));
    let set = scratch.run(["config", "set", "tools.enabled", "off"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(listed, json!([]));
}
