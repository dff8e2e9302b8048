//! The output of a command: what came back with the answer, and what was saved.

/// The output of a command on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text, without its middle if it was long. Bytes that are not text are shown as `\xNN`.
    pub text: String,
    /// The length of the whole output, in bytes.
    pub bytes: u64,
    /// The number of lines of the whole output.
    pub lines: u64,
    /// Whether part of the output is left out of the text.
    pub is_cut: bool,
}

/// One of the two output streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// The stream's name on wires and of saved files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A range of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The number of the first line, counted from 1.
    pub from: u64,
    /// How many lines.
    pub count: u64,
    /// How many bytes at most.
    pub most: usize,
}

/// Lines of a command's saved output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines.
    pub text: String,
    /// The number of the first line.
    pub from: u64,
    /// How many lines there are in the text.
    pub count: u64,
    /// How many lines were saved in all.
    pub total: u64,
}
