//! Changing files: whole or not at all, one at a time, with a pre-image kept first.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Seek;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::PoisonError;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid, fstat, fsync, mkdirat, openat,
    statat, unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use toolcrib_core::capability::{EditFn, WriteMode, Written};
use toolcrib_core::escape::name as spell;
use toolcrib_core::{Change, ChangeKind, ErrorKind, Files, Image, ToolError};

use crate::confine::{CallFiles, Fingerprint, Pin, Purpose};
use crate::fault::{changed, fault};
use crate::lock::Held;
use crate::place::Place;
use crate::root::{Root, open_below};
use crate::target::{TRIES, Target, deepest};
use crate::temporary::Temporary;

/// The content and looks of a file to be put in place.
pub(crate) struct Fresh<'a> {
    pub(crate) bytes: &'a [u8],
    /// Permission bits; those of the file replaced, or the usual ones for a new file, if absent.
    pub(crate) mode: Option<u32>,
}

impl CallFiles {
    /// Finds the target of a write and holds its lock. Missing parents are made.
    fn lock_target<'a>(&'a self, path: &'a str) -> Result<(Target<'a>, Held), ToolError> {
        for _ in 0..TRIES {
            let Some(target) = self.target(path)? else {
                let place = self.workspace.place(path)?;
                let parent = place.below.parent().unwrap_or(Path::new("")).to_owned();
                self.make_directories(&place, &parent)?;
                continue;
            };
            let held =
                self.workspace.locks.hold(&target.root.path().join(&target.below), &self.cancel)?;
            // Whoever held the lock before may have put another file there.
            match self.target(path)? {
                Some(now) if now.below == target.below => return Ok((now, held)),
                _ => {}
            }
        }
        Err(changed(path))
    }

    /// Fails if `target` is not what was pinned for it.
    fn check_pin(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pin) = pinned.get(target.shown) else { return Ok(()) };
        let now = target.fingerprint();
        if now == pin.followed || now == pin.unfollowed {
            return Ok(());
        }
        Err(changed_since_approval(target.shown))
    }

    /// Puts new content in place of what `target` holds, keeping a pre-image.
    pub(crate) fn commit(
        &self,
        target: &Target<'_>,
        fresh: &Fresh<'_>,
        mode: WriteMode,
    ) -> Result<Written, ToolError> {
        self.cancel.check()?;
        let shown = target.shown;
        let before = match &target.existing {
            Some((file, meta)) => Some(self.keep(file, meta, shown)?),
            None => None,
        };
        let temporary = Temporary::create(target, fresh, self.workspace.is_root_user)?;
        let after = Image {
            sha256: sha256(fresh.bytes),
            size: fresh.bytes.len() as u64,
            mode: temporary.mode,
        };
        let kind = if before.is_some() { ChangeKind::Replaced } else { ChangeKind::Created };
        let change = self.change(kind, target.root, &target.below, before, Some(after));
        self.announce(&change, shown)?;
        match (&target.existing, mode) {
            (None, WriteMode::New) => temporary.link_as(target)?,
            (None, WriteMode::Replace) => match temporary.link_as(target) {
                // Someone made it since we looked: their file is not ours to replace unseen.
                Err(err) if err.kind == ErrorKind::Exists => return Err(changed(shown)),
                other => other?,
            },
            (Some((_, meta)), _) => temporary.swap_for(target, meta)?,
        }
        sync_directory(target.parent.as_fd());
        self.note(change);
        Ok(if kind == ChangeKind::Created { Written::Created } else { Written::Replaced })
    }

    /// Keeps the content of an open file and returns its image.
    pub(crate) fn keep(
        &self,
        file: &OwnedFd,
        meta: &Stat,
        shown: &str,
    ) -> Result<Image, ToolError> {
        let copy = file.try_clone().map_err(|err| unkept(shown, &err))?;
        let mut copy = File::from(copy);
        copy.rewind().map_err(|err| unkept(shown, &err))?;
        let mut reader = Wanted { inner: copy, cancel: &self.cancel };
        let kept = self.workspace.changes.keep(&mut reader);
        self.cancel.check()?;
        let (sha256, size) = kept.map_err(|err| unkept(shown, &err))?;
        Ok(Image { sha256, size, mode: meta.st_mode & 0o7777 })
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
            root: root.path().to_string_lossy().into_owned(),
            path: spelt(below),
            before,
            after,
        }
    }

    pub(crate) fn announce(&self, change: &Change, shown: &str) -> Result<(), ToolError> {
        self.workspace.changes.note(change).map_err(|err| unkept(shown, &err))
    }

    /// Makes `wanted`, a directory below a root, and its missing parents. Returns those it made.
    pub(crate) fn make_directories(
        &self,
        place: &Place<'_>,
        wanted: &Path,
    ) -> Result<Vec<PathBuf>, ToolError> {
        let (mut at, mut handle, missing) = deepest(place, wanted)?;
        self.workspace.check_change(place.root, &at.join(&missing), place.shown)?;
        let mut made = Vec::new();
        for component in missing.components() {
            let Component::Normal(name) = component else {
                return Err(fault(Errno::NOENT, place.shown));
            };
            self.cancel.check()?;
            at.push(name);
            let parent = fstat(&handle).map_err(|errno| fault(errno, place.shown))?;
            self.workspace.check_mode(&parent, place.shown, Purpose::Write)?;
            let change = self.change(ChangeKind::MadeDirectory, place.root, &at, None, None);
            self.announce(&change, place.shown)?;
            let is_made = match mkdirat(&handle, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                // Made by somebody else since: just as good.
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(fault(errno, place.shown)),
            };
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let resolve = ResolveFlags::NO_SYMLINKS;
            let below = open_below(handle.as_fd(), Path::new(name), flags, Mode::empty(), resolve)
                .map_err(|errno| fault(errno, place.shown))?;
            if is_made {
                if self.workspace.is_root_user {
                    own_like(handle.as_fd(), name, &parent);
                }
                sync_directory(handle.as_fd());
                self.note(change);
                made.push(at.clone());
            }
            handle = below;
        }
        Ok(made)
    }

    /// Takes back directories that were made for a write that then failed.
    fn forget_directories(&self, from: usize) {
        let made: Vec<Change> = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let from = from.min(made.len());
            made.split_off(from)
        };
        for change in made.iter().rev().filter(|made| made.kind == ChangeKind::MadeDirectory) {
            let root =
                self.workspace.roots.iter().find(|root| root.path() == Path::new(&change.root));
            let below = crate::restore::unspelt(&change.path);
            if let (Some(root), Some(name)) = (root, below.file_name())
                && let Ok(parent) = root.open_resolved(below.parent().unwrap_or(Path::new("")))
            {
                // Not empty any more means someone uses it: then it stays.
                let _ = unlinkat(&parent, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Files for CallFiles {
    fn place(&self, path: &str) -> Result<String, ToolError> {
        let place = self.workspace.place(path)?;
        let below = match self.target(path) {
            Ok(Some(target)) => target.below,
            _ => place.below.clone(),
        };
        let root = place.root.path().to_string_lossy().into_owned();
        if below == Path::new(".") {
            return Ok(root);
        }
        Ok(format!("{}/{}", root.trim_end_matches('/'), spelt(&below)))
    }

    fn check_write(&self, path: &str) -> Result<(), ToolError> {
        let parent = if let Some(target) = self.target(path)? {
            target.parent
        } else {
            let place = self.workspace.place(path)?;
            let (at, handle, missing) = deepest(&place, &place.below)?;
            self.workspace.check_change(place.root, &at.join(&missing), path)?;
            if missing.components().any(|part| !matches!(part, Component::Normal(_))) {
                return Err(fault(Errno::NOENT, path));
            }
            handle
        };
        let meta = fstat(&parent).map_err(|errno| fault(errno, path))?;
        self.workspace.check_mode(&meta, path, Purpose::Write)
    }

    fn write(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, ToolError> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).len();
        let written = (|| {
            let (target, _held) = self.lock_target(path)?;
            if mode == WriteMode::New && target.existing.is_some() {
                return Err(fault(Errno::EXIST, path));
            }
            self.check_pin(&target)?;
            self.commit(&target, &Fresh { bytes, mode: None }, mode)
        })();
        if written.is_err() {
            self.forget_directories(made);
        }
        written
    }

    fn update(&self, path: &str, most: u64, edit: &mut EditFn<'_>) -> Result<(), ToolError> {
        let Some(_) = self.target(path)? else { return Err(fault(Errno::NOENT, path)) };
        let (target, _held) = self.lock_target(path)?;
        self.check_pin(&target)?;
        let Some((file, meta)) = &target.existing else { return Err(fault(Errno::NOENT, path)) };
        let content = self.drain(file, meta, most, path)?;
        if content.is_cut() {
            let message = format!("`{path}` has {} bytes, and the limit is {most}", content.size);
            return Err(ToolError::new(ErrorKind::TooLarge, message).at(path));
        }
        let bytes = edit(&content.bytes)?;
        if bytes == content.bytes {
            return Ok(());
        }
        self.commit(&target, &Fresh { bytes: &bytes, mode: None }, WriteMode::Replace)?;
        Ok(())
    }

    fn make_directory(&self, path: &str) -> Result<Vec<String>, ToolError> {
        let place = self.workspace.place(path)?;
        let flags = OFlags::PATH;
        match place.root.open_below(&place.below, flags, Mode::empty()) {
            Ok(there) => {
                let meta = fstat(&there).map_err(|errno| fault(errno, path))?;
                if FileType::from_raw_mode(meta.st_mode) == FileType::Directory {
                    return Ok(Vec::new());
                }
                let message = format!("`{path}` is there already, and is not a directory");
                return Err(ToolError::new(ErrorKind::NotDirectory, message).at(path));
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(fault(errno, path)),
        }
        let made = self.make_directories(&place, &place.below)?;
        Ok(made.iter().map(|below| spelt(below)).collect())
    }

    fn check_remove(&self, path: &str) -> Result<(), ToolError> {
        self.removal(path).map(|_| ())
    }

    fn remove(&self, path: &str) -> Result<(), ToolError> {
        let target = self.removal(path)?;
        let _held =
            self.workspace.locks.hold(&target.root.path().join(&target.below), &self.cancel)?;
        self.check_pin(&target)?;
        self.remove_target(&target)
    }

    fn pin(&self, paths: &[String]) -> Result<(), ToolError> {
        for path in paths {
            let followed = self.target(path).ok().flatten().and_then(|it| it.fingerprint());
            let unfollowed = self.removal(path).ok().and_then(|it| it.fingerprint());
            let pin = Pin { followed, unfollowed };
            self.pinned.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), pin);
        }
        Ok(())
    }

    fn changes(&self) -> Vec<Change> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl CallFiles {
    /// Removes a file or link, keeping a pre-image.
    pub(crate) fn remove_target(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let shown = target.shown;
        let Some((file, meta)) = &target.existing else { return Err(fault(Errno::NOENT, shown)) };
        let before = if FileType::from_raw_mode(meta.st_mode) == FileType::Symlink {
            let link = rustix::fs::readlinkat(&target.parent, &target.name, Vec::new())
                .map_err(|errno| fault(errno, shown))?;
            let kept = self.workspace.changes.keep(&mut link.as_bytes());
            let (sha256, size) = kept.map_err(|err| unkept(shown, &err))?;
            Image { sha256, size, mode: meta.st_mode }
        } else {
            self.keep(file, meta, shown)?
        };
        let change =
            self.change(ChangeKind::Removed, target.root, &target.below, Some(before), None);
        self.announce(&change, shown)?;
        let now = statat(&target.parent, &target.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| fault(errno, shown))?;
        let kept = Fingerprint::of(target.below.clone(), meta);
        if !kept.is_same_content(&Fingerprint::of(target.below.clone(), &now)) {
            return Err(changed(shown));
        }
        unlinkat(&target.parent, &target.name, AtFlags::empty())
            .map_err(|errno| fault(errno, shown))?;
        sync_directory(target.parent.as_fd());
        self.note(change);
        Ok(())
    }
}

/// Gives a new directory the owner of the one it is in.
fn own_like(parent: BorrowedFd<'_>, name: &OsStr, like: &Stat) {
    let owner = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let _ = rustix::fs::chownat(parent, name, Some(owner.0), Some(owner.1), flags);
}

/// Makes a directory's entries durable, as far as the file system lets us.
pub(crate) fn sync_directory(directory: BorrowedFd<'_>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(directory) = openat(directory, ".", flags, Mode::empty()) {
        let _ = fsync(&directory);
    }
}

/// Spells a path below a root so that any name in it can be kept as text.
pub(crate) fn spelt(below: &Path) -> String {
    let names: Vec<_> = below
        .components()
        .map(|component| spell(component.as_os_str().as_encoded_bytes()).into_owned())
        .collect();
    names.join("/")
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    let _ = toolcrib_core::canonical::hex(&Sha256::digest(bytes), &mut text);
    text
}

fn unkept(shown: &str, err: &std::io::Error) -> ToolError {
    let message = format!("`{shown}` was left alone: its undo copy could not be kept: {err}");
    ToolError::new(ErrorKind::Unrecorded, message)
        .hint("check that the state folder can be written and its disk is not full")
        .at(shown)
}

fn changed_since_approval(path: &str) -> ToolError {
    ToolError::new(ErrorKind::Changed, format!("`{path}` is not what it was when it was approved"))
        .hint("look at it again and repeat the call")
        .at(path)
        .with("reason", "changed_since_approval")
}

/// Reads on only while the call is wanted.
struct Wanted<'a> {
    inner: File,
    cancel: &'a toolcrib_core::Cancel,
}

impl std::io::Read for Wanted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(std::io::Error::other("cancelled"));
        }
        self.inner.read(buffer)
    }
}
