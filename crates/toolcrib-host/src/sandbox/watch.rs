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
    /// What the command had written when what is new was last counted.
    looked_at: u64,
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
                known.push(Full { root, device, bytes, files, looked_at: 0 });
            }
        }
        Self { roots: known }
    }

    /// Returns the limit that was passed, if one was. Others fill and empty the same file systems:
    /// how full they are is only a hint, and what counts is new below the root or written by the command.
    pub(crate) fn look(
        &mut self,
        written: u64,
        most: u64,
        most_files: u64,
        since: SystemTime,
    ) -> Option<(Limit, u64, u64)> {
        self.roots.iter_mut().find_map(|then| {
            let (bytes, files) = full(&then.root);
            if written > most {
                let grown = bytes.saturating_sub(then.bytes);
                if grown > most {
                    return Some((Limit::Growth, most, grown.min(written)));
                }
                // Someone else may have made room meanwhile. Looking is dear: once per `most` written.
                if written - then.looked_at > most {
                    then.looked_at = written;
                    let new = New::below(&then.root, since, most, u64::MAX);
                    if new.bytes > most {
                        return Some((Limit::Growth, most, new.bytes.min(written)));
                    }
                }
            }
            let more = files.saturating_sub(then.files);
            if more <= most_files {
                return None;
            }
            if New::below(&then.root, since, u64::MAX, most_files).files > most_files {
                return Some((Limit::Files, most_files, more));
            }
            // It was someone else.
            then.files = files;
            None
        })
    }
}

/// What is new below a root.
#[derive(Default)]
struct New {
    /// On disk, in files that were made since.
    bytes: u64,
    /// Made or changed since.
    files: u64,
}

impl New {
    /// Counts until it is more than `most` bytes or `most_files` files.
    fn below(root: &OwnedFd, since: SystemTime, most: u64, most_files: u64) -> Self {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let seconds = |time: SystemTime| {
            time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
        };
        let since = seconds(since);
        let mut open =
            vec![std::path::PathBuf::from(format!("/proc/self/fd/{}/", root.as_raw_fd()))];
        let mut new = Self::default();
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                let changed = meta.ctime().cast_unsigned();
                new.files += u64::from(changed >= since);
                if meta.created().map_or(changed, seconds) >= since {
                    new.bytes += meta.blocks() * 512;
                }
                if new.bytes > most || new.files > most_files {
                    return new;
                }
                if meta.is_dir() {
                    open.push(entry.path());
                }
            }
        }
        new
    }
}

/// Bytes and files in use.
fn full(root: &OwnedFd) -> (u64, u64) {
    rustix::fs::fstatvfs(root.as_fd()).map_or((0, 0), |fs| {
        let blocks = fs.f_blocks.saturating_sub(fs.f_bfree);
        (blocks * fs.f_frsize, fs.f_files.saturating_sub(fs.f_ffree))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_others_make_hides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = OwnedFd::from(std::fs::File::open(folder.path()).unwrap());
        let before = std::time::Duration::from_secs(2);
        let old = SystemTime::now() - before;
        let mut growth = Growth::since_now([root.as_fd()].into_iter());
        // As if others had freed more than anyone could write.
        growth.roots[0].bytes = u64::MAX;
        growth.roots[0].files = u64::MAX;
        std::fs::write(folder.path().join("new"), vec![1; 2_000_000]).unwrap();
        let later = SystemTime::now() + before;
        assert!(growth.look(3_000_000, 1_000_000, 10, later).is_none(), "nothing is newer");
        assert!(growth.look(3_500_000, 1_000_000, 10, old).is_none(), "looked a moment ago");
        let (limit, most, used) = growth.look(5_000_000, 1_000_000, 10, old).unwrap();
        assert_eq!((limit, most), (Limit::Growth, 1_000_000));
        assert!((1_000_001..=5_000_000).contains(&used), "{used}");
        assert!(growth.look(999_999, 1_000_000, 10, old).is_none(), "it wrote less");
    }
}
