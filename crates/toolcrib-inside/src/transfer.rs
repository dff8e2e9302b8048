//! The bytes that a process read and wrote, as the kernel counts them.

/// Returns the bytes read and written, from the text of a file named `io` in `/proc`.
pub fn transferred(io: &str) -> (u64, u64) {
    let field = |name: &str| field(io, name);
    // `write_bytes` includes what a mapping dirtied, `wchar` what went to a file system in memory.
    (field("rchar:"), field("wchar:").max(field("write_bytes:")))
}

/// Returns the number behind a name in a list of the kernel.
pub fn field(list: &str, name: &str) -> u64 {
    let line = list.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
