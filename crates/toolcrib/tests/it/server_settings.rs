//! Settings and rules that change while `toolcrib serve` runs.

use std::fs;

use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Where the operator's settings are.
pub(crate) const SETTINGS: &str = "home/.config/toolcrib/config.toml";

/// Where the operator's rules are.
pub(crate) const RULES: &str = "home/.config/toolcrib/rules.toml";

pub(crate) const COMMENTED: &str =
    "# mine\nmode = \"standard\" # why\n\n[forgekeeper]\n# small\nmax_read_bytes = 1000\n";

pub(crate) fn settings_text(scratch: &Scratch) -> String {
    fs::read_to_string(scratch.path(SETTINGS)).unwrap_or_default()
}

pub(crate) fn rule(id: &str, tool: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\ntool = \"{tool}\"\neffect = \"deny\"\n")
}

/// Puts a file in the place of another, as editors do.
pub(crate) fn replace(scratch: &Scratch, path: &str, text: &str) {
    let fresh = format!("{path}.fresh");
    scratch.put_at(&fresh, text);
    fs::rename(scratch.path(&fresh), scratch.path(path)).unwrap();
}

pub(crate) fn config(server: &RunningServer<'_>, token: &str) -> Value {
    let (status, reply) = server.get(token, "/api/tools/config");
    assert_eq!(status, 200, "{reply}");
    reply["config"].clone()
}

pub(crate) fn change(server: &RunningServer<'_>, body: &Value) -> (u16, Value) {
    server.post(&server.token("admin"), "/api/tools/config", body)
}

pub(crate) fn state(server: &RunningServer<'_>) -> Value {
    let (status, reply) = server.get(&server.token("admin"), "/api/settings");
    assert_eq!(status, 200, "{reply}");
    reply["state"].clone()
}

pub(crate) fn echo(server: &RunningServer<'_>) -> u16 {
    server.execute(&server.token("agent"), "echo", json!({"text": "hi"})).0
}

#[test]
fn a_change_holds_for_the_very_next_call_and_is_recorded() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "hello");
    scratch.put_at(SETTINGS, COMMENTED);
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let before = config(&server, &agent);
    let fields: Vec<&String> = before.as_object().unwrap().keys().collect();
    let contract = [
        "enabled",
        "allowlist",
        "sandboxRoot",
        "maxReadBytes",
        "maxWriteBytes",
        "powershellEnabled",
        "bashEnabled",
        "httpFetchEnabled",
    ];
    assert_eq!(fields, contract);
    assert_eq!((&before["maxReadBytes"], &before["bashEnabled"]), (&1000.into(), &false.into()));
    let read = || server.execute(&agent, "read_file", json!({"path": "a.txt"}));
    assert_eq!(read().0, 200, "the control");
    let body = json!({"allowlist": ["get_time", "echo"], "maxReadBytes": 131_072});
    for token in [&agent, &approver] {
        let (status, reply) = server.post(token, "/api/tools/config", &body);
        assert_eq!((status, &reply["error"]), (403, &"role_not_allowed".into()), "{reply}");
    }
    assert_eq!(read().0, 200, "nothing was changed");
    let (status, reply) = change(&server, &body);
    assert_eq!((status, &reply["ok"]), (200, &true.into()), "{reply}");
    assert_eq!(reply["config"]["allowlist"], json!(["get_time", "echo"]));
    assert_eq!(reply["config"], config(&server, &agent));
    let changed = reply["changed"].as_array().unwrap();
    let shown = |it: &Value| (it["field"].clone(), it["old"].clone(), it["new"].clone());
    assert_eq!(
        changed.iter().map(shown).collect::<Vec<_>>(),
        [
            ("allowlist".into(), json!([]), json!(["get_time", "echo"])),
            ("maxReadBytes".into(), 1000.into(), 131_072.into()),
        ]
    );
    let (status, reply) = read();
    assert_eq!((status, &reply["error"]), (403, &"tool_not_allowed".into()), "{reply}");
    let wanted = "# mine\nmode = \"standard\" # why\n\n[forgekeeper]\n# small\n\
                  max_read_bytes = 131072\nallow = [\"get_time\", \"echo\"]\n";
    assert_eq!(settings_text(&scratch), wanted);
    let record = scratch.record();
    let note = record.iter().find(|it| it["act"] == "settings").unwrap();
    assert_eq!((&note["actor"], &note["event"]), (&"admin".into(), &"changed".into()));
    assert_eq!(note["detail"]["by"], "admin");
    assert_eq!(note["detail"]["changed"][1]["new"], 131_072);
    // The same again is no change.
    let (status, reply) = change(&server, &body);
    assert_eq!((status, &reply["changed"]), (200, &json!([])), "{reply}");
    let (_, reply) = change(&server, &json!({"allowlist": null}));
    assert_eq!((&reply["changed"][0]["new"], read().0), (&json!([]), 200), "{reply}");
    let notes = scratch.record().into_iter().filter(|it| it["act"] == "settings").count();
    assert_eq!(notes, 2);
    // The record has a line of its own only for the settings that the server began with.
    let lines = scratch.whole_record();
    assert_eq!(lines.iter().filter(|it| it["event"] == "settings").count(), 1);
    let last = lines.iter().rfind(|it| it["act"] == "settings").unwrap();
    assert_eq!(last["detail"]["settings"]["forgekeeper.max_read_bytes"]["value"], 131_072);
    assert_eq!(scratch.run(["audit", "verify"]).code, 0);
}

#[test]
fn a_change_with_an_error_changes_nothing_and_all_errors_are_told() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, COMMENTED);
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let before = config(&server, &agent);
    let refused = |body: Value, code: &str, errors: &[&str]| {
        let (status, reply) = change(&server, &body);
        assert_eq!((status, &reply["error"]), (422, &code.into()), "{reply}");
        let told: Vec<&str> =
            reply["errors"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(told.len(), errors.len(), "{reply}");
        for error in errors {
            assert!(told.iter().any(|it| it.contains(error)), "{error}: {reply}");
        }
    };
    refused(
        json!({"bashEnabled": true, "maxReadBytes": 0, "allowlist": [], "sandboxRoot": "here"}),
        "invalid_settings",
        &["maxReadBytes", "allowlist", "sandboxRoot"],
    );
    let body = json!({"bashEnabled": "yes", "maxReadBytes": -1, "nonsense": 1, "enabled": true});
    let (status, reply) = change(&server, &body);
    assert_eq!((status, &reply["error"]), (422, &"invalid_request".into()), "{reply}");
    let told = reply["message"].to_string();
    for name in ["bashEnabled", "maxReadBytes", "nonsense"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    refused(json!({"maxReadBytes": u64::MAX}), "invalid_settings", &["between"]);
    refused(
        json!({"bashEnabled": true, "sandboxRoot": "/nowhere/at/all"}),
        "invalid_settings",
        &["does not exist"],
    );
    for body in ["[]", "\"a\"", "{\"enabled\": true, \"enabled\": false}"] {
        let (status, reply) =
            server.send(&server.token("admin"), "POST", "/api/tools/config", "", body);
        assert!(status == 400 || status == 422, "{body}: {reply}");
    }
    assert_eq!((config(&server, &agent), settings_text(&scratch)), (before, COMMENTED.to_owned()));
    assert!(!scratch.record().iter().any(|it| it["act"] == "settings"));
    assert_eq!(change(&server, &json!({"bashEnabled": true})).0, 200, "the control");
    assert_eq!(config(&server, &agent)["bashEnabled"], true);
}

#[test]
fn changes_at_once_lose_nothing() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, COMMENTED);
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    std::thread::scope(|scope| {
        for body in [
            json!({"maxReadBytes": 2000}),
            json!({"maxWriteBytes": 3000}),
            json!({"bashEnabled": true}),
            json!({"allowlist": ["echo"]}),
        ] {
            let server = &server;
            scope.spawn(move || {
                let (status, reply) = change(server, &body);
                assert_eq!((status, reply["changed"].as_array().map(Vec::len)), (200, Some(1)));
            });
        }
        let scratch = &scratch;
        scope.spawn(|| {
            let set = scratch.run(["config", "set", "forgekeeper.timeout_ms", "777"]);
            assert_eq!(set.code, 0, "{}", set.stderr);
        });
    });
    let now = config(&server, &agent);
    assert_eq!(
        (&now["maxReadBytes"], &now["maxWriteBytes"], &now["bashEnabled"], &now["allowlist"]),
        (&2000.into(), &3000.into(), &true.into(), &json!(["echo"]))
    );
    let text = settings_text(&scratch);
    let lines = ["# mine", "# why", "# small", "= 2000", "= 3000", "bash = \"on\"", "= 777"];
    for line in lines {
        assert!(text.contains(line), "{line}: {text}");
    }
    let admin = server.token("admin");
    let value =
        || server.get(&admin, "/api/settings").1["settings"]["forgekeeper.timeout_ms"].clone();
    wait_until(|| value()["value"] == 777);
}

#[test]
fn a_change_that_something_else_overrides_or_that_cannot_be_written_is_told() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, COMMENTED);
    let mut command = scratch.command();
    command.env("TOOL_ALLOW", "echo,get_time").args(["-c", "forgekeeper.bash=on"]);
    let server = RunningServer::over(&scratch, command, std::process::Stdio::null());
    let agent = server.token("agent");
    let body = json!({"allowlist": ["read_file"], "bashEnabled": false, "maxReadBytes": 9});
    let (status, reply) = change(&server, &body);
    assert_eq!((status, &reply["error"]), (409, &"overridden".into()), "{reply}");
    let told = reply["errors"].to_string();
    assert!(told.contains("environment TOOL_ALLOW") && told.contains("flag -c"), "{reply}");
    assert!(!told.contains("maxReadBytes"), "{reply}");
    assert_eq!(settings_text(&scratch), COMMENTED);
    let (status, _) = change(&server, &json!({"allowlist": null}));
    assert_eq!(status, 409, "it would still be the variable's");
    let (status, reply) = change(&server, &json!({"allowlist": ["echo", "get_time"]}));
    assert_eq!(status, 200, "it is so already: {reply}");
    // Something is in the way of the new file.
    let text = settings_text(&scratch);
    let in_the_way = scratch.path(&format!("{SETTINGS}.{}", server.child.id()));
    fs::create_dir(&in_the_way).unwrap();
    let (status, reply) = change(&server, &json!({"maxReadBytes": 9}));
    assert_eq!((status, &reply["error"]), (503, &"unavailable".into()), "{reply}");
    assert_eq!(
        (settings_text(&scratch), &config(&server, &agent)["maxReadBytes"]),
        (text, &1000.into())
    );
    fs::remove_dir(&in_the_way).unwrap();
    assert_eq!(change(&server, &json!({"maxReadBytes": 9})).0, 200, "the control");
    assert_eq!(config(&server, &agent)["maxReadBytes"], 9);
}

#[test]
fn a_change_that_cannot_be_recorded_does_not_hold() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, COMMENTED);
    let first = RunningServer::start(&scratch);
    assert_eq!(config(&first, &first.token("agent"))["maxReadBytes"], 1000);
    assert_eq!(first.stop().0, 0);
    let (record, away) = (scratch.state().join("context_log"), scratch.state().join("away"));
    fs::rename(&record, &away).unwrap();
    fs::write(&record, "").unwrap();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let (status, reply) = change(&server, &json!({"maxReadBytes": 10}));
    assert_eq!((status, &reply["error"]), (503, &"unavailable".into()), "{reply}");
    assert!(reply["message"].to_string().contains("the record cannot be written"), "{reply}");
    let now = (settings_text(&scratch), config(&server, &agent)["maxReadBytes"].clone());
    assert_eq!(now, (COMMENTED.to_owned(), 1000.into()), "the file is as it was");
    fs::remove_file(&record).unwrap();
    fs::rename(&away, &record).unwrap();
    assert_eq!(change(&server, &json!({"maxReadBytes": 10})).0, 200, "the control");
}

#[test]
fn a_call_that_waited_is_decided_by_the_rules_of_the_time_when_it_runs() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let park = |name: &str| {
        let args = json!({"path": name, "content": "x"});
        let (status, reply) = server.execute(&agent, "write_file", args);
        assert_eq!((status, &reply["error"]), (403, &"approval_required".into()), "{reply}");
        reply["call"].as_str().unwrap().to_owned()
    };
    let outcome = |id: &str| {
        let answer = json!({"decision": "approve"});
        assert_eq!(server.post(&approver, &format!("/api/approvals/{id}"), &answer).0, 200);
        let outcome = || server.get(&agent, &format!("/api/calls/{id}")).1;
        wait_until(|| !outcome()["outcome"].is_null());
        outcome()["outcome"].to_string()
    };
    let (before, after) = (park("a.txt"), park("b.txt"));
    outcome(&before);
    assert!(scratch.work().join("a.txt").exists(), "the control");
    scratch.put_at(RULES, rule("no-writes", "write_file"));
    let is_refused = || {
        let args = json!({"path": "c.txt", "content": "x"});
        server.execute(&agent, "write_file", args).1["error"] == "policy_denied"
    };
    wait_until(is_refused);
    let told = outcome(&after);
    assert!(told.contains("no-writes"), "{told}");
    assert!(!scratch.work().join("b.txt").exists());
}

#[test]
fn a_change_resets_no_counts_and_forgets_no_confirmation() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, "[policy]\nsession_bytes = 100\n");
    let writes = "[[rule]]\nid = \"writes\"\ntool = \"write_file\"\neffect = \"allow\"\n";
    scratch.put_at(RULES, writes);
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let write = |name: &str| {
        let args = json!({"path": name, "content": "x".repeat(40)});
        server.execute(&agent, "write_file", args).0
    };
    assert_eq!((write("a"), write("b")), (200, 200));
    let remove = json!({"command": "rm -r old", "description": "x"});
    let (_, first) = server.execute(&agent, "clemini/bash", remove.clone());
    assert!(first.to_string().contains("NEEDS_CONFIRMATION"), "{first}");
    assert_eq!(change(&server, &json!({"maxReadBytes": 2000})).0, 200);
    scratch.put_at(RULES, format!("{writes}{}", rule("no-time", "get_time")));
    wait_until(|| server.execute(&agent, "get_time", json!({})).0 == 403);
    assert_eq!(write("c"), 403, "40 more would be 120");
    let mut confirmed = remove;
    confirmed["confirmed"] = true.into();
    let (_, second) = server.execute(&agent, "clemini/bash", confirmed.clone());
    assert!(!second.to_string().contains("NEEDS_CONFIRMATION"), "{second}");
    confirmed["command"] = "rm -r other".into();
    let (_, other) = server.execute(&agent, "clemini/bash", confirmed);
    assert!(other.to_string().contains("NEEDS_CONFIRMATION"), "the control: {other}");
    // The limit itself can change, and counts what was written under the old one.
    let admin = server.token("admin");
    let (status, reply) =
        server.post(&admin, "/api/settings", &json!({"policy.session_bytes": 130}));
    assert_eq!(status, 200, "{reply}");
    assert_eq!((write("c"), write("d")), (200, 403));
}

#[test]
fn commands_obey_changed_limits_and_tasks_go_on() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, "[sandbox]\nopen_files = 100\n");
    let rules = "[[rule]]\nid = \"commands\"\ntool = \"clemini/bash\"\neffect = \"allow\"\n";
    scratch.put_at(RULES, rules);
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let bash = |args: Value| server.execute(&agent, "clemini/bash", args).1;
    let open_files = || bash(json!({"command": "ulimit -n"}))["stdout"].clone();
    assert_eq!(open_files().as_str().map(str::trim), Some("100"));
    let task = bash(json!({"command": "sleep 1000", "run_in_background": true}));
    let id = json!({"task_id": task["task_id"]});
    let (status, reply) =
        server.post(&server.token("admin"), "/api/settings", &json!({"sandbox.open_files": 200}));
    assert_eq!((status, &reply["needs_restart"]), (200, &Value::Null), "{reply}");
    assert_eq!(open_files().as_str().map(str::trim), Some("200"));
    let (_, shown) = server.execute(&agent, "clemini/task_output", id.clone());
    assert_eq!(shown["status"], "running", "{shown} {task}");
    let (status, ended) = server.execute(&agent, "clemini/kill_shell", id.clone());
    assert_eq!(status, 200, "{ended}");
    let (_, shown) = server.execute(&agent, "clemini/task_output", id);
    assert_ne!(shown["status"], "running", "{shown}");
}

#[test]
fn the_sandbox_root_and_all_tools_are_switched_at_once() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "workspace");
    scratch.put_at("elsewhere/a.txt", "elsewhere");
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let read = || server.execute(&agent, "read_file", json!({"path": "a.txt"}));
    assert_eq!(read().1["result"]["content"], "workspace");
    let root = scratch.path("elsewhere");
    let (status, reply) = change(&server, &json!({"sandboxRoot": root}));
    assert_eq!((status, &reply["config"]["sandboxRoot"]), (200, &json!(root)), "{reply}");
    assert_eq!(read().1["result"]["content"], "elsewhere");
    let other = server.execute(&agent, "clemini/read_file", json!({"file_path": "a.txt"}));
    assert!(other.1.to_string().contains("workspace"), "other catalogues stay: {}", other.1);
    assert_eq!(change(&server, &json!({"sandboxRoot": null, "enabled": false})).0, 200);
    assert_eq!(read().0, 403);
    assert_eq!(server.execute(&agent, "clemini/read_file", json!({"file_path": "a.txt"})).0, 403);
    let (status, tools) = server.get(&agent, "/api/tools");
    assert_eq!((status, &tools["enabled"], &tools["count"]), (200, &false.into(), &0.into()));
    assert_eq!(change(&server, &json!({"enabled": true})).0, 200);
    assert_eq!(read().1["result"]["content"], "workspace");
    let (status, reply) = server.get(&agent, "/api/settings");
    assert_eq!((status, &reply["error"]), (403, &"role_not_allowed".into()));
    let admin = server.token("admin");
    let (status, reply) = server.post(&admin, "/api/settings", &json!({"mod": "x", "roots": 1}));
    assert_eq!((status, reply["errors"].as_array().map(Vec::len)), (422, Some(2)), "{reply}");
}

#[test]
fn settings_with_which_the_server_could_not_start_are_refused() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, COMMENTED);
    let server = RunningServer::start(&scratch);
    let admin = server.token("admin");
    let post = |body: &Value| server.post(&admin, "/api/settings", body);
    let missing = scratch.path("no-such.pem").display().to_string();
    let missing = missing.as_str();
    let pipe = scratch.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    let pipe = pipe.display().to_string();
    for (body, why) in [
        (json!({"serve.address": "0.0.0.0:7766"}), "can be reached from other machines"),
        (json!({"serve.address": "somewhere"}), "is no address to listen on"),
        (json!({"serve.address": "unix:/no/such/folder/socket"}), "cannot listen on"),
        (json!({"serve.tls_key": missing}), "`serve.tls_certificate` is not set"),
        (json!({"serve.tls_key": missing, "serve.tls_certificate": missing}), "no-such.pem"),
        (json!({"serve.tls_key": pipe, "serve.tls_certificate": pipe}), "not a regular file"),
        (json!({"otlp.endpoint": "nonsense"}), "spans cannot be exported"),
        (json!({"roots": [missing]}), "cannot be a root"),
    ] {
        let (status, reply) = post(&body);
        assert_eq!((status, &reply["error"]), (422, &"invalid_settings".into()), "{reply}");
        assert!(reply["errors"].to_string().contains(why), "{why}: {reply}");
        assert_eq!(settings_text(&scratch), COMMENTED, "{body}");
    }
    let (status, reply) = post(&json!({"serve.address": "127.0.0.1:7799"}));
    assert_eq!((status, &reply["needs_restart"][0]["new"]), (200, &"127.0.0.1:7799".into()));
    // What was wrong on disk before keeps nobody from other changes, and from setting it right.
    let wrong = "[serve]\naddress = \"0.0.0.0:7766\"\n";
    replace(&scratch, SETTINGS, wrong);
    let (status, reply) = post(&json!({"serve.max_connections": 70}));
    assert_eq!(status, 200, "{reply}");
    let (status, reply) = post(&json!({"serve.address": "127.0.0.1:7766"}));
    assert_eq!(status, 200, "{reply}");
    assert_eq!(post(&json!({"serve.address": "0.0.0.0:7766"})).0, 422, "it would be worse");
}
