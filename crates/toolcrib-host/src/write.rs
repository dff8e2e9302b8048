//! The files of a workspace as tools change them.

use std::os::fd::AsFd;
use std::path::{Component, Path};
use std::sync::PoisonError;

use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use toolcrib_core::capability::{EditFn, Resolved, WriteMode, Written};
use toolcrib_core::{Change, ErrorKind, Files, ToolError};

use crate::confine::{CallFiles, Purpose};
use crate::fault::{changed, fault};
use crate::lock::{Held, hold};
use crate::resolve::resolve;
use crate::spelling::{spelt, spelt_root};
use crate::target::{TRIES, Target, deepest};
use crate::temporary::{Fresh, Looks, looks};

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
            let held = hold(&target, &self.cancel)?;
            // Whoever held the lock before may have put another file there.
            match self.target(path)? {
                Some(now) if now.below == target.below && held.check(&now).is_ok() => {
                    return Ok((now, held));
                }
                _ => {}
            }
        }
        Err(changed(path))
    }

    /// Fails if `target` is not what a person saw when they were asked about it.
    fn check_pin(&self, target: &Target<'_>) -> Result<(), ToolError> {
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        match pinned.get(target.shown) {
            Some(sights) if !sights.contains(&target.sight()) => {
                let message = format!("`{}` is not what it was when it was approved", target.shown);
                Err(ToolError::new(ErrorKind::Changed, message)
                    .hint("look at it again and repeat the call")
                    .at(target.shown)
                    .with("reason", "changed_since_approval"))
            }
            _ => Ok(()),
        }
    }

    fn count_changes(&self) -> usize {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Files for CallFiles {
    fn absolute(&self, path: &str) -> Result<String, ToolError> {
        let place = self.workspace.place(path)?;
        let below = match self.target(path) {
            Ok(Some(target)) => target.below,
            _ => place.below.clone(),
        };
        let root = spelt_root(place.root);
        let below = spelt(&below);
        Ok(if below.is_empty() { root } else { format!("{}/{below}", root.trim_end_matches('/')) })
    }

    fn resolve(&self, path: &str) -> Resolved {
        resolve(&self.workspace.roots, path)
    }

    fn check_write(&self, path: &str) -> Result<(), ToolError> {
        let parent = if let Some(target) = self.target(path)? {
            target.parent
        } else {
            let place = self.workspace.place(path)?;
            let (at, handle, missing) = deepest(&place, &place.below)?;
            self.workspace.admit(place.root, &handle, path)?;
            self.workspace.check_change(place.root, &at.join(&missing), path)?;
            if missing.components().any(|part| !matches!(part, Component::Normal(_))) {
                return Err(fault(Errno::NOENT, path));
            }
            handle
        };
        let meta = fstat(&parent).map_err(|errno| fault(errno, path))?;
        self.workspace.check_access(&parent, &meta, path, Purpose::Write)
    }

    fn write(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, ToolError> {
        let before = self.count_changes();
        let written = (|| {
            let (target, _held) = self.lock_target(path)?;
            if mode == WriteMode::New && target.existing.is_some() {
                return Err(fault(Errno::EXIST, path));
            }
            self.check_pin(&target)?;
            self.commit(&target, &Fresh { bytes, looks: Looks::AsBefore }, mode)
        })();
        if written.is_err() {
            self.forget_directories(before);
        }
        written
    }

    fn copy(&self, from: &str, to: &str, most: u64) -> Result<Written, ToolError> {
        let place = self.workspace.place(from)?;
        let (file, meta) = self.workspace.open_file(&place, Purpose::Read)?;
        let content = self.drain(&file, &meta, most, from)?;
        if content.is_cut() {
            let message = format!("`{from}` has {} bytes, and the limit is {most}", content.size);
            return Err(ToolError::new(ErrorKind::TooLarge, message).at(from));
        }
        let (target, _held) = self.lock_target(to)?;
        self.check_pin(&target)?;
        let looks = Looks::Like(looks(file.as_fd(), &meta));
        self.commit(&target, &Fresh { bytes: &content.bytes, looks }, WriteMode::Replace)
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
        if bytes != content.bytes {
            let fresh = Fresh { bytes: &bytes, looks: Looks::AsBefore };
            self.commit(&target, &fresh, WriteMode::Replace)?;
        }
        Ok(())
    }

    fn make_directory(&self, path: &str) -> Result<Vec<String>, ToolError> {
        let place = self.workspace.place(path)?;
        match place.root.open_below(&place.below, OFlags::PATH, Mode::empty()) {
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
        let before = self.count_changes();
        let made = self.make_directories(&place, &place.below);
        if made.is_err() {
            self.forget_directories(before);
        }
        Ok(made?.iter().map(|below| spelt(below)).collect())
    }

    fn check_remove(&self, path: &str) -> Result<(), ToolError> {
        self.removal(path).map(|_| ())
    }

    fn remove(&self, path: &str) -> Result<(), ToolError> {
        let held = hold(&self.removal(path)?, &self.cancel)?;
        let target = self.removal(path)?;
        held.check(&target)?;
        self.check_pin(&target)?;
        let removed = self.remove_target(&target);
        drop(held);
        removed
    }

    fn pin(&self, paths: &[String]) -> Result<(), ToolError> {
        for path in paths {
            let sights = self.sights(path);
            self.pinned.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), sights);
        }
        Ok(())
    }

    fn changes(&self) -> Vec<Change> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take_snapshots(&self, paths: &[String], known: usize) -> u64 {
        self.snapshot_files(paths, known)
    }

    fn resolve_snapshots(&self) {
        self.resolve_snapshots_as(None);
    }
}
