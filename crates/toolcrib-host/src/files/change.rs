//! Changing the tree: before each change, the old content is stored and the change is journaled.

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
use toolcrib_core::policy::PathAccess;
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
    /// Puts new content in the place of `target`. The caller holds the lock of its directory.
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
            // Another program made the file since the check. It must not be replaced unseen.
            (None, WriteMode::Replace) => temporary
                .link_as(target)
                .map_err(|err| if err.kind == ErrorKind::Exists { changed(shown) } else { err }),
            (Some((_, meta)), _) => temporary.swap_for(target, meta),
        })?;
        sync_directory(target.parent.as_fd());
        Ok(if kind == ChangeKind::Created { Written::Created } else { Written::Replaced })
    }

    /// Removes a file or link. The caller holds the lock of its directory.
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
            // The file is renamed first, and only the content that was stored is removed.
            let temporary = random_name();
            let free = RenameFlags::NOREPLACE;
            renameat_with(parent, &target.name, parent, &temporary, free)
                .map_err(|errno| errno_error(errno, shown))?;
            let stored = stamp_of(meta);
            match stat_entry(parent, &temporary) {
                Some(old) if stored.has_same_content(&stamp_of(&old)) => {
                    discard(parent, &temporary, &old);
                    Ok(())
                }
                _ => match renameat_with(parent, &temporary, parent, &target.name, free) {
                    Ok(()) => Err(changed(shown)),
                    Err(_) => Err(changed(shown)
                        .hint(format!("the file is now named `{}`", temporary.display()))),
                },
            }
        })?;
        sync_directory(parent);
        Ok(())
    }

    /// Makes the directory `wanted` below a root, and its missing parents. Returns the paths of those it made.
    pub(crate) fn make_directories(
        &self,
        place: &RootedPath<'_>,
        wanted: &Path,
    ) -> Result<Vec<PathBuf>, ToolError> {
        self.make_directories_as(place, wanted, Mode::from_raw_mode(0o777))
    }

    /// Makes the directory `wanted` and its missing parents with this mode, as far as the process may.
    pub(crate) fn make_directories_as(
        &self,
        place: &RootedPath<'_>,
        wanted: &Path,
        mode: Mode,
    ) -> Result<Vec<PathBuf>, ToolError> {
        let (mut at, mut handle, missing) = deepest_existing(place, wanted)?;
        self.workspace.check_reachable(place.root, &handle, place.shown)?;
        self.workspace.check_change(place.root, &at.join(&missing), place.shown)?;
        let whole = place.root.path().join(&at).join(&missing);
        self.check_denied(&whole, place.shown, PathAccess::Write)?;
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
                // Another program made it since, which is just as good.
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

    /// Removes the directories that were made for a write that then failed: all changes of the call from the number
    /// `from` on.
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
                // A directory that is not empty any more is in use. It stays, and stays in the journal.
                && unlinkat(&parent, name, AtFlags::REMOVEDIR).is_ok()
            {
                let _ = self.workspace.undo.journal.retract(change);
            }
        }
    }

    /// Stores what is at `target` for undo, and returns its image.
    fn store_before(
        &self,
        target: &Target<'_>,
        file: &OwnedFd,
        meta: &Stat,
    ) -> Result<Image, ToolError> {
        let shown = target.shown;
        let failed = |err: &std::io::Error| no_undo_copy(shown, err);
        let stored = if target.is_link() {
            let link = readlinkat(&target.parent, &target.name, Vec::new())
                .map_err(|errno| errno_error(errno, shown))?;
            self.workspace.undo.journal.store(&mut link.as_bytes())
        } else {
            let most = self.workspace.rules.undo_bytes;
            if u64::try_from(meta.st_size).unwrap_or(0) > most {
                let message = format!(
                    "`{shown}` has {} bytes, and undo copies are limited to {most} bytes",
                    meta.st_size
                );
                return Err(ToolError::new(ErrorKind::TooLarge, message)
                    .hint("change it yourself, or raise `undo.max_bytes` in your own settings")
                    .at(shown));
            }
            let mut copy = File::from(file.try_clone().map_err(|err| failed(&err))?);
            copy.rewind().map_err(|err| failed(&err))?;
            self.workspace
                .undo
                .journal
                .store(&mut CancellableReader { inner: copy, cancel: &self.cancel })
        };
        self.cancel.check()?;
        let (sha256, size) = stored.map_err(|err| failed(&err))?;
        Ok(Image { sha256, size, ..image_without_content(file.as_fd(), meta) })
    }

    /// Returns the journal entry for a change of this call.
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

    /// Journals a change, makes it, and retracts it from the journal if it fails.
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

    /// Journals a change.
    pub(crate) fn append_to_journal(&self, change: &Change, shown: &str) -> Result<(), ToolError> {
        self.workspace.undo.journal.append(change).map_err(|err| no_undo_copy(shown, &err))
    }

    /// Adds a change to those that the call has made.
    pub(crate) fn remember_change(&self, change: Change) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }
}

/// Gives a new directory the owner of its parent.
fn inherit_owner(directory: BorrowedFd<'_>, like: &Stat) {
    let owner = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
    let _ = chownat(directory, "", Some(owner.0), Some(owner.1), AtFlags::EMPTY_PATH);
}

/// Makes the entries of a directory durable, as far as the file system allows.
pub(crate) fn sync_directory(directory: BorrowedFd<'_>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(directory) = openat(directory, ".", flags, Mode::empty()) {
        let _ = fsync(&directory);
    }
}

fn no_undo_copy(shown: &str, err: &std::io::Error) -> ToolError {
    let message =
        format!("`{shown}` was not changed, because its undo copy could not be saved: {err}");
    ToolError::new(ErrorKind::Unrecorded, message)
        .hint("check that the state folder is writable and its disk is not full")
        .at(shown)
}

/// A reader that fails once the call is cancelled.
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
