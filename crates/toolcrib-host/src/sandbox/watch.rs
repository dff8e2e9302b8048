//! Watches how much a command makes the workspace's file systems grow.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::SystemTime;

use toolcrib_core::command::Limit;

/// How full the file systems were when a command began.
pub(crate) struct Growth {
    roots: Vec<Full>,
}

struct Full {
    device: u64,
    /// The roots on it.
    roots: Vec<OwnedFd>,
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
            if let Some(other) = known.iter_mut().find(|it| it.device == device) {
                other.roots.push(root);
            } else {
                let (bytes, files) = full(&root);
                known.push(Full { device, roots: vec![root], bytes, files, looked_at: 0 });
            }
        }
        Self { roots: known }
    }

    /// Returns the limit that was passed, if one was. Others fill and empty the same file systems:
    /// how full they are, and what the command has written, only say when to look.
    pub(crate) fn look(
        &mut self,
        written: u64,
        most: u64,
        most_files: u64,
        since: SystemTime,
    ) -> Option<(Limit, u64, u64)> {
        self.roots.iter_mut().find_map(|then| {
            let (bytes, files) = then.roots.first().map_or((0, 0), full);
            let grown = bytes.saturating_sub(then.bytes);
            // Either can be someone else's doing, or be hidden by it. Looking is dear: once for each time.
            if grown > most || written.saturating_sub(then.looked_at) > most {
                then.looked_at = written;
                let new = New::below(&then.roots, since, most, u64::MAX);
                let all = new.bytes + new.changed;
                if new.bytes > most || grown.min(all) > most {
                    return Some((Limit::Growth, most, new.bytes.max(grown.min(all))));
                }
                then.bytes = bytes.saturating_sub(all);
            }
            let more = files.saturating_sub(then.files);
            if more <= most_files {
                return None;
            }
            if New::below(&then.roots, since, u64::MAX, most_files).files > most_files {
                return Some((Limit::Files, most_files, more));
            }
            // It was someone else.
            then.files = files;
            None
        })
    }
}

/// What is new below roots.
#[derive(Default)]
struct New {
    /// On disk, in files that were made since.
    bytes: u64,
    /// On disk, in files that were there before and written since.
    changed: u64,
    /// Made or changed since.
    files: u64,
}

impl New {
    /// Counts until it is more than `most` bytes or `most_files` files.
    fn below(roots: &[OwnedFd], since: SystemTime, most: u64, most_files: u64) -> Self {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let seconds = |time: SystemTime| {
            time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
        };
        let since = seconds(since);
        let place = |root: &OwnedFd| format!("/proc/self/fd/{}/", root.as_raw_fd()).into();
        let mut open: Vec<std::path::PathBuf> = roots.iter().map(place).collect();
        let mut new = Self::default();
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                let changed = meta.ctime().cast_unsigned();
                new.files += u64::from(changed >= since);
                if meta.created().map_or(changed, seconds) >= since {
                    new.bytes += meta.blocks() * 512;
                } else if meta.is_file() && meta.mtime().cast_unsigned() >= since {
                    new.changed += meta.blocks() * 512;
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
        assert!(used > 1_000_000, "{used}");
        growth.roots[0].bytes = u64::MAX;
        assert!(growth.look(5_500_000, 1_000_000, 10, old).is_none(), "it wrote no more");
        // Whoever hides what it writes is seen by the file system's growth.
        growth.roots[0].bytes = 0;
        assert!(growth.look(0, 1_000_000, 10, old).is_some());
        // And growth elsewhere is nobody's here.
        std::fs::remove_file(folder.path().join("new")).unwrap();
        growth.roots[0].bytes = 0;
        assert!(growth.look(u64::MAX, 1_000_000, 10, old).is_none());
    }
}
