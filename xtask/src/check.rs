//! `cargo xtask quick` and `cargo xtask test`: the checks that must pass, each announced before it
//! begins, and the sum of the tests at the end.

#![expect(clippy::print_stdout, reason = "a chore tells what it does")]

use std::error::Error;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::{docs, tools};

/// The tests that start no process, beside the unit tests of the libraries.
const WITHOUT_PROCESS: [&str; 6] = ["tidy", "path", "redaction", "stats", "attacks", "engine"];

/// Where files are in memory. The tests that start no process sync many small files, which takes most of their time on
/// a disk.
const MEMORY: &str = "/dev/shm";

/// How many bytes must be free there.
const LEAST_MEMORY: u64 = 2 << 30;

/// What begins the line of a test that could not run where it was started.
const SKIPPED: &str = "skipped: ";

/// The sum of the tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tests {
    passed: usize,
    failed: usize,
    /// The lines of the tests that could not run, each with its name and the reason.
    skipped: Vec<String>,
}

impl fmt::Display for Tests {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A test that skips itself counts as passed for the test harness, which knows no skipping.
        let passed = self.passed.saturating_sub(self.skipped.len());
        write!(out, "{passed} passed, {} failed, {} skipped", self.failed, self.skipped.len())
    }
}

impl Tests {
    /// Counts what one line of a test's output says.
    fn read(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += number_before(result, " passed");
            self.failed += number_before(result, " failed");
        } else if line.starts_with(SKIPPED) {
            self.skipped.push(line.to_owned());
        }
    }
}

/// Returns the number that stands before `word`.
fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Checks the format, the lints, and everything that can be tested without starting a process.
pub fn quick() -> Result<(), Box<dyn Error>> {
    lint()?;
    let mut words = vec!["--workspace", "--lib"];
    for name in WITHOUT_PROCESS {
        words.extend(["--test", name]);
    }
    let scratch = in_memory();
    test(&words, scratch.as_ref().map(tempfile::TempDir::path))
}

/// Makes a folder for temporary files in memory, if there is room.
fn in_memory() -> Option<tempfile::TempDir> {
    let room = rustix::fs::statvfs(MEMORY).ok()?;
    let is_enough = room.f_bavail.saturating_mul(room.f_frsize) >= LEAST_MEMORY;
    is_enough.then(|| tempfile::tempdir_in(MEMORY).ok()).flatten()
}

/// Checks everything, and installs what that needs of the machine.
pub fn all() -> Result<(), Box<dyn Error>> {
    lint()?;
    tools::install()?;
    test(&["--workspace", "--lib", "--bins", "--tests"], None)
}

fn lint() -> Result<(), Box<dyn Error>> {
    announce("checking the format");
    cargo(&["fmt", "--all", "--check"])?;
    announce("linting (clippy); the first time it checks every dependency, which takes minutes");
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Builds the tests that `words` choose, runs them with their temporary files in `scratch`, and prints their sum.
fn test(words: &[&str], scratch: Option<&Path>) -> Result<(), Box<dyn Error>> {
    announce("building the tests; the first time this takes minutes");
    cargo(&[&["test", "--no-run"], words].concat())?;
    announce("running the tests");
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--no-fail-fast"]).args(words).args(["--", "--quiet"]);
    if let Some(scratch) = scratch {
        command.env("TMPDIR", scratch);
    }
    let command = command.current_dir(docs::root());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = thread::spawn(move || forward(stderr, io::stderr()));
    let mut tests = forward(stdout, io::stdout())?;
    let told = errors.join().map_err(|_| "the reader of the errors panicked")??;
    tests.skipped.extend(told.skipped);
    let status = child.wait()?;
    tests.skipped.sort();
    println!();
    for line in &tests.skipped {
        println!("{line}");
    }
    println!("{tests}");
    if status.success() { Ok(()) } else { Err("a test failed: see above".into()) }
}

/// Passes on what a test prints as it comes, and counts what it says line by line.
fn forward(from: Option<impl Read>, mut to: impl Write) -> io::Result<Tests> {
    let mut tests = Tests::default();
    let Some(mut from) = from else { return Ok(tests) };
    let mut rest = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let read = from.read(&mut buffer)?;
        let bytes = &buffer[..read];
        to.write_all(bytes)?;
        to.flush()?;
        rest.extend_from_slice(bytes);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            tests.read(String::from_utf8_lossy(&line).trim_end());
        }
        if read == 0 {
            return Ok(tests);
        }
    }
}

fn announce(step: &str) {
    println!("==> {step}");
}

fn cargo(words: &[&str]) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let status = Command::new(env!("CARGO")).args(words).current_dir(docs::root()).status()?;
    if !status.success() {
        return Err(format!("`cargo {}` failed", words.join(" ")).into());
    }
    println!("    done in {} s", start.elapsed().as_secs());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_skips_are_added_up() {
        let text = "running 3 tests\n...\n\
                    test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out\n\
                    skipped: files::x: only root can do it\n\
                    not skipped: y\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured\n";
        let mut shown = Vec::new();
        let tests = forward(Some(text.as_bytes()), &mut shown).unwrap();
        assert_eq!(shown, text.as_bytes());
        assert_eq!(tests.skipped, ["skipped: files::x: only root can do it"]);
        assert_eq!(tests.to_string(), "3 passed, 2 failed, 1 skipped");
    }
}
