//! The test programs that cargo builds: run one after the other, with one line for each.

use std::error::Error;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::docs;

/// What begins the line of a test that could not run where it was started.
const SKIPPED: &str = "skipped: ";

/// Names a program that cargo starts in place of rustc for our own crates. `make test` sets it for the chores too, so
/// that they are built once.
pub(crate) const LINTER_VARIABLE: &str = "RUSTC_WORKSPACE_WRAPPER";

/// The signal of Ctrl-C.
const INTERRUPT: i32 = 2;

/// How wide the column of names is.
const NAME_COLUMNS: usize = 28;

/// A test program.
pub(crate) struct TestProgram {
    /// The package, and the name of the test; `(unit)` for the unit tests of a package.
    pub(crate) name: String,
    path: PathBuf,
    /// The folder of the package, in which cargo runs it.
    folder: PathBuf,
}

/// How a test program ended.
pub(crate) struct TestRun {
    passed: usize,
    failed: usize,
    elapsed: Duration,
    pub(crate) is_passed: bool,
    pub(crate) is_interrupted: bool,
    /// The lines of the tests that could not run, each with its name and the reason.
    skipped: Vec<String>,
    /// What came past the test harness.
    pub(crate) stray: Vec<String>,
    /// Everything that the program printed to stdout.
    pub(crate) text: String,
}

/// The sum of the tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestSum {
    passed: usize,
    failed: usize,
    pub(crate) skipped: Vec<String>,
}

impl TestSum {
    pub(crate) fn add(&mut self, run: TestRun) {
        self.passed += run.passed;
        self.failed += run.failed;
        self.skipped.extend(run.skipped);
        self.skipped.sort();
    }
}

impl fmt::Display for TestSum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} passed, {} failed, {} skipped",
            self.passed,
            self.failed,
            self.skipped.len()
        )
    }
}

/// Whether clippy compiles what is built, so that its lints are checked on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lints {
    None,
    Clippy,
}

/// Builds the examples, which some tests start.
pub(crate) fn build_examples() -> Result<(), Box<dyn Error>> {
    build_with_cargo(&["build", "--workspace", "--examples"], Lints::Clippy).map(drop)
}

/// Runs a build, and returns the messages of cargo. With lints, a warning fails it as an error does.
fn build_with_cargo(words: &[&str], lints: Lints) -> Result<String, Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(words).arg("--message-format=json").current_dir(docs::root());
    if lints == Lints::Clippy {
        // Cargo starts it in place of rustc, for our own crates only.
        command.env(LINTER_VARIABLE, "clippy-driver");
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let diagnostics: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-message")
        .collect();
    for diagnostic in &diagnostics {
        io::stderr()
            .write_all(diagnostic["message"]["rendered"].as_str().unwrap_or_default().as_bytes())?;
    }
    if !output.status.success() {
        return Err("the build failed: see above".into());
    }
    if lints == Lints::Clippy && !diagnostics.is_empty() {
        return Err("there are warnings: see above".into());
    }
    Ok(text)
}

impl TestProgram {
    /// Builds the tests that these words of `cargo test` choose, and returns their programs by name.
    pub(crate) fn build(words: &[&str], lints: Lints) -> Result<Vec<Self>, Box<dyn Error>> {
        let text = build_with_cargo(&[&["test", "--no-run"], words].concat(), lints)?;
        let mut programs: Vec<Self> = text.lines().filter_map(Self::of_message).collect();
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(programs)
    }

    /// Returns the test program that a message of cargo is about, if it is about one.
    fn of_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        let package = folder.file_name()?.to_string_lossy();
        let test = match message["target"]["kind"][0].as_str()? {
            "test" => message["target"]["name"].as_str()?,
            "bin" => "(program)",
            _ => "(unit)",
        };
        Some(Self {
            name: format!("{package} {test}"),
            path: message["executable"].as_str()?.into(),
            folder: folder.to_owned(),
        })
    }

    /// Runs the program with its temporary files in `scratch`. Tells `progress` how many tests have ended, of how many.
    pub(crate) fn run(
        &self,
        scratch: &Path,
        progress: &dyn Fn(usize, usize),
    ) -> Result<TestRun, Box<dyn Error>> {
        let start = Instant::now();
        let mut child = Command::new(&self.path)
            .arg("--quiet")
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("TMPDIR", scratch)
            .env_remove(LINTER_VARIABLE)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let errors = thread::spawn(move || stderr.map(io::read_to_string).transpose());
        let text = follow(stdout, progress)?;
        let errors = errors.join().map_err(|_| "the reader of the errors panicked")??;
        let status = child.wait()?;
        Ok(TestRun::read(text, &errors.unwrap_or_default(), status, start.elapsed()))
    }
}

/// Reads what a test program prints, and tells `progress` how far it is.
fn follow(from: Option<impl Read>, progress: &dyn Fn(usize, usize)) -> io::Result<String> {
    let (mut read, mut marks) = (Vec::new(), TestProgress::default());
    for byte in from.into_iter().flat_map(|from| io::BufReader::new(from).bytes()) {
        let byte = byte?;
        read.push(byte);
        if marks.take_byte(byte) {
            progress(marks.ended, marks.all);
        }
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

/// How far a test program is: with `--quiet`, it prints a mark for each test that ends.
#[derive(Default)]
struct TestProgress {
    all: usize,
    ended: usize,
    row: Vec<u8>,
}

impl TestProgress {
    /// Takes one more byte of the output. Returns whether one more test has ended.
    fn take_byte(&mut self, byte: u8) -> bool {
        if byte == b'\n' {
            let row = std::mem::take(&mut self.row);
            let row = String::from_utf8_lossy(&row);
            if row.starts_with("running ") {
                *self = Self { all: number_before(&row, " test"), ..Self::default() };
            }
            return false;
        }
        self.row.push(byte);
        let is_mark = self.row.iter().all(|byte| b".Fi".contains(byte)) && self.ended < self.all;
        self.ended += usize::from(is_mark);
        is_mark
    }
}

impl TestRun {
    /// Reads what a program printed that ended with `status`.
    fn read(text: String, errors: &str, status: ExitStatus, elapsed: Duration) -> Self {
        let (mut passed, mut failed) = (0, 0);
        for result in text.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            passed += number_before(result, " passed");
            failed += number_before(result, " failed");
        }
        let (skipped, stray): (Vec<String>, Vec<String>) = errors
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .partition(|line| line.starts_with(SKIPPED));
        // A test that skips itself counts as passed for the test harness, which knows no skipping.
        let passed = passed.saturating_sub(skipped.len());
        let (is_passed, is_interrupted) = (status.success(), status.signal() == Some(INTERRUPT));
        Self { passed, failed, elapsed, is_passed, is_interrupted, skipped, stray, text }
    }

    /// Returns the line that tells how a program ended.
    pub(crate) fn line(&self, name: &str) -> String {
        let mut parts = vec![format!("{} passed", self.passed)];
        for (count, what) in [(self.failed, "failed"), (self.skipped.len(), "skipped")] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        if !self.is_passed && self.failed == 0 {
            parts.push("stopped before all tests had run".to_owned());
        }
        let seconds = self.elapsed.as_secs_f64();
        format!("    {name:NAME_COLUMNS$} {:<24} {seconds:>6.1} s", parts.join(", "))
    }
}

/// Returns the number that stands before `word`.
fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_skips_are_added_up() {
        let text = "\nrunning 3 tests\n...\n\
                    test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out\n";
        let errors = "\nskipped: files::x: only root can do it\nnot skipped: y\n";
        let ended = |code: i32| ExitStatus::from_raw(code << 8);
        let run = TestRun::read(text.to_owned(), errors, ended(0), Duration::ZERO);
        assert_eq!(run.stray, ["not skipped: y"]);
        let line = run.line("toolcrib it");
        assert_eq!(line, "    toolcrib it                  2 passed, 1 skipped         0.0 s");
        let mut sum = TestSum::default();
        sum.add(run);
        let text = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured\n";
        let run = TestRun::read(text.to_owned(), "", ended(101), Duration::ZERO);
        assert!(!run.is_passed && run.stray.is_empty());
        sum.add(run);
        assert_eq!(sum.skipped, ["skipped: files::x: only root can do it"]);
        assert_eq!(sum.to_string(), "3 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn progress_counts_the_marks_and_nothing_else() {
        let mut progress = TestProgress::default();
        let text = "a. stray.\nrunning 5 tests\n..F 3/5\n.i\nfailures:\n.....";
        let further = text.bytes().filter(|byte| progress.take_byte(*byte)).count();
        assert_eq!((further, progress.ended, progress.all), (5, 5, 5));
    }

    #[test]
    fn only_tests_are_programs_of_tests() {
        let message = |kind: &str, is_test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": "/r/crates/toolcrib/Cargo.toml",
                "target": {"kind": [kind], "name": "it"},
                "profile": {"test": is_test},
                "executable": "/r/target/debug/deps/it-0",
            })
            .to_string()
        };
        let name = |line: &str| TestProgram::of_message(line).map(|program| program.name);
        assert_eq!(name(&message("test", true)).as_deref(), Some("toolcrib it"));
        assert_eq!(name(&message("lib", true)).as_deref(), Some("toolcrib (unit)"));
        assert_eq!(name(&message("bin", false)), None);
        assert_eq!(name("{\"reason\": \"build-finished\"}"), None);
        assert_eq!(name("not JSON"), None);
    }
}
