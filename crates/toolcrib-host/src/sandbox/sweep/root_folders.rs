//! The git folders of a workspace, known before a command starts so that they can be protected, and again after its
//! end; and the paths that policy denies anywhere in it. The map of all folders that they come from is kept on disk,
//! because most processes run one command.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use toolcrib_core::canonical::Digest;
use toolcrib_core::policy::DeniedPaths;

use super::folder_map::{FolderMap, FolderRole, Suspects};
use super::folder_watch::FolderWatch;
use super::git_reading::{GitReading, pointed_to, read_git_folder, read_pointer};
use crate::files::root::Root;
use crate::sandbox::folder_stamp::FolderStamps;

/// How long a map is used before a command, as a multiple of the time that it took to bring it up to date.
const REUSE_FACTOR: u32 = 20;

/// The most maps that are kept in memory: one for each root and each choice of denied paths.
const MOST_MAPS: usize = 16;

/// Folders deeper than this, or with longer paths, are masked as a whole: the kernel takes no longer paths.
const MOST_LEVELS: usize = 128;
const LONGEST_PATH_BYTES: usize = 3500;

/// How new the knowledge of the folders has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Any age will do, because the command only reads.
    Any,
    /// Of a moment ago.
    Recent,
}

/// The maps of the folders of each root.
pub(crate) struct WorkspaceFolders {
    /// The folder where the maps are saved.
    saved: PathBuf,
    /// Whether the folders are watched from the second refresh on.
    watches: Watches,
    maps: Mutex<HashMap<PathBuf, KnownFolders>>,
}

/// Whether this process watches folders. It pays only in one that runs several commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watches {
    Never,
    FromSecondRefresh,
}

struct KnownFolders {
    map: FolderMap,
    watch: WatchState,
    /// Until when the map counts as recent.
    recent_until: Instant,
    folders: Arc<RootFolders>,
}

/// How the folders of a map are watched.
enum WatchState {
    NotYet,
    Watched(FolderWatch),
    /// It is not possible here.
    Impossible,
}

impl WatchState {
    /// Returns which folders changed, or begins to watch. `None` means that any may have changed.
    fn advance(self, root: &Root, map: &FolderMap) -> (Self, Option<BTreeSet<PathBuf>>) {
        if let Self::Watched(mut watch) = self {
            if let Some(changed) = watch.take() {
                return (Self::Watched(watch), Some(changed));
            }
            if watch.has_gaps() {
                return (Self::Impossible, None);
            }
        } else if let Self::Impossible = self {
            return (self, None);
        }
        let Some(mut watch) = FolderWatch::new(root) else { return (Self::Impossible, None) };
        map.watch(root, &mut watch);
        let is_whole = !watch.has_gaps();
        (if is_whole { Self::Watched(watch) } else { Self::Impossible }, None)
    }
}

/// What a map says about a root. All paths are relative to the root.
#[derive(Debug, Default)]
pub(crate) struct RootFolders {
    pub(crate) git: GitFolders,
    /// What policy denies, if it denies names anywhere.
    pub(crate) denied: Vec<PathBuf>,
    /// The folders that cannot be read.
    pub(crate) closed: Vec<PathBuf>,
    /// The folders that are too deep for a mount in them, if policy denies names anywhere.
    pub(crate) too_deep: Vec<PathBuf>,
}

/// What git finds in a root. All paths are relative to the root.
#[derive(Debug, Default)]
pub(crate) struct GitFolders {
    /// The folders that are repositories because they have a `.git`, without the root.
    pub(crate) repositories: Vec<PathBuf>,
    /// The folders that are git folders themselves, with another name than `.git`.
    pub(crate) with_other_names: Vec<PathBuf>,
    /// Every git folder and every `.git` that is a file or link, and what it says.
    pub(crate) readings: Vec<(PathBuf, GitReading)>,
    /// Every folder that git takes for its own.
    pub(crate) roots: BTreeSet<PathBuf>,
    /// The links in these.
    pub(crate) links: Vec<PathBuf>,
}

impl WorkspaceFolders {
    /// Prepares the maps. `saved` is the folder where they are saved.
    pub(crate) fn new(saved: PathBuf, watches: Watches) -> Self {
        Self { saved, watches, maps: Mutex::default() }
    }

    /// Returns what is known about a root before a command. `denied` are paths that can be anywhere in it; what is
    /// known about them is always of now.
    pub(crate) fn look_before_command(
        &self,
        root: &Root,
        denied: Option<&DeniedPaths>,
        freshness: Freshness,
    ) -> Arc<RootFolders> {
        let mut maps = self.lock();
        let is_enough = |known: &KnownFolders| match (freshness, &known.watch) {
            _ if denied.is_some() => false,
            (Freshness::Any, _) => true,
            // It is quickly brought up to date.
            (Freshness::Recent, WatchState::Watched(_)) => false,
            (Freshness::Recent, _) => Instant::now() < known.recent_until,
        };
        match maps.get(&self.file(root.path(), denied)) {
            Some(known) if is_enough(known) => Arc::clone(&known.folders),
            _ => self.refresh(&mut maps, root, denied, &FolderStamps::new(), &mut |_| {}),
        }
    }

    /// Brings the map of a root up to date after a command. Calls `see` for each file in a folder that changed.
    pub(crate) fn look_after_command(
        &self,
        root: &Root,
        denied: Option<&DeniedPaths>,
        just_read: &FolderStamps,
        see: &mut dyn FnMut(&Path),
    ) -> Arc<RootFolders> {
        self.refresh(&mut self.lock(), root, denied, just_read, see)
    }

    fn refresh(
        &self,
        maps: &mut HashMap<PathBuf, KnownFolders>,
        root: &Root,
        denied: Option<&DeniedPaths>,
        just_read: &FolderStamps,
        see: &mut dyn FnMut(&Path),
    ) -> Arc<RootFolders> {
        let start = Instant::now();
        let file = self.file(root.path(), denied);
        let (mut map, mut watch, changed) = match maps.remove(&file) {
            Some(KnownFolders { map, watch, .. }) if self.watches == Watches::FromSecondRefresh => {
                let (watch, changed) = watch.advance(root, &map);
                (map, watch, changed)
            }
            Some(known) => (known.map, known.watch, None),
            None => (FolderMap::load(&file), WatchState::NotYet, None),
        };
        let none = FolderStamps::new();
        let (suspects, watched) = match (changed, &mut watch) {
            (Some(changed), WatchState::Watched(watch)) => (Suspects::Only(changed), Some(watch)),
            // The stamps are older than the watch.
            (None, WatchState::Watched(watch)) => (Suspects::All(&none), Some(watch)),
            _ => (Suspects::All(just_read), None),
        };
        if map.refresh(root, denied, suspects, watched, see) {
            // A map that cannot be saved is made again by the next process.
            let _ = map.save(&file);
        }
        let mut folders = RootFolders::of(root, &map);
        if denied.is_some() {
            let deep = map.paths().filter(|path| is_too_deep(root.path(), path));
            folders.too_deep = deep.map(Path::to_owned).collect();
        }
        let folders = Arc::new(folders);
        let recent_until = Instant::now() + start.elapsed() * REUSE_FACTOR;
        if maps.len() >= MOST_MAPS {
            maps.clear();
        }
        maps.insert(file, KnownFolders { map, watch, recent_until, folders: Arc::clone(&folders) });
        folders
    }

    /// Returns the file of a map.
    fn file(&self, root: &Path, denied: Option<&DeniedPaths>) -> PathBuf {
        let root = Digest::of("root", &root.display().to_string().into()).to_string();
        match denied {
            Some(denied) => self.saved.join(format!("{root}-{}", denied.digest())),
            None => self.saved.join(root),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, KnownFolders>> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RootFolders {
    fn of(root: &Root, map: &FolderMap) -> Self {
        let is_below_git = |path: &&Path| path.iter().any(|name| name == ".git");
        let with_role = |role| map.with_role(role).filter(|path| !path.as_os_str().is_empty());
        let owned = |path: &Path| path.to_owned();
        let mut all: Vec<PathBuf> = map.with_role(FolderRole::GitFolder).map(owned).collect();
        // A `.git` file leads to a git folder in a place where none is expected.
        for repository in map.with_role(FolderRole::Repository) {
            all.extend(pointed_to(root, &repository.join(".git")));
        }
        all.sort();
        all.dedup();
        let others = with_role(FolderRole::GitFolder).filter(|path| !is_below_git(path));
        let read = |git: PathBuf| (git.clone(), read_git_folder(root, &git));
        let pointers = map.with_role(FolderRole::Repository).map(|path| path.join(".git"));
        let pointers = pointers.map(|file| (file.clone(), read_pointer(root, &file)));
        let pointers: Vec<_> =
            pointers.filter(|(_, reading)| !reading.triggers.is_empty()).collect();
        Self {
            git: GitFolders {
                repositories: with_role(FolderRole::Repository).map(owned).collect(),
                with_other_names: others.map(owned).collect(),
                readings: all.into_iter().map(read).chain(pointers).collect(),
                roots: map.with_role(FolderRole::GitFolder).map(owned).collect(),
                links: map.git_links().collect(),
            },
            denied: map.denied().collect(),
            too_deep: Vec::new(),
            closed: map.with_role(FolderRole::Closed).map(owned).collect(),
        }
    }
}

/// Whether a folder below `root` is too deep for the kernel to mount something in it.
pub(crate) fn is_too_deep(root: &Path, below: &Path) -> bool {
    let (root, below) = (root.as_os_str().len(), below.as_os_str().as_bytes());
    // Most paths are short, and need not be counted.
    if below.len() < MOST_LEVELS && root + MOST_LEVELS < LONGEST_PATH_BYTES {
        return false;
    }
    let levels = below.split(|byte| *byte == b'/').count();
    levels > MOST_LEVELS || root + below.len() >= LONGEST_PATH_BYTES
}
