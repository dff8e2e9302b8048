//! More about the record: what others do to its files, what is shown of it, and what it is not there for.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::scratch::{Ran, Scratch, User, users};

fn log_of(scratch: &Scratch) -> std::path::PathBuf {
    scratch.state().join("context_log")
}

#[test]
fn a_file_that_nobody_of_us_wrote_is_found_and_hides_nothing() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    assert_eq!(scratch.run(["audit", "verify"]).code, 0, "the control");
    let forged = r#"{"ts":"2026-11-15T23:05:00Z","act":"tool_call","event":"ended"}"#;
    fs::write(log_of(&scratch).join("ctx-20991231-23.jsonl"), forged).unwrap();
    let got = scratch.run(["audit", "verify"]);
    assert_eq!(got.code, 1, "{}", got.stdout);
    assert!(got.stdout.contains("ctx-20991231-23"), "{}", got.stdout);
    // Whoever follows sees what comes.
    let mut follower = scratch.command();
    follower.args(["audit", "tail", "-f", "-n", "0", "--json"]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(follower.stdout.take().unwrap()));
    let (told, hear) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Some(Ok(line)) = lines.next() {
            let _ = told.send(line);
        }
    });
    // It may not have begun to look when the first call is made.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let mut seen = None;
    while seen.is_none() && std::time::Instant::now() < until {
        scratch.run(["call", "forgekeeper/get_time", "{}"]);
        seen = hear.recv_timeout(std::time::Duration::from_millis(500)).ok();
    }
    let _ = follower.kill();
    let _ = follower.wait();
    assert!(seen.is_some_and(|line| line.contains("get_time")));
    fs::remove_file(log_of(&scratch).join("ctx-20991231-23.jsonl")).unwrap();
    // A whole line without an end in the file that is written to is none of ours, either.
    let current = fs::read_dir(log_of(&scratch)).unwrap().map(|it| it.unwrap().path());
    let current = current.into_iter().find(|it| it.extension().is_some_and(|it| it == "jsonl"));
    let mut file = fs::OpenOptions::new().append(true).open(current.unwrap()).unwrap();
    std::io::Write::write_all(&mut file, forged.as_bytes()).unwrap();
    assert_eq!(scratch.run(["audit", "verify"]).code, 1);
}

#[test]
fn a_pipe_in_the_place_of_a_file_swallows_nothing() {
    let scratch = Scratch::new();
    scratch.put("a", "x");
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let current = fs::read_dir(log_of(&scratch)).unwrap().map(|it| it.unwrap().path());
    let current = current.into_iter().find(|it| it.extension().is_some_and(|it| it == "jsonl"));
    let current = current.unwrap();
    fs::remove_file(&current).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&current).status().unwrap();
    assert!(made.success());
    let got = scratch.run(["call", "wink/read_file", "path=a"]);
    assert_eq!(got.code, 0, "{}", got.stdout);
    assert!(got.stderr.contains("is no plain file"), "{}", got.stderr);
    assert_eq!(scratch.call("clemini/write_file", r#"{"file_path": "b", "content": "x"}"#).code, 1);
    assert!(!scratch.work().join("b").exists());
}

#[test]
fn without_a_state_folder_reading_goes_on_and_nothing_is_changed() {
    let scratch = Scratch::new();
    scratch.put("a", "text of a");
    scratch.put_at("plain", "");
    let run = |words: &[&str]| -> Ran {
        let mut command = scratch.command();
        command.env("TOOLCRIB_STATE", scratch.path("plain").join("state"));
        command.args(words).stdin(Stdio::null()).output().unwrap().into()
    };
    let got = run(&["call", "wink/read_file", "path=a"]);
    assert_eq!(got.code, 0, "{}{}", got.stdout, got.stderr);
    assert!(got.stdout.contains("text of a"), "{}", got.stdout);
    assert!(got.stderr.contains("no state folder at"), "{}", got.stderr);
    let got = run(&["--yes", "call", "clemini/write_file", "file_path=b", "content=x"]);
    assert_eq!(got.code, 1, "{}{}", got.stdout, got.stderr);
    assert!(!scratch.work().join("b").exists());
    // One that is not ours alone is refused, as before.
    if users().len() > 1 {
        let scratch = Scratch::of(User::Own);
        fs::create_dir_all(scratch.state()).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(scratch.state(), open).unwrap();
        assert_eq!(scratch.run(["call", "forgekeeper/get_time", "{}"]).code, 2);
    }
}

#[test]
fn what_is_shown_of_the_record_has_no_secrets() {
    let scratch = Scratch::new();
    let key = format!("sk-proj-{}", "Zb12Cd34Ef56Gh78Ij90Kl12");
    scratch.put("conf.py", "api_key = \"placeholder\"\nname = 1\n");
    let args = format!(
        r#"{{"file_path": "conf.py", "old_string": "placeholder\"\nname = 1", "new_string": "{key}\"\nname = 2"}}"#
    );
    assert_eq!(scratch.call("clemini/edit", &args).code, 0);
    let found = scratch.run(["audit", "search", "--tool", "edit", "--json"]).json();
    let shown = scratch.run(["audit", "show", found["call"].as_str().unwrap()]).stdout;
    assert!(shown.contains("name = 2") && !shown.contains(&key), "{shown}");
    let command = format!("command=curl -H 'Authorization: Bearer {key}' https://x.example/");
    scratch.run(["call", "--park", "clemini/bash", &command]);
    for words in [&["approvals", "list"][..], &["approvals", "list", "--json"]] {
        let listed = scratch.run(words).stdout;
        assert!(listed.contains("curl") && !listed.contains(&key), "{listed}");
    }
    // What a key is cut off at does not swallow the calls behind it.
    let cut = format!("content=-----BEGIN {}-----", "PRIVATE KEY");
    scratch.run(["call", "--park", "clemini/write_file", "file_path=k", &cut]);
    scratch.run(["call", "--park", "clemini/write_file", "file_path=z", "content=three"]);
    let listed = scratch.run(["approvals", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
    // Whoever answers sees what they answer about.
    let listed = scratch.run(["approvals", "list", "--json"]).json();
    let id = listed[0]["id"].as_str().unwrap();
    assert!(scratch.run(["approvals", "show", id]).stdout.contains(&key));
}

#[test]
fn rules_that_come_and_change_are_on_the_record_and_in_an_export() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    scratch.put(
        "more.toml",
        "[[rule]]\nid = \"builds\"\nargv = [\"cargo\", \"build\"]\neffect = \"allow\"\n",
    );
    assert_eq!(scratch.run(["rules", "add", "more.toml"]).code, 0);
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let export = || -> Vec<Value> {
        let text = scratch.run(["audit", "export"]).stdout;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let lines = export();
    let added = lines.iter().find(|line| line["act"] == "rules").unwrap();
    assert_eq!(added["detail"]["rules"], serde_json::json!(["builds"]), "{added}");
    // By hand, too.
    let own = scratch.path("home/.config/toolcrib/rules.toml");
    let text = fs::read_to_string(&own).unwrap().replace("allow", "deny");
    fs::write(&own, text).unwrap();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let lines = export();
    let settings = lines.iter().filter(|line| line["event"] == "settings");
    let hashes: Vec<Value> =
        settings.map(|it| it["detail"][own.to_str().unwrap()]["rules"].clone()).collect();
    let [first, second] = &hashes[hashes.len() - 2..] else { panic!("{hashes:?}") };
    assert!(first.is_string() && second.is_string() && first != second, "{hashes:?}");
    // An export is everything, in its order.
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn what_we_say_ourselves_is_read_again() {
    let scratch = Scratch::new();
    scratch.put("a", "x");
    scratch.run(["call", "wink/read_file", "path=a"]);
    let mut command = scratch.command();
    command.env("SORT_KEY", "resources");
    let got: Ran =
        command.args(["stats", "clear", "resources", "wink/read_file"]).output().unwrap().into();
    assert_eq!(got.code, 0, "{}", got.stderr);
    let shown = scratch.run(["stats", "resources", "wink/read_file", "--json"]).json();
    assert_eq!(shown["resources"]["totalCalls"], 0, "{shown}");
}

#[test]
fn short_calls_are_measured_too() {
    let scratch = Scratch::new();
    scratch.put("a", "x".repeat(10_000));
    let line = r#"{"id": 1, "tool": "wink/read_file", "args": {"path": "a"}}"#;
    scratch.feed(["call", "--batch"], [line; 200].join("\n").as_bytes());
    let shown = scratch.run(["stats", "resources", "wink/read_file", "--json"]).json();
    let cpu = shown["resources"]["resources"]["cpu"]["totalMs"].as_f64().unwrap();
    let read = shown["resources"]["resources"]["disk"]["avgReadBytes"].as_u64().unwrap();
    // Two hundred reads take more than a millisecond of any processor's time.
    assert!(cpu > 1.0 && (10_000..20_000).contains(&read), "{shown}");
}

#[test]
fn a_damaged_file_takes_nothing_else_along() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let whole = scratch.run(["audit", "search"]).stdout;
    let before = scratch.run(["stats"]);
    assert!(before.stdout.contains("get_time"), "{}", before.stdout);
    for damage in [&b""[..], b"no gzip", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff]] {
        let file = log_of(&scratch).join("ctx-20250101-00.jsonl.gz");
        fs::write(&file, damage).unwrap();
        let found = scratch.run(["audit", "search"]);
        assert_eq!((found.code, &found.stdout), (0, &whole), "{}", found.stderr);
        for words in
            [&["audit", "search"][..], &["audit", "tail"], &["stats"], &["stats", "rebuild"]]
        {
            let got = scratch.run(words);
            assert_eq!(got.code, 0, "{words:?}: {}", got.stderr);
            let is_said =
                got.stderr.contains("ctx-20250101-00") && got.stderr.contains("audit verify");
            assert!(is_said, "{words:?}: {}", got.stderr);
        }
        let got = scratch.run(["audit", "export"]);
        assert!(got.code == 1 && got.stdout.contains("get_time"), "{}", got.stderr);
        assert_eq!(scratch.run(["audit", "verify"]).code, 1);
        fs::remove_file(file).unwrap();
    }
    assert_eq!(scratch.run(["audit", "export", "--json"]).code, 0);
    assert_eq!(scratch.run(["stats", "rebuild", "--json"]).json()["ok"], true);
}

#[test]
fn a_record_without_its_key_is_not_taken_for_an_empty_one() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    scratch.run(["stats"]);
    let key = scratch.state().join("record.key");
    let kept = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    for words in [&["audit", "search"][..], &["audit", "export"], &["stats"], &["audit", "verify"]]
    {
        let got = scratch.run(words);
        assert_ne!(got.code, 0, "{words:?}: {}", got.stdout);
        assert!((got.stdout + &got.stderr).contains("record.key"), "{words:?}");
    }
    let refused = scratch.call("clemini/write_file", r#"{"file_path": "a", "content": "x"}"#);
    assert!(refused.code != 0 && !scratch.work().join("a").exists(), "{}", refused.stderr);
    assert!(!key.exists(), "no other is made");
    fs::write(&key, kept).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&key, mode).unwrap();
    assert!(scratch.run(["stats"]).stdout.contains("get_time"), "the figures are there again");
    assert_eq!(scratch.run(["audit", "verify"]).code, 0);
}

#[test]
fn a_place_without_a_record_is_not_certified() {
    let scratch = Scratch::new();
    let mut command = scratch.command();
    let typo = scratch.path("typo");
    command.env("TOOLCRIB_STATE", &typo).args(["audit", "verify"]);
    let got: Ran = command.output().unwrap().into();
    assert_eq!(got.code, 1, "{}", got.stdout);
    assert!(got.stderr.contains("there is no record at"), "{}", got.stderr);
    assert!(!typo.exists());
}

#[test]
fn what_left_the_workspace_is_refused_and_no_failure_of_the_tool() {
    let scratch = Scratch::new();
    scratch.run(["call", "wink/read_file", "path=/etc/passwd"]);
    scratch.run(["call", "wink/read_file", "path=missing"]);
    let refused = scratch.run(["audit", "search", "--outcome", "refused"]).stdout;
    assert!(refused.contains("/etc/passwd") && !refused.contains("missing"), "{refused}");
    let stats = scratch.run(["stats", "--json"]).json();
    let tool = &stats["tools"][0];
    assert_eq!((&tool["refused"], &tool["errors"]), (&1.into(), &1.into()), "{stats}");
}

#[test]
fn figures_of_a_contract_with_codes_have_its_codes() {
    let scratch = Scratch::new();
    let told = scratch.run(["call", "--json", "forgekeeper/read_file", "path=missing"]);
    scratch.run(["call", "wink/read_file", "path=missing"]);
    assert!(told.stdout.contains("ENOENT"), "{}", told.stdout);
    let one = scratch.run(["stats", "errors", "forgekeeper/read_file", "--json"]).json();
    assert_eq!(one["stats"]["errorTypes"], serde_json::json!({"ENOENT": 1}), "{one}");
    assert_eq!(one["stats"]["lastError"]["code"], "ENOENT");
    assert_eq!(one["stats"]["firstErrorDetail"]["args"]["path"], "missing");
    let all = scratch.run(["stats", "errors", "--json"]).json();
    let codes: Vec<_> =
        all["stats"].as_array().unwrap().iter().map(|it| &it["errorTypes"]).collect();
    let expect = [serde_json::json!({"ENOENT": 1}), serde_json::json!({"not_found": 1})];
    assert_eq!(codes, expect.iter().collect::<Vec<_>>(), "{all}");
}

#[test]
fn who_said_no_elsewhere_is_in_the_story() {
    let scratch = Scratch::new();
    let parked = scratch.run(["call", "--park", "clemini/write_file", "file_path=p", "content=x"]);
    assert_ne!(parked.code, 0);
    let found = scratch.run(["audit", "search", "--json"]).json();
    let id = found["call"].as_str().unwrap();
    assert!(!scratch.run(["audit", "show", id]).stdout.contains("denied:"), "the control");
    scratch.run(["approvals", "deny", "--yes", id, "not", "today"]);
    let shown = scratch.run(["audit", "show", &id.to_lowercase()]).stdout;
    assert!(shown.contains("denied:") && shown.contains("not today"), "{shown}");
    let user = format!("user {}", rustix::process::getuid().as_raw());
    let by = scratch.run(["audit", "search", "--actor", &user, "--json"]).json();
    assert_eq!((&by["call"], &by["by"]), (&id.into(), &user.into()), "{by}");
}

#[test]
fn a_difference_that_cannot_be_shown_is_said() {
    let scratch = Scratch::new();
    scratch.put("secret", "password=hunter2hunter2\n");
    let edit = r#"{"file_path": "secret", "old_string": "hunter2hunter2", "new_string": "hunter3hunter3"}"#;
    scratch.call("clemini/edit", edit);
    scratch.put("binary", [0xff, 0xfe, 0]);
    scratch.call("clemini/write_file", r#"{"file_path": "binary", "content": "text"}"#);
    for (tool, why) in [("edit", "left out as a secret"), ("write_file", "not text")] {
        let found = scratch.run(["audit", "search", "--tool", tool, "--json"]).json();
        let shown = scratch.run(["audit", "show", found["call"].as_str().unwrap()]).stdout;
        let line = shown.lines().find(|line| line.contains(why));
        assert!(line.is_some_and(|line| !line.contains("take back")), "{shown}");
    }
}
