//! Watches how much a command makes the workspace's file systems grow.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::FileType;
use toolcrib_core::command::Limit;

use super::walk::{Found, walk};

/// How far the clock that files are stamped by may be behind.
const CLOCK_LAG: Duration = Duration::from_millis(10);

/// After this it is looked for the first time, and then after twice as long each time.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// How full the file systems were when a command began.
pub(crate) struct Growth {
    roots: Vec<Full>,
    /// When it is looked whatever the signs say, and how long after that again.
    due: Instant,
    pause: Duration,
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
        Self { roots: known, due: Instant::now() + FIRST_LOOK, pause: FIRST_LOOK }
    }

    /// Returns the limit that was passed, if one was. Others fill and empty the same file systems:
    /// how full they are, and what the command has written, only say when to look. Both can hide it: what its
    /// children write that nobody waits for is counted for nobody, and others may make as much room meanwhile.
    pub(crate) fn look(
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
        self.roots.iter_mut().find_map(|then| {
            let (bytes, files) = then.roots.first().map_or((0, 0), full);
            let grown = bytes.saturating_sub(then.bytes);
            // Either can be someone else's doing, or be hidden by it. Looking is dear: once for each time.
            if is_due || grown > most || written.saturating_sub(then.looked_at) > most {
                then.looked_at = written;
                let new = New::below(&then.roots, since, most, u64::MAX);
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
    /// Whether there were folders that could not be looked into.
    has_gaps: bool,
}

impl New {
    /// Counts until it is more than `most` bytes or `most_files` files.
    fn below(roots: &[OwnedFd], since: SystemTime, most: u64, most_files: u64) -> Self {
        let mut new = Self::default();
        // The clock of files is a little behind.
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

    fn add(&mut self, found: &Found<'_>, since: Duration) {
        let is_changed = found.changed() >= since;
        self.files += u64::from(is_changed);
        if found.made() >= since {
            self.bytes += found.bytes();
        } else if found.kind == FileType::RegularFile && is_changed {
            self.changed += found.bytes();
        }
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
        let before = Duration::from_secs(2);
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
