//! Opening directories and files of a tree: by handle below its root, and through no link.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, StatxAttributes, StatxFlags, fstat,
    openat, openat2, statx,
};
use rustix::io::Errno;
use toolcrib_core::SearchableTree;
use toolcrib_core::search::AccessMeta;

use crate::paths::split;

/// Why a file was not searched.
pub(crate) enum Unsearched {
    /// The file is gone, or is not a regular file.
    Gone,
    /// The file may not or cannot be read, for this reason.
    Refused(String),
    /// The search was stopped.
    Stopped,
}

/// Returns the absolute path of `below`, a path below the tree's root.
pub(crate) fn absolute(tree: &dyn SearchableTree, below: &[u8]) -> Vec<u8> {
    let mut path = tree.path().as_os_str().as_bytes().to_vec();
    if !below.is_empty() {
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(below);
    }
    path
}

/// Opens a directory below the tree's root, through no link.
pub(crate) fn open_directory(tree: &dyn SearchableTree, below: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if below.is_empty() { b"." } else { below };
    loop {
        match openat2(tree.handle(), path, flags, Mode::empty(), resolve) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            other => return other,
        }
    }
}

/// Whether an error means that nothing is at the path any more, rather than that something went wrong.
pub(crate) fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG)
}

/// Opens files, and keeps the handle of the last one's directory for the next file in it.
#[derive(Default)]
pub(crate) struct FileOpener {
    directory: Option<(Vec<u8>, OwnedFd)>,
}

/// Whether a file is mounted onto its name: its changes are then reported where it comes from.
pub(crate) fn is_mounted(file: &File) -> bool {
    let flags = AtFlags::EMPTY_PATH;
    let meta = statx(file, "", flags, StatxFlags::empty());
    meta.is_ok_and(|meta| meta.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

impl FileOpener {
    /// Opens the file at `path` below the root, through no link, if it may be read.
    pub(crate) fn open(
        &mut self,
        tree: &dyn SearchableTree,
        path: &[u8],
    ) -> Result<(File, Stat), Unsearched> {
        let (parent, name) = split(path);
        let handle = match &self.directory {
            Some((known, handle)) if known == parent => handle,
            _ => {
                let handle = open_directory(tree, parent).map_err(missed)?;
                &self.directory.insert((parent.to_vec(), handle)).1
            }
        };
        // Without NONBLOCK, a pipe that was put in place of the file would block the search.
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(handle, name, flags, Mode::empty()).map_err(missed)?;
        let meta = fstat(&file).map_err(missed)?;
        if FileType::from_raw_mode(meta.st_mode) != FileType::RegularFile {
            return Err(Unsearched::Gone);
        }
        #[expect(clippy::useless_conversion, reason = "the field's type differs between machines")]
        let links = u64::from(meta.st_nlink);
        let access = AccessMeta { device: meta.st_dev, mode: meta.st_mode, links };
        match tree.read_refusal(file.as_fd(), access) {
            Some(why) => Err(Unsearched::Refused(why.to_owned())),
            None => Ok((File::from(file), meta)),
        }
    }
}

fn missed(errno: Errno) -> Unsearched {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV => Unsearched::Gone,
        Errno::ACCESS | Errno::PERM => Unsearched::Refused("permission denied".to_owned()),
        other => Unsearched::Refused(io::Error::from(other).to_string()),
    }
}
