//! Watches how much a command makes the workspace's file system grow.

use std::os::fd::{AsFd, OwnedFd};

use toolcrib_core::command::Limit;

/// How full a file system was when a command began.
pub(crate) struct Growth {
    root: Option<OwnedFd>,
    bytes: u64,
    files: u64,
}

impl Growth {
    /// Notes how full the file system is that holds `root`.
    pub(crate) fn since_now(root: Option<OwnedFd>) -> Self {
        let (bytes, files) = root.as_ref().map_or((0, 0), full);
        Self { root, bytes, files }
    }

    /// Returns the limit that was passed, if one was. Others write to the same file system: bytes
    /// count only if the command itself has written as many.
    pub(crate) fn look(
        &self,
        written: u64,
        most: u64,
        most_files: u64,
    ) -> Option<(Limit, u64, u64)> {
        let (bytes, files) = full(self.root.as_ref()?);
        let grown = bytes.saturating_sub(self.bytes);
        if grown > most && written > most {
            return Some((Limit::Growth, most, grown.min(written)));
        }
        let more = files.saturating_sub(self.files);
        (more > most_files).then_some((Limit::Files, most_files, more))
    }
}

/// Bytes and files in use.
fn full(root: &OwnedFd) -> (u64, u64) {
    rustix::fs::fstatvfs(root.as_fd()).map_or((0, 0), |fs| {
        let blocks = fs.f_blocks.saturating_sub(fs.f_bfree);
        (blocks * fs.f_frsize, fs.f_files.saturating_sub(fs.f_ffree))
    })
}
