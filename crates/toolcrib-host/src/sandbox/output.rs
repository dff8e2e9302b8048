//! The output of a command: read to the end however long it is, head and tail kept for the answer, all of it saved
//! up to a bound. Lines that a terminal program overwrote are folded into their last state.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use toolcrib_core::command::{Printed, Stream};
use toolcrib_core::counted;

/// A line longer than this is not held back until it is known whether the program overwrites it.
const LONGEST_HELD_LINE_BYTES: usize = 64 << 10;

/// Collects one output stream of a command.
pub(crate) struct Collector {
    kept: HeadAndTail,
    line: Vec<u8>,
    /// The last byte was a carriage return. The next byte tells what it meant.
    is_returned: bool,
    bytes: u64,
    lines: u64,
    ends_line: bool,
    /// How many bytes were overwritten on their line.
    folded: u64,
    saved: SavedOutput,
}

/// The beginning and the end of a stream.
struct HeadAndTail {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How many bytes dropped out of the tail.
    lost: u64,
}

/// The file that a stream is saved in. It is made when there is something to save.
struct SavedOutput {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
    most: u64,
    has_failed: bool,
}

impl Collector {
    /// Creates a collector that keeps `keep` bytes for the answer, and saves up to `most` bytes in `folder`.
    pub(crate) fn new(stream: Stream, keep: usize, folder: &Path, most: u64) -> Self {
        let path = folder.join(stream.as_str());
        Self {
            kept: HeadAndTail {
                half: (keep / 2).max(1),
                head: Vec::new(),
                tail: VecDeque::new(),
                lost: 0,
            },
            line: Vec::new(),
            is_returned: false,
            bytes: 0,
            lines: 0,
            ends_line: true,
            folded: 0,
            saved: SavedOutput { path, file: None, bytes: 0, most, has_failed: false },
        }
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.saved.write(bytes);
        self.bytes += bytes.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.ends_line = *last == b'\n';
        if !self.is_returned && memchr::memchr(b'\r', bytes).is_none() {
            self.take_plain(bytes);
        } else {
            for byte in bytes {
                self.take_byte(*byte);
            }
        }
    }

    fn take_plain(&mut self, bytes: &[u8]) {
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        if whole > 0 {
            self.flush();
            self.kept.push(&bytes[..whole]);
        }
        self.line.extend_from_slice(&bytes[whole..]);
        if self.line.len() > LONGEST_HELD_LINE_BYTES {
            self.flush();
        }
    }

    fn take_byte(&mut self, byte: u8) {
        if self.is_returned {
            self.is_returned = false;
            // Either the line end of another system, or the line starts over.
            match byte {
                b'\n' => self.line.push(b'\r'),
                // A second carriage return has no further effect.
                b'\r' => self.folded += 1,
                _ => {
                    self.folded += self.line.len() as u64 + 1;
                    self.line.clear();
                }
            }
        }
        match byte {
            b'\r' => self.is_returned = true,
            b'\n' => {
                self.line.push(byte);
                self.flush();
            }
            _ => self.line.push(byte),
        }
        if self.line.len() > LONGEST_HELD_LINE_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.kept.push(&self.line);
        self.line.clear();
    }

    /// Returns how many bytes were printed.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns what was printed so far. `rest` says how to read what is left out.
    pub(crate) fn printed(&self, rest: &str) -> Printed {
        let lines = self.lines + u64::from(!self.ends_line);
        let tail: Vec<u8> = self.kept.tail.iter().chain(&self.line).copied().collect();
        let (head, half) = (self.kept.head.as_slice(), self.kept.half);
        let mut text = String::new();
        let is_whole = self.kept.lost == 0;
        if is_whole && json_bytes(head) + json_bytes(&tail) <= 2 * half {
            // Shown together, because a character may be split between the two.
            show(&[head, &tail].concat(), &mut text);
            return Printed { text, bytes: self.bytes, lines, is_cut: false };
        }
        // Output that never filled the tail is cut in the middle all the same.
        let both = [head, &tail].concat();
        let (head, tail) = if is_whole { (&both[..], &both[..]) } else { (head, &tail[..]) };
        let head = &head[..whole_lines_head(head, half)];
        let tail = &tail[whole_lines_tail(tail, half)..];
        let folded = self.folded;
        let lost = (self.bytes - folded).saturating_sub((head.len() + tail.len()) as u64);
        let count = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
        let shown = count(head) + count(tail) + u64::from(!self.ends_line);
        let (lost_lines, how) = (lines.saturating_sub(shown), self.saved.rest_hint(rest));
        show(head, &mut text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "[{}, {} left out here; {how}]",
            counted(lost, "byte"),
            counted(lost_lines, "line")
        );
        show(tail, &mut text);
        Printed { text, bytes: self.bytes, lines, is_cut: true }
    }
}

impl HeadAndTail {
    fn push(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        if rest.is_empty() {
            return;
        }
        if rest.len() >= self.half {
            let (gone, rest) = rest.split_at(rest.len() - self.half);
            self.lost += (self.tail.len() + gone.len()) as u64;
            self.tail.clear();
            self.tail.extend(rest);
            return;
        }
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.lost += over as u64;
        self.tail.extend(rest);
    }
}

impl SavedOutput {
    fn write(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.most.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        if bytes.is_empty() || self.has_failed {
            return;
        }
        if self.file.is_none() {
            self.file = create(&self.path).ok();
        }
        match self.file.as_mut().map(|file| file.write_all(bytes)) {
            Some(Ok(())) => self.bytes += bytes.len() as u64,
            // A full disk must not end the command. The answer says that saving failed.
            _ => self.has_failed = true,
        }
    }

    /// Returns the sentence that says how to read what is left out.
    fn rest_hint(&self, rest: &str) -> String {
        if self.has_failed {
            return "saving the output failed".to_owned();
        }
        if self.bytes == self.most {
            return format!("only the first {} bytes are saved: {rest}", self.most);
        }
        rest.to_owned()
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent()
        && let Err(err) = DirBuilder::new().mode(0o700).create(folder)
        && err.kind() != io::ErrorKind::AlreadyExists
    {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Returns how many bytes a byte takes in a reply, which is JSON.
fn json_bytes_of(byte: u8) -> usize {
    match byte {
        b'\n' | b'\r' | b'\t' | b'"' | b'\\' => 2,
        0..0x20 => 6,
        // Part of a character, or shown as `\xNN`. The latter takes more, and is rare.
        _ => 1,
    }
}

/// Returns how many bytes the text of `bytes` takes in a reply.
fn json_bytes(bytes: &[u8]) -> usize {
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len() * 4).sum();
    invalid + bytes.iter().map(|byte| json_bytes_of(*byte)).sum::<usize>()
}

/// Returns how much of the beginning fits into `room`: whole lines, unless the cut line makes up most of it.
fn whole_lines_head(bytes: &[u8], room: usize) -> usize {
    let mut end = bytes.len();
    while json_bytes(&bytes[..end]) > room {
        end = end * room / json_bytes(&bytes[..end]);
    }
    // Do not cut in the middle of a character.
    while end > 0 && end < bytes.len() && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let lines = memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |end| end + 1);
    if lines < end / 2 { end } else { lines }
}

/// Returns where the part of the end begins that fits into `room`: at a line, unless the cut line makes up most of
/// it.
fn whole_lines_tail(bytes: &[u8], room: usize) -> usize {
    let mut start = 0;
    while json_bytes(&bytes[start..]) > room {
        let keep = (bytes.len() - start) * room / json_bytes(&bytes[start..]);
        start = bytes.len() - keep;
    }
    while start < bytes.len() && start > 0 && bytes[start] & 0xc0 == 0x80 {
        start += 1;
    }
    let line = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |end| start + end + 1);
    if line - start > (bytes.len() - start) / 2 { start } else { line }
}

/// Appends bytes as text; bytes that are not UTF-8 become `\xNN`.
pub(crate) fn show(bytes: &[u8], text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(chunks: &[&[u8]], keep: usize) -> Printed {
        let folder = tempfile::tempdir().unwrap();
        let mut collector = Collector::new(Stream::Stdout, keep, folder.path(), 1 << 20);
        for chunk in chunks {
            collector.take(chunk);
        }
        let saved = fs::read(folder.path().join("stdout")).unwrap_or_default();
        assert_eq!(saved, chunks.concat(), "everything is saved as it was");
        collector.printed("read it")
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        for chunks in [&[b"a\nb\n".as_slice()][..], &[b"a\n", b"b", b"\n"], &[b"a\r\nb\r\n"]] {
            let all = chunks.concat();
            assert_eq!(printed(chunks, 100).text.as_bytes(), all);
        }
    }

    #[test]
    fn overwritten_lines_fold_into_their_last_state() {
        let text = printed(&[b" 10%\r 20%\r", b"100%\ndone\n"], 100).text;
        assert_eq!(text, "100%\ndone\n");
        assert_eq!(printed(&[b"a\r", b"\nb"], 100).text, "a\r\nb");
    }

    #[test]
    fn a_cut_says_how_much_is_left_out() {
        let lines: Vec<u8> = (1..=1000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let got = printed(&[&lines[..777], &lines[777..]], 40);
        assert!(got.is_cut);
        assert!(got.text.starts_with("1\n2\n"), "{}", got.text);
        assert!(got.text.ends_with("\n1000\n"), "{}", got.text);
        let shown = got.text.lines().filter(|line| !line.starts_with('[')).count();
        let lost = 1000 - shown;
        assert!(got.text.contains(&format!("{lost} lines left out here; read it")), "{}", got.text);
        assert_eq!((got.lines, got.bytes), (1000, lines.len() as u64));
    }

    #[test]
    fn bytes_that_are_no_text_are_shown() {
        assert_eq!(printed(&[b"a\xff\xc3", b"\xa4b\xe2\x82"], 100).text, "a\\xffäb\\xe2\\x82");
    }
}
