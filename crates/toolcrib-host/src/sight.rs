//! What was seen of a file, to tell later whether it is still that.

use std::path::PathBuf;

use rustix::fs::Stat;

/// What a person saw at a path when they were asked about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) below: PathBuf,
    pub(crate) file: Option<Fingerprint>,
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Fingerprint {
    pub(crate) fn of(meta: &Stat) -> Self {
        Self {
            device: meta.st_dev,
            inode: meta.st_ino,
            size: meta.st_size,
            modified: (meta.st_mtime, meta.st_mtime_nsec),
            changed: (meta.st_ctime, meta.st_ctime_nsec),
        }
    }

    /// Whether both are the same content of the same file; a rename in between does not matter.
    pub(crate) fn is_same_content(&self, other: &Self) -> bool {
        (self.device, self.inode, self.size, self.modified)
            == (other.device, other.inode, other.size, other.modified)
    }
}
