//! The pipes of a running command: its output is read from two of them until both are closed.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use toolcrib_core::command::Stream;

use super::job::Job;
use super::output_tee::OutputTee;

/// How many bytes a buffer and a pipe hold at first, and when a command prints a lot.
const SMALL_BUFFER_BYTES: usize = 64 << 10;
const LARGE_BUFFER_BYTES: usize = 1 << 20;

/// Our ends of the connections to a command that was launched.
pub(crate) struct Pipes {
    pub(crate) control: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Both output streams of a command, in the order stdout, stderr.
pub(crate) struct OutputPipes {
    streams: [Option<OwnedFd>; 2],
    /// Receives what is printed, as it is printed.
    tee: Option<OutputTee>,
    buffer: Vec<u8>,
}

const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

impl OutputPipes {
    pub(crate) fn new(stdout: OwnedFd, stderr: OwnedFd, tee: Option<OutputTee>) -> Self {
        let streams = [Some(stdout), Some(stderr)];
        Self { streams, tee, buffer: vec![0; SMALL_BUFFER_BYTES] }
    }

    /// Whether both streams are closed.
    pub(crate) fn are_closed(&self) -> bool {
        self.streams.iter().all(Option::is_none)
    }

    /// Whether the tee's reader keeps up. While it does not, nothing is read from the pipes.
    pub(crate) fn has_room(&self) -> bool {
        self.tee.as_ref().is_none_or(OutputTee::has_room)
    }

    /// Returns the pipes to poll now: the open ones, and none while the tee's reader is behind.
    pub(crate) fn to_poll(&self) -> [Option<&OwnedFd>; 2] {
        if self.has_room() { self.streams.each_ref().map(Option::as_ref) } else { [None, None] }
    }

    /// Reads once from each stream that is ready. Returns how much was printed in all, if anything was read.
    pub(crate) fn read(&mut self, ready: [bool; 2], job: &Job) -> io::Result<Option<u64>> {
        let mut total = None;
        for (number, is_ready) in ready.into_iter().enumerate() {
            if is_ready {
                total = self.read_one(number, job)?.or(total);
            }
        }
        Ok(total)
    }

    /// Reads what is left in the pipes and closes them, without waiting for more. Returns how much was printed in all,
    /// if anything was read.
    pub(crate) fn drain(&mut self, job: &Job) -> io::Result<Option<u64>> {
        let mut total = None;
        for number in 0..STREAMS.len() {
            while self.has_room()
                && let Some(pipe) = &self.streams[number]
            {
                let mut polls = [PollFd::new(pipe, PollFlags::IN)];
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                match poll(&mut polls, Some(&at_once)) {
                    Ok(0) => self.streams[number] = None,
                    Ok(_) => total = self.read_one(number, job)?.or(total),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        Ok(total)
    }

    fn read_one(&mut self, number: usize, job: &Job) -> io::Result<Option<u64>> {
        let Some(pipe) = &self.streams[number] else { return Ok(None) };
        let count = match rustix::io::read(pipe, self.buffer.as_mut_slice()) {
            Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
            other => other?,
        };
        if count == 0 {
            self.streams[number] = None;
            return Ok(None);
        }
        if count == self.buffer.len() {
            // The command prints a lot: read fewer and larger pieces. The kernel denies it where the operator bounds
            // the size of pipes.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, LARGE_BUFFER_BYTES);
        }
        let stream = STREAMS[number];
        if let Some(tee) = &self.tee {
            tee.pass(stream, &self.buffer[..count]);
        }
        let total = {
            let mut progress = job.progress();
            let collector = match stream {
                Stream::Stdout => &mut progress.stdout,
                Stream::Stderr => &mut progress.stderr,
            };
            collector.take(&self.buffer[..count]);
            progress.stdout.bytes() + progress.stderr.bytes()
        };
        if count == self.buffer.len() && count < LARGE_BUFFER_BYTES {
            self.buffer.resize(LARGE_BUFFER_BYTES, 0);
        }
        Ok(Some(total))
    }
}
