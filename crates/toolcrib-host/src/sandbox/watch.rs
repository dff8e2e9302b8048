//! Watches how much a command makes the workspace's file systems grow.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::SystemTime;

use toolcrib_core::command::Limit;

/// How full the file systems were when a command began.
pub(crate) struct Growth {
    roots: Vec<Full>,
}

struct Full {
    root: OwnedFd,
    device: u64,
    bytes: u64,
    files: u64,
}

impl Growth {
    /// Notes how full the file systems are that hold `roots`.
    pub(crate) fn since_now<'a>(roots: impl Iterator<Item = BorrowedFd<'a>>) -> Self {
        let mut known: Vec<Full> = Vec::new();
        for root in roots {
            let device = rustix::fs::fstat(root).map_or(0, |meta| meta.st_dev);
            let Ok(root) = root.try_clone_to_owned() else { continue };
            if !known.iter().any(|it| it.device == device) {
                let (bytes, files) = full(&root);
                known.push(Full { root, device, bytes, files });
            }
        }
        Self { roots: known }
    }

    /// Returns the limit that was passed, if one was. Others write to the same file systems: bytes
    /// count only if the command itself has written as many, files only if they are new below the root.
    pub(crate) fn look(
        &mut self,
        written: u64,
        most: u64,
        most_files: u64,
        since: SystemTime,
    ) -> Option<(Limit, u64, u64)> {
        self.roots.iter_mut().find_map(|then| {
            let (bytes, files) = full(&then.root);
            let grown = bytes.saturating_sub(then.bytes);
            if grown > most && written > most {
                return Some((Limit::Growth, most, grown.min(written)));
            }
            let more = files.saturating_sub(then.files);
            if more <= most_files {
                return None;
            }
            let new = count_new(&then.root, since, most_files);
            if new > most_files {
                return Some((Limit::Files, most_files, more));
            }
            // It was someone else.
            then.files = files;
            None
        })
    }
}

/// Counts what is new below a root, until it is more than `most`.
fn count_new(root: &OwnedFd, since: SystemTime, most: u64) -> u64 {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    let since = since.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut open = vec![std::path::PathBuf::from(format!("/proc/self/fd/{}/", root.as_raw_fd()))];
    let mut new = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            new += u64::from(meta.ctime().cast_unsigned() >= since);
            if new > most {
                return new;
            }
            if meta.is_dir() {
                open.push(entry.path());
            }
        }
    }
    new
}

/// Bytes and files in use.
fn full(root: &OwnedFd) -> (u64, u64) {
    rustix::fs::fstatvfs(root.as_fd()).map_or((0, 0), |fs| {
        let blocks = fs.f_blocks.saturating_sub(fs.f_bfree);
        (blocks * fs.f_frsize, fs.f_files.saturating_sub(fs.f_ffree))
    })
}
