//! Settings and rules that change while `toolcrib serve` runs.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Where the operator's settings are.
const SETTINGS: &str = "home/.config/toolcrib/config.toml";

/// Where the operator's rules are.
const RULES: &str = "home/.config/toolcrib/rules.toml";

const COMMENTED: &str =
    "# mine\nmode = \"standard\" # why\n\n[forgekeeper]\n# small\nmax_read_bytes = 1000\n";

fn settings_text(scratch: &Scratch) -> String {
    fs::read_to_string(scratch.path(SETTINGS)).unwrap_or_default()
}

fn rule(id: &str, tool: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\ntool = \"{tool}\"\neffect = \"deny\"\n")
}

/// Puts a file in the place of another, as editors do.
fn replace(scratch: &Scratch, path: &str, text: &str) {
    let fresh = format!("{path}.fresh");
    scratch.put_at(&fresh, text);
    fs::rename(scratch.path(&fresh), scratch.path(path)).unwrap();
}

fn config(server: &RunningServer<'_>, token: &str) -> Value {
    let (status, reply) = server.get(token, "/api/tools/config");
    assert_eq!(status, 200, "{reply}");
    reply["config"].clone()
}

fn change(server: &RunningServer<'_>, body: &Value) -> (u16, Value) {
    server.post(&server.token("admin"), "/api/tools/config", body)
}

fn state(server: &RunningServer<'_>) -> Value {
    let (status, reply) = server.get(&server.token("admin"), "/api/settings");
    assert_eq!(status, 200, "{reply}");
    reply["state"].clone()
}

fn echo(server: &RunningServer<'_>) -> u16 {
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
        json!({"bashEnabled": true, "maxReadBytes": 0, "allowlist": [], "sandboxRoot": "here",
               "httpFetchEnabled": true}),
        "invalid_settings",
        &["maxReadBytes", "allowlist", "sandboxRoot", "httpFetchEnabled"],
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
fn rules_that_change_on_disk_are_taken_up_and_wrong_ones_are_not() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    assert_eq!(echo(&server), 200);
    let admin = server.token("admin");
    let (status, reply) =
        server.post(&admin, "/api/rules", &json!({"toml": rule("no-echo", "echo")}));
    assert_eq!((status, echo(&server)), (200, 403), "rules that are added hold at once: {reply}");
    assert_eq!(server.send(&admin, "DELETE", "/api/rules/no-echo", "", "").0, 200);
    assert_eq!(echo(&server), 200);
    scratch.put_at(RULES, rule("no-echo", "echo"));
    wait_until(|| echo(&server) == 403);
    // A file with an error: the old rule goes on to refuse.
    replace(&scratch, RULES, "[[rule]]\ntool = \"echo\"\neffect = \"alow\"\n");
    wait_until(|| !state(&server)["errors"].as_array().unwrap().is_empty());
    let errors = state(&server)["errors"].to_string();
    assert!(errors.contains("rules.toml") && errors.contains("alow"), "{errors}");
    assert_eq!(echo(&server), 403);
    let (status, reply) = change(&server, &json!({"maxReadBytes": 5}));
    assert_eq!((status, &reply["error"]), (409, &"settings_files_wrong".into()), "{reply}");
    let rejected = |it: &&Value| it["act"] == "settings" && it["event"] == "rejected";
    assert_eq!(scratch.record().iter().filter(rejected).count(), 1, "it is said once");
    replace(&scratch, RULES, &rule("no-time", "get_time"));
    wait_until(|| echo(&server) == 200);
    assert_eq!(state(&server)["errors"], json!([]));
    let record = scratch.record();
    let note = record.iter().rfind(|it| it["act"] == "settings").unwrap();
    assert_eq!((&note["actor"], &note["event"]), (&"system".into(), &"changed".into()));
    assert_eq!(
        (&note["detail"]["rules"]["added"], &note["detail"]["rules"]["removed"]),
        (&json!(["no-time"]), &json!(["no-echo"])),
        "{note}"
    );
    let time = || server.execute(&server.token("agent"), "get_time", json!({})).0;
    assert_eq!(time(), 403);
    // Its whole folder goes away, and with it the rule.
    let folder = scratch.path("home/.config/toolcrib");
    fs::rename(&folder, scratch.path("home/.config/away")).unwrap();
    wait_until(|| time() == 200);
    fs::rename(scratch.path("home/.config/away"), &folder).unwrap();
    wait_until(|| time() == 403);
}

#[test]
fn settings_that_change_on_disk_are_taken_up_and_some_after_a_restart() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    // The file and its folder appear.
    scratch.put_at(SETTINGS, "[forgekeeper]\nmax_write_bytes = 7\n");
    wait_until(|| config(&server, &agent)["maxWriteBytes"] == 7);
    let set = scratch.run(["config", "set", "forgekeeper.bash", "on"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    wait_until(|| config(&server, &agent)["bashEnabled"] == true);
    replace(&scratch, SETTINGS, "mode = \"loose\"\n[forgekeeper]\nbash = \"off\"\n");
    wait_until(|| !state(&server)["errors"].as_array().unwrap().is_empty());
    assert_eq!(config(&server, &agent)["bashEnabled"], true, "not half of it");
    replace(&scratch, SETTINGS, "[serve]\nbody_bytes = 4096\n[forgekeeper]\nmax_write_bytes = 8\n");
    wait_until(|| config(&server, &agent)["maxWriteBytes"] == 8);
    let waiting = state(&server)["needs_restart"].clone();
    assert_eq!(
        (&waiting[0]["setting"], &waiting[0]["new"]),
        (&"serve.body_bytes".into(), &4096.into())
    );
    let long = "x".repeat(8000);
    let (status, reply) = server.execute(&agent, "echo", json!({"text": long}));
    assert_eq!(status, 200, "the old limit holds: {reply}");
    // The project's file counts, as far as it tightens.
    scratch.put(".toolcrib/config.toml", "[forgekeeper]\nmax_write_bytes = 3\n");
    wait_until(|| config(&server, &agent)["maxWriteBytes"] == 3);
    let (status, reply) = change(&server, &json!({"maxWriteBytes": 9}));
    assert_eq!((status, &reply["error"]), (409, &"overridden".into()), "{reply}");
    fs::remove_dir_all(scratch.work().join(".toolcrib")).unwrap();
    wait_until(|| config(&server, &agent)["maxWriteBytes"] == 8);
    // A file in the place of a link, and a signal for those who cannot wait.
    fs::write(scratch.path("dotfiles.toml"), "[forgekeeper]\nmax_write_bytes = 11\n").unwrap();
    fs::remove_file(scratch.path(SETTINGS)).unwrap();
    std::os::unix::fs::symlink(scratch.path("dotfiles.toml"), scratch.path(SETTINGS)).unwrap();
    let id = Pid::from_raw(i32::try_from(server.child.id()).unwrap()).unwrap();
    kill_process(id, Signal::HUP).unwrap();
    wait_until(|| config(&server, &agent)["maxWriteBytes"] == 11);
    assert_eq!(server.stop().0, 0, "SIGHUP did not end it");
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
fn an_error_in_the_projects_files_does_not_keep_the_operator_from_changes() {
    let scratch = Scratch::new();
    scratch.put(".toolcrib/config.toml", "[forgekeeper]\nmax_write_bytes = 3\n");
    scratch.put(".toolcrib/rules.toml", rule("no-time", "get_time"));
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    let time = || server.execute(&agent, "get_time", json!({})).0;
    assert_eq!((&config(&server, &agent)["maxWriteBytes"], time()), (&3.into(), 403));
    for (file, wrong) in [("rules.toml", "[[rule]]\n"), ("config.toml", "mode = \"loose\"\n")] {
        scratch.put(&format!(".toolcrib/{file}"), wrong);
        wait_until(|| state(&server)["errors"].to_string().contains(file));
    }
    let told = |reply: &Value| {
        let warnings = reply["warnings"].to_string();
        let is_told = ["the project's files cannot be used", ".toolcrib/config.toml"];
        assert!(is_told.iter().all(|part| warnings.contains(part)), "{reply}");
    };
    let (status, reply) = change(&server, &json!({"maxReadBytes": 9, "allowlist": ["get_time"]}));
    assert_eq!((status, &reply["config"]["maxReadBytes"]), (200, &9.into()), "{reply}");
    told(&reply);
    assert_eq!(echo(&server), 403, "it holds");
    assert!(settings_text(&scratch).contains("max_read_bytes = 9"));
    assert_eq!(change(&server, &json!({"allowlist": null})).0, 200);
    assert_eq!(echo(&server), 200);
    let (status, reply) =
        server.post(&admin, "/api/rules", &json!({"toml": rule("no-echo", "echo")}));
    assert_eq!((status, echo(&server)), (200, 403), "{reply}");
    told(&reply);
    // What the project's files said before holds, and only that can be in the way.
    assert_eq!((&config(&server, &agent)["maxWriteBytes"], time()), (&3.into(), 403));
    let (status, reply) = change(&server, &json!({"maxWriteBytes": 9}));
    assert_eq!((status, &reply["error"]), (409, &"overridden".into()), "{reply}");
    fs::remove_dir_all(scratch.work().join(".toolcrib")).unwrap();
    wait_until(|| time() == 200);
    assert_eq!(state(&server)["errors"], json!([]));
    let (status, reply) = change(&server, &json!({"maxWriteBytes": 9}));
    assert_eq!((status, &reply["warnings"]), (200, &Value::Null), "the control: {reply}");
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
    for (body, why) in [
        (json!({"serve.address": "0.0.0.0:7766"}), "can be reached from other machines"),
        (json!({"serve.address": "somewhere"}), "is no address to listen on"),
        (json!({"serve.address": "unix:/no/such/folder/socket"}), "cannot listen on"),
        (json!({"serve.tls_key": missing}), "`serve.tls_certificate` is not set"),
        (json!({"serve.tls_key": missing, "serve.tls_certificate": missing}), "no-such.pem"),
        (json!({"otlp.endpoint": "nonsense"}), "spans cannot be exported"),
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

#[test]
fn a_change_during_an_editors_save_does_not_lose_the_rules() {
    let scratch = Scratch::new();
    scratch.put_at(SETTINGS, COMMENTED);
    scratch.put_at(RULES, rule("no-echo", "echo"));
    let server = RunningServer::start(&scratch);
    assert_eq!(echo(&server), 403, "the control");
    let files = [SETTINGS, RULES].map(|file| scratch.path(file));
    let away = files.each_ref().map(|file| file.with_extension("toml~"));
    let rename = |from: &[std::path::PathBuf; 2], to: &[std::path::PathBuf; 2]| {
        from.iter().zip(to).for_each(|(from, to)| fs::rename(from, to).unwrap());
    };
    for (number, path, body) in [
        (1, "/api/tools/config", json!({"maxReadBytes": 2000})),
        (2, "/api/rules", json!({"toml": rule("no-time", "get_time")})),
    ] {
        rename(&files, &away);
        std::thread::scope(|scope| {
            let request = scope.spawn(|| server.post(&server.token("admin"), path, &body));
            // The request is on its way; these are answered under the old rules meanwhile.
            assert_eq!([echo(&server), echo(&server), echo(&server)], [403; 3]);
            rename(&away, &files);
            let (status, reply) = request.join().unwrap();
            assert_eq!((status, echo(&server)), (200, 403), "{number}: {reply}");
        });
    }
    let text = settings_text(&scratch);
    assert!(text.starts_with("# mine") && text.contains("max_read_bytes = 2000"), "{text}");
    let rules = fs::read_to_string(scratch.path(RULES)).unwrap();
    assert!(rules.contains("no-echo") && rules.contains("no-time"), "{rules}");
    let removed = |line: &Value| line["detail"]["rules"]["removed"].to_string();
    assert!(!scratch.record().iter().any(|line| removed(line).contains("no-echo")));
}
