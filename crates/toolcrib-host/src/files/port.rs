//! The port through which tools change the files of a workspace.

use std::os::fd::AsFd;
use std::path::{Component, Path};
use std::sync::PoisonError;

use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use toolcrib_core::capability::{EditFn, Resolved, WriteMode, Written};
use toolcrib_core::pin::FolderState;
use toolcrib_core::{Change, ErrorKind, Files, ToolError};

use crate::files::errno::{changed, errno_error};
use crate::files::follow_links::resolve;
use crate::files::image::image_without_content;
use crate::files::lock::DirectoryLock;
use crate::files::policy_check::absolute;
use crate::files::spelling::spelt;
use crate::files::target::{MOST_LOOKUPS, Target, deepest_existing, real_below};
use crate::files::temporary::{NewContent, NewMetadata};
use crate::files::workspace::{CallFiles, Purpose};

impl CallFiles {
    /// Finds the target of a write and locks its directory. Missing parents are made.
    fn lock_target<'a>(&'a self, path: &'a str) -> Result<(Target<'a>, DirectoryLock), ToolError> {
        for _ in 0..MOST_LOOKUPS {
            let Some(target) = self.target(path)? else {
                let place = self.workspace.locate(path)?;
                let parent = place.below.parent().unwrap_or(Path::new("")).to_owned();
                self.make_directories(&place, &parent)?;
                continue;
            };
            let lock = DirectoryLock::acquire(&target, &self.cancel)?;
            // Whoever held the lock before may have put another file there.
            match self.target(path)? {
                Some(now) if now.below == target.below && lock.check_covers(&now).is_ok() => {
                    return Ok((now, lock));
                }
                _ => {}
            }
        }
        Err(changed(path))
    }

    /// Fails if `target` is not what a person saw when they approved the call.
    fn check_pin(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        match pinned.get(target.shown) {
            Some(states) if !states.contains(&target.pinned_state()) => {
                let message = format!("`{}` changed after the call was approved", target.shown);
                Err(ToolError::new(ErrorKind::Changed, message)
                    .hint("read the file again and repeat the call")
                    .at(target.shown)
                    .with("reason", "changed_since_approval"))
            }
            _ => Ok(()),
        }
    }

    fn count_changes(&self) -> usize {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Files for CallFiles {
    fn absolute(&self, path: &str) -> Result<String, ToolError> {
        let place = self.workspace.locate(path)?;
        // What is not there yet is named by the folders on its way that are.
        let below = real_below(&place).or_else(|| {
            let (at, _, missing) = deepest_existing(&place, &place.below).ok()?;
            Some(at.join(missing))
        });
        Ok(absolute(place.root, below.as_deref().unwrap_or(&place.below)))
    }

    fn resolve(&self, path: &str) -> Resolved {
        resolve(&self.workspace.roots, path)
    }

    fn check_write(&self, path: &str) -> Result<(), ToolError> {
        let parent = if let Some(target) = self.target(path)? {
            target.parent
        } else {
            let place = self.workspace.locate(path)?;
            let (at, handle, missing) = deepest_existing(&place, &place.below)?;
            self.workspace.check_reachable(place.root, &handle, path)?;
            self.workspace.check_change(place.root, &at.join(&missing), path)?;
            if missing.components().any(|part| !matches!(part, Component::Normal(_))) {
                return Err(errno_error(Errno::NOENT, path));
            }
            handle
        };
        let meta = fstat(&parent).map_err(|errno| errno_error(errno, path))?;
        self.workspace.check_access(&parent, &meta, path, Purpose::Write)
    }

    fn write(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, ToolError> {
        let before = self.count_changes();
        let written = (|| {
            let (target, _lock) = self.lock_target(path)?;
            if mode == WriteMode::New && target.existing.is_some() {
                return Err(errno_error(Errno::EXIST, path));
            }
            self.check_pin(&target)?;
            self.commit(&target, &NewContent { bytes, metadata: NewMetadata::Inherited }, mode)
        })();
        if written.is_err() {
            self.remove_made_directories(before);
        }
        written
    }

    fn copy(&self, from: &str, to: &str, most: u64) -> Result<Written, ToolError> {
        let place = self.workspace.locate(from)?;
        let (file, meta) = self.open_decided(&place)?;
        let content = self.read_up_to(&file, &meta, most, from)?;
        if content.is_cut() {
            let message = format!("`{from}` has {} bytes, and the limit is {most}", content.size);
            return Err(ToolError::new(ErrorKind::TooLarge, message).at(from));
        }
        let (target, _lock) = self.lock_target(to)?;
        self.check_pin(&target)?;
        let metadata = NewMetadata::Like(image_without_content(file.as_fd(), &meta));
        self.commit(&target, &NewContent { bytes: &content.bytes, metadata }, WriteMode::Replace)
    }

    fn update(&self, path: &str, most: u64, edit: &mut EditFn<'_>) -> Result<(), ToolError> {
        let Some(_) = self.target(path)? else { return Err(errno_error(Errno::NOENT, path)) };
        let (target, _lock) = self.lock_target(path)?;
        self.check_pin(&target)?;
        let Some((file, meta)) = &target.existing else {
            return Err(errno_error(Errno::NOENT, path));
        };
        let content = self.read_up_to(file, meta, most, path)?;
        if content.is_cut() {
            let message = format!("`{path}` has {} bytes, and the limit is {most}", content.size);
            return Err(ToolError::new(ErrorKind::TooLarge, message).at(path));
        }
        let bytes = edit(&content.bytes)?;
        if bytes != content.bytes {
            let fresh = NewContent { bytes: &bytes, metadata: NewMetadata::Inherited };
            self.commit(&target, &fresh, WriteMode::Replace)?;
        }
        Ok(())
    }

    fn make_directory(&self, path: &str) -> Result<Vec<String>, ToolError> {
        let place = self.workspace.locate(path)?;
        match place.root.open_below(&place.below, OFlags::PATH, Mode::empty()) {
            Ok(there) => {
                let meta = fstat(&there).map_err(|errno| errno_error(errno, path))?;
                if FileType::from_raw_mode(meta.st_mode) == FileType::Directory {
                    return Ok(Vec::new());
                }
                let message = format!("`{path}` already exists and is not a directory");
                return Err(ToolError::new(ErrorKind::NotDirectory, message).at(path));
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno_error(errno, path)),
        }
        let before = self.count_changes();
        let made = self.make_directories(&place, &place.below);
        if made.is_err() {
            self.remove_made_directories(before);
        }
        Ok(made?.iter().map(|below| spelt(below)).collect())
    }

    fn check_remove(&self, path: &str) -> Result<(), ToolError> {
        self.removal_target(path).map(|_| ())
    }

    fn remove(&self, path: &str) -> Result<(), ToolError> {
        let lock = DirectoryLock::acquire(&self.removal_target(path)?, &self.cancel)?;
        let target = self.removal_target(path)?;
        lock.check_covers(&target)?;
        self.check_pin(&target)?;
        let removed = self.remove_target(&target);
        drop(lock);
        removed
    }

    fn pin(&self, paths: &[String]) -> Result<(), ToolError> {
        for path in paths {
            let states = self.pinned_states(path);
            self.pinned.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), states);
        }
        Ok(())
    }

    fn folder_state(&self, path: &str, most: usize) -> Result<FolderState, ToolError> {
        self.read_folder_state(path, most)
    }

    fn hold(&self, decided: Vec<(String, String)>) {
        // A call is decided on once, so nothing was held before.
        let _ = self.decided.set(decided.into_iter().collect());
    }

    fn changes(&self) -> Vec<Change> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take_snapshots(&self, paths: &[String], known: usize) -> u64 {
        self.snapshot_files(paths, known)
    }

    fn resolve_snapshots(&self) {
        self.resolve_snapshots_as(None);
    }
}
