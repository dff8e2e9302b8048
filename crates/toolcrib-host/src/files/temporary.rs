//! Atomic writes: new content is written to a temporary file and to disk first, then put in place in one step.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, fsync, linkat,
    openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use toolcrib_core::{Image, ToolError};

use crate::files::attribute;
use crate::files::errno::{changed, errno_error};
use crate::files::image::image_without_content;
use crate::files::stamp::stamp_of;
use crate::files::target::Target;
use crate::files::temporary_name::random_name;
use crate::files::workspace::NewFileOwner;

/// The content and metadata of a new file.
pub(crate) struct NewContent<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) metadata: NewMetadata,
}

/// The mode, owner and attributes of a new file.
#[derive(Clone)]
pub(crate) enum NewMetadata {
    /// Those of the file that it replaces, or the usual ones.
    Inherited,
    /// Those of this image.
    Like(Image),
}

/// New content, complete and on disk, that has no name in the tree yet, or only a temporary one.
pub(crate) struct Temporary {
    file: OwnedFd,
    /// The temporary name, if the file system has no nameless files.
    name: Option<OsString>,
    pub(crate) meta: Stat,
}

impl Temporary {
    /// Writes new content to a temporary file and to disk.
    pub(crate) fn create(
        target: &Target<'_>,
        fresh: &NewContent<'_>,
        owner: NewFileOwner,
    ) -> Result<Self, ToolError> {
        let failed = |errno: Errno| errno_error(errno, target.shown);
        let parent = target.parent.as_fd();
        // A private file is never readable for others, not even for a moment.
        let is_new = target.existing.is_none() && matches!(fresh.metadata, NewMetadata::Inherited);
        let mode = Mode::from_raw_mode(if is_new { 0o666 } else { 0o600 });
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let (file, name) = match openat(parent, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => (file, None),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let name = random_name();
                let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                (openat(parent, &name, flags, mode).map_err(failed)?, Some(name))
            }
            Err(errno) => return Err(failed(errno)),
        };
        match fill(file.as_fd(), target, fresh, owner) {
            Ok(meta) => Ok(Self { file, name, meta }),
            Err(errno) => {
                if let (Some(name), Ok(meta)) = (&name, fstat(&file)) {
                    discard(parent, name, &meta);
                }
                Err(failed(errno))
            }
        }
    }

    /// Returns the handle of the file.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Gives the content its name, which must not exist yet.
    pub(crate) fn link_as(self, target: &Target<'_>) -> Result<(), ToolError> {
        let parent = target.parent.as_fd();
        let linked = match &self.name {
            Some(name) => renameat_with(parent, name, parent, &target.name, RenameFlags::NOREPLACE),
            None => self.link(parent, &target.name),
        };
        linked.map_err(|errno| {
            self.discard_name(parent);
            errno_error(errno, target.shown)
        })
    }

    /// Replaces the old file, if it still has the content that was read from it.
    pub(crate) fn swap_for(mut self, target: &Target<'_>, read: &Stat) -> Result<(), ToolError> {
        let parent = target.parent.as_fd();
        let failed = |errno: Errno| errno_error(errno, target.shown);
        let name = if let Some(name) = self.name.take() {
            name
        } else {
            let name = random_name();
            self.link(parent, &name).map_err(failed)?;
            name
        };
        self.name = Some(name.clone());
        let read = stamp_of(read);
        let stamp = |name: &OsStr| stat_entry(parent, name).as_ref().map(stamp_of);
        if stamp(&target.name).as_ref() != Some(&read) {
            self.discard_name(parent);
            return Err(changed(target.shown));
        }
        match renameat_with(parent, &name, parent, &target.name, RenameFlags::EXCHANGE) {
            Ok(()) => {
                let came_out = stat_entry(parent, &name);
                let is_what_was_read =
                    came_out.as_ref().is_some_and(|it| stamp_of(it).has_same_content(&read));
                match came_out {
                    Some(old) if is_what_was_read && self.is_at(parent, &target.name) => {
                        discard(parent, &name, &old);
                        Ok(())
                    }
                    _ => Err(self.swap_back(target, &name)),
                }
            }
            Err(Errno::INVAL | Errno::NOSYS) => {
                // A file system without exchange: the old file was checked just now, and is renamed over.
                let over = RenameFlags::empty();
                renameat_with(parent, &name, parent, &target.name, over).map_err(|errno| {
                    self.discard_name(parent);
                    failed(errno)
                })
            }
            Err(errno) => {
                self.discard_name(parent);
                let is_gone = errno == Errno::NOENT;
                Err(if is_gone { changed(target.shown) } else { failed(errno) })
            }
        }
    }

    /// Puts the old file back, because its content was not what had been read, and discards our content. A file
    /// that turns up instead is somebody's work too, and is left where it is.
    fn swap_back(&self, target: &Target<'_>, name: &OsStr) -> ToolError {
        let parent = target.parent.as_fd();
        if self.is_at(parent, &target.name) {
            let _ = renameat_with(parent, name, parent, &target.name, RenameFlags::EXCHANGE);
        }
        if self.is_at(parent, name) {
            self.discard_name(parent);
            return changed(target.shown);
        }
        changed(target.shown).hint(format!(
            "another program was saving the file at the same moment; its version may be in `{}`",
            name.display()
        ))
    }

    /// Whether our content has this name.
    fn is_at(&self, parent: BorrowedFd<'_>, name: &OsStr) -> bool {
        stat_entry(parent, name).is_some_and(|now| is_same_file(&now, &self.meta))
    }

    fn discard_name(&self, parent: BorrowedFd<'_>) {
        if let Some(name) = &self.name {
            discard(parent, name, &self.meta);
        }
    }

    fn link(&self, parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let from = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, from, parent, name, AtFlags::SYMLINK_FOLLOW)
    }
}

/// Removes a name if it still leads to this file.
pub(crate) fn discard(parent: BorrowedFd<'_>, name: &OsStr, file: &Stat) {
    if stat_entry(parent, name).is_some_and(|now| is_same_file(&now, file)) {
        let _ = unlinkat(parent, name, AtFlags::empty());
    }
}

/// Returns what `stat` says of a name, without following a link.
pub(crate) fn stat_entry(parent: BorrowedFd<'_>, name: &OsStr) -> Option<Stat> {
    statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn is_same_file(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

/// Writes metadata and content of a new file, and syncs both to disk.
fn fill(
    file: BorrowedFd<'_>,
    target: &Target<'_>,
    fresh: &NewContent<'_>,
    owner: NewFileOwner,
) -> Result<Stat, Errno> {
    let replaced = target.existing.as_ref().filter(|_| !target.is_link());
    let given = match (&fresh.metadata, replaced) {
        (NewMetadata::Like(image), _) => Some(image.clone()),
        (NewMetadata::Inherited, Some((old, meta))) => {
            Some(image_without_content(old.as_fd(), meta))
        }
        (NewMetadata::Inherited, None) if owner == NewFileOwner::ParentDirectory => {
            let parent = fstat(&target.parent)?;
            fchown(file, Some(Uid::from_raw(parent.st_uid)), Some(Gid::from_raw(parent.st_gid)))?;
            None
        }
        (NewMetadata::Inherited, None) => None,
    };
    if let Some(image) = given {
        set_owner(file, image.uid, image.gid)?;
        attribute::write(file, &image.attributes);
        // The set-user and set-group bits do not pass to new content.
        fchmod(file, Mode::from_raw_mode(image.mode & 0o1777))?;
    }
    let mut writer = File::from(file.try_clone_to_owned().map_err(|_| Errno::MFILE)?);
    writer.write_all(fresh.bytes).map_err(|err| Errno::from_io_error(&err).unwrap_or(Errno::IO))?;
    fsync(file)?;
    fstat(file)
}

/// Sets the user and group of a file. The user may differ if it cannot be set, as when git checks a file out. The
/// group may not differ, because others work through it.
fn set_owner(file: BorrowedFd<'_>, uid: u32, gid: u32) -> Result<(), Errno> {
    let group = Some(Gid::from_raw(gid));
    if fchown(file, Some(Uid::from_raw(uid)), group).is_ok() {
        return Ok(());
    }
    if fstat(file)?.st_gid == gid { Ok(()) } else { fchown(file, None, group) }
}
