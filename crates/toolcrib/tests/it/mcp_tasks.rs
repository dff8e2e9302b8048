//! Calls that go on without their MCP client: tasks.

use serde_json::{Value, json};

use crate::mcp::sleeps;
use crate::mcp_client::{McpClient, Protocol};
use crate::mcp_http::post_rpc;
use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Makes every command a task at once.
const AT_ONCE: [&str; 2] = ["-c", "mcp.task_seconds=0"];

fn with_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

fn start(scratch: &Scratch) -> McpClient {
    McpClient::start(scratch, Protocol::Stateless, with_tasks(), &AT_ONCE)
}

/// Starts a command as a task. Returns the id of the task.
fn start_task(client: &mut McpClient, command: &str) -> String {
    let created = client.call("bash", json!({"command": command}));
    assert_eq!(created["resultType"], "task", "{created}");
    assert_eq!(created["status"], "working", "{created}");
    assert!(created.get("content").is_none() && created["ttlMs"].is_u64(), "{created}");
    created["taskId"].as_str().unwrap().to_owned()
}

fn get(client: &mut McpClient, id: &str) -> Value {
    client.request("tasks/get", json!({"taskId": id}))
}

/// Waits until a task has ended. Returns what is told of it then.
fn ended(client: &mut McpClient, id: &str) -> Value {
    let mut task = Value::Null;
    wait_until(|| {
        task = get(client, id)["result"].clone();
        task["status"] != "working"
    });
    task
}

#[test]
fn a_long_command_is_a_task_whose_outcome_another_process_can_tell() {
    let scratch = Scratch::new();
    let mut client = start(&scratch);
    let id = start_task(&mut client, "sleep 1; echo finished");
    let task = ended(&mut client, &id);
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["result"]["structuredContent"]["stdout"], "finished\n", "{task}");
    assert_eq!(task["result"]["_meta"]["dev.toolcrib/call"], id.as_str(), "{task}");
    // Twice is the same, also after the end.
    assert_eq!(get(&mut client, &id)["result"], task);
    assert_eq!(client.close(), 0);
    let mut later = start(&scratch);
    assert_eq!(get(&mut later, &id)["result"]["result"], task["result"]);
    for wrong in ["01ABC", "../tokens", ""] {
        assert_eq!(get(&mut later, wrong)["error"]["code"], -32602, "{wrong}");
    }
    let story = scratch.run(["audit", "show", &id, "--json"]).json();
    assert_eq!(
        (&story["tool"], &story["door"]),
        (&json!("clemini/bash"), &json!("mcp")),
        "{story}"
    );
}

#[test]
fn a_short_command_and_a_client_without_tasks_get_the_reply_itself() {
    let scratch = Scratch::new();
    // The default is ten seconds.
    let mut client = McpClient::start(&scratch, Protocol::Stateless, with_tasks(), &[]);
    let result = client.call("bash", json!({"command": "echo hello"}));
    assert_eq!(result["structuredContent"]["stdout"], "hello\n", "{result}");
    let mut without = McpClient::start(&scratch, Protocol::Stateless, json!({}), &AT_ONCE);
    let result = without.call("bash", json!({"command": "sleep 0.2; echo waited"}));
    assert_eq!(result["structuredContent"]["stdout"], "waited\n", "{result}");
    let refused = get(&mut without, "01ABC");
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[test]
fn a_cancelled_task_and_one_whose_client_went_away_leave_nothing_running() {
    let scratch = Scratch::new();
    let mut client = start(&scratch);
    let id = start_task(&mut client, "sleep 613.25");
    wait_until(|| sleeps("613.25"));
    assert_eq!(get(&mut client, &id)["result"]["status"], "working");
    let ack = client.request("tasks/cancel", json!({"taskId": id}))["result"].clone();
    assert!(ack.get("taskId").is_none() && ack["resultType"] == "complete", "{ack}");
    assert_eq!(ended(&mut client, &id)["status"], "cancelled");
    assert!(!sleeps("613.25"));
    // Again is no error.
    assert!(client.request("tasks/cancel", json!({"taskId": id})).get("error").is_none());

    let left = start_task(&mut client, "sleep 614.25");
    wait_until(|| sleeps("614.25"));
    assert_eq!(client.close(), 0);
    assert!(!sleeps("614.25"));
    assert_eq!(get(&mut start(&scratch), &left)["result"]["status"], "cancelled");
}

#[test]
fn a_task_whose_process_was_killed_has_failed() {
    let scratch = Scratch::new();
    let mut client = start(&scratch);
    let id = start_task(&mut client, "sleep 615.25");
    client.child.0.kill().unwrap();
    client.child.0.wait().unwrap();
    let lost = get(&mut start(&scratch), &id)["result"].clone();
    assert_eq!(lost["status"], "failed", "{lost}");
    assert!(lost["error"]["message"].as_str().unwrap().contains("is gone"), "{lost}");
}

#[test]
fn a_command_in_the_background_is_a_task_too() {
    let scratch = Scratch::new();
    let mut client = McpClient::start(&scratch, Protocol::Stateless, with_tasks(), &[]);
    let args = json!({"command": "sleep 616.25", "run_in_background": true});
    let begun = client.call("bash", args);
    let id = begun["structuredContent"]["task_id"].as_str().unwrap_or_else(|| panic!("{begun}"));
    wait_until(|| sleeps("616.25"));
    assert_eq!(get(&mut client, id)["result"]["status"], "working");
    client.request("tasks/cancel", json!({"taskId": id}));
    wait_until(|| !sleeps("616.25"));
    let task = ended(&mut client, id);
    assert_eq!(task["status"], "cancelled", "{task}");
    // The control: one that ends by itself has a result.
    let begun =
        client.call("bash", json!({"command": "echo done; exit 3", "run_in_background": true}));
    let id = begun["structuredContent"]["task_id"].as_str().unwrap();
    let task = ended(&mut client, id);
    assert_eq!(
        (&task["status"], &task["result"]["isError"]),
        (&json!("completed"), &json!(true)),
        "{task}"
    );
    assert_eq!(task["result"]["content"][0]["text"], "done\n", "{task}");
}

#[test]
fn a_task_belongs_to_its_token() {
    let scratch = Scratch::new();
    let server = RunningServer::start_with(&scratch, &AT_ONCE);
    let agent = server.token("agent");
    let other = scratch.run(["tokens", "add", "other", "--role", "agent"]).stdout.trim().to_owned();
    let call = json!({"name": "bash", "arguments": {"command": "sleep 1"}});
    let (_, created) = post_rpc(&server, &agent, "tools/call", call, &with_tasks());
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        let (_, refused) = post_rpc(&server, &other, method, params, &with_tasks());
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    let (_, task) = post_rpc(&server, &agent, "tasks/get", json!({"taskId": id}), &with_tasks());
    assert_eq!(task["result"]["taskId"], id, "{task}");
}
