//! Names of processes, which no other process has had.

use std::fs;
use std::sync::OnceLock;

/// Returns the name of this process, which no other process has had: its number and its start time.
pub fn this_process() -> String {
    // Every call asks, and to ask the kernel takes as long as all the rest of a short call.
    static NAME: OnceLock<String> = OnceLock::new();
    let name = NAME.get_or_init(|| {
        let id = std::process::id();
        format!("{id} {}", start_time(id).unwrap_or_default())
    });
    name.clone()
}

/// Whether a process of this name runs.
pub(crate) fn is_running(process: &str) -> bool {
    let Some((id, start)) = process.split_once(' ') else { return true };
    id.parse().ok().and_then(start_time).is_some_and(|it| it == start)
}

/// Returns when a process started, as the kernel tells it.
fn start_time(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of a process can contain blanks and brackets.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(19).map(str::to_owned)
}
