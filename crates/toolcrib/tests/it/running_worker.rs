//! A worker that a test starts.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::scratch::Scratch;

/// What a worker writes to stderr, beside its workspace.
const LOG: &str = "worker.log";

/// A worker that runs.
pub(crate) struct RunningWorker {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl RunningWorker {
    /// Starts a worker of the workspace `app` that trusts a gateway. It listens when this returns.
    pub(crate) fn start(scratch: &Scratch, url: &str, key: &str, words: &[&str]) -> Self {
        let mut command = scratch.command();
        command.args(["worker", "--nats", url, "--as", "app", "--gateway", key]).args(words);
        let log = File::create(scratch.path(LOG)).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let log = || std::fs::read_to_string(scratch.path(LOG)).unwrap_or_default();
        assert!(line.contains("serves the workspace app"), "{line:?} {}", log());
        Self { child, out }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for the end. Returns the exit code and what was printed last.
    pub(crate) fn end(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (code, rest)
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
