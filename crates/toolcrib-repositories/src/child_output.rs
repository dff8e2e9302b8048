//! The output of a process, read with patience: no read waits for longer than it may, and each notices when nobody
//! wants its bytes any more.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use toolcrib_core::{Cancel, ErrorKind, ToolError};

/// How many bytes are read at once.
const READ_BYTES: usize = 128 << 10;

/// How long a read waits before it checks whether it is still wanted.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long to wait for the next byte.
pub(crate) struct ChildPatience<'a> {
    pub(crate) time: Duration,
    /// Whether nobody wants the bytes any more.
    pub(crate) is_stopped: &'a dyn Fn() -> bool,
}

/// Why a process gave no answer.
#[derive(Debug)]
pub(crate) enum ChildFailure {
    /// It has ended.
    Ended,
    /// It has said nothing for so long.
    Silent(Duration),
    /// It has not ended within so long.
    Overdue(Duration),
    /// Nobody wants the answer any more.
    Stopped,
    /// It said something else than it should.
    Garbled,
    /// Its pipe cannot be read.
    Unreadable(io::Error),
}

impl ChildFailure {
    /// Returns the error for a process of `git` with this subcommand.
    pub(crate) fn error(self, subcommand: &str, cancel: &Cancel) -> ToolError {
        let failed = |what: String| {
            ToolError::new(ErrorKind::Io, format!("`git {subcommand}` {what}"))
                .hint("try again; if it fails again, check the repository with `git fsck`")
        };
        match self {
            Self::Ended => failed("ended without an answer".to_owned()),
            Self::Silent(time) => failed(format!("said nothing for {} s", time.as_secs())),
            Self::Overdue(time) => failed(format!("did not end within {} s", time.as_secs())),
            Self::Garbled => failed("gave an answer that makes no sense".to_owned()),
            Self::Unreadable(err) => failed(format!("cannot be read from: {err}")),
            Self::Stopped => match cancel.check() {
                Err(err) => err,
                Ok(()) => ToolError::new(ErrorKind::Cancelled, "the work was stopped"),
            },
        }
    }
}

/// The output of a process.
pub(crate) struct ChildOutput {
    pipe: OwnedFd,
    buffer: Vec<u8>,
    /// The bytes of the buffer that were read from the pipe and not taken.
    from: usize,
    to: usize,
}

impl ChildOutput {
    pub(crate) fn new(pipe: OwnedFd) -> Self {
        Self { pipe, buffer: vec![0; READ_BYTES], from: 0, to: 0 }
    }

    /// The handle that becomes ready when there are bytes.
    pub(crate) fn pipe(&self) -> &OwnedFd {
        &self.pipe
    }

    /// The bytes that are there.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Takes bytes that are there.
    pub(crate) fn take(&mut self, count: usize) {
        self.from += count;
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        }
    }

    /// Reads what the pipe has, which is ready; returns how much. At the end, that is 0.
    pub(crate) fn read_ready(&mut self) -> Result<usize, ChildFailure> {
        if self.to == self.buffer.len() {
            if self.from == 0 {
                return Err(ChildFailure::Garbled);
            }
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        loop {
            match rustix::io::read(&self.pipe, &mut self.buffer[self.to..]) {
                Ok(got) => {
                    self.to += got;
                    return Ok(got);
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(ChildFailure::Unreadable(errno.into())),
            }
        }
    }

    /// Reads more; fails at the end.
    pub(crate) fn fill(&mut self, patience: &ChildPatience<'_>) -> Result<(), ChildFailure> {
        wait_for(&mut [PollFd::new(&self.pipe, PollFlags::IN)], patience)?;
        if self.read_ready()? == 0 { Err(ChildFailure::Ended) } else { Ok(()) }
    }

    /// Takes a line, without its end.
    pub(crate) fn line(&mut self, patience: &ChildPatience<'_>) -> Result<Vec<u8>, ChildFailure> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', self.bytes()) {
                let line = self.bytes()[..end].to_vec();
                self.take(end + 1);
                return Ok(line);
            }
            self.fill(patience)?;
        }
    }
}

/// Waits until one of the handles is ready.
pub(crate) fn wait_for(
    handles: &mut [PollFd<'_>],
    patience: &ChildPatience<'_>,
) -> Result<(), ChildFailure> {
    let begun = Instant::now();
    let interval = Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) };
    loop {
        match poll(handles, Some(&interval)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(errno) => return Err(ChildFailure::Unreadable(errno.into())),
        }
        if (patience.is_stopped)() {
            return Err(ChildFailure::Stopped);
        }
        if begun.elapsed() >= patience.time {
            return Err(ChildFailure::Silent(patience.time));
        }
    }
}

/// Makes writes to a pipe fail instead of waiting.
pub(crate) fn never_wait(pipe: impl AsFd) -> Result<(), ChildFailure> {
    rustix::io::ioctl_fionbio(pipe, true).map_err(|errno| ChildFailure::Unreadable(errno.into()))
}
