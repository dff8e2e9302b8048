//! The pipes to a worker, as lines with a longest length, a deadline and a cancellation token.

use std::future::Future;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read, write};
use toolcrib_core::Cancel;

/// How many bytes are read at a time.
const READ_BYTES: usize = 64 << 10;

/// Why no more lines come, or none within the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipeEnd {
    /// The worker closed its end.
    Closed,
    /// The line is longer than it may be.
    TooLong,
    /// The time is over.
    TimeOver,
    /// The call was cancelled.
    Cancelled,
}

/// How long somebody waits for a worker.
#[derive(Clone, Copy)]
pub(crate) struct PipeWait<'a> {
    pub(crate) until: Instant,
    pub(crate) cancel: &'a Cancel,
}

/// The pipes to a worker.
pub(crate) struct LinePipe {
    /// Nothing after the worker's input was closed.
    input: Option<OwnedFd>,
    output: OwnedFd,
    alarm: Arc<Alarm>,
    /// What was read beyond the last line.
    read: Vec<u8>,
}

/// Wakes who waits for a worker.
struct Alarm(OwnedFd);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        // It fails only if it rings already.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }
}

impl LinePipe {
    /// Takes the ends of the pipes: what the worker reads, and what it writes.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd) -> Result<Self, Errno> {
        for end in [&input, &output] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (input, alarm) = (Some(input), Arc::new(Alarm(alarm)));
        Ok(Self { input, output, alarm, read: Vec::new() })
    }

    /// Sends text that ends with a line end.
    pub(crate) fn send(&self, text: &[u8], wait: PipeWait<'_>) -> Result<(), PipeEnd> {
        let Some(input) = &self.input else { return Err(PipeEnd::Closed) };
        let mut rest = text;
        while !rest.is_empty() {
            match write(input, rest) {
                Ok(length) => rest = &rest[length..],
                Err(Errno::AGAIN) => self.wait(input, PollFlags::OUT, wait)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(PipeEnd::Closed),
            }
        }
        Ok(())
    }

    /// Receives one line, without its end.
    pub(crate) fn receive(
        &mut self,
        wait: PipeWait<'_>,
        most_bytes: usize,
    ) -> Result<Vec<u8>, PipeEnd> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.read[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(searched + at + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.pop();
                return if line.len() > most_bytes { Err(PipeEnd::TooLong) } else { Ok(line) };
            }
            searched = self.read.len();
            if searched > most_bytes {
                return Err(PipeEnd::TooLong);
            }
            match self.read_more() {
                Ok(0) => return Err(PipeEnd::Closed),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(&self.output, PollFlags::IN, wait)?,
                Err(_) => return Err(PipeEnd::Closed),
            }
        }
    }

    /// Ends the worker's input.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Receives everything until the worker closes its end.
    pub(crate) fn receive_all(
        &mut self,
        wait: PipeWait<'_>,
        most_bytes: usize,
    ) -> Result<Vec<u8>, PipeEnd> {
        loop {
            if self.read.len() > most_bytes {
                return Err(PipeEnd::TooLong);
            }
            match self.read_more() {
                Ok(0) => return Ok(std::mem::take(&mut self.read)),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(&self.output, PollFlags::IN, wait)?,
                Err(_) => return Err(PipeEnd::Closed),
            }
        }
    }

    /// Whether the worker is there and has said nothing that nobody asked for.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.read.is_empty() && self.read_more() == Err(Errno::AGAIN)
    }

    fn read_more(&mut self) -> Result<usize, Errno> {
        let length = self.read.len();
        self.read.resize(length + READ_BYTES, 0);
        let result = read(&self.output, &mut self.read[length..]);
        self.read.truncate(length + result.unwrap_or(0));
        result
    }

    /// Waits until an end of the pipes is ready.
    fn wait(&self, end: &OwnedFd, flags: PollFlags, wait: PipeWait<'_>) -> Result<(), PipeEnd> {
        let waker = Waker::from(Arc::clone(&self.alarm));
        let mut cancelled = pin!(wait.cancel.cancelled());
        loop {
            if cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                return Err(PipeEnd::Cancelled);
            }
            let left = wait.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(PipeEnd::TimeOver);
            }
            let mut ends = [
                PollFd::from_borrowed_fd(end.as_fd(), flags),
                PollFd::from_borrowed_fd(self.alarm.0.as_fd(), PollFlags::IN),
            ];
            // A wait that is too long for the system is cut, and begins again.
            let most = Timespec { tv_sec: 3600, tv_nsec: 0 };
            let left = Timespec::try_from(left).map_or(most, |left| left.min(most));
            match poll(&mut ends, Some(&left)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return Err(PipeEnd::Closed),
            }
            if !ends[0].revents().is_empty() {
                return Ok(());
            }
            if !ends[1].revents().is_empty() {
                // It may have rung for an earlier call.
                let _ = read(&self.alarm.0, &mut [0; 8]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::pipe::pipe;

    use super::*;

    /// Returns the pipes, and the worker's ends: what it reads, and what it writes.
    fn pipes() -> (LinePipe, OwnedFd, OwnedFd) {
        let ((reads, input), (output, writes)) = (pipe().unwrap(), pipe().unwrap());
        (LinePipe::new(input, output).unwrap(), reads, writes)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[test]
    fn lines_come_one_by_one_however_they_were_written() {
        let (mut pipe, _reads, writes) = pipes();
        let cancel = Cancel::default();
        let wait = PipeWait { until: soon(), cancel: &cancel };
        write(&writes, b"one\ntwo\nthr").unwrap();
        assert_eq!(pipe.receive(wait, 100).unwrap(), b"one");
        assert_eq!(pipe.receive(wait, 100).unwrap(), b"two");
        assert!(!pipe.is_quiet(), "there is half a line");
        write(&writes, b"ee\n").unwrap();
        assert_eq!(pipe.receive(wait, 5).unwrap(), b"three");
        assert!(pipe.is_quiet());
        drop(writes);
        assert!(!pipe.is_quiet());
        assert_eq!(pipe.receive(wait, 100), Err(PipeEnd::Closed));
    }

    #[test]
    fn a_line_has_a_longest_length_with_and_without_an_end() {
        for text in ["123456\n", "123456"] {
            let (mut pipe, _reads, writes) = pipes();
            let cancel = Cancel::default();
            write(&writes, text.as_bytes()).unwrap();
            let wait = PipeWait { until: soon(), cancel: &cancel };
            assert_eq!(pipe.receive(wait, 5), Err(PipeEnd::TooLong), "{text}");
        }
    }

    #[test]
    fn a_wait_ends_at_its_time_and_when_the_call_is_cancelled() {
        let (mut pipe, reads, _writes) = pipes();
        let cancel = Cancel::default();
        let short = PipeWait { until: Instant::now() + Duration::from_millis(5), cancel: &cancel };
        assert_eq!(pipe.receive(short, 100), Err(PipeEnd::TimeOver));
        let huge = vec![b'x'; 8 << 20];
        let short = PipeWait { until: Instant::now() + Duration::from_millis(5), cancel: &cancel };
        assert_eq!(pipe.send(&huge, short), Err(PipeEnd::TimeOver), "nobody reads");
        let other = cancel.clone();
        let canceller = std::thread::spawn(move || other.cancel());
        let wait = PipeWait { until: soon(), cancel: &cancel };
        assert_eq!(pipe.receive(wait, 100), Err(PipeEnd::Cancelled));
        canceller.join().unwrap();
        drop(reads);
        let fresh = Cancel::default();
        let wait = PipeWait { until: soon(), cancel: &fresh };
        assert_eq!(pipe.send(b"x\n", wait), Err(PipeEnd::Closed));
    }
}
