//! A mechanism that is missing is a refusal that names it, and never a weaker sandbox.

use std::process::Command;

use crate::ground::{behind_mount, for_all, plain};
use crate::privilege::{is_root, skip};
use crate::scratch::{Ran, Scratch};

/// Runs `toolcrib sandbox run` with `before` in front of it.
fn behind(scratch: &Scratch, before: &[&str], settings: &[&str]) -> Ran {
    let mut command = plain(scratch, before[0]);
    command.args(&before[1..]);
    run_sandbox(scratch, command, settings)
}

/// Runs `toolcrib sandbox run` with a command in front of it.
fn run_sandbox(scratch: &Scratch, mut command: Command, settings: &[&str]) -> Ran {
    command.env("TOOLCRIB_STATE", scratch.state());
    command.arg(env!("CARGO_BIN_EXE_toolcrib"));
    for setting in settings {
        command.args(["-c", setting]);
    }
    command.args(["sandbox", "run", "--", "sh", "-c", "echo RAN; touch ran"]);
    command.output().unwrap().into()
}

#[track_caller]
fn check_refused(scratch: &Scratch, got: &Ran, mechanism: &str, fix: &str) {
    assert_eq!(got.code, 1, "{}{}", got.stdout, got.stderr);
    assert!(!got.stdout.contains("RAN"), "{mechanism}: it ran");
    assert!(!scratch.work().join("ran").exists(), "{mechanism}: it ran");
    assert!(
        got.stderr.contains("the command was not run, because the sandbox is not available"),
        "{mechanism}: {}",
        got.stderr
    );
    assert!(got.stderr.contains(mechanism), "{mechanism}: {}", got.stderr);
    assert!(got.stderr.contains(fix), "{mechanism}: {}", got.stderr);
}

/// Makes the kernel answer ENOSYS to `landlock_create_ruleset`.
const NO_LANDLOCK: &str =
    "[(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7fff0000)]";

/// Makes the kernel answer EPERM to `clone` and `unshare` with a new user namespace.
const NO_USER_NAMESPACES: &str = "[(0x20, 0, 0, 0), (0x15, 1, 0, 56), (0x15, 0, 3, 272), \
     (0x20, 0, 0, 16), (0x45, 0, 1, 0x10000000), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)]";

/// Lays a filter on calls to the kernel, and becomes what is named after it.
const FILTERED: &str = r"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
lines = eval(sys.argv[1])
code = b''.join(struct.pack('HBBI', *line) for line in lines)
buffer = ctypes.create_string_buffer(code)
class Program(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
program = Program(len(lines), ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
";

/// Makes the kernel answer EACCES to `memfd_create` for what is to be executed, as one does that allows none.
const NO_MEMORY_FILES: &str = "[(0x20, 0, 0, 0), (0x15, 0, 3, 319), (0x20, 0, 0, 24), \
     (0x45, 0, 1, 0x10), (0x06, 0, 0, 0x50000 | 13), (0x06, 0, 0, 0x7fff0000)]";

#[test]
fn where_memory_is_not_executed_the_whole_program_helps() {
    for_all(|scratch| {
        let got = behind(scratch, &["python3", "-c", FILTERED, NO_MEMORY_FILES], &[]);
        assert_eq!(got.stdout, "RAN\n", "{}", got.stderr);
    });
}

#[test]
fn without_descriptors_nothing_is_left_behind() {
    for_all(|scratch| {
        let names = || {
            let all = std::fs::read_dir(scratch.work()).unwrap();
            let mut all: Vec<_> = all.map(|it| it.unwrap().file_name()).collect();
            all.sort_unstable();
            all
        };
        let before = names();
        for most in 12..40 {
            let few = format!("ulimit -n {most}; exec \"$@\"");
            let _ = behind(scratch, &["sh", "-c", &few, "sh"], &[]);
        }
        let got = behind(scratch, &["env"], &[]);
        assert_eq!(got.stdout, "RAN\n", "{}", got.stderr);
        std::fs::remove_file(scratch.work().join("ran")).unwrap();
        assert_eq!(names(), before);
    });
}

#[test]
fn without_a_mechanism_nothing_runs() {
    for_all(|scratch| {
        // The control: with nothing in the way it runs.
        let got = behind(scratch, &["env"], &[]);
        assert_eq!(got.stdout, "RAN\n", "{}", got.stderr);
        std::fs::remove_file(scratch.work().join("ran")).unwrap();

        let got = behind(scratch, &["env"], &["sandbox.bubblewrap=/nowhere/bwrap"]);
        check_refused(scratch, &got, "bubblewrap", "install the package `bubblewrap`");

        let got = behind(scratch, &["python3", "-c", FILTERED, NO_USER_NAMESPACES], &[]);
        check_refused(scratch, &got, "namespace", "doctor");

        let got = behind(scratch, &["python3", "-c", FILTERED, NO_LANDLOCK], &[]);
        check_refused(scratch, &got, "landlock", "kernel");
    });
}

#[test]
fn without_bubblewrap_on_the_machine_nothing_runs() {
    if !is_root() {
        let test = "missing::without_bubblewrap_on_the_machine_nothing_runs";
        return skip(test, "only root can take bubblewrap away");
    }
    for_all(|scratch| {
        let got = run_sandbox(scratch, behind_mount(scratch, "/dev/null /usr/bin/bwrap"), &[]);
        check_refused(scratch, &got, "bubblewrap", "install the package `bubblewrap`");
        // The control: behind a mount that hides nothing it runs.
        let got = run_sandbox(scratch, behind_mount(scratch, "/dev/null /dev/null"), &[]);
        assert_eq!(got.stdout, "RAN\n", "{}", got.stderr);
    });
}

#[test]
fn doctor_says_what_holds_and_fails_when_something_does_not() {
    for_all(|scratch| {
        let got = scratch.run(["doctor", "--json"]);
        assert_eq!(got.code, 0, "{}", got.stdout);
        let report = got.json();
        let states = |name: &str| {
            let all = report["sandbox"].as_array().unwrap();
            all.iter().find(|it| it["name"] == name).map(|it| it["state"].clone())
        };
        for name in
            ["bubblewrap", "landlock", "seccomp", "user namespaces", "self-test", "limit on memory"]
        {
            assert_eq!(states(name), Some("enforced".into()), "{name}: {report}");
        }
        let got = scratch.run(["-c", "sandbox.bubblewrap=/nowhere/bwrap", "doctor", "--json"]);
        assert_eq!(got.code, 1, "{}", got.stdout);
        let report = got.json();
        let all = report["sandbox"].as_array().unwrap();
        let bubblewrap = all.iter().find(|it| it["name"] == "bubblewrap").unwrap();
        assert_eq!(bubblewrap["state"], "missing");
        assert!(bubblewrap["fix"].as_str().unwrap().contains("install"));
        assert!(all.iter().all(|it| it["name"] != "limit on memory" || it["state"] == "unknown"));
        // For people, the same.
        let got = scratch.run(["-c", "sandbox.bubblewrap=/nowhere/bwrap", "doctor"]);
        assert!(
            got.stdout.contains("✗ bubblewrap") && got.stdout.contains("fix: install"),
            "{}",
            got.stdout
        );
    });
}

#[test]
fn neither_a_project_nor_the_environment_can_weaken_it() {
    for_all(|scratch| {
        scratch.put(
            ".toolcrib/config.toml",
            "[sandbox]\nprofile = \"root-degraded\"\negress = [\"evil.example\"]\nmemory_bytes = 1099511627776\n",
        );
        let mut command = scratch.command();
        command
            .env("TOOLCRIB_SANDBOX_PROFILE", "root-degraded")
            .env("TOOLCRIB_SANDBOX_PROCESSES", "100000");
        let got: Ran = command.args(["config", "show", "--json"]).output().unwrap().into();
        for ignored in
            ["sandbox.profile", "sandbox.egress", "sandbox.memory_bytes", "sandbox.processes"]
        {
            assert!(got.stderr.contains(&format!("`{ignored}`")), "{ignored}: {}", got.stderr);
        }
        assert!(!got.stdout.contains("root-degraded\""), "{}", got.stdout);
        assert!(!got.stdout.contains("evil.example"), "{}", got.stdout);
        // The control: tightening is heard.
        scratch.put(".toolcrib/config.toml", "[sandbox]\nprocesses = 7\n");
        let got = scratch.run(["config", "show", "--json"]);
        assert!(got.stderr.is_empty() && got.stdout.contains('7'), "{}{}", got.stdout, got.stderr);
    });
}

#[test]
fn the_superusers_degraded_profile_is_chosen_by_name() {
    // For an ordinary user it changes nothing: there is nobody else to become.
    for_all(|scratch| {
        let settings = ["-c", "sandbox.profile=root-degraded"];
        let run = |script: &str| {
            scratch.run([&settings[..], &["sandbox", "run", "--", "bash", "-c", script]].concat())
        };
        let got = run("grep -c '^CapEff:.*0000000000000000' /proc/self/status; echo x > made");
        assert_eq!(got.stdout, "1\n", "{}", got.stderr);
        assert_eq!(scratch.text("made"), "x\n");
        for attempt in [
            "cat /etc/shadow",
            "echo x > /proc/sys/kernel/core_pattern",
            "touch /usr/x",
            "echo $$ > /proc/1/oom_score_adj",
        ] {
            let got = run(&format!("{attempt} && echo REACHED"));
            assert!(!got.stdout.contains("REACHED"), "{attempt}");
        }
        // The kernel does not count the superuser's processes; the watchdog does. It comes after the fact, so these are
        // a fixed number: what doubles itself would take every process number of the machine from other tests first.
        let many = "for i in $(seq 200); do sleep 60 & done; wait";
        let got = scratch.run(
            [
                &settings[..],
                &["-c", "sandbox.processes=40", "sandbox", "run", "--", "bash", "-c", many],
            ]
            .concat(),
        );
        assert!(got.stderr.contains("the limit on processes was reached"), "{}", got.stderr);
    });
}
