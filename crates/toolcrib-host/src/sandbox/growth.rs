//! Measures how much a command makes the file systems of the workspace grow.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::FileType;
use toolcrib_core::command::Limit;

use super::walk::{WalkedEntry, walk};

/// How far the clock of file times may be behind the system clock.
const CLOCK_LAG: Duration = Duration::from_millis(10);

/// How long after the start the new files are counted for the first time. Each later count waits twice as long.
const FIRST_COUNT: Duration = Duration::from_secs(1);

/// How full the file systems of the workspace were when a command began.
pub(crate) struct Growth {
    file_systems: Vec<FileSystemUse>,
    /// When the new files are counted whatever the signs say, and how long after that again.
    due: Instant,
    pause: Duration,
}

/// How full one file system was.
struct FileSystemUse {
    device: u64,
    /// The roots on this file system.
    roots: Vec<OwnedFd>,
    bytes: u64,
    files: u64,
    /// How much the command had written when its new files were last counted.
    written_at_count: u64,
}

impl Growth {
    /// Records how full the file systems of `roots` are now.
    pub(crate) fn since_now<'a>(roots: impl Iterator<Item = BorrowedFd<'a>>) -> Self {
        let mut known: Vec<FileSystemUse> = Vec::new();
        for root in roots {
            let device = rustix::fs::fstat(root).map_or(0, |meta| meta.st_dev);
            let Ok(root) = root.try_clone_to_owned() else { continue };
            if let Some(other) = known.iter_mut().find(|it| it.device == device) {
                other.roots.push(root);
            } else {
                let (bytes, files) = space_in_use(&root);
                known.push(FileSystemUse {
                    device,
                    roots: vec![root],
                    bytes,
                    files,
                    written_at_count: 0,
                });
            }
        }
        Self { file_systems: known, due: Instant::now() + FIRST_COUNT, pause: FIRST_COUNT }
    }

    /// Returns the limit that the command passed, if it passed one, with what is allowed and what was used. Other
    /// programs fill and empty the same file systems, so how full they are, and how much the command has written,
    /// only tell when to count its new files. Both can hide growth: the kernel counts for nobody what children
    /// write that nobody waits for, and other programs may free as much space meanwhile. That is why the files are
    /// also counted from time to time.
    pub(crate) fn check(
        &mut self,
        written: u64,
        most: u64,
        most_files: u64,
        since: SystemTime,
    ) -> Option<(Limit, u64, u64)> {
        let is_due = Instant::now() >= self.due;
        if is_due {
            self.pause *= 2;
            self.due = Instant::now() + self.pause;
        }
        self.file_systems.iter_mut().find_map(|then| {
            let (bytes, files) = then.roots.first().map_or((0, 0), space_in_use);
            let grown = bytes.saturating_sub(then.bytes);
            // Either sign can be another program's doing. Counting is costly, so each sign causes one count.
            if is_due || grown > most || written.saturating_sub(then.written_at_count) > most {
                then.written_at_count = written;
                let new = NewFiles::below(&then.roots, since, most, u64::MAX);
                let all = new.bytes + new.changed;
                let hidden = if new.has_gaps { grown.min(written) } else { 0 };
                let used = new.bytes.max(grown.min(all)).max(hidden);
                if used > most {
                    return Some((Limit::Growth, most, used));
                }
                then.bytes = bytes.saturating_sub(all);
            }
            let more = files.saturating_sub(then.files);
            if more <= most_files {
                return None;
            }
            if NewFiles::below(&then.roots, since, u64::MAX, most_files).files > most_files {
                return Some((Limit::Files, most_files, more));
            }
            // Another program made the files.
            then.files = files;
            None
        })
    }
}

/// The files below some roots that are new or changed since a moment.
#[derive(Default)]
struct NewFiles {
    /// Bytes on disk in files that were made since.
    bytes: u64,
    /// Bytes on disk in older files that were written since.
    changed: u64,
    /// How many files were made or changed since.
    files: u64,
    /// Whether some folders could not be read.
    has_gaps: bool,
}

impl NewFiles {
    /// Counts until there are more than `most` bytes or `most_files` files.
    fn below(roots: &[OwnedFd], since: SystemTime, most: u64, most_files: u64) -> Self {
        let mut new = Self::default();
        // The clock of file times is a little behind.
        let since = since.checked_sub(CLOCK_LAG).unwrap_or(since);
        let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for root in roots {
            let Ok(root) = root.try_clone() else { continue };
            let has_gaps = walk(root, &mut |found| {
                new.add(found, since);
                if new.bytes > most || new.files > most_files {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            new.has_gaps |= has_gaps;
        }
        new
    }

    fn add(&mut self, found: &WalkedEntry<'_>, since: Duration) {
        let is_changed = found.changed() >= since;
        self.files += u64::from(is_changed);
        if found.made() >= since {
            self.bytes += found.bytes();
        } else if found.kind == FileType::RegularFile && is_changed {
            self.changed += found.bytes();
        }
    }
}

/// Returns how many bytes and files a file system holds.
fn space_in_use(root: &OwnedFd) -> (u64, u64) {
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
        let before = Duration::from_secs(2);
        let old = SystemTime::now() - before;
        let mut growth = Growth::since_now([root.as_fd()].into_iter());
        // As if other programs had freed more than anyone could write.
        growth.file_systems[0].bytes = u64::MAX;
        growth.file_systems[0].files = u64::MAX;
        std::fs::write(folder.path().join("new"), vec![1; 2_000_000]).unwrap();
        let later = SystemTime::now() + before;
        assert!(growth.check(3_000_000, 1_000_000, 10, later).is_none(), "nothing is newer");
        assert!(growth.check(3_500_000, 1_000_000, 10, old).is_none(), "counted a moment ago");
        let (limit, most, used) = growth.check(5_000_000, 1_000_000, 10, old).unwrap();
        assert_eq!((limit, most), (Limit::Growth, 1_000_000));
        assert!(used > 1_000_000, "{used}");
        growth.file_systems[0].bytes = u64::MAX;
        assert!(growth.check(5_500_000, 1_000_000, 10, old).is_none(), "it wrote no more");
        // A command that hides what it writes shows in the growth of the file system.
        growth.file_systems[0].bytes = 0;
        assert!(growth.check(0, 1_000_000, 10, old).is_some());
        // Growth elsewhere on the file system is not the command's.
        std::fs::remove_file(folder.path().join("new")).unwrap();
        growth.file_systems[0].bytes = 0;
        assert!(growth.check(u64::MAX, 1_000_000, 10, old).is_none());
    }
}
