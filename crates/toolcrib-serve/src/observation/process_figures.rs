//! What the kernel says about this process.

use std::fs;

/// Returns how many bytes of memory the process has in use.
pub(super) fn resident_bytes() -> Option<u64> {
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    let resident: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(resident * rustix::param::page_size() as u64)
}

/// Returns how many files the process has open.
pub(super) fn open_files() -> Option<u64> {
    // The folder is open itself while it is read.
    Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1))
}
