//! The text of a file: reading it whole, and telling what kind of text it is.

use std::fs::File;
use std::io::{self, Read};

/// Files up to this size are read whole, larger ones in pieces.
pub(crate) const MAX_WHOLE_READ_BYTES: usize = 4 << 20;

/// The longest line that is searched: a line must be held in memory, a file need not.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// What is known of a file's text before it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// No NUL byte and no byte-order mark in it: any way of searching gives the same.
    Plain,
    /// Taken for binary before any of it is searched: it has no lines.
    Binary,
    /// Neither: how it is read decides.
    Mixed,
}

/// What ripgrep reads of a file before it looks at any of it, to be on the safe side.
const FIRST_READ_BYTES: usize = 32 << 10;

/// Tells what a whole file is, and returns the text of it that is searched if it is plain.
pub(crate) fn kind_of(text: &[u8]) -> (TextKind, &[u8]) {
    let nul = memchr::memchr(0, text);
    if is_wide(text) {
        return (TextKind::Mixed, text);
    }
    // The mark that says UTF-8 is not part of the text.
    let marked = text.strip_prefix(b"\xef\xbb\xbf");
    match nul {
        None => (TextKind::Plain, marked.unwrap_or(text)),
        // The first three bytes are read on their own, in search of a mark: a line that ends there is
        // searched before the rest is looked at.
        Some(nul) if nul < FIRST_READ_BYTES && !text[..3.min(text.len())].contains(&b'\n') => {
            (TextKind::Binary, text)
        }
        Some(_) => (TextKind::Mixed, text),
    }
}

/// Whether a file says that it is UTF-16: its bytes are not those of the text.
pub(crate) fn is_wide(text: &[u8]) -> bool {
    text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff")
}

/// Reads a file that said it has `size` bytes, with one read where that is so.
pub(crate) fn read_whole(mut file: &File, size: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    // One byte of room more than there should be tells the end without another read.
    let room = size + 1;
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    let mut length = 0;
    loop {
        if length == buffer.len() {
            // It grows while it is read.
            buffer.resize(length * 2, 0);
        }
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(got) => {
                length += got;
                if length < buffer.len() && length <= size {
                    // Short of the room: at the end, unless the file is longer than it said.
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
    fn a_file_is_told_by_its_bytes() {
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
