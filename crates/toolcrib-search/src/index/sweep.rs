//! The sweep: a walk of the whole tree that finds out what is there and what is still true of the index.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, fstat, statat};

use crate::index::error::{IndexError, IndexErrorKind};
use crate::index::indexer::{DEBOUNCE, Indexer, too_large};
use crate::index::status::Phase;
use crate::index::tree_index::{Index, IndexSnapshot, SweepResult, WalkStamps};
use crate::index::watcher::{Watcher, check_file_system, wait, watch_directory};
use crate::paths::{Paths, split};
use crate::scan::ignore_rules::IgnoreRules;
use crate::scan::open::open_directory;
use crate::scan::stamp::stamp_of;
use crate::scan::walk::{HiddenNames, TreeWalk};

/// After so many sweeps in a row that leave the index uncertain, there is none.
const MAX_SWEEPS_IN_A_ROW: u32 = 12;

/// What the file system says of the root of a tree.
pub(super) struct RootDevice {
    pub(super) device: u64,
    /// The magic number of the file system.
    pub(super) file_system: i64,
}

impl Indexer {
    /// Returns the device of the root. Fails if its file system does not report all changes.
    pub(super) fn check_root(&self) -> Result<RootDevice, IndexError> {
        let unreadable = |errno| IndexError::system("the workspace cannot be opened", errno);
        let directory = open_directory(&*self.tree, b"").map_err(unreadable)?;
        let file_system = check_file_system(directory.as_fd())?;
        let device = fstat(&directory).map_err(unreadable)?.st_dev;
        Ok(RootDevice { device, file_system })
    }

    /// Waits longer and longer while one sweep follows another: a tree that is never at rest is scanned.
    pub(super) fn back_off(&self, sweeps: u32) -> Result<(), IndexError> {
        let needs_sweep = || self.index().as_ref().is_none_or(|index| index.needs_sweep);
        if sweeps > MAX_SWEEPS_IN_A_ROW && needs_sweep() {
            let message = "the index never catches up with the changes in the workspace";
            let err = IndexError::new(IndexErrorKind::Unstable, message);
            return Err(err.hint("check whether one directory is mounted in two places"));
        }
        if sweeps > 0 {
            let time = Duration::from_millis(10) * 2_u32.pow(sweeps.min(9));
            wait([self.wakeup.as_fd(), self.wakeup.as_fd()], Some(time));
            if self.is_stopped() {
                return Ok(());
            }
            std::thread::sleep(DEBOUNCE);
            let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
        }
        Ok(())
    }

    /// Sweeps. If that fails, drops the old index and sweeps once more: the old index holds watches, and their number
    /// is limited.
    pub(super) fn sweep_or_retry(&self, before: Option<IndexSnapshot>) -> Result<(), IndexError> {
        if self.sweep(before).is_ok() {
            return Ok(());
        }
        let old = self.index().take();
        let before = old.as_ref().map(Index::snapshot);
        drop(old);
        self.sweep(before)
    }

    /// Walks the whole tree, and makes a new index of what is there and of what is still known.
    pub(super) fn sweep(&self, before: Option<IndexSnapshot>) -> Result<(), IndexError> {
        self.set_phase(Phase::Walking);
        let begun = Instant::now();
        let device = self.check_root()?.device;
        let watcher = Watcher::new()?;
        let rules = IgnoreRules::read(self.tree.path());
        let walked = {
            let inotify = watcher.handle();
            let walk = TreeWalk {
                tree: &*self.tree,
                rules: &rules,
                threads: self.options.threads,
                depth: usize::MAX,
                is_stopped: &|| self.is_stopped(),
                visit: &|handle| watch_directory(inotify, handle, device),
            };
            walk.run(b"", rules.above_root())?
        };
        if self.is_stopped() {
            return Ok(());
        }
        let generation = {
            let mut status = self.status();
            status.sweeps += 1;
            status.sweeps as u64
        };
        let before = before.unwrap_or_default();
        let paths = walked.paths(HiddenNames::Included);
        let stamps = if before.files.is_empty() { Vec::new() } else { self.stamps(&paths) };
        let found = SweepResult {
            watcher,
            rules,
            walked,
            paths,
            stamps,
            before: &before,
            generation,
            device,
        };
        let index = Index::new(found);
        drop(before);
        if index.table_bytes() > self.options.max_memory_bytes / 2 {
            return Err(too_large(index.counts().files, self.options.max_memory_bytes));
        }
        let mut held = self.index();
        let old = held.replace(index);
        if let Some(index) = held.as_mut() {
            index.refresh(&*self.tree);
        }
        *self.last_sweep.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        self.sweep_is_due.store(false, Ordering::Relaxed);
        drop(held);
        // Dropping the old index takes a while, so it happens without the lock.
        drop(old);
        Ok(())
    }

    fn stamps(&self, paths: &Paths) -> WalkStamps {
        let mut directory: Option<(&[u8], OwnedFd)> = None;
        let mut stamps = Vec::with_capacity(paths.len());
        for path in paths.iter() {
            let (parent, name) = split(path);
            if directory.as_ref().is_none_or(|(known, _)| *known != parent) {
                directory = open_directory(&*self.tree, parent).ok().map(|it| (parent, it));
            }
            let meta = directory
                .as_ref()
                .and_then(|(_, handle)| statat(handle, name, AtFlags::SYMLINK_NOFOLLOW).ok());
            stamps.push(meta.map(|meta| stamp_of(&meta).without_device()));
        }
        stamps
    }
}
