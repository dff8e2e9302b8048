//! Keeps covers in place between commands that follow each other: making and taking them away costs
//! more than looking at them. They go a moment after the last command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::cover::Covers;
use crate::root::Root;

/// How long covers stay after the last command began or ended.
const LINGER: Duration = Duration::from_millis(500);

/// Keeps covers for a process that runs many commands.
#[derive(Clone, Default)]
pub(crate) struct Keeper(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    covers: HashMap<PathBuf, Covers>,
    used: Option<Instant>,
    has_janitor: bool,
}

impl Keeper {
    /// Keeps the covers of `root` from here on.
    pub(crate) fn keep(&self, root: &Root, folder: &Path) {
        let mut kept = self.lock();
        kept.used = Some(Instant::now());
        if !kept.covers.contains_key(root.path())
            && let Ok(covers) = Covers::hold(root, folder)
        {
            kept.covers.insert(root.path().to_owned(), covers);
        }
        if !kept.has_janitor {
            let keeper = self.clone();
            let janitor = thread::Builder::new().name("covers".to_owned());
            kept.has_janitor = janitor.spawn(move || keeper.tidy()).is_ok();
        }
    }

    /// Lets everything go at once.
    pub(crate) fn let_go(&self) {
        self.lock().covers.clear();
    }

    fn tidy(&self) {
        loop {
            thread::sleep(LINGER);
            let mut kept = self.lock();
            if kept.used.is_none_or(|used| used.elapsed() >= LINGER) {
                kept.covers.clear();
                kept.has_janitor = false;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
