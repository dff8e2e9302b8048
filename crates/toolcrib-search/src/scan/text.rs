//! The text of a file: reading it whole, and telling what kind of text it is.

use std::fs::File;
use std::io::{self, Read};

/// Files up to this size are read whole, larger ones in pieces.
pub(crate) const MAX_WHOLE_READ_BYTES: usize = 4 << 20;

/// The longest line that is searched: a line must fit into memory, a file need not.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// What is known of a file's text before it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// The text has no NUL byte and no UTF-16 mark: every way of searching it gives the same lines.
    Plain,
    /// The file is binary from the start: it has no lines.
    Binary,
    /// Neither: the answer depends on how the file is read.
    Mixed,
}

/// How much of a file ripgrep reads before it searches any of it, rounded down to be on the safe side.
const FIRST_READ_BYTES: usize = 32 << 10;

/// Tells what kind of text a whole file holds, and returns the part that is searched if it is plain.
pub(crate) fn kind_of(text: &[u8]) -> (TextKind, &[u8]) {
    let nul = memchr::memchr(0, text);
    if is_wide(text) {
        return (TextKind::Mixed, text);
    }
    // The byte-order mark of UTF-8 is not part of the text.
    let marked = text.strip_prefix(b"\xef\xbb\xbf");
    match nul {
        None => (TextKind::Plain, marked.unwrap_or(text)),
        // ripgrep reads the first three bytes on their own, to look for a mark. A line that ends there is searched
        // before the rest is looked at.
        Some(nul) if nul < FIRST_READ_BYTES && !text[..3.min(text.len())].contains(&b'\n') => {
            (TextKind::Binary, text)
        }
        Some(_) => (TextKind::Mixed, text),
    }
}

/// Whether a file has the byte-order mark of UTF-16: its bytes are then not those of its text.
pub(crate) fn is_wide(text: &[u8]) -> bool {
    text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff")
}

/// Reads a whole file that `stat` reported with `size` bytes, in one read where that is true.
pub(crate) fn read_whole(mut file: &File, size: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    // One byte of room more than needed shows the end of the file without another read.
    let room = size + 1;
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    let mut length = 0;
    loop {
        if length == buffer.len() {
            // The file grows while it is read.
            buffer.resize(length * 2, 0);
        }
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(got) => {
                length += got;
                if length < buffer.len() && length <= size {
                    // The read was short: this is the end, unless the file is longer than `stat` reported.
                    if length == size {
                        break;
                    }
                }
            }
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    buffer.truncate(length);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_kind_follows_from_the_bytes() {
        assert_eq!(kind_of(b"").0, TextKind::Plain);
        assert_eq!(kind_of(b"text\n").0, TextKind::Plain);
        assert_eq!(kind_of(b"abc\0def\n").0, TextKind::Binary);
        assert_eq!(kind_of(b"a\nb\0").0, TextKind::Mixed);
        assert_eq!(kind_of(b"\xff\xfea\0").0, TextKind::Mixed);
        assert_eq!(kind_of(b"\xef\xbb\xbfa"), (TextKind::Plain, &b"a"[..]));
        let mut late = vec![b'a'; FIRST_READ_BYTES];
        late.push(0);
        assert_eq!(kind_of(&late).0, TextKind::Mixed);
    }
}
