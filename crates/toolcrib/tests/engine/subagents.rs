//! Work that is handed to a subagent, through the engine. A server of the test is the model: it speaks the real
//! protocol, and says what the test wrote for each turn.

use std::collections::VecDeque;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::wiring::OpenOptions;
use toolcrib_core::net::Net;
use toolcrib_core::{Caller, Cancel, Door, Principal, Role, SessionId};
use toolcrib_ledger::new_call_id;
use toolcrib_runtime::{AlwaysYes, Nobody};

use crate::opened::{Opened, Reply, Scratch};
use crate::test_host::TestHost;

/// A model that gives these answers, one each turn, and the last one from then on.
fn model(turns: Vec<Value>) -> TestHost {
    let turns = Mutex::new(VecDeque::from(turns));
    TestHost::start(move |_, stream| {
        let turn = {
            let mut turns = turns.lock().unwrap();
            if turns.len() > 1 { turns.pop_front().unwrap() } else { turns[0].clone() }
        };
        answer(stream, &turn);
    })
}

fn answer(stream: &mut TcpStream, turn: &Value) {
    if turn["hangs"] == true {
        loop {
            thread::park();
        }
    }
    let status = turn["status"].as_str().unwrap_or("200 OK");
    let body = if turn.get("body").is_some() { turn["body"].clone() } else { completion(turn) };
    let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nRetry-After: 0\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + &body).as_bytes());
}

/// Returns a turn as OpenAI's chat completions have it.
fn completion(message: &Value) -> Value {
    let usage = json!({"prompt_tokens": 9000, "completion_tokens": 1000, "total_tokens": 10_000});
    json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// Returns a turn that wants these calls.
fn wants(calls: &[(&str, Value)]) -> Value {
    let calls = calls.iter().enumerate().map(|(index, (name, args))| {
        let function = json!({"name": name, "arguments": args.to_string()});
        json!({"id": format!("c{index}"), "type": "function", "function": function})
    });
    json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()})
}

fn open(scratch: &Scratch, model: &TestHost, settings: &[&str]) -> Opened {
    let net: Arc<dyn Net> = Arc::new(model.client());
    let url = format!("model.url=http://model.test:{}/v1", model.port());
    let all = [&[url.as_str(), "model.name=test"], settings].concat();
    let options = OpenOptions { net: Some(net), is_long_lived: true, ..scratch.options(&all) };
    Opened::of(&options).unwrap()
}

/// Returns the bodies of what the model was asked.
fn asked(model: &TestHost) -> Vec<Value> {
    let bodies = model.asked();
    let body = |request: &String| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    };
    bodies.iter().map(body).collect()
}

/// Returns what the model was told in reply to its calls, in the order of the replies.
fn told(model: &TestHost) -> Vec<String> {
    let last = asked(model).pop().unwrap();
    let messages = last["messages"].as_array().unwrap().clone();
    let replies = messages.iter().filter(|message| message["role"] == "tool");
    replies.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn task(prompt: &str) -> Value {
    json!({"prompt": prompt})
}

/// Waits until a task is no longer running, and returns it.
fn ended(crib: &Opened, id: &str) -> Value {
    let args = json!({"task_id": id, "wait": true, "timeout": 60});
    crib.call("clemini/task_output", args).json().clone()
}

#[test]
fn the_examples_of_the_contract_hold() {
    let report = "Analysis complete. Found 3 areas...";
    let model = model(vec![says(report)]);
    let scratch = Scratch::new();
    let crib = open(&scratch, &model, &[]);
    let args = task("Analyze the error handling in src/tools/bash.rs and suggest improvements");
    let expect = json!({"status": "success", "stdout": report, "stderr": "", "exit_code": 0});
    assert_eq!(crib.call("clemini/task", args).json(), &expect);
    let prompt = "Run the full test suite and report failures";
    let started = crib.call("clemini/task", json!({"prompt": prompt, "background": true}));
    let expect = json!({"task_id": started.id(), "status": "running", "prompt": prompt});
    assert_eq!(started.json(), &expect);
    let expect = json!({"task_id": started.id(), "status": "completed", "exit_code": 0,
        "stdout": report, "stderr": ""});
    assert_eq!(ended(&crib, started.id()), expect);
    let kill = crib.call("clemini/kill_shell", json!({"task_id": started.id()}));
    let expect = json!({"task_id": started.id(), "status": "already_completed", "success": true});
    assert_eq!(kill.json(), &expect);
}

#[test]
fn a_model_that_fails_fails_the_task() {
    let limited =
        json!({"status": "429 Too Many", "body": {"error": {"message": "rate limit exceeded"}}});
    let gone = json!({"status": "404 Not Found", "body": "no"});
    let nonsense = json!({"body": "<html>"});
    let empty = json!({"body": {"choices": []}});
    for (turn, expect, requests) in [
        (limited, "rate limit exceeded", 4),
        (gone, "check `model.url`", 1),
        (nonsense, "chat completions", 1),
        (empty, "chat completions", 1),
        (says(""), "the model says nothing", 2),
    ] {
        let (model, scratch) = (model(vec![turn]), Scratch::new());
        let crib = open(&scratch, &model, &[]);
        let reply = crib.call("clemini/task", task("Analyze this codebase")).json().clone();
        assert_eq!(
            (&reply["status"], &reply["exit_code"]),
            (&json!("failed"), &json!(1)),
            "{reply}"
        );
        let stderr = reply["stderr"].as_str().unwrap();
        assert!(stderr.starts_with("Error: ") && stderr.contains(expect), "{stderr}");
        assert_eq!(model.asked().len(), requests, "{stderr}");
    }
    // A server that loads its model says 503 until it is there.
    let loading = json!({"status": "503 Loading", "body": {"error": "loading model"}});
    let (model, scratch) = (model(vec![loading, says("done")]), Scratch::new());
    let crib = open(&scratch, &model, &[]);
    assert_eq!(crib.call("clemini/task", task("x")).json()["stdout"], "done");
}

#[test]
fn a_subagent_works_with_the_tools_under_the_same_policy() {
    let model = model(vec![
        wants(&[
            ("read_file", json!({"file_path": "a.txt"})),
            ("grep", json!({"pattern": "two"})),
            ("write_file", json!({"file_path": "made.txt", "content": "x"})),
            ("read_file", json!({"file_path": "/etc/passwd"})),
        ]),
        says("done"),
    ]);
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\ntwo\n");
    let crib = open(&scratch, &model, &[]);
    let done = crib.call("clemini/task", task("look around"));
    assert_eq!(done.json()["stdout"], "done", "{}", done.text());
    let told = told(&model);
    assert!(told[0].contains("1: one") && told[1].contains("a.txt"), "{told:?}");
    assert!(told[2].contains("ACCESS_DENIED"), "nobody approved it: {told:?}");
    assert!(told[3].contains("outside allowed paths"), "{told:?}");
    assert!(!scratch.work().join("made.txt").exists());
    // What the user approves for the task's own call holds for its calls too.
    let model = self::model(vec![
        wants(&[("write_file", json!({"file_path": "made.txt", "content": "x"}))]),
        says("made"),
    ]);
    let crib = open(&scratch, &model, &[]);
    assert_eq!(crib.approve("clemini/task", task("make it")).json()["stdout"], "made");
    assert_eq!(scratch.text("made.txt"), "x");
}

#[test]
fn a_rule_of_the_operator_holds_for_a_subagent() {
    let turns = vec![wants(&[("read_file", json!({"file_path": "secret.txt"}))]), says("done")];
    let scratch = Scratch::new();
    scratch.put("secret.txt", "the secret");
    let (free, held) = (model(turns.clone()), model(turns));
    open(&scratch, &free, &[]).approve("clemini/task", task("x")).done();
    assert!(told(&free)[0].contains("the secret"), "without the rule it can");
    scratch.put_rules("[[rule]]\neffect = \"deny\"\npaths = [\"secret.txt\"]\n");
    open(&scratch, &held, &[]).approve("clemini/task", task("x")).done();
    assert!(told(&held)[0].contains("BLOCKED"), "{:?}", told(&held));
    // And one about the host that gets the conversation.
    scratch.put_rules("[[rule]]\neffect = \"deny\"\nhosts = [\"model.test\"]\n");
    let model = model(vec![says("done")]);
    let refused = open(&scratch, &model, &[]).approve("clemini/task", task("x"));
    assert_eq!((refused.kind(), model.asked().len()), ("refused", 0), "{}", refused.text());
}

#[test]
fn what_is_forbidden_at_the_callers_door_is_forbidden_to_its_subagent() {
    let turns = vec![wants(&[("read_file", json!({"file_path": "a.txt"}))]), says("done")];
    for (door, is_held) in [("http", false), ("terminal", true), ("agent", true)] {
        let (model, scratch) = (model(turns.clone()), Scratch::new());
        scratch.put("a.txt", "the text");
        let rule = "[[rule]]\ntool = \"clemini/read_file\"\neffect = \"deny\"\n";
        scratch.put_rules(&format!("{rule}door = \"{door}\"\n"));
        let crib = open(&scratch, &model, &[]);
        let direct = crib.call("clemini/read_file", json!({"file_path": "a.txt"}));
        assert_eq!(direct.kind() == "refused", door == "terminal", "{door}: {}", direct.text());
        crib.call("clemini/task", task("x")).done();
        assert_eq!(told(&model)[0].contains("BLOCKED"), is_held, "{door}: {:?}", told(&model));
    }
}

#[test]
fn a_subagent_cannot_confirm_what_it_was_not_told_to_confirm() {
    let remove = json!({"command": "rm -rf victim", "confirmed": true});
    let (model, scratch) = (model(vec![wants(&[("bash", remove)]), says("done")]), Scratch::new());
    scratch.put("victim/a.txt", "x");
    let crib = open(&scratch, &model, &[]);
    crib.approve("clemini/task", task("x")).done();
    assert!(told(&model)[0].contains("NEEDS_CONFIRMATION"), "{:?}", told(&model));
    assert!(scratch.work().join("victim/a.txt").exists());
}

#[test]
fn a_subagent_gets_the_tools_of_its_catalogue_and_nobody_to_ask() {
    let model = model(vec![
        wants(&[
            ("task", task("x")),
            ("ask_user", json!({"question": "x"})),
            ("read_fil", json!({})),
        ]),
        says("done"),
    ]);
    let scratch = Scratch::new();
    let crib = open(&scratch, &model, &[]);
    crib.call("clemini/task", task("x")).done();
    let tools = asked(&model)[0]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> =
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"bash") && names.contains(&"edit"), "{names:?}");
    for never in ["task", "ask_user", "list_dir", "calculator"] {
        assert!(!names.contains(&never), "{names:?}");
    }
    let told = told(&model);
    assert!(told[0].contains("there is no tool `task`"), "{told:?}");
    assert!(told[1].contains("there is no tool `ask_user`"), "{told:?}");
    assert!(told[2].contains("the tools are read_file"), "{told:?}");
}

#[test]
fn the_record_tells_whose_calls_they_were() {
    let model = model(vec![wants(&[("read_file", json!({"file_path": "a.txt"}))]), says("done")]);
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\n");
    let crib = open(&scratch, &model, &[]);
    let outer = crib.call("clemini/task", task("x")).done();
    crib.crib.recorder.flush();
    let record = scratch.record();
    let inner = record
        .iter()
        .find(|line| line["event"] == "asked" && line["name"] == "read_file")
        .unwrap_or_else(|| panic!("{record:?}"));
    assert_eq!((&inner["door"], &inner["trace_id"]), (&json!("agent"), &json!(outer)), "{inner}");
    assert_eq!(inner["client"], "clemini/task", "{inner}");
}

#[test]
fn a_budget_that_ends_keeps_what_was_said() {
    let busy = |text: &str| {
        let mut turn = wants(&[("glob", json!({"pattern": "*"}))]);
        turn["content"] = text.into();
        turn
    };
    for (setting, expect, turns) in [
        ("agent.max_turns=3", "`agent.max_turns` (3)", 3),
        ("agent.max_tokens=25000", "`agent.max_tokens` (25000)", 3),
        ("limits.deadline_ms=3000", "time", 0),
    ] {
        let slow = json!({"hangs": true});
        let mut said = vec![busy("so far: one"), busy("so far: two")];
        if turns == 0 {
            said.push(slow);
        }
        let (model, scratch) = (model(said), Scratch::new());
        let crib = open(&scratch, &model, &[setting]);
        let reply = crib.call("clemini/task", task("x")).json().clone();
        assert_eq!(reply["status"], "failed", "{setting}: {reply}");
        assert_eq!(reply["stdout"], "so far: two", "{setting}: {reply}");
        assert!(reply["stderr"].as_str().unwrap().contains(expect), "{setting}: {reply}");
        if turns > 0 {
            assert_eq!(model.asked().len(), turns, "{setting}");
        }
    }
}

#[test]
fn the_end_is_announced_to_the_model() {
    let model = model(vec![wants(&[("glob", json!({"pattern": "*"}))])]);
    let scratch = Scratch::new();
    let crib = open(&scratch, &model, &["agent.max_turns=4"]);
    crib.call("clemini/task", task("x")).done();
    let last = asked(&model).pop().unwrap().to_string();
    assert!(last.contains("This is your last turn"), "{last}");
}

#[test]
fn a_call_that_fails_again_and_again_ends_the_work() {
    let model = model(vec![wants(&[("read_file", json!({"file_path": "missing.txt"}))])]);
    let scratch = Scratch::new();
    let crib = open(&scratch, &model, &[]);
    let reply = crib.call("clemini/task", task("x")).json().clone();
    let stderr = reply["stderr"].as_str().unwrap();
    assert!(stderr.contains("the same call of `read_file` again and again"), "{reply}");
    let told = told(&model);
    assert!(
        !told[1].contains("Do something else") && told[2].contains("Do something else"),
        "{told:?}"
    );
    assert_eq!(model.asked().len(), 6);
}

#[test]
fn what_a_model_gets_wrong_is_told_to_it() {
    let call =
        |arguments: Value| json!({"function": {"name": "read_file", "arguments": arguments}});
    let turn = json!({"tool_calls": [
        call(json!("{\"file_path\": ")), call(json!({"file_path": "a.txt"})), call(json!("[]")),
        call(json!("{\"wrong\": 1}")), {"function": {}}, {},
    ]});
    let (model, scratch) = (model(vec![turn, says("done")]), Scratch::new());
    scratch.put("a.txt", "one\n");
    let crib = open(&scratch, &model, &[]);
    let reply = crib.call("clemini/task", task("x"));
    assert_eq!(reply.json()["stdout"], "done", "{}", reply.text());
    let told = told(&model);
    assert_eq!(told.len(), 6);
    assert!(
        told[0].contains("not JSON that can be read") && told[2].contains("not an object"),
        "{told:?}"
    );
    assert!(told[1].contains("1: one"), "arguments without quotes around them are fine: {told:?}");
    assert!(told[3].contains("INVALID_ARGUMENT"), "{told:?}");
    assert!(told[4].contains("names no tool") && told[5].contains("names no tool"), "{told:?}");
}

#[test]
fn too_many_calls_in_one_turn_wait_for_the_next() {
    let many: Vec<(&str, Value)> = (0..100).map(|_| ("glob", json!({"pattern": "*"}))).collect();
    let (model, scratch) = (model(vec![wants(&many), says("done")]), Scratch::new());
    let crib = open(&scratch, &model, &[]);
    crib.call("clemini/task", task("x")).done();
    assert_eq!(told(&model).len(), 32);
    let last = asked(&model).pop().unwrap().to_string();
    assert!(last.contains("68 further calls were left out"), "{last}");
}

#[test]
fn a_subagent_in_the_background_can_be_killed_by_its_owner_alone() {
    let (model, scratch) = (model(vec![json!({"hangs": true})]), Scratch::new());
    let crib = open(&scratch, &model, &[]);
    let started = crib.call("clemini/task", json!({"prompt": "x", "background": true})).done();
    let look = |crib: &Opened, tool: &str, session: &str| {
        let principal = Principal { name: "other".to_owned(), role: Role::Agent };
        let caller = Arc::new(Caller {
            principal,
            door: Door::Http,
            client: None,
            connection: None,
            via: None,
        });
        let call = toolcrib_core::Call::new(
            new_call_id(),
            SessionId(session.to_owned()),
            caller,
            tool.into(),
            json!({"task_id": started}),
        );
        let runtime = crib.crib.runtime(Arc::new(AlwaysYes("test".to_owned()))).unwrap();
        crib.carry_out(&runtime, call).json()["error_code"].clone()
    };
    for tool in ["clemini/task_output", "clemini/kill_shell"] {
        assert_eq!(look(&crib, tool, "s"), "NOT_FOUND", "somebody else's is not there");
    }
    let args = json!({"task_id": started});
    assert_eq!(crib.call("clemini/task_output", args.clone()).json()["status"], "running");
    let killed = crib.call("clemini/kill_shell", args.clone()).json().clone();
    assert_eq!(killed, json!({"task_id": started, "status": "killed", "success": true}));
    assert_eq!(crib.call("clemini/task_output", args).json()["status"], "killed");
}

#[test]
fn nothing_goes_on_after_the_crib_is_closed() {
    let (model, scratch) = (model(vec![json!({"hangs": true})]), Scratch::new());
    let crib = open(&scratch, &model, &[]);
    crib.call("clemini/task", json!({"prompt": "x", "background": true})).done();
    let begun = Instant::now();
    crib.crib.close();
    assert!(begun.elapsed() < Duration::from_mins(1));
    let refused = crib.call("clemini/task", json!({"prompt": "x", "background": true}));
    assert_eq!(refused.kind(), "cancelled", "{}", refused.text());
}

#[test]
fn a_process_of_one_call_has_no_subagents_in_the_background() {
    let (model, scratch) = (model(vec![says("done")]), Scratch::new());
    let net: Arc<dyn Net> = Arc::new(model.client());
    let url = format!("model.url=http://model.test:{}/v1", model.port());
    let options = scratch.options(&[&url, "model.name=test"]);
    let crib = Opened::of(&OpenOptions { net: Some(net), ..options }).unwrap();
    let refused = crib.call("clemini/task", json!({"prompt": "x", "background": true}));
    assert_eq!(refused.json()["error_code"], "INVALID_ARGUMENT", "{}", refused.text());
    assert!(refused.text().contains("--batch"), "{}", refused.text());
    assert_eq!(crib.call("clemini/task", task("x")).json()["stdout"], "done");
}

#[test]
fn a_cancelled_call_ends_its_subagent() {
    let (model, scratch) = (model(vec![json!({"hangs": true})]), Scratch::new());
    let crib = open(&scratch, &model, &[]);
    let runtime = crib.crib.runtime(Arc::new(Nobody)).unwrap();
    let cancel = Cancel::default();
    let call =
        toolcrib::wiring::call_at_terminal(SessionId("s".to_owned()), "clemini/task", task("x"));
    let events = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let outcome = events.block_on(async {
        let stop = cancel.clone();
        let call = tokio::spawn(async move { runtime.call(call, cancel).await });
        while model.asked().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
        call.await.unwrap()
    });
    assert_eq!(Reply(outcome).kind(), "cancelled");
}
