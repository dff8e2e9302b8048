//! Finds out which files a command changed: by looking, after its end, for what is newer than its beginning.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr};
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::time::{ClockId, clock_gettime};
use toolcrib_core::command::ChangedFiles;

use super::cover;
use super::walk::{Found, walk};
use crate::spelling::spelt;
use crate::{Root, Workspace};

/// How long it is looked.
const LONGEST: Duration = Duration::from_millis(50);

/// After so many things it is looked at the clock.
const STRIDE: usize = 128;

/// How many are gathered, and how many of them are named.
const MOST_GATHERED: usize = 4096;
const MOST_NAMED: usize = 40;

/// How far the clock that files are stamped by may be behind ours.
const CLOCK_LAG: Duration = Duration::from_millis(10);

/// What was seen to have changed after the last command, and when it had. The clock that files are stamped by stands
/// still for milliseconds, so that what changed just before a command looks like its own.
pub(crate) type Seen = HashMap<PathBuf, Duration>;

/// How things were when a command began.
pub(crate) struct Began {
    /// By the clock that files are stamped by: what the command does is not older.
    at: Duration,
    /// What is in each root, unless that is too much. What covers protected names comes and goes there with every
    /// command, so that its time tells nothing.
    names: Vec<Option<HashSet<CString>>>,
    /// What covered them before.
    covers: HashSet<PathBuf>,
}

impl Began {
    pub(crate) fn now(roots: &[Root], covers: &Path) -> Self {
        let covers = covered(roots, covers);
        let names = roots.iter().map(|root| names(root.handle())).collect();
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        Self { at: Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0)), names, covers }
    }

    /// What has changed in these roots since. What covers protected names is no command's doing.
    pub(crate) fn touched(
        &self,
        roots: &[Root],
        covers: &Path,
        last: &Mutex<Seen>,
    ) -> ChangedFiles {
        let mut covers = covered(roots, covers);
        covers.extend(self.covers.iter().cloned());
        let mut news = News::since(self.at, covers);
        news.known.clone_from(&last.lock().unwrap_or_else(PoisonError::into_inner));
        for (root, before) in roots.iter().zip(&self.names) {
            news.look(root);
            let (Some(before), Some(now)) = (before, names(root.handle())) else {
                news.is_partial = true;
                continue;
            };
            let gone = before.difference(&now).map(|name| OsStr::from_bytes(name.to_bytes()));
            let gone = gone.map(|name| root.path().join(name));
            news.removed.extend(gone.filter(|path| !news.covers.contains(path)));
            // One that has the name of another before it was put in its place.
            let was_there = |path: &PathBuf| {
                let name = path.strip_prefix(root.path()).ok().map(|it| it.as_os_str().as_bytes());
                name.is_some_and(|name| before.iter().any(|it| it.to_bytes() == name))
            };
            let (replaced, made) = std::mem::take(&mut news.made).into_iter().partition(was_there);
            news.made = made;
            news.changed.extend::<Vec<PathBuf>>(replaced);
        }
        *last.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut news.seen_now);
        news.told()
    }
}

/// What changed in a workspace since a command began there, of which nobody saw the end. `state` is our own folder.
pub fn changed_since(workspace: &Workspace, state: &Path, began: Timestamp) -> ChangedFiles {
    let covers = covered(&workspace.roots, &state.join(super::FOLDER).join(super::COVERS));
    let began = Duration::try_from(began.as_duration()).unwrap_or_default();
    let mut news = News::since(began.saturating_sub(CLOCK_LAG), covers);
    for root in &workspace.roots {
        news.look(root);
    }
    news.told()
}

/// What covers protected names, as it is noted in a folder.
fn covered(roots: &[Root], folder: &Path) -> HashSet<PathBuf> {
    let noted = |root: &Root| {
        let noted = cover::noted(root, folder).into_iter();
        noted.map(|path| root.path().join(path)).collect::<Vec<_>>()
    };
    roots.iter().flat_map(noted).collect()
}

fn names(folder: BorrowedFd<'_>) -> Option<HashSet<CString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(folder, ".", flags, Mode::empty()).ok()?;
    let entries = Dir::new(folder).ok()?.flatten().take(MOST_GATHERED);
    let names: HashSet<CString> = entries.map(|entry| entry.file_name().to_owned()).collect();
    (names.len() < MOST_GATHERED).then_some(names)
}

struct News {
    covers: HashSet<PathBuf>,
    known: Seen,
    seen_now: Seen,
    since: Duration,
    until: Instant,
    seen: usize,
    made: Vec<PathBuf>,
    changed: Vec<PathBuf>,
    removed: Vec<PathBuf>,
    /// Folders whose entries came or went.
    folders: Vec<PathBuf>,
    more: u64,
    is_partial: bool,
}

impl News {
    fn since(since: Duration, covers: HashSet<PathBuf>) -> Self {
        Self {
            covers,
            known: Seen::new(),
            seen_now: Seen::new(),
            since,
            until: Instant::now() + LONGEST,
            seen: 0,
            made: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
            folders: Vec::new(),
            more: 0,
            is_partial: false,
        }
    }

    fn look(&mut self, root: &Root) {
        match root.handle().try_clone_to_owned() {
            Ok(handle) => {
                let has_gaps = walk(handle, &mut |found| self.add(root.path(), found));
                self.is_partial |= has_gaps;
            }
            Err(_) => self.is_partial = true,
        }
    }

    fn add(&mut self, root: &Path, found: &Found<'_>) -> ControlFlow<()> {
        self.seen += 1;
        if self.seen.is_multiple_of(STRIDE) && Instant::now() >= self.until {
            self.is_partial = true;
            return ControlFlow::Break(());
        }
        // One that was moved here has its old times but for this.
        if found.changed() < self.since {
            return ControlFlow::Continue(());
        }
        let path = found.path();
        let whole = root.join(&path);
        let is_known = self.known.get(&whole) == Some(&found.changed());
        if self.seen_now.len() < MOST_GATHERED {
            self.seen_now.insert(whole.clone(), found.changed());
        }
        if is_known || self.covers.contains(&whole) {
            return ControlFlow::Continue(());
        }
        let is_folder = found.kind == FileType::Directory;
        if let Some(repository) = repository(&path) {
            // Of git's own files it is enough that there are some.
            let repository = root.join(repository);
            if !is_folder && !self.changed.contains(&repository) {
                self.changed.push(repository);
            }
            return ControlFlow::Continue(());
        }
        let is_new = found.made() >= self.since;
        let list = if is_new {
            &mut self.made
        } else if is_folder && found.written() >= self.since {
            // A mode that was set is no entry that came or went.
            &mut self.folders
        } else {
            &mut self.changed
        };
        if list.len() < MOST_GATHERED {
            list.push(whole);
        } else {
            self.more += 1;
        }
        ControlFlow::Continue(())
    }

    fn told(mut self) -> ChangedFiles {
        // A folder that something came into is explained by that.
        let parents: HashSet<&Path> = self.made.iter().filter_map(|path| path.parent()).collect();
        self.folders.retain(|folder| !parents.contains(folder.as_path()));
        let (mut room, mut more) = (MOST_NAMED, self.more);
        let mut named = |paths: Vec<PathBuf>| {
            let all = paths.len();
            // What is high up says most.
            let mut paths: Vec<(usize, PathBuf)> =
                paths.into_iter().map(|path| (path.components().count(), path)).collect();
            paths.sort_unstable();
            paths.truncate(room);
            room -= paths.len();
            more += (all - paths.len()) as u64;
            paths.iter().map(|(_, path)| format!("/{}", spelt(path))).collect()
        };
        let (changed, removed) = (named(self.changed), named(self.removed));
        let (made, thinned) = (named(self.made), named(self.folders));
        ChangedFiles {
            made,
            changed,
            removed,
            thinned,
            unkept: 0,
            more,
            is_partial: self.is_partial,
        }
    }
}

/// The folder of git's that a path is in or is.
fn repository(path: &Path) -> Option<&Path> {
    path.ancestors().filter(|above| above.file_name() == Some(OsStr::new(".git"))).last()
}
