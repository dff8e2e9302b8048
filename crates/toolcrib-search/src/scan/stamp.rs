//! File stamps from `stat`, and whether a stamp can be trusted.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;
use toolcrib_core::FileStamp;
use toolcrib_core::file_stamp::nanoseconds;

/// How long after a change another change may leave the same times: the clock of a file system can stand still.
const RACY_NS: i64 = 2_000_000_000;

/// Returns the stamp of a file from the answer of `stat`.
pub(crate) fn stamp_of(meta: &Stat) -> FileStamp {
    let nanos = |seconds, nanos: u64| nanoseconds(seconds, i64::try_from(nanos).unwrap_or(0));
    FileStamp {
        device: meta.st_dev,
        inode: meta.st_ino,
        size: u64::try_from(meta.st_size).unwrap_or(0),
        modified_ns: nanos(meta.st_mtime, meta.st_mtime_nsec),
        changed_ns: nanos(meta.st_ctime, meta.st_ctime_nsec),
    }
}

/// Whether a later change could leave the same stamp, because the last one is only moments ago.
pub(crate) fn is_racy(stamp: &FileStamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX));
    stamp.changed_since(now.saturating_sub(RACY_NS))
}
