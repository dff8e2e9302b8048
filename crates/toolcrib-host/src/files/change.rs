//! Altering the tree: one change at a time, with what was there kept first and the change noted.

use std::fs::File;
use std::io::Seek;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::PoisonError;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Uid, chownat, fstat, fsync,
    mkdirat, openat, readlinkat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use toolcrib_core::capability::{WriteMode, Written};
use toolcrib_core::{Cancel, Change, ChangeKind, ErrorKind, Image, ToolError};

use crate::files::errno::{changed, errno_error};
use crate::files::image::{image_without_content, sha256};
use crate::files::root::{Root, identify, open_below};
use crate::files::rooted_path::RootedPath;
use crate::files::spelling::{spelt, spelt_root, unspelt};
use crate::files::stamp::stamp_of;
use crate::files::target::{Target, deepest_existing};
use crate::files::temporary::{NewContent, Temporary, discard, stat_entry};
use crate::files::temporary_name::random_name;
use crate::files::workspace::{CallFiles, Purpose};

impl CallFiles {
    /// Puts new content in place of what `target` holds. Its directory's lock is held.
    pub(crate) fn commit(
        &self,
        target: &Target<'_>,
        fresh: &NewContent<'_>,
        mode: WriteMode,
    ) -> Result<Written, ToolError> {
        self.cancel.check()?;
        let shown = target.shown;
        let before =
            target.existing.as_ref().map(|(file, meta)| self.store_before(target, file, meta));
        let before = before.transpose()?;
        let temporary = Temporary::create(target, fresh, self.workspace.new_file_owner())?;
        let temporary_file = temporary.as_fd();
        let after = Image {
            sha256: sha256(fresh.bytes),
            size: fresh.bytes.len() as u64,
            ..image_without_content(temporary_file, &temporary.meta)
        };
        let kind = if before.is_some() { ChangeKind::Replaced } else { ChangeKind::Created };
        let change = self.change(kind, target.root, &target.below, before, Some(after));
        self.journaled(change, shown, || match (&target.existing, mode) {
            (None, WriteMode::New) => temporary.link_as(target),
            // Someone made it since we looked: their file is not ours to replace unseen.
            (None, WriteMode::Replace) => temporary
                .link_as(target)
                .map_err(|err| if err.kind == ErrorKind::Exists { changed(shown) } else { err }),
            (Some((_, meta)), _) => temporary.swap_for(target, meta),
        })?;
        sync_directory(target.parent.as_fd());
        Ok(if kind == ChangeKind::Created { Written::Created } else { Written::Replaced })
    }

    /// Removes a file or link. Its directory's lock is held.
    pub(crate) fn remove_target(&self, target: &Target<'_>) -> Result<(), ToolError> {
        self.cancel.check()?;
        let shown = target.shown;
        let Some((file, meta)) = &target.existing else {
            return Err(errno_error(Errno::NOENT, shown));
        };
        let before = self.store_before(target, file, meta)?;
        let change =
            self.change(ChangeKind::Removed, target.root, &target.below, Some(before), None);
        let parent = target.parent.as_fd();
        self.journaled(change, shown, || {
            // Taken aside first, and only what was kept is thrown away.
            let aside = random_name();
            let free = RenameFlags::NOREPLACE;
            renameat_with(parent, &target.name, parent, &aside, free)
                .map_err(|errno| errno_error(errno, shown))?;
            let kept = stamp_of(meta);
            match stat_entry(parent, &aside) {
                Some(old) if kept.has_same_content(&stamp_of(&old)) => {
                    discard(parent, &aside, &old);
                    Ok(())
                }
                _ => match renameat_with(parent, &aside, parent, &target.name, free) {
                    Ok(()) => Err(changed(shown)),
                    Err(_) => Err(changed(shown)
                        .hint(format!("what was there is in `{}` now", aside.display()))),
                },
            }
        })?;
        sync_directory(parent);
        Ok(())
    }

    /// Makes `wanted`, a directory below a root, and its missing parents. Returns those it made.
    pub(crate) fn make_directories(
        &self,
        place: &RootedPath<'_>,
        wanted: &Path,
    ) -> Result<Vec<PathBuf>, ToolError> {
        self.make_directories_as(place, wanted, Mode::from_raw_mode(0o777))
    }

    /// The same with this mode, as far as the process may give it.
    pub(crate) fn make_directories_as(
        &self,
        place: &RootedPath<'_>,
        wanted: &Path,
        mode: Mode,
    ) -> Result<Vec<PathBuf>, ToolError> {
        let (mut at, mut handle, missing) = deepest_existing(place, wanted)?;
        self.workspace.check_reachable(place.root, &handle, place.shown)?;
        self.workspace.check_change(place.root, &at.join(&missing), place.shown)?;
        let mut made = Vec::new();
        for component in missing.components() {
            let Component::Normal(name) = component else {
                return Err(errno_error(Errno::NOENT, place.shown));
            };
            self.cancel.check()?;
            at.push(name);
            let parent = fstat(&handle).map_err(|errno| errno_error(errno, place.shown))?;
            self.workspace.check_access(&handle, &parent, place.shown, Purpose::Write)?;
            let is_made = match mkdirat(&handle, name, mode) {
                Ok(()) => true,
                // Made by somebody else since: just as good.
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(errno_error(errno, place.shown)),
            };
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let resolve = ResolveFlags::NO_SYMLINKS;
            let below = open_below(handle.as_fd(), Path::new(name), flags, Mode::empty(), resolve)
                .map_err(|errno| errno_error(errno, place.shown))?;
            if is_made {
                if self.workspace.is_root_user {
                    inherit_owner(below.as_fd(), &parent);
                }
                let mut change =
                    self.change(ChangeKind::MadeDirectory, place.root, &at, None, None);
                change.made = identify(&below).ok();
                self.append_to_journal(&change, place.shown)?;
                self.remember_change(change);
                sync_directory(handle.as_fd());
                made.push(at.clone());
            }
            handle = below;
        }
        Ok(made)
    }

    /// Takes back directories that were made for a write that then failed.
    pub(crate) fn remove_made_directories(&self, from: usize) {
        let made: Vec<Change> = {
            let mut made = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
            let from = from.min(made.len());
            made.split_off(from)
        };
        for change in made.iter().rev().filter(|made| made.kind == ChangeKind::MadeDirectory) {
            let below = unspelt(&change.path);
            let root = self.workspace.roots.iter().find(|root| root.id() == change.root_id);
            if let (Some(root), Some(name)) = (root, below.file_name())
                && let Ok(parent) = root.open_resolved(below.parent().unwrap_or(Path::new("")))
                // Not empty any more means someone uses it: then it stays, and stays noted.
                && unlinkat(&parent, name, AtFlags::REMOVEDIR).is_ok()
            {
                let _ = self.workspace.undo.journal.retract(change);
            }
        }
    }

    /// Keeps what is at `target` and returns its image.
    fn store_before(
        &self,
        target: &Target<'_>,
        file: &OwnedFd,
        meta: &Stat,
    ) -> Result<Image, ToolError> {
        let shown = target.shown;
        let unkept = |err: &std::io::Error| unkept(shown, err);
        let kept = if target.is_link() {
            let link = readlinkat(&target.parent, &target.name, Vec::new())
                .map_err(|errno| errno_error(errno, shown))?;
            self.workspace.undo.journal.store(&mut link.as_bytes())
        } else {
            let most = self.workspace.rules.undo_bytes;
            if u64::try_from(meta.st_size).unwrap_or(0) > most {
                let message = format!(
                    "`{shown}` has {} bytes, and undo copies are kept up to {most}",
                    meta.st_size
                );
                return Err(ToolError::new(ErrorKind::TooLarge, message)
                    .hint("change it yourself, or raise `undo.max_bytes` in your own settings")
                    .at(shown));
            }
            let mut copy = File::from(file.try_clone().map_err(|err| unkept(&err))?);
            copy.rewind().map_err(|err| unkept(&err))?;
            self.workspace
                .undo
                .journal
                .store(&mut CancellableReader { inner: copy, cancel: &self.cancel })
        };
        self.cancel.check()?;
        let (sha256, size) = kept.map_err(|err| unkept(&err))?;
        Ok(Image { sha256, size, ..image_without_content(file.as_fd(), meta) })
    }

    pub(crate) fn change(
        &self,
        kind: ChangeKind,
        root: &Root,
        below: &Path,
        before: Option<Image>,
        after: Option<Image>,
    ) -> Change {
        Change {
            call: self.call.clone(),
            tool: self.tool.clone(),
            at: self.workspace.clock.now().to_string(),
            kind,
            root: spelt_root(root),
            root_id: root.id(),
            path: spelt(below),
            before,
            after,
            made: None,
            doubt: None,
        }
    }

    /// Makes a change that is noted first, and noted as not made if it fails.
    pub(crate) fn journaled(
        &self,
        change: Change,
        shown: &str,
        make: impl FnOnce() -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        self.append_to_journal(&change, shown)?;
        match make() {
            Ok(()) => {
                self.remember_change(change);
                Ok(())
            }
            Err(err) => {
                let _ = self.workspace.undo.journal.retract(&change);
                Err(err)
            }
        }
    }

    pub(crate) fn append_to_journal(&self, change: &Change, shown: &str) -> Result<(), ToolError> {
        self.workspace.undo.journal.append(change).map_err(|err| unkept(shown, &err))
    }

    pub(crate) fn remember_change(&self, change: Change) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }
}

/// Gives a new directory the owner of the one it is in.
fn inherit_owner(directory: BorrowedFd<'_>, like: &Stat) {
    let owner = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
    let _ = chownat(directory, "", Some(owner.0), Some(owner.1), AtFlags::EMPTY_PATH);
}

/// Makes a directory's entries durable, as far as the file system lets us.
pub(crate) fn sync_directory(directory: BorrowedFd<'_>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(directory) = openat(directory, ".", flags, Mode::empty()) {
        let _ = fsync(&directory);
    }
}

fn unkept(shown: &str, err: &std::io::Error) -> ToolError {
    let message = format!("`{shown}` was left alone: its undo copy could not be kept: {err}");
    ToolError::new(ErrorKind::Unrecorded, message)
        .hint("check that the state folder can be written and its disk is not full")
        .at(shown)
}

/// Reads on only while the call is wanted.
struct CancellableReader<'a> {
    inner: File,
    cancel: &'a Cancel,
}

impl std::io::Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(std::io::Error::other("cancelled"));
        }
        self.inner.read(buffer)
    }
}
