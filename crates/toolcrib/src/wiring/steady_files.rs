//! Reads files that people change meanwhile: a file that an editor has just moved away or emptied is waited for, and a
//! reading during which a file changed is repeated.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a file that is gone or empty may take to come back. Some editors move the old file away before they write the
/// new one, others empty it, and a call in between must not run without the rules.
const GONE_GRACE: Duration = Duration::from_secs(1);

/// How often a file that is gone is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// How often a reading is repeated if files change all the time.
const MOST_READINGS: usize = 20;

/// Files that are read together.
pub(super) struct SteadyFiles {
    paths: Vec<PathBuf>,
    /// Which files there were when they were last read.
    seen: Mutex<Vec<SeenVersion>>,
}

/// What tells one version of a file from another; nothing if there is no file.
type SeenVersion = Option<ReadVersion>;

#[derive(Clone, PartialEq, Eq)]
struct ReadVersion {
    device: u64,
    inode: u64,
    changed: (i64, i64),
    size: u64,
}

/// Whether a file that was there is away, or there without its content.
fn is_gone(old: &SeenVersion, new: &SeenVersion) -> bool {
    let is_empty = |it: &ReadVersion| it.size == 0;
    match (old, new) {
        (Some(_), None) => true,
        (Some(old), Some(new)) => is_empty(new) && !is_empty(old),
        (None, _) => false,
    }
}

impl SteadyFiles {
    /// Begins with the files as they are. A file that does not exist may come.
    pub(super) fn new(paths: Vec<PathBuf>) -> Self {
        let files = Self { paths, seen: Mutex::default() };
        *files.seen.lock().unwrap_or_else(PoisonError::into_inner) = files.versions();
        files
    }

    /// Returns every path, whether or not there is a file.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns what `read` makes of the files. They are all there that were there before, unless one stays away, and
    /// none of them changed meanwhile.
    pub(super) fn read<T>(&self, read: impl Fn() -> T) -> T {
        for _ in 1..MOST_READINGS {
            let before = self.wait_for_return();
            let result = read();
            if self.versions() == before {
                return result;
            }
        }
        read()
    }

    /// Waits until files that were there are there again, for a while. One that stays away was removed.
    fn wait_for_return(&self) -> Vec<SeenVersion> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + GONE_GRACE;
        loop {
            let now = self.versions();
            let is_any_gone = seen.iter().zip(&now).any(|(old, new)| is_gone(old, new));
            if !is_any_gone || Instant::now() >= end {
                seen.clone_from(&now);
                return now;
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    fn versions(&self) -> Vec<SeenVersion> {
        let version = |path: &PathBuf| {
            let meta = fs::metadata(path).ok()?;
            Some(ReadVersion {
                device: meta.dev(),
                inode: meta.ino(),
                changed: (meta.ctime(), meta.ctime_nsec()),
                size: meta.size(),
            })
        };
        self.paths.iter().map(version).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_file_that_is_being_replaced_is_waited_for_and_a_removed_one_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (rules, away) = (folder.path().join("rules.toml"), folder.path().join("rules.toml~"));
        fs::write(&rules, "old").unwrap();
        let files = SteadyFiles::new(vec![rules.clone(), folder.path().join("config.toml")]);
        let read = || files.read(|| fs::read_to_string(&rules).ok());
        assert_eq!(read().as_deref(), Some("old"));
        fs::rename(&rules, &away).unwrap();
        thread::scope(|scope| {
            let reader = scope.spawn(read);
            // The reader waits, however late the editor is, up to the grace.
            fs::write(&rules, "new").unwrap();
            assert_eq!(reader.join().unwrap().as_deref(), Some("new"));
        });
        fs::write(&rules, "").unwrap();
        thread::scope(|scope| {
            let reader = scope.spawn(read);
            fs::write(&rules, "newest").unwrap();
            assert_eq!(reader.join().unwrap().as_deref(), Some("newest"), "emptied before");
        });
        fs::write(&rules, "").unwrap();
        assert_eq!(read().as_deref(), Some(""), "the control: it stays empty");
        fs::remove_file(&rules).unwrap();
        assert_eq!(read(), None, "the control: it stays away");
    }

    #[test]
    fn a_reading_during_which_a_file_changed_is_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let (rules, away) = (folder.path().join("rules.toml"), folder.path().join("rules.toml~"));
        fs::write(&rules, "old").unwrap();
        let files = SteadyFiles::new(vec![rules.clone()]);
        let readings = Cell::new(0);
        let read = || {
            readings.set(readings.get() + 1);
            if readings.get() == 1 {
                fs::rename(&rules, &away).unwrap();
            }
            let text = fs::read_to_string(&rules).ok();
            if readings.get() == 1 {
                fs::rename(&away, &rules).unwrap();
            }
            text
        };
        assert_eq!((files.read(read).as_deref(), readings.get()), (Some("old"), 2));
        let again = || files.read(|| fs::read_to_string(&rules).ok());
        assert_eq!((again().as_deref(), readings.get()), (Some("old"), 2), "the control");
    }
}
