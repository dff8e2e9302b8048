//! New content on its way into the tree: written and on disk first, then put in place in one step.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr,
    flistxattr, fremovexattr, fsetxattr, fstat, fsync, linkat, openat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;
use toolcrib_core::ToolError;

use crate::fault::{changed, fault};
use crate::sight::Fingerprint;
use crate::target::Target;

/// The name that content has in the tree for the moment of being put in place. Whoever uses it holds
/// the directory's lock, so one that is found there was left by a process that was killed.
pub(crate) const ASIDE: &str = ".toolcrib-new~";

/// Content and looks of a file to be put in place.
pub(crate) struct Fresh<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) looks: Looks,
}

/// Whose a new file is, and what may be done with it.
#[derive(Clone, Copy)]
pub(crate) enum Looks {
    /// Those of the file it replaces, or the usual ones.
    AsBefore,
    /// These permission bits, user and group.
    Given { mode: u32, uid: u32, gid: u32 },
}

/// New content, complete and on disk, that no name in the tree leads to yet, or only [`ASIDE`].
pub(crate) struct Temporary {
    file: OwnedFd,
    /// Whether it has the name [`ASIDE`]: the file system has no nameless files.
    is_named: bool,
    pub(crate) meta: Stat,
}

impl Temporary {
    pub(crate) fn create(
        target: &Target<'_>,
        fresh: &Fresh<'_>,
        as_root: bool,
    ) -> Result<Self, ToolError> {
        let failed = |errno: Errno| fault(errno, target.shown);
        let parent = target.parent.as_fd();
        // What is to be private is never anything else, not even for a moment.
        let is_new = target.existing.is_none() && matches!(fresh.looks, Looks::AsBefore);
        let mode = Mode::from_raw_mode(if is_new { 0o666 } else { 0o600 });
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let (file, is_named) = match openat(parent, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => (file, false),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                sweep(parent);
                (openat(parent, ASIDE, flags, mode).map_err(failed)?, true)
            }
            Err(errno) => return Err(failed(errno)),
        };
        let filled = fill(file.as_fd(), target, fresh, as_root);
        let temporary = |meta| Self { file, is_named, meta };
        filled.map(temporary).map_err(|errno| {
            if is_named {
                sweep(parent);
            }
            failed(errno)
        })
    }

    /// Gives the content its name, which must be free.
    pub(crate) fn link_as(self, target: &Target<'_>) -> Result<(), ToolError> {
        let parent = target.parent.as_fd();
        let linked = if self.is_named {
            renameat_with(parent, ASIDE, parent, &target.name, RenameFlags::NOREPLACE)
        } else {
            self.link(parent, &target.name)
        };
        linked.map_err(|errno| {
            if self.is_named {
                sweep(parent);
            }
            fault(errno, target.shown)
        })
    }

    /// Takes the place of the file that was there, if it still holds what was read from it.
    pub(crate) fn swap_for(self, target: &Target<'_>, read: &Stat) -> Result<(), ToolError> {
        let parent = target.parent.as_fd();
        if !self.is_named {
            sweep(parent);
            self.link(parent, OsStr::new(ASIDE)).map_err(|errno| fault(errno, target.shown))?;
        }
        let read = Fingerprint::of(read);
        let print = |name: &OsStr| {
            let meta = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok();
            meta.as_ref().map(Fingerprint::of)
        };
        if print(&target.name).as_ref() != Some(&read) {
            sweep(parent);
            return Err(changed(target.shown));
        }
        match renameat_with(parent, ASIDE, parent, &target.name, RenameFlags::EXCHANGE) {
            Ok(()) if print(OsStr::new(ASIDE)).is_some_and(|it| it.is_same_content(&read)) => {
                sweep(parent);
                Ok(())
            }
            Ok(()) => Err(self.swap_back(target)),
            Err(Errno::INVAL | Errno::NOSYS) => {
                // A file system without exchange: it was looked at just now, and is renamed over.
                renameat_with(parent, ASIDE, parent, &target.name, RenameFlags::empty()).map_err(
                    |errno| {
                        sweep(parent);
                        fault(errno, target.shown)
                    },
                )
            }
            Err(errno) => {
                sweep(parent);
                let is_gone = errno == Errno::NOENT;
                Err(if is_gone { changed(target.shown) } else { fault(errno, target.shown) })
            }
        }
    }

    /// What was there was not what was read: it goes back, and our content goes. Whatever turns up
    /// in its stead is somebody's work too and is kept, if need be under our name for it.
    fn swap_back(&self, target: &Target<'_>) -> ToolError {
        let parent = target.parent.as_fd();
        let is_ours = |name: &OsStr| {
            statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|now| (now.st_dev, now.st_ino) == (self.meta.st_dev, self.meta.st_ino))
        };
        let back = renameat_with(parent, ASIDE, parent, &target.name, RenameFlags::EXCHANGE);
        if back.is_ok() && is_ours(OsStr::new(ASIDE)) {
            sweep(parent);
            return changed(target.shown);
        }
        changed(target.shown).hint(format!(
            "another program was saving it at the same moment; its version may be in `{ASIDE}`"
        ))
    }

    fn link(&self, parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let from = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, from, parent, name, AtFlags::SYMLINK_FOLLOW)
    }
}

/// Removes what stands under [`ASIDE`].
pub(crate) fn sweep(parent: BorrowedFd<'_>) {
    let _ = unlinkat(parent, ASIDE, AtFlags::empty());
}

/// Gives a new file its looks and its content, and brings both to disk.
fn fill(
    file: BorrowedFd<'_>,
    target: &Target<'_>,
    fresh: &Fresh<'_>,
    as_root: bool,
) -> Result<Stat, Errno> {
    let replaced = target.existing.as_ref().filter(|_| !target.is_link());
    let looks = match (fresh.looks, replaced) {
        (Looks::Given { mode, uid, gid }, _) => Some((mode, uid, gid)),
        (Looks::AsBefore, Some((_, meta))) => Some((meta.st_mode, meta.st_uid, meta.st_gid)),
        (Looks::AsBefore, None) if as_root => {
            let parent = fstat(&target.parent)?;
            fchown(file, Some(Uid::from_raw(parent.st_uid)), Some(Gid::from_raw(parent.st_gid)))?;
            None
        }
        (Looks::AsBefore, None) => None,
    };
    if let Some((mode, uid, gid)) = looks {
        keep_owner(file, uid, gid)?;
        if let Some((old, _)) = replaced {
            copy_attributes(old.as_fd(), file);
        }
        // Powers that a file lends to whoever runs it do not pass to new content.
        fchmod(file, Mode::from_raw_mode(mode & 0o1777))?;
    }
    let mut writer = File::from(file.try_clone_to_owned().map_err(|_| Errno::MFILE)?);
    writer.write_all(fresh.bytes).map_err(|err| Errno::from_io_error(&err).unwrap_or(Errno::IO))?;
    fsync(file)?;
    fstat(file)
}

/// Keeps a file's user and group. The user may change, as it does when git checks a file out; the
/// group may not, since others work through it.
fn keep_owner(file: BorrowedFd<'_>, uid: u32, gid: u32) -> Result<(), Errno> {
    let group = Some(Gid::from_raw(gid));
    if fchown(file, Some(Uid::from_raw(uid)), group).is_ok() {
        return Ok(());
    }
    if fstat(file)?.st_gid == gid { Ok(()) } else { fchown(file, None, group) }
}

/// Copies a file's own attributes and its access list, or the absence of one.
fn copy_attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) {
    const ACCESS: &str = "system.posix_acl_access";
    // A default of the directory's must not give what the old file did not.
    let _ = fremovexattr(to, ACCESS);
    let mut names = vec![0_u8; 4096];
    let Ok(length) = flistxattr(from, &mut names) else { return };
    for name in names[..length].split(|byte| *byte == 0) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        if !name.starts_with("user.") && name != ACCESS {
            continue;
        }
        let mut value = vec![0_u8; 64 << 10];
        if let Ok(length) = fgetxattr(from, name, &mut value) {
            let _ = fsetxattr(to, name, &value[..length], XattrFlags::empty());
        }
    }
}
