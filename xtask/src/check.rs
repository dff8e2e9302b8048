//! `cargo xtask quick` and `cargo xtask test`: the checks that must pass, each announced before it
//! begins, a line for each test program, and the sum at the end.

#![expect(clippy::print_stdout, reason = "a chore tells what it does")]

use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

use crate::test_lanes::run_in_lanes;
use crate::test_program::{Lints, TestProgram, TestSum, build_examples};
use crate::{docs, tools};

/// The tests that start no process, beside the unit tests of the libraries.
const WITHOUT_PROCESS: [&str; 6] = ["tidy", "path", "redaction", "stats", "attacks", "engine"];

/// Where files are in memory. The tests that start no process sync many small files, which takes most of their time on
/// a disk.
const MEMORY: &str = "/dev/shm";

/// How many bytes must be free there.
const LEAST_MEMORY: u64 = 2 << 30;

/// Checks the format, the lints, and everything that can be tested without starting a process.
pub fn quick() -> Result<(), Box<dyn Error>> {
    check_format()?;
    announce("linting (clippy); the first time it checks every dependency, which takes minutes");
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    let mut words = vec!["--workspace", "--lib"];
    for name in WITHOUT_PROCESS {
        words.extend(["--test", name]);
    }
    announce("building the tests; the first time this takes minutes");
    let start = Instant::now();
    let programs = TestProgram::build(&words, Lints::None)?;
    println!("    done in {} s", start.elapsed().as_secs());
    run(&programs, &scratch(in_memory())?)
}

/// Checks everything, and installs what that needs of the machine.
pub fn all() -> Result<(), Box<dyn Error>> {
    let scratch = scratch(None)?;
    announce("everything is checked: format, lints, tests");
    println!("    builds into {}", tools::target_folder().display());
    println!(
        "    puts temporary files into {}, and removes it at the end",
        scratch.path().display()
    );
    for line in tools::plan() {
        println!("    {line}");
    }
    check_format()?;
    // To download takes the network, and to build takes the processors.
    let programs = thread::scope(|scope| {
        let installing = scope.spawn(|| tools::install().map_err(|err| err.to_string()));
        let programs = build_all();
        installing.join().map_err(|_| "the installation panicked")??;
        programs
    })?;
    run(&programs, &scratch)
}

/// Builds everything with clippy as the compiler, so that nothing is compiled once for the lints and again for the tests.
fn build_all() -> Result<Vec<TestProgram>, Box<dyn Error>> {
    announce("building everything, and linting it (clippy); the first time this takes minutes");
    let start = Instant::now();
    build_examples()?;
    let words = ["--workspace", "--lib", "--bins", "--tests"];
    let programs = TestProgram::build(&words, Lints::Clippy)?;
    println!("    built in {} s", start.elapsed().as_secs());
    Ok(programs)
}

/// Returns the folder where files are in memory, if there is room.
fn in_memory() -> Option<&'static Path> {
    let room = rustix::fs::statvfs(MEMORY).ok()?;
    let is_enough = room.f_bavail.saturating_mul(room.f_frsize) >= LEAST_MEMORY;
    is_enough.then_some(Path::new(MEMORY))
}

/// Makes the folder for the temporary files of the tests. It is removed at the end, whatever tests leave in it.
fn scratch(parent: Option<&Path>) -> Result<TempDir, Box<dyn Error>> {
    survive_interrupts()?;
    let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
    let scratch = tempfile::Builder::new().prefix("toolcrib-test-").tempdir_in(parent)?;
    // Some tests run as `nobody`.
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o1777))?;
    Ok(scratch)
}

/// Makes Ctrl-C end the program that runs, and not this process, which still has to clean up.
pub(crate) fn survive_interrupts() -> Result<(), Box<dyn Error>> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { signal(SignalKind::interrupt()).map(drop) })?;
    Ok(())
}

fn check_format() -> Result<(), Box<dyn Error>> {
    announce("checking the format");
    cargo(&["fmt", "--all", "--check"])
}

/// Runs test programs with their temporary files in `scratch`, and prints a line for each and their sum.
fn run(programs: &[TestProgram], scratch: &TempDir) -> Result<(), Box<dyn Error>> {
    announce(&format!("running {} test programs", programs.len()));
    let mut sum = TestSum::default();
    let mut failed = Vec::new();
    run_in_lanes(programs, scratch.path(), |name, run, left| {
        if !run.is_passed {
            println!("{}", run.text);
            failed.push(name.to_owned());
        }
        for stray in &run.stray {
            println!("    printed past the test harness: {stray}");
        }
        for left in left {
            println!("    left in the temporary folder: {left}");
        }
        sum.add(run);
    })?;
    for line in &sum.skipped {
        println!("{line}");
    }
    println!("{sum}");
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("tests failed, see above: {}", failed.join(", ")).into())
    }
}

pub(crate) fn announce(step: &str) {
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
