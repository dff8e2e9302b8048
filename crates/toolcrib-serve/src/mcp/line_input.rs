//! What a client sends over stdin, line by line. Either the reader thread reads it, or the event loop.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use toolcrib_core::json;

/// How much is read at once.
const READ_BYTES: usize = 64 << 10;

/// The longest line that is copied out of the buffer. A longer one that ends the buffer is handed over with it.
const COPIED_BYTES: usize = READ_BYTES;

/// How long a line is awaited without sleep. A client that makes one call after the other sends the next one soon, and a
/// sleep takes longer than a short call.
const AWAKE: Duration = Duration::from_micros(50);

/// A line from the client, or the end of its lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadLine {
    Whole(Vec<u8>),
    /// It is longer than a call may be, and was dropped.
    TooLong,
    /// There are no more.
    End,
}

/// The lines of a client.
pub(super) struct LineInput {
    pipe: OwnedFd,
    /// What was read and is not yet taken.
    read: Vec<u8>,
    /// How much of it was searched for the end of a line.
    searched: usize,
    /// Whether the rest of a line that is too long is being skipped.
    is_skipping: bool,
    has_ended: bool,
}

impl LineInput {
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self { pipe, read: Vec::new(), searched: 0, is_skipping: false, has_ended: false }
    }

    /// Whether something was read that is not yet taken.
    pub(super) fn has_more(&self) -> bool {
        !self.read.is_empty()
    }

    /// Waits on this thread until there is a line.
    pub(super) fn wait_for_line(&mut self) -> ReadLine {
        loop {
            if let Some(line) = self.next_line() {
                return line;
            }
            self.stay_awake();
            self.read_more();
        }
    }

    /// Waits a moment for the client, without sleep. Whoever else wants this processor gets it.
    fn stay_awake(&self) {
        let began = Instant::now();
        while began.elapsed() < AWAKE && !is_ready(&self.pipe, PollFlags::IN, Wait::No) {
            std::thread::yield_now();
        }
    }

    /// Returns the next line if it is there, and does not wait for it.
    pub(super) fn take_line(&mut self) -> Option<ReadLine> {
        loop {
            if let Some(line) = self.next_line() {
                return Some(line);
            }
            if !is_ready(&self.pipe, PollFlags::IN, Wait::No) {
                return None;
            }
            self.read_more();
        }
    }

    /// Takes the next line out of what was read.
    fn next_line(&mut self) -> Option<ReadLine> {
        let end = memchr::memchr(b'\n', &self.read[self.searched..]).map(|at| self.searched + at);
        let Some(end) = end else {
            self.searched = self.read.len();
            if self.read.len() > json::MAX_BYTES {
                self.is_skipping = true;
            }
            if self.is_skipping {
                self.forget_read();
            }
            return self.has_ended.then_some(ReadLine::End);
        };
        let is_too_long = std::mem::take(&mut self.is_skipping) || end > json::MAX_BYTES;
        let line = if end > COPIED_BYTES && end + 1 == self.read.len() {
            let mut line = std::mem::take(&mut self.read);
            line.truncate(end);
            line
        } else {
            let line = self.read[..end].to_vec();
            self.read.drain(..=end);
            line
        };
        self.searched = 0;
        Some(if is_too_long { ReadLine::TooLong } else { ReadLine::Whole(line) })
    }

    fn forget_read(&mut self) {
        self.read.clear();
        self.searched = 0;
    }

    /// Reads what is there, and waits if there is nothing.
    fn read_more(&mut self) {
        self.read.reserve(READ_BYTES);
        loop {
            match read(&self.pipe, rustix::buffer::spare_capacity(&mut self.read)) {
                Ok(0) => self.has_ended = true,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                // Whoever shares the pipe may have made it so that reads do not wait.
                Err(Errno::AGAIN) => {
                    is_ready(&self.pipe, PollFlags::IN, Wait::Forever);
                    continue;
                }
                Err(_) => self.has_ended = true,
            }
            return;
        }
    }
}

/// Whether to wait until a pipe is ready.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    No,
    Forever,
}

/// Whether a pipe is ready, or broken, which a read or a write then tells.
pub(super) fn is_ready(pipe: &OwnedFd, wanted: PollFlags, wait: Wait) -> bool {
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    let time = match wait {
        Wait::No => Some(&none),
        Wait::Forever => None,
    };
    loop {
        match poll(&mut [PollFd::new(pipe, wanted)], time) {
            Ok(count) => return count > 0,
            Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;

    /// Returns the lines of a client that sends `sent` and goes away.
    fn lines(sent: &[u8]) -> Vec<ReadLine> {
        let (read, mut write) = io::pipe().unwrap();
        let sent = sent.to_vec();
        let writer = std::thread::spawn(move || write.write_all(&sent).unwrap());
        let mut input = LineInput::new(read.into());
        let mut lines = Vec::new();
        while lines.last() != Some(&ReadLine::End) {
            lines.push(input.wait_for_line());
        }
        writer.join().unwrap();
        lines
    }

    fn whole(text: &str) -> ReadLine {
        ReadLine::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_come_one_by_one() {
        assert_eq!(lines(b""), [ReadLine::End]);
        assert_eq!(lines(b"one\n\ntwo\n"), [whole("one"), whole(""), whole("two"), ReadLine::End]);
        // A line without an end is no message: the client went away while it wrote it.
        assert_eq!(lines(b"one\ntw"), [whole("one"), ReadLine::End]);
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_is_read() {
        let mut sent = vec![b'x'; json::MAX_BYTES + 1];
        sent.extend(b"\nnext\n");
        assert_eq!(lines(&sent), [ReadLine::TooLong, whole("next"), ReadLine::End]);
        // The control: a line as long as allowed.
        let mut sent = vec![b'x'; json::MAX_BYTES];
        sent.push(b'\n');
        assert!(matches!(&lines(&sent)[0], ReadLine::Whole(line) if line.len() == json::MAX_BYTES));
    }

    #[test]
    fn a_line_that_is_not_there_is_not_waited_for() {
        let (read, mut write) = io::pipe().unwrap();
        let mut input = LineInput::new(read.into());
        assert_eq!(input.take_line(), None);
        write.write_all(b"half").unwrap();
        assert_eq!(input.take_line(), None);
        assert!(input.has_more());
        write.write_all(b" and half\n").unwrap();
        assert_eq!(input.take_line(), Some(whole("half and half")));
        assert!(!input.has_more());
        drop(write);
        assert_eq!(input.take_line(), Some(ReadLine::End));
    }
}
