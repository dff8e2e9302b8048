//! Settings and rules files that change on the disk of a server.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;
use crate::server_settings::{
    COMMENTED, RULES, SETTINGS, change, config, echo, replace, rule, settings_text, state,
};

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
