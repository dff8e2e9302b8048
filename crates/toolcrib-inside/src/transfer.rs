//! The bytes that a process read and wrote, as the kernel counts them.

/// Bytes read and written, by the text of a file named `io` in `/proc`.
pub fn transferred(io: &str) -> (u64, u64) {
    let field = |name: &str| field(io, name);
    // What a mapping dirties is in the one, what goes to a file system in memory in the other.
    (field("rchar:"), field("wchar:").max(field("write_bytes:")))
}

/// The number behind a name, in the lists that the kernel writes.
pub fn field(list: &str, name: &str) -> u64 {
    let line = list.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
