//! `toolcrib serve`: calls over HTTP, and what each token may do.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Puts a rule in place by which agents may run some programs without a question.
fn let_agents_run(scratch: &Scratch, programs: &str) {
    let rule = format!(
        "[[rule]]\ntool = \"clemini/bash\"\nargv = [[{programs}]]\nrole = \"agent\"\neffect = \"allow\"\n"
    );
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
}

#[test]
fn the_contract_is_answered_to_the_letter() {
    let scratch = Scratch::new();
    scratch.put("README.md", "# Hello\n");
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let (status, tools) = server.get(&agent, "/api/tools");
    assert_eq!(status, 200);
    assert_eq!((&tools["ok"], &tools["enabled"]), (&true.into(), &true.into()));
    assert_eq!(tools["count"], tools["names"].as_array().unwrap().len());
    let names: Vec<&str> =
        tools["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        names.contains(&"read_file") && !names.iter().any(|name| name.contains('/')),
        "{names:?}"
    );
    let def =
        tools["defs"].as_array().unwrap().iter().find(|it| it["function"]["name"] == "read_file");
    let def = def.unwrap();
    assert_eq!(
        (&def["type"], &def["function"]["parameters"]["required"]),
        (&"function".into(), &json!(["path"]))
    );
    let (_, all) = server.get(&agent, "/api/tools?toolset=clemini");
    assert!(all["names"].as_array().unwrap().contains(&"clemini/edit".into()), "{}", all["names"]);
    let (status, reply) = server.execute(&agent, "read_file", json!({"path": "README.md"}));
    assert_eq!(
        (status, &reply["ok"], &reply["result"]["content"]),
        (200, &true.into(), &"# Hello\n".into()),
        "{reply}"
    );
    let (status, reply) =
        server.execute(&agent, "clemini/read_file", json!({"file_path": "README.md"}));
    assert_eq!(status, 200, "{reply}");
    assert!(reply["contents"].as_str().unwrap_or_default().contains("# Hello"), "{reply}");
    for (tool, args, status, error, message) in [
        ("nonexistent", json!({}), 404, "tool_not_found", "Tool 'nonexistent' not found"),
        (
            "run_bash",
            json!({"command": "true"}),
            403,
            "tool_not_allowed",
            "Tool 'run_bash' not in allowlist",
        ),
        ("read_file", json!({"path": "nope"}), 422, "ENOENT", "ENOENT: file not found"),
        ("echo", json!({}), 422, "invalid_arguments", ""),
    ] {
        let (got, reply) = server.execute(&agent, tool, args);
        assert_eq!(
            (got, &reply["ok"], &reply["error"]),
            (status, &false.into(), &error.into()),
            "{reply}"
        );
        assert!(reply["message"].as_str().unwrap().contains(message), "{reply}");
    }
    let conv = json!({"args": {"text": "hi"}, "conv_id": "conv_abc123", "trace_id": "trace_xyz789", "iter": 2});
    assert_eq!(server.post(&agent, "/api/tools/execute/echo", &conv).0, 200);
    let ended = scratch.record().into_iter().rfind(|line| line["event"] == "ended").unwrap();
    let got = ["conv_id", "trace_id", "iter", "name", "status"].map(|key| ended[key].clone());
    assert_eq!(json!(got), json!(["conv_abc123", "trace_xyz789", 2, "echo", "ok"]));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_runs() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    let path = "/api/tools/execute/echo";
    for (body, status, error) in [
        ("", 400, "invalid_json"),
        ("{", 400, "invalid_json"),
        (r#"{"args":{"text":"a"},"args":{"text":"b"}}"#, 400, "invalid_json"),
        (r#"{"args":"text"}"#, 422, "invalid_request"),
        (r#"{"args":{"text":"a"},"actor":"root"}"#, 422, "invalid_request"),
        (r#"{"args":{"text":"a"},"iter":-1}"#, 422, "invalid_request"),
        (r#"{"args":{"text":"a"},"conv_id":"a\u0000b"}"#, 422, "invalid_request"),
        (
            r#"{"args":{"text":"a"},"approval_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#,
            404,
            "approval_not_found",
        ),
        (r#"{"args":{"text":"a"},"approval_id":"../../x"}"#, 404, "approval_not_found"),
    ] {
        let (got, reply) = server.send(&agent, "POST", path, "", body);
        assert_eq!((got, &reply["error"]), (status, &error.into()), "{body}: {reply}");
    }
    assert_eq!(server.post("tcb_wrong", path, &json!({"args": {"text": "a"}})).0, 401);
    assert_eq!(
        server.post(&server.token("approver"), path, &json!({"args": {"text": "a"}})).0,
        403
    );
    assert!(scratch.record().iter().all(|line| line["event"] != "started"), "nothing ran");
    assert_eq!(server.post(&agent, path, &json!({"args": {"text": "a"}})).0, 200);
    for (token, path, status) in [
        (&agent, "/api/audit", 403),
        (&agent, "/api/approvals", 403),
        (&admin, "/api/audit", 200),
        (&admin, "/api/audit?limit=0", 400),
        (&admin, "/api/audit?user=x", 400),
        (&admin, "/api/audit/nothing", 404),
        (&admin, "/api/calls/nothing", 404),
        (&admin, "/api/approvals/nothing", 404),
        (&admin, "/api/tools?toolset=nothing", 404),
        (&admin, "/api/nothing", 404),
    ] {
        let (got, reply) = server.get(token, path);
        assert_eq!(got, status, "{path}: {reply}");
        assert_eq!(reply["ok"], status == 200, "{path}: {reply}");
    }
}

#[test]
fn a_second_server_is_told_which_process_holds_the_state_folder() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let second = scratch.run(["serve", "--address", "127.0.0.1:0"]);
    assert_ne!(second.code, 0);
    let expect = format!("process {}", server.child.id());
    assert!(second.stderr.contains(&expect), "{}", second.stderr);
    let yes = scratch.run(["--yes", "serve"]);
    assert!(yes.stderr.contains("--yes is not for a server"), "{}", yes.stderr);
    let public = scratch.run(["serve", "--address", "0.0.0.0:0"]);
    assert_ne!(public.code, 0, "{}", public.stdout);
    drop(server);
    let certificate = "serve.tls_certificate=/nothing/cert.pem";
    for (words, expect) in [
        (vec![], "set `serve.tls_certificate` and `serve.tls_key`"),
        (vec!["-c", certificate], "`serve.tls_key` is not set"),
        (vec!["-c", certificate, "-c", "serve.tls_key=/nothing/key.pem"], "cannot be read"),
    ] {
        let public = scratch.run(words.iter().chain(&["serve", "--address", "0.0.0.0:0"]));
        assert_eq!(public.code, 2, "{}", public.stderr);
        assert!(public.stderr.contains(expect), "{expect}: {}", public.stderr);
    }
}

#[test]
fn a_call_whose_client_goes_away_is_cancelled_and_recorded() {
    let scratch = Scratch::new();
    let_agents_run(&scratch, "\"touch\", \"sleep\"");
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let body = json!({"args": {"command": "touch begun; sleep 600"}}).to_string();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let path = "/api/tools/execute/clemini/bash";
    stream.write_all(server.request(&agent, "POST", path, "", &body).as_bytes()).unwrap();
    let has_event = |event: &str, error: &Value| {
        let is_it = |line: &Value| line["event"] == event && line["error"] == *error;
        scratch.record().iter().any(is_it)
    };
    wait_until(|| {
        assert!(!has_event("waits", &Value::Null), "the rule of its role allows it");
        scratch.work().join("begun").exists()
    });
    drop(stream);
    wait_until(|| has_event("ended", &"cancelled".into()));
}

#[test]
fn a_token_cannot_read_or_end_the_tasks_of_another() {
    let scratch = Scratch::new();
    let rule = "[[rule]]\ntool = [\"clemini/bash\", \"wink/run_in_terminal\"]\nargv = [[\"touch\", \"sleep\", \"echo\"]]\nrole = \"agent\"\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let other = scratch.run(["tokens", "add", "other", "--role", "agent"]).stdout.trim().to_owned();
    let background = json!({"command": "sleep 600", "run_in_background": true});
    let (status, task) = server.execute(&agent, "clemini/bash", background);
    assert_eq!(status, 200, "{task}");
    let task = json!({"task_id": task["task_id"]});
    let (status, own) = server.execute(&agent, "clemini/task_output", task.clone());
    assert_eq!(status, 200, "{own}");
    for tool in ["clemini/task_output", "clemini/kill_shell"] {
        let (status, foreign) = server.execute(&other, tool, task.clone());
        assert_eq!(status, 422, "{tool}: {foreign}");
    }
    let (status, ran) =
        server.execute(&agent, "wink/run_in_terminal", json!({"command": "echo secret"}));
    assert_eq!(status, 200, "{ran}");
    let (_, own) = server.execute(&agent, "wink/terminal_last_command", json!({}));
    assert!(own.to_string().contains("echo secret"), "{own}");
    let (_, foreign) = server.execute(&other, "wink/terminal_last_command", json!({}));
    assert!(!foreign.to_string().contains("secret"), "{foreign}");
    let (status, killed) = server.execute(&agent, "clemini/kill_shell", task);
    assert_eq!(status, 200, "{killed}");
}

#[test]
fn statistics_have_the_shapes_of_the_contract() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    assert_eq!(server.execute(&agent, "read_file", json!({"path": "nope"})).0, 422);
    assert_eq!(server.execute(&agent, "echo", json!({"text": "hi"})).0, 200);
    assert_eq!(server.execute(&agent, "clemini/glob", json!({"pattern": "*"})).0, 200);
    let get = |path: &str| {
        let (status, reply) = server.get(&admin, path);
        assert_eq!((status, &reply["ok"]), (200, &true.into()), "{path}: {reply}");
        reply
    };
    let errors = get("/api/tools/errors");
    let read = errors["stats"].as_array().unwrap().iter().find(|it| it["toolName"] == "read_file");
    let read = read.unwrap_or_else(|| panic!("{errors}"));
    assert_eq!((&read["errors"], &read["errorTypes"]["ENOENT"]), (&1.into(), &1.into()), "{read}");
    assert_eq!(errors["summary"]["totalErrors"], 1, "{errors}");
    let one = get("/api/tools/errors/read_file");
    assert_eq!(
        (&one["tool"], &one["stats"]["lastError"]["code"]),
        (&"read_file".into(), &"ENOENT".into())
    );
    for path in ["regression", "resources"] {
        assert!(get(&format!("/api/tools/{path}"))["summary"].is_object());
        assert_eq!(get(&format!("/api/tools/{path}/echo"))["tool"], "echo");
        assert_eq!(get(&format!("/api/tools/{path}/clemini/glob"))["tool"], "clemini/glob");
    }
    let nothing = json!({});
    let (status, cleared) = server.post(&admin, "/api/tools/errors/read_file/clear", &nothing);
    assert_eq!((status, &cleared["cleared"]["errors"]), (200, &1.into()), "{cleared}");
    assert_eq!(get("/api/tools/errors/read_file")["stats"]["errors"], 0);
    let (status, reset) = server.post(&admin, "/api/tools/regression/clemini/glob/clear", &nothing);
    assert_eq!((status, &reset["action"]), (200, &"baseline_reset".into()), "{reset}");
    for (token, path, expect) in [
        (&admin, "/api/tools/errors/write_file/clear", 404),
        (&admin, "/api/tools/errors/nonexistent/clear", 404),
        (&server.token("approver"), "/api/tools/errors/read_file/clear", 403),
        (&agent, "/api/tools/errors/read_file/clear", 403),
    ] {
        let (status, reply) = server.post(token, path, &nothing);
        assert_eq!((status, &reply["ok"]), (expect, &false.into()), "{path}: {reply}");
    }
    assert_eq!(server.get(&agent, "/api/tools/errors").0, 403);
    assert_eq!(server.get(&admin, "/api/tools/nothing").0, 404);
}

#[test]
fn a_call_with_an_idempotency_key_runs_once_also_after_a_crash() {
    let scratch = Scratch::new();
    let_agents_run(&scratch, "\"echo\", \"tee\", \"touch\", \"sleep\"");
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let send = |server: &RunningServer<'_>, key: &str, command: &str| {
        let body = json!({"args": {"command": command}}).to_string();
        let headers = format!("Idempotency-Key: {key}\r\n");
        server.send(&agent, "POST", "/api/tools/execute/clemini/bash", &headers, &body)
    };
    let once = "echo ran | tee -a log";
    let (status, first) = send(&server, "k1", once);
    assert_eq!(status, 200, "{first}");
    assert_eq!(send(&server, "k1", once), (200, first.clone()));
    assert_eq!(scratch.text("log"), "ran\n");
    let (status, other) = send(&server, "k1", "echo other");
    assert_eq!((status, &other["error"]), (422, &"idempotency_key_reused".into()), "{other}");
    let (status, wrong) = send(&server, "a b", once);
    assert_eq!((status, &wrong["error"]), (400, &"invalid_header".into()), "{wrong}");
    std::thread::scope(|scope| {
        let lost = scope.spawn(|| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let body = json!({"args": {"command": "touch begun; sleep 600"}}).to_string();
            let request = server.request(
                &agent,
                "POST",
                "/api/tools/execute/clemini/bash",
                "Idempotency-Key: k2\r\n",
                &body,
            );
            stream.write_all(request.as_bytes()).unwrap();
            stream
        });
        let _stream = lost.join().unwrap();
        wait_until(|| scratch.work().join("begun").exists());
        let (status, runs) = send(&server, "k2", "touch begun; sleep 600");
        assert_eq!((status, &runs["error"]), (409, &"still_running".into()), "{runs}");
        server.kill();
    });
    drop(server);
    std::fs::remove_file(scratch.work().join("begun")).unwrap();
    let server = RunningServer::start(&scratch);
    let (status, lost) = send(&server, "k2", "touch begun; sleep 600");
    assert_eq!((status, &lost["error"]), (409, &"outcome_unknown".into()), "{lost}");
    assert!(!scratch.work().join("begun").exists(), "it did not run again");
    assert_eq!(send(&server, "k1", once), (200, first));
    assert_eq!(scratch.text("log"), "ran\n");
}
