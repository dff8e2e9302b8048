//! What these tests stand on: scripts run inside and outside, and a process that answers many calls.

use std::process::{Command, Stdio};

pub(crate) use crate::scratch::{Ended, Session};
use crate::scratch::{Ran, Scratch, User, users};

/// Runs a check for everyone the tests can be.
pub(crate) fn for_all(check: impl Fn(&Scratch)) {
    for user in users() {
        check(&Scratch::of(user));
    }
}

/// Runs a shell script in the sandbox.
#[track_caller]
pub(crate) fn inside(scratch: &Scratch, script: &str) -> Ran {
    scratch.run(["sandbox", "run", "--", "bash", "-c", script])
}

/// Runs a shell script in the sandbox with these settings.
#[track_caller]
pub(crate) fn inside_with(scratch: &Scratch, settings: &[&str], script: &str) -> Ran {
    let mut words = Vec::new();
    for setting in settings {
        words.extend(["-c", setting]);
    }
    words.extend(["sandbox", "run", "--", "bash", "-c", script]);
    scratch.run(words)
}

/// The reply to a command whose time is up. The command makes the file `began` once it has done what
/// its test is about: on a busy machine it may not come that far, and gets more time.
#[track_caller]
pub(crate) fn timed_out(scratch: &Scratch, command: &str) -> serde_json::Value {
    for seconds in [1, 5, 25, 60] {
        let args = serde_json::json!({"command": command, "timeout_seconds": seconds}).to_string();
        let reply = scratch.call("clemini/bash", &args).json();
        assert_eq!(reply["error_code"], "TIMEOUT", "{command}: {reply}");
        if std::fs::remove_file(scratch.work().join("began")).is_ok() {
            return reply;
        }
    }
    panic!("it did not begin within a minute: {command}");
}

/// Runs a shell script outside, as the same user, with the same environment.
#[track_caller]
pub(crate) fn outside(scratch: &Scratch, script: &str) -> Ran {
    plain(scratch, "bash").args(["-c", script]).output().unwrap().into()
}

/// A program outside, as the same user, with the same environment.
pub(crate) fn plain(scratch: &Scratch, program: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = own(scratch, program);
    if scratch.user == User::Nobody {
        command.uid(65534).gid(65534);
    }
    command
}

/// A program outside, as whoever runs the tests, with the same environment.
fn own(scratch: &Scratch, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(scratch.work())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", scratch.path("home"))
        .stdin(Stdio::null());
    command
}

/// What runs a program behind a mount, given as `mount --bind` takes it, as the user of `scratch`. Only
/// root can do that: in a user namespace of its own an ordinary user may mount too, but there
/// bubblewrap does not belong to root, so that the sandbox rightly refuses it.
pub(crate) fn behind_mount(scratch: &Scratch, mount: &str) -> Command {
    let become_user = match scratch.user {
        User::Own => "",
        User::Nobody => "setpriv --reuid 65534 --regid 65534 --clear-groups",
    };
    let script = format!("mount --bind {mount} && exec {become_user} \"$@\"");
    let mut command = own(scratch, "unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    command
}

/// Returns the processes that are `sleep MARKER`. Once there is one, its shell has come so far; the command line of the
/// shell itself holds the marker from the start.
pub(crate) fn sleepers(marker: &str) -> Vec<u32> {
    let is_asleep = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line == format!("sleep\0{marker}\0").into_bytes()
    };
    processes_with(marker).into_iter().filter(is_asleep).collect()
}

/// Returns the processes whose command line holds `marker`, zombies left out.
pub(crate) fn processes_with(marker: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && String::from_utf8_lossy(&line).contains(marker) {
            found.push(pid);
        }
    }
    found
}

/// How long a test waits for what must come about. On a busy machine little comes about soon, and a test that waits
/// goes on as soon as it does.
pub(crate) const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_mins(2);

/// Waits until something holds, and fails if it never does.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + LONGEST_WAIT;
    while !holds() {
        assert!(std::time::Instant::now() < until, "{what} never came about");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
