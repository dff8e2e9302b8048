//! What these tests stand on: scripts run inside and outside, and a process that answers many calls.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

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

/// Runs a shell script outside, as the same user, with the same environment.
#[track_caller]
pub(crate) fn outside(scratch: &Scratch, script: &str) -> Ran {
    plain(scratch, "bash").args(["-c", script]).output().unwrap().into()
}

/// A program outside, as the same user, with the same environment.
pub(crate) fn plain(scratch: &Scratch, program: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command
        .current_dir(scratch.work())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", scratch.path("home"))
        .stdin(Stdio::null());
    if scratch.user == User::Nobody {
        command.uid(65534).gid(65534);
    }
    command
}

/// A process that ends with the test, however the test ends.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// A process that answers many calls.
pub(crate) struct Session {
    child: Ended,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Session {
    pub(crate) fn start(scratch: &Scratch, words: &[&str]) -> Self {
        let mut child = scratch
            .command()
            .args(["--yes"])
            .args(words)
            .args(["call", "--batch", "--jobs", "256"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child: Ended(child), stdin, stdout, next: 0 }
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Asks, and does not wait for the answer.
    pub(crate) fn ask(&mut self, tool: &str, args: Value) -> u64 {
        self.next += 1;
        let line = json!({"id": self.next, "tool": tool, "args": args});
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.next
    }

    /// The next answer: whose it is, and what it says.
    pub(crate) fn hear(&mut self) -> (u64, Value) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let mut answer: Value =
            serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: `{line}`"));
        (answer["id"].as_u64().unwrap(), answer["reply"].take())
    }

    /// Asks, and waits for the answer.
    pub(crate) fn call(&mut self, tool: &str, args: Value) -> Value {
        let id = self.ask(tool, args);
        let (answered, reply) = self.hear();
        assert_eq!(answered, id);
        reply
    }

    /// Runs a command with clemini's `bash`.
    pub(crate) fn bash(&mut self, command: &str) -> Value {
        self.call("clemini/bash", json!({"command": command}))
    }

    /// Says goodbye and waits for the process to end.
    pub(crate) fn end(mut self) {
        drop(self.stdin.take());
        self.child.0.wait().unwrap();
    }

    /// Ends the process as nobody would wish.
    pub(crate) fn kill(mut self) {
        self.child.0.kill().unwrap();
        self.child.0.wait().unwrap();
    }
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

/// Waits until something holds, and fails if it never does.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !holds() {
        assert!(std::time::Instant::now() < until, "{what} never came about");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
