//! Times of processes, and the middle of many.

use std::error::Error;
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

/// Returns the middle of the measurements.
pub(super) fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
