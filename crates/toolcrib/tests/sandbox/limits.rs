//! Every limit strikes, and the reply says which, what is allowed and what was used.

use serde_json::{Value, json};

use crate::ground::{Session, for_all, timed_out};
use crate::scratch::{Ran, Scratch};

/// Runs a command with a setting, and returns the reply.
fn call(scratch: &Scratch, setting: &str, command: &str) -> Value {
    let args = json!({"command": command, "timeout_seconds": 60}).to_string();
    scratch.run(["--yes", "-c", setting, "call", "clemini/bash", &args, "--json"]).json()
}

#[track_caller]
fn check(setting: &str, command: &str, name: &str) {
    for_all(|scratch| {
        let reply = call(scratch, setting, command);
        assert_eq!(reply["limit"]["name"], name, "{command}: {reply}");
        assert_ne!(reply["exit_code"], 0, "{command}: {reply}");
        let told = reply["notes"].to_string();
        assert!(told.contains(&format!("the limit on {name} was reached")), "{reply}");
        assert!(reply["limit"]["enforced_by"].is_string(), "{reply}");
    });
}

#[test]
fn within_the_limits_nothing_is_told() {
    for_all(|scratch| {
        let command =
            "python3 -c 'x = bytearray(20 << 20)'; head -c 1M /dev/zero > f; seq 1000 > /tmp/x";
        let reply = call(scratch, "sandbox.memory_bytes=300000000", command);
        assert_eq!(reply, json!({"stdout": "", "stderr": "", "exit_code": 0}));
        // Exit codes that only look like a limit's.
        for code in [137, 152, 153] {
            let reply = call(scratch, "sandbox.memory_bytes=300000000", &format!("exit {code}"));
            assert!(reply.get("limit").is_none(), "{reply}");
        }
    });
}

#[test]
fn a_command_has_the_time_that_it_was_given() {
    for_all(|scratch| {
        let forgekeeper = |time: &str, command: &str| {
            let words = ["--yes", "call", "forgekeeper/run_bash", command, "--json"];
            let environment = [("FRONTEND_ENABLE_BASH", "1"), ("TOOLS_TIMEOUT_MS", time)];
            Ran::from(scratch.command().args(words).envs(environment).output().unwrap())
        };
        let got = forgekeeper("400", "command=echo begun; sleep 60");
        assert_eq!(got.code, 7, "{}", got.stdout);
        assert_eq!(got.json()["error"], "timeout");
        assert_eq!(got.json()["message"], "Tool execution exceeded 400ms");
        let got = forgekeeper("30000", "command=echo done");
        assert_eq!(got.json()["result"]["stdout"], "done\n", "the control: {}", got.stdout);

        // The operator's limit is told where it ends a command, and only there.
        let timeout = |setting: &str, seconds: u64| {
            let args = json!({"command": "sleep 60", "timeout_seconds": seconds}).to_string();
            scratch.run(["--yes", "-c", setting, "call", "clemini/bash", &args, "--json"]).json()
        };
        let cut = timeout("limits.deadline_ms=1500", 7200);
        assert_eq!(cut["error"], "Command timed out after 1500 ms", "{cut}");
        assert_eq!(cut["context"]["limit_ms"], 1500);
        assert!(cut["context"]["hint"].as_str().unwrap().contains("operator"), "{cut}");
        let own = timeout("limits.deadline_ms=60000", 1);
        assert_eq!(own["error"], "Command timed out after 1 second", "{own}");
        assert!(!own["context"]["hint"].as_str().unwrap().contains("operator"), "{own}");
    });
}

#[test]
fn memory_of_one_process() {
    check("sandbox.memory_bytes=300000000", "python3 -c 'bytearray(50 << 30)'", "memory");
    check("sandbox.memory_bytes=300000000", "python3 -c 'x = b\"x\" * (400 << 20)'", "memory");
}

#[test]
fn memory_of_all_processes_together() {
    let four = "for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(b\"x\" * (60 << 20)); \
        time.sleep(20)' & done; wait";
    for_all(|scratch| {
        let reply = call(scratch, "sandbox.memory_bytes=200000000", four);
        assert_eq!(reply["limit"]["name"], "memory", "{reply}");
        assert_eq!(reply["limit"]["enforced_by"], "watchdog", "{reply}");
        assert!(reply["limit"]["used"].as_u64().unwrap() > 200_000_000, "{reply}");
        // The control: memory that processes share is counted once.
        let shared = "python3 -c '\nimport os, time\nx = b\"x\" * (120 << 20)\nfor _ in range(3):\n  \
            if os.fork() == 0:\n    time.sleep(1); os._exit(0)\nfor _ in range(3): os.wait()'";
        let reply = call(scratch, "sandbox.memory_bytes=200000000", shared);
        assert_eq!(reply["exit_code"], 0, "{reply}");
        assert!(reply.get("limit").is_none(), "{reply}");
        // And what belongs to no process cannot be had.
        let hidden = "python3 -c 'import os; os.memfd_create(\"x\")'";
        assert_ne!(call(scratch, "sandbox.memory_bytes=200000000", hidden)["exit_code"], 0);
    });
}

#[test]
fn processes() {
    // Not as a function that calls itself: policy would not even let it begin.
    let bomb = "echo 'sh ./bomb & sh ./bomb & wait' > bomb; sh ./bomb; sleep 3; exit 1";
    check("sandbox.processes=40", bomb, "processes");
    check(
        "sandbox.processes=20",
        "python3 -c '\nimport threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(2,), daemon=True).start()'",
        "processes",
    );
}

#[test]
fn processor_time() {
    check("sandbox.cpu_seconds=1", "while :; do :; done", "cpu time");
    check(
        "sandbox.cpu_seconds=2",
        "trap '' XCPU; (while :; do :; done) & (while :; do :; done) & wait; exit 1",
        "cpu time",
    );
}

#[test]
fn size_of_a_file() {
    check("sandbox.file_bytes=1000000", "head -c 5M /dev/zero > big; exit $?", "file size");
    check(
        "sandbox.file_bytes=1000000",
        "python3 -c 'import signal; open(\"big\", \"wb\").write(b\"x\" * 5000000)'",
        "file size",
    );
}

#[test]
fn growth_of_the_workspace() {
    let many = "for i in $(seq 1000); do head -c 1M /dev/zero > f$i; done";
    check("sandbox.growth_bytes=20000000", many, "workspace growth");
    // Children that nobody waits for are counted for nobody, and their files are still there.
    let hidden = "python3 -c '\nimport os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
        for i in range(200):\n  if os.fork() == 0:\n    open(f\"h{i}\", \"wb\").write(b\"x\" * (1 << 20)); os._exit(0)\n  \
        time.sleep(0.01)\ntime.sleep(2)'; exit 1";
    check("sandbox.growth_bytes=20000000", hidden, "workspace growth");
    let files = "mkdir d; cd d; for i in $(seq 200); do touch {1..1000}.$i; done; sleep 2";
    check("sandbox.growth_files=2000", files, "new files");
    for_all(|scratch| {
        // The control: someone else's files are not this command's.
        let other = std::thread::spawn({
            let folder = scratch.path("outside");
            move || {
                for number in 0..4000 {
                    std::fs::write(folder.join(number.to_string()), "").unwrap();
                }
            }
        });
        let reply = call(scratch, "sandbox.growth_files=1000", "sleep 2");
        other.join().unwrap();
        assert_eq!(reply["exit_code"], 0, "{reply}");
        // Space that is only set aside cannot be had unseen, by neither call.
        let reply = call(scratch, "sandbox.growth_bytes=20000000", "fallocate -l 100M f");
        assert_ne!(reply["exit_code"], 0, "{reply}");
        let reserve = "python3 -c '\nimport fcntl, struct\nf = open(\"f\", \"wb\")\n\
            fcntl.ioctl(f, 0x40305828, struct.pack(\"hhqqiI4q\", 0, 0, 0, 100 << 20, 0, 0, 0, 0, 0, 0)[:48])'";
        let reply = call(scratch, "sandbox.growth_bytes=20000000", reserve);
        assert!(reply.to_string().contains("Operation not permitted"), "{reply}");
        // What others write, and what goes through pipes, is not this command's growth.
        let other = std::thread::spawn({
            let file = scratch.path("outside").join("large");
            move || std::fs::write(file, vec![1; 60_000_000]).unwrap()
        });
        let innocent = "head -c 100000000 /dev/zero | cat > /dev/null; sleep 1";
        let reply = call(scratch, "sandbox.growth_bytes=20000000", innocent);
        other.join().unwrap();
        assert_eq!(reply["exit_code"], 0, "{reply}");
    });
}

#[test]
fn open_files() {
    check(
        "sandbox.open_files=32",
        "python3 -c 'x = [open(\"/dev/null\") for _ in range(100)]'",
        "open files",
    );
}

#[test]
fn output() {
    check("sandbox.output_bytes=10000000", "yes", "output");
    check("sandbox.output_bytes=10000000", "yes >&2", "output");
}

#[test]
fn scratch_space() {
    for_all(|scratch| {
        for place in ["/tmp", "$HOME", "/dev/shm"] {
            let fill = format!("dd if=/dev/zero of={place}/x bs=1M count=200");
            let reply = call(scratch, "sandbox.scratch_bytes=10000000", &fill);
            assert_ne!(reply["exit_code"], 0, "{place}: {reply}");
            assert!(reply["stderr"].as_str().unwrap().contains("No space left"), "{reply}");
            assert!(reply["notes"].to_string().contains("no space left"), "{reply}");
        }
        let reply = call(
            scratch,
            "sandbox.scratch_bytes=10000000",
            "dd if=/dev/zero of=/tmp/x bs=1M count=5",
        );
        assert_eq!(reply["exit_code"], 0, "{reply}");
    });
}

#[test]
fn a_lower_limit_of_whoever_started_us_holds() {
    for_all(|scratch| {
        let toolcrib = env!("CARGO_BIN_EXE_toolcrib");
        let state = scratch.state();
        let script = format!(
            "ulimit -n 512; TOOLCRIB_STATE={} {toolcrib} sandbox run -- sh -c 'ulimit -n'",
            state.display()
        );
        let got = crate::ground::outside(scratch, &script);
        assert_eq!(got.stdout, "512\n", "{}", got.stderr);
    });
}

#[test]
fn attackers_do_not_slow_others_down() {
    for_all(|scratch| {
        let mut session = Session::start(
            scratch,
            &[
                "-c",
                "sandbox.processes=60",
                "-c",
                "sandbox.memory_bytes=300000000",
                // The tests beside this one need the disk too.
                "-c",
                "sandbox.growth_bytes=300000000",
            ],
        );
        session.bash("true");
        let attacks = [
            ":(){ :|:& };: ; sleep 20",
            "yes",
            "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 1G /dev/zero > f$i || exit 1; done",
            "python3 -c 'x = []\nwhile True: x.append(b\"x\" * (10 << 20))'",
        ];
        for attack in attacks {
            session.ask("clemini/bash", json!({"command": attack, "timeout_seconds": 6}));
        }
        let mut answered = 0;
        let mut slowest = std::time::Duration::ZERO;
        for number in 0..20 {
            let asked = std::time::Instant::now();
            let id = session.ask("clemini/read_file", json!({"file_path": "small"}));
            if number == 0 {
                scratch.put("small", "x");
            }
            loop {
                let (whose, _) = session.hear();
                if whose == id {
                    break;
                }
                answered += 1;
            }
            slowest = slowest.max(asked.elapsed());
        }
        // Far below any attacker's own time: nobody waits for them.
        assert!(slowest < std::time::Duration::from_secs(4), "{slowest:?}");
        while answered < attacks.len() {
            session.hear();
            answered += 1;
        }
        session.end();
    });
}

#[test]
fn what_was_used_is_on_the_record() {
    for_all(|scratch| {
        let command = "python3 -c 'x = b\"x\" * (50 << 20)\nfor i in range(3000000): pass'; \
            head -c 3M /dev/zero > made; cat made > /dev/null";
        let args = json!({"command": command}).to_string();
        scratch.call("clemini/bash", &args);
        let used = scratch.record().last().unwrap()["used"].clone();
        let at_least = |name: &str, least: u64| {
            assert!(used[name].as_u64().unwrap() >= least, "{name}: {used}");
        };
        at_least("cpu_us", 50_000);
        at_least("peak_memory", 50 << 20);
        at_least("written_bytes", 3 << 20);
        at_least("read_bytes", 3 << 20);
        at_least("processes", 4);
        // Of a command that was killed, too.
        let burn = "import time\nwhile time.process_time() < 0.6: pass\nopen(\"began\", \"w\")";
        timed_out(scratch, &format!("python3 -c '{burn}'; sleep 1000"));
        let used = scratch.record().last().unwrap()["used"].clone();
        assert!(used["cpu_us"].as_u64().unwrap() >= 300_000, "{used}");
        // And of tools in our own process.
        scratch.put("big", vec![b'x'; 5 << 20]);
        let calls = [
            ("clemini/write_file", json!({"file_path": "new", "content": "x".repeat(30_000)})),
            ("wink/read_file", json!({"path": "big"})),
            // By several threads, all of whose bytes are the call's.
            ("clemini/grep", json!({"pattern": "no such line"})),
        ];
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (tool, args) in calls {
            scratch.call(tool, &args.to_string());
            let used = scratch.record().last().unwrap()["used"].clone();
            assert!(used["cpu_us"].as_u64().unwrap() > 0, "{used}");
            read.push(used["read_bytes"].as_u64().unwrap());
            written.push(used["written_bytes"].as_u64().unwrap());
        }
        assert!(written[0] >= 30_000 && written[0] < 200_000, "{written:?}");
        assert!(read[0] < 1 << 20 && read[1] >= 1 << 20 && read[2] >= 5 << 20, "{read:?}");
        // Another thread may write a page of the record meanwhile.
        assert!(written[1..].iter().all(|it| *it <= 4096), "{written:?}");
    });
}

#[test]
fn a_limit_that_struck_before_the_end_is_told() {
    for_all(|scratch| {
        let setting = "sandbox.file_bytes=1000000";
        let reply = call(scratch, setting, "head -c 3M /dev/zero > f; rm -f f");
        assert_eq!(reply["limit"]["name"], "file size", "{reply}");
        let setting = "sandbox.memory_bytes=300000000";
        let reply = call(scratch, setting, "python3 -c 'bytearray(50 << 30)'; true");
        let told = reply["notes"].to_string();
        assert!(told.contains("may have hit the limit on memory"), "{reply}");
        assert_eq!((reply.get("limit"), &reply["exit_code"]), (None, &0.into()), "{reply}");
        let reply = call(scratch, setting, "python3 -c 'bytearray(5 << 20)'; true");
        assert!(reply.get("notes").is_none(), "{reply}");
        let reply = call(scratch, setting, "echo 'File size limit exceeded' >&2");
        assert!(reply.get("limit").is_none(), "{reply}");
    });
}

#[test]
fn limits_hit_are_counted_by_kind() {
    for_all(|scratch| {
        let hog = "python3 -c 'bytearray(50 << 30)'";
        call(scratch, "sandbox.memory_bytes=300000000", hog);
        call(scratch, "sandbox.output_bytes=100000", "yes");
        call(scratch, "sandbox.output_bytes=100000", "yes");
        call(scratch, "sandbox.output_bytes=100000", "echo yes");
        let args = json!({"command": "sleep 60", "timeout_seconds": 1}).to_string();
        scratch.call("clemini/bash", &args);
        let shown = scratch.run(["stats", "resources", "clemini/bash", "--json"]).json();
        let expected = json!({
            "memoryExceeded": 1, "outputExceeded": 2, "sizeExceeded": 0, "timeoutExceeded": 1
        });
        assert_eq!(shown["resources"]["violations"], expected, "{shown}");
        assert_eq!(shown["resources"]["limits"]["processes"], 512, "{shown}");
        let again = scratch.run(["stats", "rebuild"]);
        assert_eq!(again.code, 0, "{}", again.stderr);
        let rebuilt = scratch.run(["stats", "resources", "clemini/bash", "--json"]).json();
        assert_eq!(rebuilt, shown);
    });
}
