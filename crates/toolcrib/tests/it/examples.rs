//! Runs every example of every tool through the real binary on real files.

use serde_json::Value;
use toolcrib_core::{AnyTool, Catalogue, Example};

use crate::reply::assert_reply;
use crate::running_server::RunningServer;
use crate::scratch::{Scratch, Session};
use toolcrib_tools::CATALOGUES;

/// Offers the tools that are off by default.
const ALL_ON: [&str; 6] = [
    "-c",
    "forgekeeper.bash=on",
    "-c",
    "forgekeeper.powershell=on",
    "-c",
    "forgekeeper.http_fetch=on",
];

/// Makes an example's call, after the calls that the example makes first.
fn call(scratch: &Scratch, name: &str, example: &Example) -> Value {
    if example.before.is_empty() {
        let words = ["--yes", "call", name, example.args, "--json"];
        return scratch.run([&ALL_ON[..], &words].concat()).json();
    }
    let mut session = Session::start(scratch, &ALL_ON);
    let mut task = String::new();
    let parse =
        |args: &str, task: &str| serde_json::from_str(&args.replace("$task_id", task)).unwrap();
    for (tool, args) in example.before {
        let reply = session.call(tool, parse(args, &task));
        if task.is_empty() {
            reply["task_id"].as_str().unwrap_or_default().clone_into(&mut task);
        }
    }
    let reply = session.call(name, parse(example.args, &task));
    session.end();
    reply
}

/// Makes an example's call over HTTP, after the calls that the example makes first.
fn call_server(scratch: &Scratch, name: &str, example: &Example) -> Value {
    // What `--yes` is at the terminal.
    let names: Vec<String> = CATALOGUES.iter().map(|it| format!("\"{}\"", it.name)).collect();
    let rule =
        format!("[[rule]]\ntool = [{}]\nrole = \"agent\"\neffect = \"allow\"\n", names.join(", "));
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
    let server = RunningServer::start_with(scratch, &ALL_ON);
    let agent = server.token("agent");
    let mut task = String::new();
    let execute = |tool: &str, args: &str, task: &str| {
        let args = serde_json::from_str(&args.replace("$task_id", task)).unwrap();
        catalogue_reply(server.execute(&agent, tool, args))
    };
    for (tool, args) in example.before {
        let reply = execute(tool, args, &task);
        if task.is_empty() {
            reply["task_id"].as_str().unwrap_or_default().clone_into(&mut task);
        }
    }
    execute(name, example.args, &task)
}

/// Returns the catalogue's own reply: the body of a call that succeeded, and what stands beside the error of one that
/// did not.
fn catalogue_reply((status, mut body): (u16, Value)) -> Value {
    if status == 200 {
        return body;
    }
    if let Some(reply) = body.get_mut("reply") {
        return reply.take();
    }
    for added in ["call", "tool"] {
        body.as_object_mut().unwrap().remove(added);
    }
    body
}

#[test]
fn every_example_holds_at_the_terminal() {
    check_examples(call);
}

#[test]
fn every_example_holds_over_http() {
    check_examples(call_server);
}

/// Checks that the reply of a call that succeeded fits the schema that MCP clients are told.
fn check_schema(catalogue: &Catalogue, tool: &dyn AnyTool, reply: &Value, what: &str) {
    let is_failure = reply["success"] == false
        || reply["ok"] == false
        || reply.get("error").is_some()
        || reply.get("errors").is_some_and(|errors| errors != &Value::Array(Vec::new()));
    if is_failure {
        return;
    }
    let schema = (catalogue.view.schema)(tool.reply_schema());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(reply).map(|err| err.to_string()).collect();
    assert!(faults.is_empty(), "{what}: {faults:?}\n{reply}\n{schema}");
}

fn check_examples(call: fn(&Scratch, &str, &Example) -> Value) {
    let mut count = 0;
    for catalogue in CATALOGUES {
        for tool in catalogue.tools {
            let declaration = tool.declaration();
            for example in declaration.examples {
                let name = format!("{}/{}", catalogue.name, declaration.name);
                let what = format!("{name}: {}", example.about);
                let scratch = Scratch::new();
                for (path, content) in example.files {
                    scratch.put(path, content);
                }
                let got = call(&scratch, &name, example);
                check_schema(catalogue, *tool, &got, &what);
                assert_reply(got, serde_json::from_str(example.reply).unwrap(), &what);
                for (name, content) in example.leaves {
                    let path = scratch.work().join(name);
                    if name.ends_with('/') {
                        assert!(path.is_dir(), "{what}: {}", path.display());
                    } else {
                        let found = std::fs::read_to_string(&path).unwrap();
                        assert_eq!(found, *content, "{what}: {}", path.display());
                    }
                }
                count += 1;
            }
        }
    }
    assert!(count > 40, "only {count} examples");
}
