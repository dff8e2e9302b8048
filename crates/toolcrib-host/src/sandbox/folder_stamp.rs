//! The stamp of a folder: while it is the same, the folder has the same names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, statx};

use crate::files::root::Root;

/// The inode of a folder, and its change time in nanoseconds since 1970. No program can set the change time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FolderStamp {
    pub(crate) inode: u64,
    pub(crate) changed: u64,
}

/// The stamps of folders of one root, by their paths relative to it, that somebody has just read.
pub(crate) type FolderStamps = HashMap<PathBuf, FolderStamp>;

impl FolderStamp {
    /// The metadata that a stamp needs.
    pub(crate) fn wanted() -> StatxFlags {
        StatxFlags::TYPE | StatxFlags::INO | StatxFlags::CTIME
    }

    /// Returns the stamp of a folder in a root, if it is there.
    pub(crate) fn at(root: &Root, folder: &Path) -> Option<Self> {
        let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let meta = statx(root.handle(), named, AtFlags::SYMLINK_NOFOLLOW, Self::wanted()).ok()?;
        let kind = FileType::from_raw_mode(meta.stx_mode.into());
        (kind == FileType::Directory).then(|| Self::of(&meta))
    }

    /// Returns the stamp of a folder with this metadata.
    pub(crate) fn of(meta: &Statx) -> Self {
        let seconds = u64::try_from(meta.stx_ctime.tv_sec).unwrap_or(0);
        let changed = seconds.saturating_mul(1_000_000_000) + u64::from(meta.stx_ctime.tv_nsec);
        Self { inode: meta.stx_ino, changed }
    }
}
