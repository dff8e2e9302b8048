//! File stamps from handles, and the state of a path that a person approved.

use std::path::PathBuf;

use rustix::fs::Stat;
use toolcrib_core::FileStamp;
use toolcrib_core::file_stamp::nanoseconds;

/// What a path led to when a person was asked about it: the path below its root, and the stamp of the file there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PinnedState {
    pub(crate) below: PathBuf,
    pub(crate) file: Option<FileStamp>,
}

/// Returns the stamp of a file from what `stat` says of it.
#[expect(clippy::useless_conversion, reason = "the types of the fields differ between machines")]
pub(crate) fn stamp_of(meta: &Stat) -> FileStamp {
    let part = |nanoseconds: u64| i64::try_from(nanoseconds).unwrap_or(0);
    FileStamp {
        device: meta.st_dev,
        inode: meta.st_ino,
        size: u64::try_from(meta.st_size).unwrap_or(0),
        modified_ns: nanoseconds(meta.st_mtime, part(meta.st_mtime_nsec.into())),
        changed_ns: nanoseconds(meta.st_ctime, part(meta.st_ctime_nsec.into())),
    }
}
