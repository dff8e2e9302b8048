//! Reading many blobs with one process of `git cat-file`, which is told the next ids while it still writes.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{ChildStdin, Stdio};

use rustix::event::{PollFd, PollFlags};
use toolcrib_core::ToolError;

use crate::child_output::{ChildFailure, ChildOutput, ChildPatience, never_wait, wait_for};
use crate::git::object_child::header;
use crate::git::program::GitProgram;
use crate::object_id::ObjectId;

/// How many ids a process may be ahead of its answers.
const MOST_ASKED: usize = 4096;

/// What to do with each blob; nothing for one that is missing or too large.
pub(super) type EachBlob<'a> = dyn FnMut(Option<&[u8]>) + 'a;

/// Why a batch ended early.
pub(super) enum BatchFailure {
    Child(ChildFailure),
    Start(ToolError),
}

impl From<ChildFailure> for BatchFailure {
    fn from(failure: ChildFailure) -> Self {
        Self::Child(failure)
    }
}

/// Blobs to read, and what was asked for and not yet answered.
pub(super) struct BlobBatch<'a> {
    pub(super) git: &'a GitProgram,
    pub(super) ids: &'a mut dyn Iterator<Item = ObjectId>,
    /// Blobs with more bytes are not read.
    pub(super) most: usize,
    pub(super) patience: ChildPatience<'a>,
    asked: VecDeque<ObjectId>,
}

/// Whether a process has read all that it can.
enum ProcessEnd {
    Done,
    /// The next blob is too large. It is dropped together with the process, which would write all of it.
    TooLarge,
}

impl<'a> BlobBatch<'a> {
    pub(super) fn new(
        git: &'a GitProgram,
        ids: &'a mut dyn Iterator<Item = ObjectId>,
        most: usize,
        patience: ChildPatience<'a>,
    ) -> Self {
        Self { git, ids, most, patience, asked: VecDeque::new() }
    }

    /// Reads all blobs.
    pub(super) fn run(mut self, each: &mut EachBlob<'_>) -> Result<(), BatchFailure> {
        while let ProcessEnd::TooLarge = self.run_process(each)? {
            self.asked.pop_front();
            each(None);
        }
        Ok(())
    }

    /// Reads with one process, up to the end or to a blob that is too large.
    fn run_process(&mut self, each: &mut EachBlob<'_>) -> Result<ProcessEnd, BatchFailure> {
        let start = self.git.start(&["cat-file", "--batch", "--buffer"], Stdio::null());
        let mut process = start.map_err(BatchFailure::Start)?;
        let (input, output) = (process.0.stdin.take(), process.0.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(ChildFailure::Ended.into());
        };
        never_wait(&input)?;
        // What the process before was asked, this one is asked again.
        let again: Vec<u8> =
            self.asked.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect();
        let mut questions =
            Questions { input: Some(input), unsent: again, sent: 0, are_all: false };
        let mut output = ChildOutput::new(output.into());
        let mut blob = Vec::new();
        loop {
            self.ask_more(&mut questions);
            if self.asked.is_empty() && questions.are_all {
                return Ok(ProcessEnd::Done);
            }
            let line = loop {
                if let Some(end) = memchr::memchr(b'\n', output.bytes()) {
                    let line = output.bytes()[..end].to_vec();
                    output.take(end + 1);
                    break line;
                }
                self.read_and_ask(&mut output, &mut questions)?;
            };
            let Some(header) = header(&line)? else {
                self.asked.pop_front();
                each(None);
                continue;
            };
            if header.size > self.most as u64 {
                return Ok(ProcessEnd::TooLarge);
            }
            let size = header.size as usize;
            blob.clear();
            // A line end follows the blob.
            while blob.len() <= size {
                if output.bytes().is_empty() {
                    self.read_and_ask(&mut output, &mut questions)?;
                }
                let bytes = output.bytes();
                let count = bytes.len().min(size + 1 - blob.len());
                blob.extend_from_slice(&bytes[..count]);
                output.take(count);
            }
            self.asked.pop_front();
            each(Some(&blob[..size]));
            if blob.capacity() > 8 << 20 {
                blob = Vec::new();
            }
        }
    }

    /// Asks for more blobs, as far as that needs no waiting.
    fn ask_more(&mut self, questions: &mut Questions) {
        while questions.input.is_some() && self.asked.len() < MOST_ASKED {
            if questions.is_sent() {
                let next: Vec<ObjectId> = self.ids.take(256).collect();
                if next.is_empty() {
                    // The end of its input makes git write the rest.
                    questions.input = None;
                    questions.are_all = true;
                    return;
                }
                questions.refill(&next);
                self.asked.extend(next);
            }
            if !questions.send() {
                return;
            }
        }
    }

    /// Reads more answers, and asks for more blobs meanwhile.
    fn read_and_ask(
        &mut self,
        output: &mut ChildOutput,
        questions: &mut Questions,
    ) -> Result<(), ChildFailure> {
        loop {
            self.ask_more(questions);
            let can_ask = !questions.is_sent() || self.asked.len() < MOST_ASKED;
            let pipe = PollFd::new(output.pipe(), PollFlags::IN);
            let is_readable = match questions.input.as_ref().filter(|_| can_ask) {
                None => {
                    wait_for(&mut [pipe], &self.patience)?;
                    true
                }
                Some(input) => {
                    let mut handles =
                        [pipe, PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT)];
                    wait_for(&mut handles, &self.patience)?;
                    !handles[0].revents().is_empty()
                }
            };
            if is_readable {
                return match output.read_ready()? {
                    0 => Err(ChildFailure::Ended),
                    _ => Ok(()),
                };
            }
        }
    }
}

/// Questions on their way to a process.
struct Questions {
    input: Option<ChildStdin>,
    unsent: Vec<u8>,
    sent: usize,
    /// Whether every blob was asked for.
    are_all: bool,
}

impl Questions {
    fn is_sent(&self) -> bool {
        self.sent == self.unsent.len()
    }

    fn refill(&mut self, ids: &[ObjectId]) {
        self.unsent.clear();
        self.sent = 0;
        for id in ids {
            let _ = writeln!(self.unsent, "{id}");
        }
    }

    /// Sends what the pipe takes; returns whether it took everything.
    fn send(&mut self) -> bool {
        let Some(input) = &mut self.input else { return false };
        while self.sent < self.unsent.len() {
            match input.write(&self.unsent[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(err) if err.kind() == std::io::ErrorKind::Interrupted => {}
                // A process that has ended is noticed when its answers end.
                Err(err) => {
                    if err.kind() != std::io::ErrorKind::WouldBlock {
                        self.input = None;
                    }
                    return false;
                }
            }
        }
        true
    }
}
