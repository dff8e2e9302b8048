//! However a command ends, or we do, nothing of it is left, and what it printed is not lost.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ground::{Session, eventually, for_all, inside, processes_with, sleepers, timed_out};
use crate::scratch::Scratch;

/// A number for `sleep` that no other test uses, so that its processes can be found.
fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 100_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn call(scratch: &Scratch, command: &str, seconds: u64) -> Value {
    let args = json!({"command": command, "timeout_seconds": seconds}).to_string();
    scratch.call("clemini/bash", &args).json()
}

#[test]
fn daemons_die_with_their_command() {
    for_all(|scratch| {
        for way in [
            "nohup sleep {M} >/dev/null 2>&1 &",
            "sleep {M} & echo done",
            "setsid sleep {M} &",
            "( setsid sh -c '( sleep {M} & ) &' & ); sleep 0.1",
            "trap '' TERM INT HUP; sh -c 'trap \"\" TERM HUP; sleep {M}' & disown",
        ] {
            let marker = marker();
            let started = Instant::now();
            let reply = call(scratch, &way.replace("{M}", &marker), 60);
            assert_eq!(reply["exit_code"], 0, "{way}: {reply}");
            assert!(started.elapsed() < Duration::from_secs(20), "{way}: it waited for the daemon");
            assert!(processes_with(&marker).is_empty(), "{way}: a process is left");
        }
    });
}

#[test]
fn a_timeout_ends_everything_and_returns_what_was_printed() {
    for_all(|scratch| {
        for way in [
            "sleep {M}",
            "trap '' TERM INT HUP; while :; do :; done # {M}",
            "kill -STOP $$ # {M}",
            "( setsid sleep {M} & ); sleep {M}",
            "sleep {M} | cat",
        ] {
            let marker = marker();
            let command = format!("echo begun; : > began; {}", way.replace("{M}", &marker));
            let reply = timed_out(scratch, &command);
            assert_eq!(reply["context"]["stdout"], "begun\n", "{way}: {reply}");
            assert!(processes_with(&marker).is_empty(), "{way}: a process is left");
        }
    });
}

#[test]
fn our_own_death_ends_everything() {
    for_all(|scratch| {
        for signal in ["KILL", "TERM", "INT", "HUP"] {
            let marker = marker();
            let mut session = Session::start(scratch, &[]);
            session.ask(
                "clemini/bash",
                json!({"command": format!("setsid sleep {marker} & sleep {marker}")}),
            );
            eventually("the command", || sleepers(&marker).len() == 2);
            let pid = session.id().to_string();
            std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
            eventually(&format!("the end after {signal}"), || processes_with(&marker).is_empty());
            session.end();
        }
    });
}

#[test]
fn a_killed_launcher_or_bubblewrap_is_told_and_the_next_call_works() {
    for_all(|scratch| {
        for victim in ["__launcher", "bwrap"] {
            let marker = marker();
            let mut session = Session::start(scratch, &[]);
            session.bash("true");
            session.ask("clemini/bash", json!({"command": format!("echo begun; sleep {marker}")}));
            eventually("the command", || !sleepers(&marker).is_empty());
            let parent = session.id();
            for pid in children(parent, victim) {
                std::process::Command::new("kill")
                    .args(["-KILL", &pid.to_string()])
                    .status()
                    .unwrap();
            }
            let (_, reply) = session.hear();
            assert_eq!(reply["exit_code"], 137, "{victim}: {reply}");
            assert_eq!(reply["stdout"], "begun\n", "{victim}: {reply}");
            eventually("the end", || processes_with(&marker).is_empty());
            assert_eq!(session.bash("echo again")["stdout"], "again\n", "{victim}");
            session.end();
        }
    });
}

#[test]
fn an_interrupt_from_the_terminal_does_not_reach_the_launcher() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        session.bash("true");
        let group = |pid: u32| {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap());
            rustix::process::getpgid(pid).unwrap()
        };
        let launchers = children(session.id(), "__launcher");
        assert!(!launchers.is_empty(), "the control");
        for launcher in launchers {
            assert_ne!(group(launcher), group(session.id()));
        }
        session.end();
    });
}

/// The descendants of a process whose command line holds a word.
fn children(parent: u32, word: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![parent];
    while let Some(pid) = open.pop() {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            open.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(word) {
            found.push(pid);
        }
    }
    found
}

#[test]
fn a_death_by_signal_is_told_as_one() {
    for_all(|scratch| {
        for (command, code) in [
            ("kill -SEGV $$", 139),
            ("kill -TERM $$", 143),
            ("kill -KILL $$", 137),
            ("kill -ABRT $$", 134),
        ] {
            let reply = call(scratch, command, 60);
            assert_eq!(reply["exit_code"], code, "{command}: {reply}");
            assert!(reply["notes"][0].as_str().unwrap().contains("killed by signal"), "{reply}");
        }
        // An exit code that only looks like one is not told as one.
        let reply = call(scratch, "exit 139", 60);
        assert_eq!(reply["exit_code"], 139);
        assert!(reply.get("notes").is_none(), "{reply}");
        // The first process inside cannot be ended by its command.
        let reply = call(scratch, "kill -KILL 1; kill -TERM 1; echo still here", 60);
        assert_eq!(reply["stdout"], "still here\n", "{reply}");
    });
}

#[test]
fn what_would_ask_someone_ends_at_once() {
    for_all(|scratch| {
        for (command, is_told) in [
            ("cat", false),
            ("read x", false),
            ("python3 -c 'input()'", true),
            ("cat < /dev/tty", true),
            (
                "git clone https://user@example.invalid/x.git 2>&1; git -c credential.helper= ls-remote https://u@127.0.0.1:1/ ; true",
                false,
            ),
        ] {
            let started = Instant::now();
            let reply = call(scratch, command, 60);
            assert!(reply["exit_code"].is_i64(), "{command}: {reply}");
            assert!(started.elapsed() < Duration::from_secs(20), "{command}: it waited");
            let told = reply["notes"].to_string().contains("wanted input");
            assert_eq!(told, is_told, "{command}: {reply}");
        }
    });
}

#[test]
fn an_interrupt_of_one_run_ends_its_command() {
    for_all(|scratch| {
        let marker = marker();
        let mut child =
            scratch.command().args(["sandbox", "run", "--", "sleep", &marker]).spawn().unwrap();
        eventually("the command", || !sleepers(&marker).is_empty());
        std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(2));
        assert!(processes_with(&marker).is_empty());
        let got = inside(scratch, "exit 42");
        assert_eq!(got.code, 42);
    });
}

#[test]
fn nobody_keeps_the_first_process_from_ending_the_rest() {
    let starve = "python3 -c '# {M}\nimport os\nfor what in [lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)), \
        lambda: os.sched_setaffinity(1, {0}), lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), \
        lambda: os.setpriority(os.PRIO_USER, 0, 19)]:\n  try: what(); print(\"DID\")\n  except OSError: pass\n\
        for i in range(60):\n  if os.fork() == 0:\n    os.sched_setaffinity(0, {0})\n    while True: pass\n\
        print(\"begun\", flush=True)\nopen(\"began\", \"w\")\nwhile True: pass'";
    for_all(|scratch| {
        let marker = marker();
        let got = timed_out(scratch, &starve.replace("{M}", &marker));
        assert_eq!(got["context"]["stdout"], "begun\n", "{got}");
        assert!(processes_with(&marker).is_empty(), "a process is left");
    });
}
