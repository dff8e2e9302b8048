//! Speed, shown side by side: the peer and us in one run, interleaved, as ratios of medians.

#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

mod bombs;
mod corpus;
mod ledger;
mod path;
mod policy;
mod sandbox;
mod search;

/// How often each process is started.
const STARTS: usize = 101;

/// Runs every comparison and prints it.
pub fn run() -> Result<(), Box<dyn Error>> {
    let program = release_binary()?;
    println!(
        "Each row is measured in this run, the peer and us in turn; medians and their ratio.\n"
    );
    // One part by its name, or all of them.
    let wanted = std::env::args().nth(2);
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if is_wanted("start") {
        starts(&program)?;
    }
    if is_wanted("ledger") {
        ledger::run()?;
        println!();
    }
    if is_wanted("path") {
        path::run()?;
    }
    if is_wanted("policy") {
        policy::run()?;
    }
    if is_wanted("sandbox") {
        sandbox::run()?;
    }
    if is_wanted("search") {
        search::run()?;
    }
    if is_wanted("bombs") {
        bombs::run(&program)?;
    }
    Ok(())
}

fn release_binary() -> Result<PathBuf, Box<dyn Error>> {
    let mut path = std::env::current_exe()?;
    path.set_file_name("toolcrib");
    if path.exists() { Ok(path) } else { Err("build it first: make bench".into()) }
}

/// Compares one whole call, from exec to exit, with the start of other programs.
fn starts(program: &Path) -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let work = scratch.path().join("work");
    std::fs::create_dir(&work)?;
    std::fs::write(work.join("a.txt"), "hello\n")?;
    let ours = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(&work).env("TOOLCRIB_STATE", scratch.path().join("state"));
        command
    };
    let plain = |name: &str, words: &[&str]| {
        let mut command = Command::new(name);
        command.args(words).current_dir(&work);
        command
    };
    let mut rivals = vec![
        ("toolcrib call echo", ours(&["call", "forgekeeper/echo", "text=x", "--json"])),
        ("toolcrib call read_file", ours(&["call", "wink/read_file", "path=a.txt", "--json"])),
        ("toolcrib --version", ours(&["--version"])),
    ];
    for (label, name, package, words) in [
        ("rg --version", "rg", "ripgrep", &["--version"][..]),
        ("node -e 0", "node", "nodejs", &["-e", "0"][..]),
    ] {
        if is_there(name) || install(package) {
            rivals.push((label, plain(name, words)));
        } else {
            println!("{label}: not installed, left out");
        }
    }
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); rivals.len()];
    for round in 0..STARTS {
        for turn in 0..rivals.len() {
            let index = (turn + round) % rivals.len();
            times[index].push(time(&mut rivals[index].1)?);
        }
    }
    println!("start to finish of a process, median of {STARTS}:");
    let ours = median(&mut times[0]);
    for (index, (label, _)) in rivals.iter().enumerate() {
        let it = median(&mut times[index]);
        let ratio = it.as_secs_f64() / ours.as_secs_f64();
        println!("  {label:<26} {:>8.2} ms   {ratio:>6.2} × ours", it.as_secs_f64() * 1e3);
        if label.starts_with("rg") {
            let gap = ours.as_secs_f64() - it.as_secs_f64();
            println!("  {:<26} {:>8.2} ms   (goal: at most 3)", "  ours minus rg", gap * 1e3);
        }
    }
    println!();
    Ok(())
}

fn is_there(name: &str) -> bool {
    let found = Command::new(name).arg("--version").stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

fn install(package: &str) -> bool {
    println!("installing {package} with apt-get, to compare with");
    let install = |words: &[&str]| {
        let done = Command::new("apt-get").args(words).stdout(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    install(&["install", "-y", package])
        || install(&["update"]) && install(&["install", "-y", package])
}

fn time(command: &mut Command) -> Result<Duration, Box<dyn Error>> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let elapsed = start.elapsed();
    if status.success() { Ok(elapsed) } else { Err(format!("{command:?}: {status}").into()) }
}

/// Returns the middle of the measurements.
fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
