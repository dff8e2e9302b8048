//! The start of a process, ours beside those of other programs.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::measure::{median, time};
use crate::tools::install_packages;

/// How often each process is started.
const STARTS: usize = 101;

/// Compares one whole call, from exec to exit, with the start of other programs.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
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
        if is_there(name) || install_packages(&[package]) {
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
