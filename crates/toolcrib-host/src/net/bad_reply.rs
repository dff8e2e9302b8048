//! What can be wrong with a reply, as errors that pass through readers.

use std::fmt;
use std::io;

/// A reply that is not as HTTP says.
#[derive(Debug)]
pub(super) struct BadReply(String);

impl fmt::Display for BadReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadReply {}

/// A body that grows out of all proportion when it is decompressed.
#[derive(Debug)]
pub(super) struct CompressionBomb {
    pub(super) encoded: u64,
    pub(super) decoded: u64,
}

impl fmt::Display for CompressionBomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes became more than {}", self.encoded, self.decoded)
    }
}

impl std::error::Error for CompressionBomb {}

/// Returns the error of a reply that is not as HTTP says.
pub(super) fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, BadReply(what.to_owned()))
}

/// Returns the error of a reply that breaks off.
pub(super) fn cut_short() -> io::Error {
    bad("it ended before it was whole")
}
