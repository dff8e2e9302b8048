//! Walks everything below a folder by handles. Names can be exchanged meanwhile, and a path can be longer than the
//! kernel takes.

use std::ffi::{CStr, CString, OsStr};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Statx, StatxFlags, StatxTimestamp, openat, statx,
};

use super::folder_stamp::FolderStamp;

/// Folders that hold many built or downloaded files. They are walked last.
pub(crate) const BULKY_FOLDERS: [&str; 5] =
    [".git", "node_modules", "target", ".venv", "__pycache__"];

/// How many bulky folders may wait. Each one keeps a folder open.
const MOST_WAITING_FOLDERS: usize = 64;

/// One entry of a folder.
pub(crate) struct WalkedEntry<'a> {
    /// The folder of the entry, relative to the root.
    pub(crate) folder: &'a Path,
    pub(crate) name: &'a CStr,
    pub(crate) kind: FileType,
    meta: Statx,
}

impl WalkedEntry<'_> {
    /// Returns the path of the entry, relative to the root.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(OsStr::from_bytes(self.name.to_bytes()))
    }

    /// Returns what tells whether a folder has the same names as before.
    pub(crate) fn folder_stamp(&self) -> FolderStamp {
        FolderStamp::of(&self.meta)
    }

    /// Returns how many bytes the entry takes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.meta.stx_blocks * 512
    }

    /// Returns when content, mode, owner or names last changed (`ctime`), as the time since 1970.
    pub(crate) fn changed(&self) -> Duration {
        since_1970(self.meta.stx_ctime)
    }

    /// Returns when the content last changed (`mtime`).
    pub(crate) fn written(&self) -> Duration {
        since_1970(self.meta.stx_mtime)
    }

    /// Returns when the entry was made, or `ctime` where the file system does not know.
    pub(crate) fn made(&self) -> Duration {
        let is_known = self.meta.stx_mask & StatxFlags::BTIME.bits() != 0;
        if is_known { since_1970(self.meta.stx_btime) } else { self.changed() }
    }
}

/// Returns a file time as the time since 1970.
pub(crate) fn since_1970(time: StatxTimestamp) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), time.tv_nsec)
}

/// Calls `see` for everything below `root` until it breaks off. Returns whether some folders could not be read.
pub(crate) fn walk(
    root: OwnedFd,
    see: &mut dyn FnMut(&WalkedEntry<'_>) -> ControlFlow<()>,
) -> bool {
    let mut has_gaps = false;
    let mut open = vec![(Rc::new((root, PathBuf::new())), c".".to_owned())];
    let mut waiting: Vec<(Rc<(OwnedFd, PathBuf)>, CString)> = Vec::new();
    while let Some((above, name)) = open.pop().or_else(|| waiting.pop()) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(&above.0, &name, flags, Mode::empty());
        let Ok((folder, entries)) =
            folder.and_then(|folder| Dir::read_from(&folder).map(|entries| (folder, entries)))
        else {
            has_gaps = true;
            continue;
        };
        let path = if name.as_c_str() == c"." {
            PathBuf::new()
        } else {
            above.1.join(OsStr::from_bytes(name.to_bytes()))
        };
        let here = Rc::new((folder, path));
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
            if let Ok(meta) = statx(&here.0, name, flags, wanted) {
                let kind = FileType::from_raw_mode(meta.stx_mode.into());
                if see(&WalkedEntry { folder: &here.1, name, kind, meta }).is_break() {
                    return has_gaps;
                }
            }
            if entry.file_type() == FileType::Directory {
                let is_bulky =
                    BULKY_FOLDERS.iter().any(|bulky| name.to_bytes() == bulky.as_bytes());
                let queue = if is_bulky && waiting.len() < MOST_WAITING_FOLDERS {
                    &mut waiting
                } else {
                    &mut open
                };
                queue.push((Rc::clone(&here), name.to_owned()));
            }
        }
    }
    has_gaps
}
