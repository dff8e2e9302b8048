//! Many calls, floods and a client that never reads: nothing grows, hangs or is left out.

use std::fs;

use serde_json::{Value, json};

use crate::mcp_client::{McpClient, Protocol, accept, with_forms};
use crate::running_server::wait_until;
use crate::scratch::Scratch;

/// What a process holds.
#[derive(Debug)]
struct HeldByProcess {
    kilobytes: u64,
    threads: usize,
    descriptors: usize,
}

impl HeldByProcess {
    fn of(client: &McpClient) -> Self {
        let process = format!("/proc/{}", client.child.0.id());
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let count = |folder: &str| fs::read_dir(format!("{process}/{folder}")).unwrap().count();
        Self {
            kilobytes: memory.trim().trim_end_matches(" kB").parse().unwrap(),
            threads: count("task"),
            descriptors: count("fd"),
        }
    }
}

fn start(scratch: &Scratch, protocol: Protocol) -> McpClient {
    start_with(scratch, protocol, json!({}))
}

fn start_with(scratch: &Scratch, protocol: Protocol, capabilities: Value) -> McpClient {
    let toolset = ["-c", "mcp.toolset=[\"clemini\", \"forgekeeper/echo\"]"];
    McpClient::start(scratch, protocol, capabilities, &toolset)
}

fn echo(text: &str) -> Value {
    json!({"name": "echo", "arguments": {"text": text}})
}

/// Makes calls eight at a time, and waits for all of them.
fn make_calls(client: &mut McpClient, count: usize) {
    for _ in 0..count / 8 {
        let mut open: Vec<u64> = (0..7).map(|_| client.ask("tools/call", echo("x"))).collect();
        let read = json!({"name": "read_file", "arguments": {"file_path": "a.txt"}});
        open.push(client.ask("tools/call", read));
        while !open.is_empty() {
            let reply = client.receive();
            assert_eq!(reply["result"]["isError"], false, "{reply}");
            open.retain(|id| reply["id"] != *id);
        }
    }
}

#[test]
fn twenty_thousand_calls_leave_no_memory_thread_or_descriptor_behind() {
    for protocol in [Protocol::Session, Protocol::Stateless] {
        let scratch = Scratch::new();
        scratch.put("a.txt", "one\n".repeat(1000));
        let mut client = start(&scratch, protocol);
        make_calls(&mut client, 4000);
        let before = HeldByProcess::of(&client);
        // What an allocator takes, it takes now and then. A leak of some hundred bytes a call takes some every time.
        let mut sizes = vec![before.kilobytes];
        for _ in 0..5 {
            make_calls(&mut client, 2000);
            sizes.push(HeldByProcess::of(&client).kilobytes);
        }
        let after = HeldByProcess::of(&client);
        let mut grown: Vec<u64> =
            sizes.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        grown.sort_unstable();
        assert!(grown[2] < 512, "{sizes:?}");
        assert!(after.threads <= before.threads + 2, "{before:?} {after:?}");
        assert!(after.descriptors <= before.descriptors + 8, "{before:?} {after:?}");
        assert_eq!(client.close(), 0);
    }
}

#[test]
fn a_thousand_calls_at_once_are_all_answered() {
    let scratch = Scratch::new();
    let mut client = start(&scratch, Protocol::Stateless);
    let mut open: Vec<u64> = (0..1000).map(|_| client.ask("tools/call", echo("x"))).collect();
    while !open.is_empty() {
        let reply = client.receive();
        assert_eq!(reply["result"]["isError"], false, "{reply}");
        open.retain(|id| reply["id"] != *id);
    }
    assert_eq!(client.close(), 0);
}

#[test]
fn h_046_a_flood_of_notifications_grows_nothing() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\n");
    let mut client = start(&scratch, Protocol::Session);
    make_calls(&mut client, 80);
    let before = HeldByProcess::of(&client);
    for number in 0..100_000 {
        let params = json!({"requestId": number, "reason": "flood"});
        let method = "notifications/cancelled";
        client.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }
    make_calls(&mut client, 80);
    let after = HeldByProcess::of(&client);
    assert!(after.kilobytes < before.kilobytes + 8192, "{before:?} {after:?}");
}

#[test]
fn a_client_that_never_reads_does_not_fill_the_memory() {
    let scratch = Scratch::new();
    scratch.put("large.txt", "a line of a file\n".repeat(10_000));
    let mut client = start(&scratch, Protocol::Session);
    let process = format!("/proc/{}/status", client.child.0.id());
    let memory = || {
        let status = fs::read_to_string(&process).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let input = client.take_input();
    let read =
        json!({"name": "read_file", "arguments": {"file_path": "large.txt", "limit": 10_000}});
    let writer = std::thread::spawn(move || {
        let mut input = input;
        for id in 0..5000 {
            let message =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": read});
            // It fails when the server is gone.
            if std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).is_err() {
                return;
            }
        }
    });
    // The replies of all calls would be a gigabyte.
    let mut largest = 0;
    let mut steady = 0;
    wait_until(|| {
        let now = memory();
        steady = if now > largest + 1024 { 0 } else { steady + 1 };
        largest = largest.max(now);
        steady > 100
    });
    assert!(largest < 250_000, "{largest} kB");
    client.child.0.kill().unwrap();
    writer.join().unwrap();
}

#[test]
fn bad_messages_get_an_error_and_the_connection_goes_on() {
    let scratch = Scratch::new();
    let mut client = start(&scratch, Protocol::Session);
    // H-025
    client.send_line(&"[".repeat(100_000));
    assert_eq!(client.receive()["error"]["code"], -32700);
    // H-027
    let numbers = r#"{"text":"x","n":1e400}"#;
    client.send_line(&format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{numbers}}}}}"#
    ));
    assert!(client.receive()["error"]["code"].is_i64());
    let surrogate = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\ud800"}}}"#;
    client.send_line(surrogate);
    assert!(client.receive()["error"]["code"].is_i64());
    // H-042
    for name in ["../bash", "bash\0", "BASH", ""] {
        let reply = client.request("tools/call", json!({"name": name, "arguments": {}}));
        assert_eq!(reply["error"]["code"], -32602, "{name:?}: {reply}");
    }
    // Arguments that do not fit are the model's to mend.
    let reply = client.request("tools/call", json!({"name": "echo", "arguments": {"text": 5}}));
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    // The control: the connection works.
    let reply = client.request("tools/call", echo("still here"));
    assert_eq!(reply["result"]["isError"], false, "{reply}");
}

/// Asks for a call that policy asks about, and returns its id and that of the question.
fn ask_write(client: &mut McpClient) -> (u64, Value) {
    let write = json!({"name": "write_file", "arguments": {"file_path": "b.txt", "content": "b"}});
    let id = client.ask("tools/call", write);
    let question = client.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (id, question["id"].clone())
}

#[test]
fn an_id_that_is_in_use_is_refused_and_other_calls_go_on() {
    let scratch = Scratch::new();
    let mut client = start_with(&scratch, Protocol::Session, with_forms());
    let (id, question) = ask_write(&mut client);
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": echo("x")}));
    let refused = client.receive();
    assert!(refused.get("id").is_none_or(Value::is_null), "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("is in use"), "{refused}");
    let other = client.request("tools/call", echo("meanwhile"));
    assert_eq!(other["result"]["isError"], false, "{other}");
    client.send(&json!({"jsonrpc": "2.0", "id": question, "result": accept("once", "")}));
    let reply = client.reply_to(id);
    assert_eq!(reply["result"]["isError"], false, "{reply}");
    // The control: an id whose request has its reply can be used again.
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": echo("x")}));
    let again = client.reply_to(id);
    assert_eq!(again["result"]["isError"], false, "{again}");
}

#[test]
fn a_cancelled_call_gets_no_reply_and_its_question_is_closed() {
    let scratch = Scratch::new();
    let mut client = start_with(&scratch, Protocol::Session, with_forms());
    let (id, _) = ask_write(&mut client);
    assert!(scratch.run(["approvals", "list"]).stdout.contains("write_file"));
    let params = json!({"requestId": id});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    wait_until(|| !scratch.run(["approvals", "list"]).stdout.contains("write_file"));
    // A reply to the cancelled call would come first.
    loop {
        let next = client.receive();
        assert_ne!(next["id"], id, "{next}");
        // The server withdraws its question.
        if next["method"] == "notifications/cancelled" {
            break;
        }
    }
    let other = client.request("tools/call", echo("x"));
    assert_eq!(other["result"]["isError"], false, "{other}");
    assert!(!scratch.work().join("b.txt").exists());
}

#[test]
fn a_call_that_was_made_before_stdin_was_closed_gets_its_reply() {
    for protocol in [Protocol::Session, Protocol::Stateless] {
        let scratch = Scratch::new();
        for _ in 0..10 {
            let mut client = start(&scratch, protocol);
            // The thread that reads answers from here on.
            assert_eq!(client.call("echo", json!({"text": "x"}))["isError"], false);
            let id = client.ask("tools/call", echo("last"));
            drop(client.take_input());
            let reply = client.reply_to(id);
            assert_eq!(reply["result"]["isError"], false, "{reply}");
        }
    }
}

#[test]
fn a_question_does_not_keep_a_server_whose_client_went_away() {
    let scratch = Scratch::new();
    let mut client = McpClient::start(&scratch, Protocol::Session, with_forms(), &[]);
    ask_write(&mut client);
    assert_eq!(client.close(), 0);
    assert!(!scratch.run(["approvals", "list"]).stdout.contains("write_file"));
}
