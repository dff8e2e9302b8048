//! A process that answers each line of its stdin with one on its stdout.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The process. It ends when this is dropped.
pub(super) struct BatchDoor {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl BatchDoor {
    pub(super) fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = BufReader::with_capacity(1 << 20, child.stdout.take().ok_or("no stdout")?);
        Ok(Self { child, stdin, stdout })
    }

    pub(super) fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// Sends a line, and returns the answer.
    pub(super) fn ask(&mut self, line: &str) -> Result<String, Box<dyn Error>> {
        self.stdin.as_mut().ok_or("no stdin")?.write_all(line.as_bytes())?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer)?;
        if answer.is_empty() { Err("the process has ended".into()) } else { Ok(answer) }
    }

    /// Returns how long an answer takes, over many.
    pub(super) fn time(&mut self, line: &str, times: u32) -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        for _ in 0..times {
            self.ask(line)?;
        }
        Ok(start.elapsed() / times)
    }
}

impl Drop for BatchDoor {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
