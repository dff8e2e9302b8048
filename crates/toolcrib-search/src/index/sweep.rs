//! Walking a whole tree, to find out what is there and what is still true.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, fstat, statat};

use crate::index::indexer::{DEBOUNCE, Indexer};
use crate::index::status::Phase;
use crate::index::tree_index::{Index, IndexSnapshot, WalkStamps};
use crate::index::watcher::{Watch, check_file_system, wait, watch_directory};
use crate::paths::{Paths, split};
use crate::scan::ignore_rules::IgnoreRules;
use crate::scan::open::open_directory;
use crate::scan::stamp::stamp_of;
use crate::scan::walk::TreeWalk;

impl Indexer {
    /// Fails if the root's file system does not tell of all changes; returns which device it is.
    pub(super) fn look_at_root(&self) -> Result<(u64, i64), String> {
        let words = |errno| std::io::Error::from(errno).to_string();
        let directory = open_directory(&*self.tree, b"").map_err(words)?;
        let kind = check_file_system(directory.as_fd())?;
        Ok((fstat(&directory).map_err(words)?.st_dev, kind))
    }

    /// Waits longer and longer while one sweep follows another: a tree that is never at rest is scanned.
    pub(super) fn calm(&self, sweeps: u32) -> Result<(), String> {
        const MAX_SWEEPS_IN_A_ROW: u32 = 12;
        if sweeps > MAX_SWEEPS_IN_A_ROW
            && self.index().as_ref().is_none_or(|index| index.needs_sweep)
        {
            return Err(
                "it cannot be made certain: is one directory mounted in two places?".to_owned()
            );
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

    /// Sweeps; if that fails, once more without what the old index holds: watches are few.
    pub(super) fn sweep_or_retry(&self, past: Option<IndexSnapshot>) -> Result<(), String> {
        if self.sweep(past).is_ok() {
            return Ok(());
        }
        let old = self.index().take();
        let past = old.as_ref().map(Index::past);
        drop(old);
        self.sweep(past)
    }

    /// Walks everything, and makes the index anew out of what is there and what is still known.
    pub(super) fn sweep(&self, past: Option<IndexSnapshot>) -> Result<(), String> {
        self.set_phase(Phase::Walking);
        let begun = Instant::now();
        let (device, _) = self.look_at_root()?;
        let watcher = Watch::new()?;
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
            walk.run(b"", rules.top()).map_err(|err| err.message)?
        };
        if self.is_stopped() {
            return Ok(());
        }
        let generation = {
            let mut status = self.status();
            status.sweeps += 1;
            status.sweeps as u64
        };
        let past = past.unwrap_or_default();
        let stamps = if past.files.is_empty() { Vec::new() } else { self.stamps(&walked.paths()) };
        let index = Index::new(watcher, rules, walked, &past, &stamps, (generation, device));
        drop(past);
        if index.table_bytes() > self.options.max_memory_bytes / 2 {
            return Err(format!(
                "{} files are too many for {} MB of memory",
                index.counts().files,
                self.options.max_memory_bytes >> 20
            ));
        }
        let mut held = self.index();
        let old = held.replace(index);
        if let Some(index) = held.as_mut() {
            index.refresh(&*self.tree);
        }
        *self.last_sweep.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        self.sweep_is_due.store(false, Ordering::Relaxed);
        drop(held);
        // Letting go of it takes a while, and no_visitor need wait for that.
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
