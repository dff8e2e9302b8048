//! The record under fire, and what is told from it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{Durability, Effect, ErrorKind, Event, Moment, Recorder, SessionId, Usage};
use toolcrib_ledger::{Previews, RecordFile, Redactor, State};

use crate::scratch::{Scratch, Session, User, users};

fn verified(scratch: &Scratch) -> Value {
    let got = scratch.run(["audit", "verify", "--json"]);
    let value = got.json();
    assert_eq!(value["ok"] == true, got.code == 0, "{value}");
    value
}

#[test]
fn kills_at_any_moment_leave_no_change_off_the_record() {
    const CALLS: u64 = 1000;
    let scratch = Scratch::new();
    let content = |number: u64| format!("{number}\n").repeat(50);
    let (mut asked, mut rounds, mut noted) = (0, 0, 0);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while asked < CALLS {
        rounds += 1;
        let mut lines = String::new();
        for _ in 0..25 {
            let args = json!({"file_path": format!("f{}", asked % 40), "content": content(asked)});
            lines += &json!({"id": asked, "tool": "clemini/write_file", "args": args}).to_string();
            lines.push('\n');
            asked += 1;
        }
        scratch.put_at("lines", &lines);
        let mut child = scratch
            .command()
            .args(["--yes", "call", "--batch", "--jobs", "8"])
            .stdin(fs::File::open(scratch.path("lines")).unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Any moment from its start to its end, which some of them reach: by the clock, and, however slow the
        // machine is, from its first reply on.
        if rounds % 2 == 0 {
            std::thread::sleep(Duration::from_micros(2000 + state % 40_000));
        } else {
            let _ = child.stdout.as_mut().unwrap().read(&mut [0]).unwrap();
            std::thread::sleep(Duration::from_micros(state % 10_000));
        }
        let _ = child.kill();
        let said = child.wait_with_output().unwrap();
        noted +=
            String::from_utf8_lossy(&said.stderr).matches("Toolcrib was killed during").count();
    }
    // Whoever comes next notes what the last one left torn.
    scratch.run(["call", "nachos/calculator", "expression=1"]);
    // What is in a file is what one call wrote, whole; and that call is on the record as begun before.
    let record = scratch.record();
    let begun: HashSet<String> = record
        .iter()
        .filter(|line| line["event"] == "started")
        .map(|line| line["trace_id"].as_str().unwrap().to_owned())
        .collect();
    let mut wrote: HashMap<String, String> = HashMap::new();
    let writes = |line: &&Value| line["event"] == "asked" && line["name"] == "write_file";
    for line in record.iter().filter(writes) {
        let args: Value = serde_json::from_str(line["args_preview"].as_str().unwrap()).unwrap();
        wrote.insert(
            args["content"].as_str().unwrap().to_owned(),
            line["trace_id"].as_str().unwrap().to_owned(),
        );
    }
    let mut files = 0;
    for entry in fs::read_dir(scratch.work()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with('f') {
            let text = fs::read_to_string(&path).unwrap();
            let call = wrote.get(&text).unwrap_or_else(|| panic!("torn or unrecorded: {path:?}"));
            assert!(begun.contains(call), "{call} changed {path:?} and never began");
            files += 1;
        }
    }
    let whole = verified(&scratch);
    assert_eq!(whole["ok"], true, "{whole}");
    let ended = record.iter().filter(|line| line["event"] == "ended").count();
    let lost = record.iter().filter(|line| line["event"] == "lost").count();
    assert!(rounds >= 40 && files > 5 && begun.len() > 50, "{rounds} {files} {}", begun.len());
    assert!(lost > 0 && noted > 0, "kills met no call under way: {lost} {noted} {ended}");
    // Nothing stays unknown twice: every call that began has ended, or was said to be lost.
    scratch.run(["call", "nachos/calculator", "expression=1"]);
    let last = scratch.run(["audit", "search", "--outcome", "open", "--json", "-n", "1000"]);
    let open = last.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let open = open.map(|call| call["call"].as_str().unwrap().to_owned());
    let left: Vec<String> = open.filter(|call| begun.contains(call)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_call_that_died_is_told_at_the_next_start_and_can_be_taken_back() {
    let scratch = Scratch::new();
    scratch.put("a", "before");
    let mut session = Session::start(&scratch, &[]);
    session.call("clemini/write_file", json!({"file_path": "a", "content": "after"}));
    session.ask("clemini/bash", json!({"command": "touch begun; sleep 100"}));
    while !scratch.work().join("begun").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let open = scratch.run(["audit", "search", "--tool", "bash", "--json"]).json();
    assert_eq!(open["outcome"], "open", "{open}");
    session.kill();
    // Whoever asks before the next call is told, too.
    let unknown = scratch.run(["audit", "search", "--outcome", "unknown", "--json"]).json();
    assert_eq!(unknown["call"], open["call"], "{unknown}");
    let got = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
    assert!(got.stderr.contains("Toolcrib was killed during `clemini/bash`"), "{}", got.stderr);
    let id = got.stderr.split("audit show ").nth(1).unwrap().split('`').next().unwrap();
    let shown = scratch.run(["audit", "show", id]).stdout;
    assert!(shown.contains("unknown") && shown.contains("touch begun"), "{shown}");
    // Once is enough; what had ended is not in doubt, and what is no file of ours holds nobody up.
    let entering = scratch.state().join("live/.01A");
    fs::write(&entering, "").unwrap();
    let pipe = scratch.state().join("live/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    let got = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
    assert!(got.stderr.is_empty(), "{}", got.stderr);
    assert!(entering.exists(), "whoever is about to enter is let");
    assert_eq!(verified(&scratch)["ok"], true);
}

#[test]
fn a_full_disk_stops_what_changes_and_not_what_reads() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("a", "text");
        let program = env!("CARGO_BIN_EXE_toolcrib");
        // A disk of its own, for whoever runs this.
        let script = format!(
            "mount -t tmpfs -o size=512k,mode=700 none \"$TOOLCRIB_STATE\" &&
             {program} --yes call clemini/write_file file_path=b content=one --json &&
             {{ head -c 600000 /dev/zero > \"$TOOLCRIB_STATE/filler\" 2>/dev/null; true; }} &&
             {program} call clemini/read_file file_path=a --json; echo read $?;
             {program} --yes call clemini/write_file file_path=b content=two --json; echo write $?;
             rm \"$TOOLCRIB_STATE/filler\";
             {program} --yes call clemini/write_file file_path=b content=three --json; echo again $?;
             {program} audit verify"
        );
        scratch.put_at("state/", "");
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        let template = scratch.command();
        for (name, value) in template.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.current_dir(scratch.work());
        if user == User::Nobody {
            use std::os::unix::process::CommandExt;
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(out.contains("read 0"), "{out}{err}");
        assert!(err.contains("warning: the record cannot be written"), "{out}{err}");
        assert!(out.contains("write 1") && out.contains("was not run"), "{out}{err}");
        assert!(out.contains("again 0"), "{out}{err}");
        assert!(out.contains("The record is whole"), "{out}{err}");
        assert_eq!(scratch.text("b"), "three");
    }
}

/// Records calls of one tool in one hour of the past, as if they had been made then.
fn calls(recorder: &RecordFile, hours_ago: i64, count: u64, elapsed_us: u64, version: &str) {
    let hour = jiff::SignedDuration::from_hours(hours_ago);
    let at = jiff::Timestamp::now().checked_sub(hour).unwrap();
    for number in 0..count {
        let (id, session) = (toolcrib_ledger::new_call_id(), SessionId("past".to_owned()));
        let event =
            |moment| Event { at, call: &id, session: &session, tool: "nachos/calculator", moment };
        let asked = Moment::Asked { args: "{}", digest: "d".to_owned(), effect: Effect::None };
        recorder.record(&event(asked), Durability::Buffered).unwrap();
        let error = (number % 50 == 0).then_some((ErrorKind::Failed, "it failed"));
        // No two calls take exactly as long.
        let elapsed_us = elapsed_us + number * elapsed_us / count / 4;
        let ended = Moment::Ended {
            touched: None,
            has_task: false,
            error,
            elapsed_us,
            version: Some(version),
            reply: "{}",
            usage: Usage::default(),
        };
        recorder.record(&event(ended), Durability::Written).unwrap();
    }
}

#[test]
fn a_tool_that_got_slower_is_found_kept_out_and_let_in_again() {
    let scratch = Scratch::new();
    let state = State::open(&scratch.state()).unwrap();
    let recorder = RecordFile::new(&state, Previews::On, Redactor::default(), json!({}));
    calls(&recorder, 48, 200, 1000, "a");
    calls(&recorder, 1, 40, 1050, "a");
    drop(recorder);
    let add = || {
        scratch
            .run(["-c", "stats.quarantine=high", "call", "nachos/calculator", "expression=1+1"])
            .code
    };
    let regression = |flags: &[&str]| {
        let words = [flags, &["stats", "regression", "nachos/calculator", "--json"]].concat();
        scratch.run(words).json()["regression"].clone()
    };
    assert_eq!(regression(&[])["regression"]["detected"], false);
    let recorder = RecordFile::new(&state, Previews::On, Redactor::default(), json!({}));
    calls(&recorder, 0, 200, 4000, "a");
    drop(recorder);
    // The next call finds it, though nobody asks for the figures.
    assert_eq!(add(), 3);
    let found = regression(&["-c", "stats.quarantine=high"]);
    assert_eq!(found["regression"]["severity"], "high", "{found}");
    assert_eq!(found["baseline"]["sampleSize"], 200, "{found}");
    for key in ["avgExecutionMs", "p95ExecutionMs", "errorRate", "periodStart", "periodEnd"] {
        assert!(!found["current"][key].is_null(), "{key}: {found}");
    }
    // Found, it is kept out, and that is on the record.
    assert_eq!(add(), 3);
    let stats = scratch.run(["stats", "--json"]).json();
    assert!(stats["tools"][0]["keptOutSince"].is_string(), "{stats}");
    assert!(scratch.run(["stats"]).stdout.contains("kept out since"));
    assert!(scratch.record().iter().any(|line| line["event"] == "quarantined"));
    let got = scratch.run(["stats", "clear", "regression", "nachos/calculator", "--json"]).json();
    assert_eq!(got["action"], "baseline_reset", "{got}");
    assert!(got["newBaseline"]["avgExecutionMs"].as_f64().unwrap() > 3.0, "{got}");
    // Once more, with nothing new: it is the same.
    let again = scratch.run(["stats", "clear", "regression", "nachos/calculator", "--json"]).json();
    assert_eq!(again["newBaseline"]["avgExecutionMs"], got["newBaseline"]["avgExecutionMs"]);
    assert_eq!(add(), 0);
    assert_eq!(regression(&[])["regression"]["detected"], false);
}

#[test]
fn another_version_is_compared_with_the_one_before_it() {
    let scratch = Scratch::new();
    let state = State::open(&scratch.state()).unwrap();
    let recorder = RecordFile::new(&state, Previews::On, Redactor::default(), json!({}));
    // Both of this day: no span of time would tell them apart.
    calls(&recorder, 1, 100, 1000, "a");
    calls(&recorder, 0, 100, 2000, "b");
    drop(recorder);
    let found = scratch.run(["stats", "regression", "calculator", "--json"]).json();
    let found = &found["regression"];
    assert_eq!(found["baseline"]["versions"], json!(["a"]), "{found}");
    assert_eq!(found["current"]["versions"], json!(["b"]), "{found}");
    assert_eq!(found["regression"]["severity"], "high", "{found}");
}

#[test]
fn old_files_are_packed_and_removed_and_the_record_stays_whole() {
    let scratch = Scratch::new();
    let state = State::open(&scratch.state()).unwrap();
    let recorder = RecordFile::new(&state, Previews::On, Redactor::default(), json!({}));
    for hours_ago in [24 * 20, 24 * 10, 48, 3] {
        calls(&recorder, hours_ago, 20, 1000, "a");
    }
    drop(recorder);
    let before = scratch.run(["stats", "errors", "--json"]).stdout;
    let names = || -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(scratch.state().join("context_log"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("ctx-"))
            .collect();
        names.sort();
        names
    };
    let packed = names();
    assert_eq!(packed.iter().filter(|name| name.contains(".gz")).count(), 3, "{packed:?}");
    assert_eq!(verified(&scratch)["lines"], 161);
    assert_eq!(scratch.run(["stats", "errors", "--json"]).stdout, before);
    scratch.run(["stats", "rebuild"]);
    assert_eq!(scratch.run(["stats", "errors", "--json"]).stdout, before);
    let found =
        scratch.run(["audit", "search", "--tool", "calculator", "--json", "-n", "1000"]).stdout;
    assert_eq!(found.lines().count(), 80);
    scratch.run(["-c", "record.keep_days=15", "stats"]);
    assert_eq!(names().len(), packed.len(), "one went, and one came for the note");
    let whole = verified(&scratch);
    assert_eq!((&whole["ok"], &whole["first"]), (&json!(true), &json!(42)), "{whole}");
    // What was folded stays.
    assert_eq!(scratch.run(["stats", "errors", "--json"]).stdout, before);
}

#[test]
fn what_was_done_can_be_found_and_told() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\ntwo\n");
    scratch
        .call("clemini/edit", r#"{"file_path": "a.txt", "old_string": "two", "new_string": "2"}"#);
    scratch.call("clemini/bash", r#"{"command": "echo printed; exit 3"}"#);
    scratch.run(["call", "wink/create_file", "path=b", "content=x"]);
    scratch.run(["call", "wink/read_file", "path=none"]);
    let search = |flags: &[&str]| -> Vec<Value> {
        let words = [&["audit", "search", "--json"], flags].concat();
        let got = scratch.run(words);
        got.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(search(&[]).len(), 4);
    let one = |flags: &[&str]| {
        let found = search(flags);
        assert_eq!(found.len(), 1, "{flags:?}: {found:?}");
        found[0].clone()
    };
    assert_eq!(one(&["--outcome", "refused"])["tool"], "wink/create_file");
    assert_eq!(one(&["--outcome", "error"])["error"], "not_found");
    assert_eq!(one(&["--tool", "clemini/bash"])["by"], "--yes");
    assert_eq!(one(&["--text", "PRINTED", "--since", "1h"])["tool"], "clemini/bash");
    assert!(search(&["--until", "1h"]).is_empty());
    assert_eq!(search(&["--actor", "--yes"]).len(), 0, "a flag is no one");
    assert_eq!(search(&["--actor=--yes"]).len(), 2);
    let edit = one(&["--tool", "edit"]);
    let shown = scratch.run(["audit", "show", edit["call"].as_str().unwrap()]).stdout;
    for part in [
        "clemini/edit ok",
        "asked:",
        "decided:",
        "said --yes",
        "a.txt",
        "- two",
        "+ 2",
        "take back:",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let bash = one(&["--tool", "bash"]);
    let shown = scratch.run(["audit", "show", bash["call"].as_str().unwrap(), "--json"]).json();
    assert_eq!(
        (&shown["output_saved"], &shown["outcome"]),
        (&json!(true), &json!("ok")),
        "{shown}"
    );
    assert_eq!(shown["directory"], scratch.work().display().to_string());
    let lines = scratch.record();
    let started = lines.iter().find(|line| line["terms"].is_string()).unwrap();
    assert!(started["terms"].as_str().unwrap().starts_with("strict; memory"), "{started}");
    let tail = scratch.run(["audit", "tail", "-n", "2"]).stdout;
    assert!(tail.lines().count() == 2 && tail.contains("not_found"), "{tail}");
    let csv = scratch.run(["audit", "export", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.contains("\"'--yes\""), "no cell is a formula: {csv}");
    let lines = scratch.run(["audit", "export", "--tool", "edit"]).stdout;
    assert_eq!(lines.lines().count(), 5, "{lines}");
    for (words, code) in [
        (&["audit", "show", "nope"][..], 1),
        (&["audit", "search", "--since", "yesterday"], 2),
        (&["audit", "search", "--limit", "0"], 2),
        (&["stats", "errors", "nope"], 1),
        (&["stats", "clear", "errors", "nope"], 1),
    ] {
        let got = scratch.run(words);
        assert_eq!(got.code, code, "{words:?}: {}", got.stderr);
        assert!(got.stderr.starts_with("error: "), "{words:?}: {}", got.stderr);
    }
}

#[test]
fn following_shows_lines_as_they_come() {
    use std::io::{BufRead, BufReader};
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/echo", "text=first"]);
    let mut child = scratch
        .command()
        .args(["audit", "tail", "-f", "-n", "1", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"event\":\"ended\""));
    scratch.run(["call", "forgekeeper/echo", "text=second"]);
    let next = lines.next().unwrap().unwrap();
    assert!(next.contains("second") && next.contains("\"event\":\"asked\""), "{next}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_clock_that_was_ahead_hides_and_removes_nothing() {
    let scratch = Scratch::new();
    let state = State::open(&scratch.state()).unwrap();
    let recorder = RecordFile::new(&state, Previews::On, Redactor::default(), json!({}));
    calls(&recorder, 48, 5, 1000, "a");
    calls(&recorder, -24 * 365, 5, 1000, "a");
    calls(&recorder, 1, 5, 1000, "a");
    drop(recorder);
    let count = |words: &[&str]| {
        let all = [&["audit"], words, &["--tool", "calculator"]].concat();
        scratch.run(all).stdout.matches("\"trace_id\"").count()
    };
    assert_eq!(count(&["export", "--until", "0s"]), 20, "ten calls of two lines");
    assert_eq!(count(&["export"]), 30);
    let found = scratch.run(["audit", "search", "--until", "0s", "--json"]).stdout;
    assert_eq!(found.lines().count(), 10, "{found}");
}

#[test]
fn a_clock_that_is_ahead_removes_nothing() {
    let scratch = Scratch::new();
    let state = State::open(&scratch.state()).unwrap();
    let recorder = RecordFile::new(&state, Previews::On, Redactor::default(), json!({}));
    for hours_ago in [24 * 20, 48, 3, 0] {
        calls(&recorder, hours_ago, 5, 1000, "a");
    }
    let mut stats = toolcrib_ledger::Stats::open(&state).unwrap();
    stats.fold().unwrap();
    let now = jiff::Timestamp::now();
    let later = now.checked_add(jiff::SignedDuration::from_hours(24 * 365)).unwrap();
    assert_eq!(stats.tidy(&recorder, later, 30).unwrap().removed, 0);
    assert_eq!(stats.tidy(&recorder, now, 15).unwrap().removed, 1, "the control");
    assert_eq!(verified(&scratch)["ok"], true);
}

#[test]
fn a_command_that_was_left_running_and_died_is_told() {
    let scratch = Scratch::new();
    let mut session = Session::start(&scratch, &[]);
    let args = json!({"command": "touch begun; sleep 100", "run_in_background": true});
    session.call("clemini/bash", args);
    while !scratch.work().join("begun").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    session.kill();
    let got = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
    assert!(got.stderr.contains("Toolcrib was killed during `clemini/bash`"), "{}", got.stderr);
    let found = scratch.run(["audit", "search", "--tool", "bash", "--json"]).json();
    assert_eq!(found["outcome"], "unknown", "{found}");
    let got = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
    assert!(got.stderr.is_empty(), "{}", got.stderr);
}

#[test]
fn a_legacy_form_that_cannot_be_written_takes_nothing_away() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.state().join("tools_audit.jsonl")).unwrap();
    rustix::fs::chmod(scratch.state(), rustix::fs::Mode::RWXU).unwrap();
    let legacy = ["-c", "record.legacy=on", "call", "forgekeeper/echo", "text=hello"];
    let got = scratch.run(legacy);
    assert!(got.stderr.contains("tools_audit.jsonl"), "{}", got.stderr);
    let found = scratch.run(["audit", "search", "--tool", "echo", "--json"]).json();
    assert_eq!(found["outcome"], "ok", "{found}");
}

#[test]
fn settings_grants_and_the_legacy_form_are_recorded_too() {
    let scratch = Scratch::new();
    let legacy = ["-c", "record.legacy=on", "call", "forgekeeper/echo", "text=hello"];
    scratch.run(legacy);
    let text = fs::read_to_string(scratch.state().join("tools_audit.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&line["name"], &line["status"]), (&json!("echo"), &json!("ok")));
    assert_eq!(line["args_preview"], "{\"text\":\"hello\"}");
    scratch.run(["--mode", "strict", "call", "forgekeeper/echo", "text=hello"]);
    let tail = scratch.run(["audit", "tail", "-n", "100", "--json"]).stdout;
    let settings: Vec<Value> = tail
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["event"] == "settings")
        .collect();
    assert_eq!(settings.len(), 2, "{tail}");
    assert_eq!(settings[1]["detail"]["mode"]["value"], "strict", "{tail}");
}

#[test]
fn nothing_in_the_files_can_mislead_a_terminal() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/echo", "text=a\u{1b}[2J\u{2028}\u{85}b"]);
    let record = scratch.state().join("context_log");
    for entry in fs::read_dir(record).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(['\u{1b}', '\u{2028}', '\u{85}']), "{text}");
    }
}
