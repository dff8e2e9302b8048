//! Finds out which files a command changed: after its end, a scan of the workspace finds every file whose change
//! time is not older than the beginning of the command.

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
use super::folder_stamp::FolderStamps;
use super::runs_later_notes::{LaterFiles, ToldChanges};
use super::state_folder::SandboxFolder;
use super::walk::{WalkedEntry, walk};
use crate::files::root::Root;
use crate::files::spelling::spelt;
use crate::files::workspace::Workspace;

/// How long a scan may take.
const LONGEST_SCAN: Duration = Duration::from_millis(50);

/// After this many entries the scan checks the time.
const ENTRIES_BETWEEN_CLOCK_CHECKS: usize = 128;

/// How many files of each kind of change are gathered, and how many are named in all.
const MOST_GATHERED_FILES: usize = 4096;
const MOST_NAMED_FILES: usize = 40;

/// How far the clock of file times may be behind the system clock.
const CLOCK_LAG: Duration = Duration::from_millis(10);

/// The change time of each file that the last scan found changed. The clock of file times stands still for
/// milliseconds, so a file that changed just before a command looks as if the command had changed it.
pub(crate) type ChangeTimes = HashMap<PathBuf, Duration>;

/// The state of the roots when a command began.
pub(crate) struct Baseline {
    /// The time by the clock of file times. What the command changes is not older.
    at: Duration,
    /// The names in each root, or `None` if there are too many. Covers come and go in a root with every command, so
    /// the change time of a root tells nothing.
    names: Vec<Option<HashSet<CString>>>,
    /// The covers that were in place before.
    covers: HashSet<PathBuf>,
}

impl Baseline {
    /// Records the state of `roots` now. `covers` is the folder of the files that list the covers.
    pub(crate) fn now(roots: &[Root], covers: &Path) -> Self {
        let covers = covered(roots, covers);
        let names = roots.iter().map(|root| names(root.handle())).collect();
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        Self { at: Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0)), names, covers }
    }

    /// Finds the files that changed in `roots` since. Covers and masked files are left out: no command made or changed
    /// them.
    pub(crate) fn scan(
        &self,
        roots: &[Root],
        covers: &Path,
        masked: HashSet<PathBuf>,
        last: &Mutex<ChangeTimes>,
    ) -> ChangeScan {
        let mut covers = covered(roots, covers);
        covers.extend(self.covers.iter().cloned());
        let mut scan = ChangeScan::since(self.at, LeftOut { covers, masked });
        scan.times.last.clone_from(&last.lock().unwrap_or_else(PoisonError::into_inner));
        for (root, before) in roots.iter().zip(&self.names) {
            scan.stamps.push(FolderStamps::new());
            scan.scan(root);
            let (Some(before), Some(now)) = (before, names(root.handle())) else {
                scan.is_partial = true;
                continue;
            };
            let gone = before.difference(&now).map(|name| OsStr::from_bytes(name.to_bytes()));
            let gone = gone.map(|name| root.path().join(name));
            let gone: Vec<PathBuf> = gone.filter(|path| !scan.left_out.has(path)).collect();
            for path in &gone {
                scan.told.add(path.strip_prefix(root.path()).unwrap_or(path));
            }
            scan.removed.extend(gone);
            // A new file with the name of an old one replaced it.
            let was_there = |path: &PathBuf| {
                let name = path.strip_prefix(root.path()).ok().map(|it| it.as_os_str().as_bytes());
                name.is_some_and(|name| before.iter().any(|it| it.to_bytes() == name))
            };
            let (replaced, made) = std::mem::take(&mut scan.made).into_iter().partition(was_there);
            scan.made = made;
            scan.changed.extend::<Vec<PathBuf>>(replaced);
        }
        *last.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut scan.times.now);
        scan
    }
}

/// Returns what changed in a workspace since a command began there that nobody saw the end of. `state` is
/// Toolcrib's state folder.
pub fn changed_since(workspace: &Workspace, state: &Path, began: Timestamp) -> ChangedFiles {
    let covers = covered(&workspace.roots, &SandboxFolder::new(state).covers());
    let left_out = LeftOut { covers, masked: HashSet::new() };
    let began = Duration::try_from(began.as_duration()).unwrap_or_default();
    let mut scan = ChangeScan::since(began.saturating_sub(CLOCK_LAG), left_out);
    for root in &workspace.roots {
        scan.scan(root);
    }
    scan.into_changed_files()
}

/// Returns the whole paths of the covers in `roots`, as the files in `folder` list them.
fn covered(roots: &[Root], folder: &Path) -> HashSet<PathBuf> {
    let whole = |root: &Root| {
        let listed = cover::listed(root, folder).into_iter();
        listed.map(|path| root.path().join(path)).collect::<Vec<_>>()
    };
    roots.iter().flat_map(whole).collect()
}

/// Returns the names in a folder, or `None` if there are too many.
fn names(folder: BorrowedFd<'_>) -> Option<HashSet<CString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(folder, ".", flags, Mode::empty()).ok()?;
    let entries = Dir::new(folder).ok()?.flatten().take(MOST_GATHERED_FILES);
    let names: HashSet<CString> = entries.map(|entry| entry.file_name().to_owned()).collect();
    (names.len() < MOST_GATHERED_FILES).then_some(names)
}

/// What a scan leaves out, by absolute paths.
struct LeftOut {
    covers: HashSet<PathBuf>,
    masked: HashSet<PathBuf>,
}

impl LeftOut {
    fn has(&self, path: &Path) -> bool {
        self.covers.contains(path)
            || !self.masked.is_empty() && path.ancestors().any(|it| self.masked.contains(it))
    }
}

/// A scan of the roots for files that changed since a moment.
pub(crate) struct ChangeScan {
    /// The stamps of the folders that were scanned, for each root.
    pub(crate) stamps: Vec<FolderStamps>,
    left_out: LeftOut,
    times: ScanTimes,
    since: Duration,
    budget: ScanBudget,
    made: Vec<PathBuf>,
    changed: Vec<PathBuf>,
    removed: Vec<PathBuf>,
    /// Folders that something was added to or removed from.
    folders: Vec<PathBuf>,
    more: u64,
    is_partial: bool,
    /// What other programs run among all of these.
    told: ToldChanges,
}

/// The change times of the last scan, and of this one.
#[derive(Default)]
struct ScanTimes {
    last: ChangeTimes,
    now: ChangeTimes,
}

/// How long a scan may go on.
struct ScanBudget {
    until: Instant,
    entries: usize,
}

impl ScanBudget {
    /// Counts an entry. Returns whether the time is up.
    fn is_spent(&mut self) -> bool {
        self.entries += 1;
        self.entries.is_multiple_of(ENTRIES_BETWEEN_CLOCK_CHECKS) && Instant::now() >= self.until
    }
}

impl ChangeScan {
    fn since(since: Duration, left_out: LeftOut) -> Self {
        Self {
            stamps: Vec::new(),
            left_out,
            times: ScanTimes::default(),
            since,
            budget: ScanBudget { until: Instant::now() + LONGEST_SCAN, entries: 0 },
            made: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
            folders: Vec::new(),
            more: 0,
            is_partial: false,
            told: ToldChanges::default(),
        }
    }

    fn scan(&mut self, root: &Root) {
        match root.handle().try_clone_to_owned() {
            Ok(handle) => {
                let has_gaps = walk(handle, &mut |found| self.add(root.path(), found));
                self.is_partial |= has_gaps;
            }
            Err(_) => self.is_partial = true,
        }
    }

    fn add(&mut self, root: &Path, found: &WalkedEntry<'_>) -> ControlFlow<()> {
        if self.budget.is_spent() {
            self.is_partial = true;
            return ControlFlow::Break(());
        }
        if found.kind == FileType::Directory
            && let Some(stamps) = self.stamps.last_mut()
        {
            stamps.insert(found.path(), found.folder_stamp());
        }
        // A moved file keeps its other times: only its change time is new.
        if found.changed() < self.since {
            return ControlFlow::Continue(());
        }
        let path = found.path();
        let whole = root.join(&path);
        let is_known = self.times.last.get(&whole) == Some(&found.changed());
        if self.times.now.len() < MOST_GATHERED_FILES {
            self.times.now.insert(whole.clone(), found.changed());
        }
        if is_known || self.left_out.has(&whole) {
            return ControlFlow::Continue(());
        }
        let is_folder = found.kind == FileType::Directory;
        if let Some(repository) = repository(&path) {
            // One entry stands for all of git's own files.
            let repository = root.join(repository);
            if !is_folder && !self.changed.contains(&repository) {
                self.changed.push(repository);
            }
            return ControlFlow::Continue(());
        }
        self.told.add(&path);
        let is_new = found.made() >= self.since;
        let list = if is_new {
            &mut self.made
        } else if is_folder && found.written() >= self.since {
            // A change of a folder's mode does not change its modification time.
            &mut self.folders
        } else {
            &mut self.changed
        };
        if list.len() < MOST_GATHERED_FILES {
            list.push(whole);
        } else {
            self.more += 1;
        }
        ControlFlow::Continue(())
    }

    /// Returns the files that changed, and a note about those among them that other programs run. `later` has what
    /// the sweep found: the scan ends after a while, the sweep does not.
    pub(crate) fn finish(
        mut self,
        roots: &[Root],
        later: LaterFiles,
    ) -> (ChangedFiles, Option<String>) {
        for (root, path) in later.changed_since(roots, self.since) {
            if !self.left_out.has(&root.path().join(&path)) {
                self.told.add(&path);
            }
        }
        let note = self.told.note();
        (self.into_changed_files(), note)
    }

    fn into_changed_files(mut self) -> ChangedFiles {
        // A new file explains why its folder changed.
        let parents: HashSet<&Path> = self.made.iter().filter_map(|path| path.parent()).collect();
        self.folders.retain(|folder| !parents.contains(folder.as_path()));
        let (mut room, mut more) = (MOST_NAMED_FILES, self.more);
        let mut named = |paths: Vec<PathBuf>| {
            let all = paths.len();
            // The paths nearest to the root are the most telling.
            let mut paths: Vec<(usize, PathBuf)> =
                paths.into_iter().map(|path| (path.components().count(), path)).collect();
            paths.sort_unstable();
            paths.truncate(room);
            room -= paths.len();
            more += (all - paths.len()) as u64;
            paths.iter().map(|(_, path)| format!("/{}", spelt(path))).collect()
        };
        let (changed, removed) = (named(self.changed), named(self.removed));
        let (made, folders_with_removals) = (named(self.made), named(self.folders));
        ChangedFiles {
            made,
            changed,
            removed,
            folders_with_removals,
            held: Vec::new(),
            without_snapshot: 0,
            more,
            is_partial: self.is_partial,
        }
    }
}

/// Returns the outermost `.git` that a path is, or is inside of.
fn repository(path: &Path) -> Option<&Path> {
    path.ancestors().filter(|above| above.file_name() == Some(OsStr::new(".git"))).last()
}
