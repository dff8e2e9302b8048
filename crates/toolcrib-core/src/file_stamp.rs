//! The file stamp: what `stat` says of a file, as far as it tells one state of the file from another.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The state of a file at one moment. Two equal stamps mean: the same file, unchanged.
///
/// A stamp is pure data. Whoever holds a handle makes it from the answer of `stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// The device that the file is on; 0 in a stamp that is kept across boots ([`Self::without_device`]).
    pub device: u64,
    /// The inode number.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change of the content (`mtime`), in nanoseconds since 1970. Any program can set it.
    pub modified_ns: i64,
    /// The time of the last change of content, mode, owner or names (`ctime`), in nanoseconds since 1970. No program can
    /// set it.
    pub changed_ns: i64,
}

impl FileStamp {
    /// Returns the stamp of a file from its metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether both stamps are of the same file with the same content. A rename in between does not matter: it changes
    /// `ctime` alone.
    pub fn has_same_content(&self, other: &Self) -> bool {
        Self { changed_ns: 0, ..*self } == Self { changed_ns: 0, ..*other }
    }

    /// Returns the stamp without its device, for stamps that are written to disk: the kernel may give a device another
    /// number at the next boot.
    #[must_use]
    pub fn without_device(self) -> Self {
        Self { device: 0, ..self }
    }

    /// Whether the file changed at `ns` (nanoseconds since 1970) or later.
    pub fn changed_since(&self, ns: i64) -> bool {
        self.changed_ns.max(self.modified_ns) >= ns
    }
}

/// Returns a time of `stat`, seconds and nanoseconds, as one number of nanoseconds since 1970.
pub fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> FileStamp {
        FileStamp { device: 1, inode: 2, size: 3, modified_ns: 4, changed_ns: 5 }
    }

    #[test]
    fn every_field_tells_states_apart() {
        let same = stamp();
        assert_eq!(same, stamp());
        for other in [
            FileStamp { device: 9, ..same },
            FileStamp { inode: 9, ..same },
            FileStamp { size: 9, ..same },
            FileStamp { modified_ns: 9, ..same },
            FileStamp { changed_ns: 9, ..same },
        ] {
            assert_ne!(same, other);
        }
    }

    #[test]
    fn rename_keeps_the_content_the_same() {
        let renamed = FileStamp { changed_ns: 9, ..stamp() };
        assert!(stamp().has_same_content(&renamed));
        assert!(!stamp().has_same_content(&FileStamp { modified_ns: 9, ..renamed }));
        assert!(!stamp().has_same_content(&FileStamp { device: 9, ..renamed }));
    }

    #[test]
    fn device_is_left_out_on_request() {
        let moved = FileStamp { device: 9, ..stamp() };
        assert_ne!(stamp(), moved);
        assert_eq!(stamp().without_device(), moved.without_device());
    }

    #[test]
    fn either_time_counts_as_a_change() {
        assert!(stamp().changed_since(5));
        assert!(!stamp().changed_since(6));
        assert!(FileStamp { modified_ns: 7, ..stamp() }.changed_since(7));
    }

    #[test]
    fn times_before_1970_and_far_away_are_no_panic() {
        assert_eq!(nanoseconds(-1, 999_999_999), -1);
        assert_eq!(nanoseconds(1, 5), 1_000_000_005);
        let _ = nanoseconds(i64::MAX, i64::MAX);
    }
}
