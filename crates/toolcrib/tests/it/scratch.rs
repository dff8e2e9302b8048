//! A scratch workspace and state folder, and the real binary run in them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::place::NOBODY;
pub(crate) use crate::place::{Place, User, users};

/// A scratch place, and the binary to run in it.
pub(crate) struct Scratch(Place);

impl Deref for Scratch {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0
    }
}

/// What a run of the binary left.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|err| panic!("{err}: {}{}", self.stdout, self.stderr))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self::of(User::Own)
    }

    pub(crate) fn of(user: User) -> Self {
        Self(Place::of(user))
    }

    /// The binary, ready to run in the workspace.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command
            .current_dir(self.work())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("TOOLCRIB_STATE", self.state())
            .stdin(Stdio::null());
        if self.user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    #[track_caller]
    pub(crate) fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ran {
        self.command().args(words).output().unwrap().into()
    }

    /// Calls a tool with every question answered yes.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, args: &str) -> Ran {
        self.run(["--yes", "call", tool, args, "--json"])
    }

    /// Runs with text on stdin.
    #[track_caller]
    pub(crate) fn feed<S: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Ran {
        let mut child = self
            .command()
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let ran = child.wait_with_output().unwrap().into();
        writer.join().unwrap();
        ran
    }
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
    /// What the process said on stderr. It is shown if the test fails.
    stderr: File,
    next: u64,
}

impl Drop for Session {
    #[expect(clippy::print_stderr, reason = "the harness shows it with the test that failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut said = String::new();
            let _ = self.stderr.rewind().and_then(|()| self.stderr.read_to_string(&mut said));
            eprintln!("the process said on stderr: {said}");
        }
    }
}

impl Session {
    /// One in which every question is answered yes, and no command needs to be confirmed.
    pub(crate) fn start(scratch: &Scratch, words: &[&str]) -> Self {
        let yes = ["--yes", "-c", "policy.shipped=[\"blocked\", \"harmless\"]"];
        let words = [&yes[..], words, &["call", "--batch", "--jobs", "256"]].concat();
        Self::with(scratch, &words)
    }

    /// One in which nobody answers, and what would be asked is parked.
    pub(crate) fn parking(scratch: &Scratch) -> Self {
        Self::with(scratch, &["call", "--batch", "--park"])
    }

    /// One with these words on its command line.
    pub(crate) fn with(scratch: &Scratch, words: &[&str]) -> Self {
        let mut command = scratch.command();
        command.args(words);
        Self::over(command)
    }

    /// One that a command of the caller's starts.
    pub(crate) fn over(mut command: Command) -> Self {
        let stderr = tempfile::tempfile().unwrap();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone().unwrap())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child: Ended(child), stdin, stdout, stderr, next: 0 }
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
