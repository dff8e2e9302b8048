//! Times of processes, and the middle and the mean of many.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a command to its end and returns how long that took.
pub(super) fn time(command: &mut Command) -> Result<Duration, Box<dyn Error>> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let elapsed = start.elapsed();
    if status.success() { Ok(elapsed) } else { Err(format!("{command:?}: {status}").into()) }
}

/// Runs ripgrep in a tree and returns what it prints.
pub(super) fn rg_output(rg: &Path, tree: &Path, words: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let output = Command::new(rg)
        .args(["--no-config", "--no-heading", "--color", "never"])
        .args(words)
        .current_dir(tree)
        .stdin(Stdio::null())
        .output()?;
    Ok(output.stdout)
}

/// Returns how often the threads of a process have waited for something.
pub(super) fn switches(process: &str) -> Result<u64, Box<dyn Error>> {
    let mut all = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let status = std::fs::read_to_string(thread?.path().join("status"))?;
        let line = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
        all += line.ok_or("the kernel does not count")?.trim().parse::<u64>()?;
    }
    Ok(all)
}

/// Returns the geometric mean of ratios.
pub(super) fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// Returns the middle of the measurements.
pub(super) fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns the middle of numbers.
pub(super) fn middle(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

/// Returns how many times longer than the shortest the longest measurement is. Above 1.5, a row is noisy.
pub(super) fn spread(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    // The slowest tenth is the machine's, not the program's.
    let high = times.get((times.len() * 9 / 10).saturating_sub(1)).copied().unwrap_or_default();
    high.as_secs_f64() / times.first().map_or(1.0, Duration::as_secs_f64)
}
