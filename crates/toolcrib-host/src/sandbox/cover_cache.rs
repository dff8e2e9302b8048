//! Holds covers in place between commands that follow each other, because making and removing covers costs more
//! than checking them. The covers are removed a moment after the last command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::cover::WorkspaceCovers;
use crate::files::root::Root;

/// How long covers stay in place after the last command began.
const LINGER: Duration = Duration::from_millis(500);

/// Holds covers for a process that runs many commands.
#[derive(Clone, Default)]
pub(crate) struct CoverCache(Arc<Mutex<CachedCovers>>);

#[derive(Default)]
struct CachedCovers {
    covers: HashMap<PathBuf, WorkspaceCovers>,
    used: Option<Instant>,
    has_expiry_thread: bool,
}

impl CoverCache {
    /// Holds the covers of `root` in place from now on.
    pub(crate) fn hold(&self, root: &Root, folder: &Path) {
        let mut cached = self.lock();
        cached.used = Some(Instant::now());
        if !cached.covers.contains_key(root.path())
            && let Ok(covers) = WorkspaceCovers::hold(root, folder)
        {
            cached.covers.insert(root.path().to_owned(), covers);
        }
        if !cached.has_expiry_thread {
            let cache = self.clone();
            let builder = thread::Builder::new().name("covers".to_owned());
            cached.has_expiry_thread = builder.spawn(move || cache.expire()).is_ok();
        }
    }

    /// Releases all covers at once.
    pub(crate) fn clear(&self) {
        self.lock().covers.clear();
    }

    /// Waits until no command has begun for a while, then releases all covers.
    fn expire(&self) {
        loop {
            thread::sleep(LINGER);
            let mut cached = self.lock();
            if cached.used.is_none_or(|used| used.elapsed() >= LINGER) {
                cached.covers.clear();
                cached.has_expiry_thread = false;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, CachedCovers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
