//! New content on its way into the tree: written and on disk first, then put in place in one step.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, fsync, linkat,
    openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use toolcrib_core::ToolError;

use crate::confine::Fingerprint;
use crate::fault::{changed, fault};
use crate::target::Target;
use crate::write::Fresh;

/// New content, complete and on disk, that no name in the tree leads to yet or only a random one.
pub(crate) struct Temporary {
    file: OwnedFd,
    /// The random name, if the file system has no nameless files.
    name: Option<OsString>,
    pub(crate) mode: u32,
}

impl Temporary {
    pub(crate) fn create(
        target: &Target<'_>,
        fresh: &Fresh<'_>,
        as_root: bool,
    ) -> Result<Self, ToolError> {
        let shown = target.shown;
        let failed = |errno: Errno| fault(errno, shown);
        let usual = Mode::from_raw_mode(0o666);
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let mut name = None;
        let file = match openat(&target.parent, ".", flags | OFlags::TMPFILE, usual) {
            Ok(file) => file,
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let random = random_name();
                let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let file = openat(&target.parent, &random, flags, usual).map_err(failed)?;
                name = Some(random);
                file
            }
            Err(errno) => return Err(failed(errno)),
        };
        let mut temporary = Self { file, name, mode: 0 };
        let result = temporary.fill(target, fresh, as_root);
        if let Err(errno) = result {
            temporary.discard(target.parent.as_fd());
            return Err(failed(errno));
        }
        Ok(temporary)
    }

    fn fill(&mut self, target: &Target<'_>, fresh: &Fresh<'_>, as_root: bool) -> Result<(), Errno> {
        let mut file = File::from(self.file.try_clone().map_err(|_| Errno::MFILE)?);
        file.write_all(fresh.bytes)
            .map_err(|err| Errno::from_io_error(&err).unwrap_or(Errno::IO))?;
        match &target.existing {
            Some((old, meta)) => {
                let kept = fchown(
                    &self.file,
                    Some(Uid::from_raw(meta.st_uid)),
                    Some(Gid::from_raw(meta.st_gid)),
                );
                copy_attributes(old.as_fd(), self.file.as_fd());
                // Powers that come with an owner do not pass to another.
                let bits = if kept.is_ok() { 0o7777 } else { 0o0777 };
                fchmod(&self.file, Mode::from_raw_mode(meta.st_mode & bits))?;
            }
            None if as_root => {
                let parent = fstat(&target.parent)?;
                let owner = (Uid::from_raw(parent.st_uid), Gid::from_raw(parent.st_gid));
                fchown(&self.file, Some(owner.0), Some(owner.1))?;
            }
            None => {}
        }
        if let Some(mode) = fresh.mode {
            fchmod(&self.file, Mode::from_raw_mode(mode & 0o7777))?;
        }
        self.mode = fstat(&self.file)?.st_mode & 0o7777;
        fsync(&self.file)
    }

    /// Gives the content its name, which must be free.
    pub(crate) fn link_as(self, target: &Target<'_>) -> Result<(), ToolError> {
        let parent = target.parent.as_fd();
        let linked = match &self.name {
            None => self.link(parent, &target.name),
            Some(random) => {
                renameat_with(parent, random, parent, &target.name, RenameFlags::NOREPLACE)
            }
        };
        linked.map_err(|errno| {
            self.discard(parent);
            fault(errno, target.shown)
        })
    }

    /// Takes the place of the file that was there, if it still holds what was read from it.
    pub(crate) fn swap_for(mut self, target: &Target<'_>, read: &Stat) -> Result<(), ToolError> {
        let parent = target.parent.as_fd();
        let random = if let Some(random) = self.name.take() {
            random
        } else {
            let random = random_name();
            self.link(parent, &random).map_err(|errno| fault(errno, target.shown))?;
            random
        };
        let discard = || {
            let _ = unlinkat(parent, &random, AtFlags::empty());
        };
        let read = Fingerprint::of(target.below.clone(), read);
        let is_read = |name: &OsStr| {
            statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|now| read.is_same_content(&Fingerprint::of(target.below.clone(), &now)))
        };
        match renameat_with(parent, &random, parent, &target.name, RenameFlags::EXCHANGE) {
            Ok(()) if is_read(&random) => discard(),
            Ok(()) => {
                // What was there is not what was read: it goes back, and our content goes.
                let back =
                    renameat_with(parent, &random, parent, &target.name, RenameFlags::EXCHANGE);
                discard();
                back.map_err(|errno| fault(errno, target.shown))?;
                return Err(changed(target.shown));
            }
            Err(Errno::INVAL | Errno::NOSYS) => {
                // A file system without exchange: look, then rename.
                if !is_read(&target.name) {
                    discard();
                    return Err(changed(target.shown));
                }
                renameat_with(parent, &random, parent, &target.name, RenameFlags::empty())
                    .map_err(|errno| {
                        discard();
                        fault(errno, target.shown)
                    })?;
            }
            Err(errno) => {
                discard();
                let moved = errno == Errno::NOENT;
                return Err(if moved { changed(target.shown) } else { fault(errno, target.shown) });
            }
        }
        Ok(())
    }

    fn link(&self, parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let from = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, from, parent, name, AtFlags::SYMLINK_FOLLOW)
    }

    fn discard(&self, parent: BorrowedFd<'_>) {
        if let Some(name) = &self.name {
            let _ = unlinkat(parent, name, AtFlags::empty());
        }
    }
}

/// Copies extended attributes, access lists among them, as far as we may.
fn copy_attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let mut names = vec![0_u8; 4096];
    let Ok(length) = flistxattr(from, &mut names) else { return };
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(name) = std::ffi::CString::new(name) else { continue };
        let mut value = vec![0_u8; 64 << 10];
        if let Ok(length) = fgetxattr(from, &name, &mut value) {
            let _ = fsetxattr(to, &name, &value[..length], XattrFlags::empty());
        }
    }
}

fn random_name() -> OsString {
    let mut bytes = [0_u8; 12];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    let mut name = String::from(".toolcrib-");
    let _ = toolcrib_core::canonical::hex(&bytes, &mut name);
    OsString::from(name + "~")
}
