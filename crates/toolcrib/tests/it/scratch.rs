//! A scratch workspace and state folder, and the real binary run in them.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

/// Who runs the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Own,
    /// `nobody`, where the tests run as root.
    Nobody,
}

const NOBODY: u32 = 65534;

/// Returns everyone the tests can be: an ordinary user always, root too if it is root that tests.
pub(crate) fn users() -> Vec<User> {
    if rustix_euid() == 0 { vec![User::Own, User::Nobody] } else { vec![User::Own] }
}

fn rustix_euid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").map_or(1, |meta| meta.uid())
}

/// A scratch place: a workspace, something outside of it, and a state folder.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    pub(crate) user: User,
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
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let scratch = Self { folder, user };
        for part in ["project", "outside", "home"] {
            fs::create_dir(scratch.path(part)).unwrap();
            scratch.own(&scratch.path(part));
        }
        scratch.own(scratch.folder.path());
        scratch.put_at("outside/secret.txt", "SECRET");
        scratch
    }

    fn own(&self, path: &Path) {
        if self.user == User::Nobody {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// A path in the scratch place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Puts a file into the workspace; a name that ends in `/` is a directory.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        self.put_at(&format!("project/{name}"), content);
    }

    pub(crate) fn put_at(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        let folder = if name.ends_with('/') { path.as_path() } else { path.parent().unwrap() };
        let mut made = self.folder.path().to_owned();
        for part in folder.strip_prefix(self.folder.path()).unwrap() {
            made.push(part);
            if !made.exists() {
                fs::create_dir(&made).unwrap();
                self.own(&made);
            }
        }
        if !name.ends_with('/') {
            fs::write(&path, content).unwrap();
            self.own(&path);
        }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
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

    /// Every line of the record but those about the record itself, and those that it says were torn.
    pub(crate) fn record(&self) -> Vec<Value> {
        let Ok(folder) = fs::read_dir(self.state().join("context_log")) else { return Vec::new() };
        let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|it| it == "jsonl"));
        files.sort();
        let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let is_torn = text.contains("\"line_torn\"");
        let whole = |line: &str| match serde_json::from_str::<Value>(line) {
            Err(_) if is_torn => None,
            line => Some(line.unwrap()),
        };
        text.lines().filter_map(whole).filter(|line| line["act"] != "record").collect()
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
    next: u64,
}

impl Session {
    pub(crate) fn start(scratch: &Scratch, words: &[&str]) -> Self {
        let words = [&["--yes"], words, &["call", "--batch", "--jobs", "256"]].concat();
        Self::with(scratch, &words)
    }

    /// One in which nobody answers, and what would be asked is parked.
    pub(crate) fn parking(scratch: &Scratch) -> Self {
        Self::with(scratch, &["call", "--batch", "--park"])
    }

    fn with(scratch: &Scratch, words: &[&str]) -> Self {
        let mut child = scratch
            .command()
            .args(words)
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

/// Asserts that `got` is `expect`, where times are left out and `"*"` stands for anything.
#[track_caller]
pub(crate) fn assert_reply(mut got: Value, mut expect: Value, what: &str) {
    level(&mut got, &expect);
    level(&mut expect, &Value::Null);
    assert_eq!(got, expect, "{what}\n got    {got}\n expect {expect}");
}

/// Sets times to 0, and values that are not to be compared to `"*"`.
fn level(value: &mut Value, expect: &Value) {
    if expect.as_str() == Some("*") {
        *value = Value::from("*");
        return;
    }
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                if ["execution_time_ms", "duration", "elapsed_ms"].contains(&key.as_str()) {
                    assert!(value.is_u64(), "{key} is {value}");
                    *value = Value::from(0);
                } else {
                    level(value, &expect[key.as_str()]);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                level(item, &expect[index]);
            }
        }
        _ => {}
    }
}
