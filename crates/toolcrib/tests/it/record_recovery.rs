//! Processes that die, and disks that are full: the record stays whole and tells what happened.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::audit::verified;
use crate::scratch::{Scratch, Session, User, users};

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
        assert!(out.contains("The record is intact"), "{out}{err}");
        assert_eq!(scratch.text("b"), "three");
    }
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
    assert!(got.stderr.contains("was killed during `clemini/bash`"), "{}", got.stderr);
    let found = scratch.run(["audit", "search", "--tool", "bash", "--json"]).json();
    assert_eq!(found["outcome"], "unknown", "{found}");
    let got = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
    assert!(got.stderr.is_empty(), "{}", got.stderr);
}
