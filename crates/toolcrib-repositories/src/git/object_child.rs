//! A long-lived process of `git cat-file` that answers questions about one object after the other.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::{ChildStdin, Stdio};

use toolcrib_core::ToolError;

use crate::child_output::{ChildFailure, ChildOutput, ChildPatience};
use crate::child_process::ChildProcess;
use crate::git::program::GitProgram;
use crate::object_id::ObjectId;

/// What a child tells about objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildPurpose {
    /// Their kinds, sizes and contents.
    Contents,
    /// Their kinds and sizes.
    Sizes,
}

/// The kind and the size of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectHeader {
    pub(super) kind: Vec<u8>,
    pub(super) size: u64,
}

/// Up to so many bytes that nobody wants are read, so that the process can be asked again. Beyond that, another
/// process is sooner ready.
const MOST_DRAINED_BYTES: u64 = 4 << 20;

/// Whether a child can be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterAnswer {
    Ready,
    Spent,
}

/// A process that answers questions about objects.
pub(super) struct ObjectChild {
    // Dropped first: a process whose input has ended ends by itself.
    input: ChildStdin,
    output: ChildOutput,
    _process: ChildProcess,
}

impl ObjectChild {
    pub(super) fn start(git: &GitProgram, purpose: ChildPurpose) -> Result<Self, ToolError> {
        let option = match purpose {
            ChildPurpose::Contents => "--batch",
            ChildPurpose::Sizes => "--batch-check",
        };
        let mut process = git.start(&["cat-file", option], Stdio::null())?;
        let (input, output) = (process.0.stdin.take(), process.0.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(ToolError::new(toolcrib_core::ErrorKind::Bug, "git has no pipes"));
        };
        Ok(Self { input, output: ChildOutput::new(output.into()), _process: process })
    }

    /// Asks about an object; returns nothing if it is missing.
    pub(super) fn ask(
        &mut self,
        id: &ObjectId,
        patience: &ChildPatience<'_>,
    ) -> Result<Option<ObjectHeader>, ChildFailure> {
        // A question fits into the pipe, so writing it does not wait.
        self.ask_ahead(&[*id])?;
        self.next(patience)
    }

    /// Asks about several objects, whose answers come one after the other.
    pub(super) fn ask_ahead(&mut self, ids: &[ObjectId]) -> Result<(), ChildFailure> {
        let mut questions = Vec::new();
        for id in ids {
            let _ = writeln!(questions, "{id}");
        }
        self.input.write_all(&questions).map_err(|_| ChildFailure::Ended)
    }

    /// Returns what the next object that was asked for is; nothing if it is missing.
    pub(super) fn next(
        &mut self,
        patience: &ChildPatience<'_>,
    ) -> Result<Option<ObjectHeader>, ChildFailure> {
        header(&self.output.line(patience)?)
    }

    /// Reads the content that was asked for, piece by piece, until it ends or `piece` breaks.
    pub(super) fn content(
        &mut self,
        size: u64,
        patience: &ChildPatience<'_>,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<AfterAnswer, ChildFailure> {
        let mut left = size;
        let mut is_wanted = true;
        while left > 0 {
            if self.output.bytes().is_empty() {
                self.output.fill(patience)?;
            }
            let bytes = self.output.bytes();
            let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if is_wanted && piece(&bytes[..count]).is_break() {
                is_wanted = false;
            }
            self.output.take(count);
            left -= count as u64;
            if !is_wanted && left > MOST_DRAINED_BYTES {
                return Ok(AfterAnswer::Spent);
            }
        }
        match self.output.line(patience)?.as_slice() {
            b"" => Ok(AfterAnswer::Ready),
            _ => Err(ChildFailure::Garbled),
        }
    }
}

/// Parses what git says before an object: `<id> <kind> <size>`, or `<id> missing`.
pub(super) fn header(line: &[u8]) -> Result<Option<ObjectHeader>, ChildFailure> {
    let text = std::str::from_utf8(line).map_err(|_| ChildFailure::Garbled)?;
    let mut words = text.split(' ').skip(1);
    match (words.next(), words.next().map(str::parse)) {
        (Some("missing"), None) => Ok(None),
        (Some(kind), Some(Ok(size))) => {
            Ok(Some(ObjectHeader { kind: kind.as_bytes().to_vec(), size }))
        }
        _ => Err(ChildFailure::Garbled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_tell_what_an_object_is_or_that_it_is_missing() {
        let blob = ObjectHeader { kind: b"blob".to_vec(), size: 12 };
        assert_eq!(header(b"4b825dc blob 12").unwrap(), Some(blob));
        assert_eq!(header(b"4b825dc missing").unwrap(), None);
        for line in [&b""[..], b"4b825dc", b"4b825dc ambiguous", b"4b825dc blob x", b"\xff \xff"] {
            assert!(header(line).is_err(), "{line:?}");
        }
    }
}
