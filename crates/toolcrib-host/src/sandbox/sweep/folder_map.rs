//! The map of all folders of a root: which of them git knows, and which names in them policy denies. A folder whose
//! change time is known has the same names as before, so only the folders that changed are read again, however deep
//! they are. No program can set the change time.

mod saved_map;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, StatxFlags, statx};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use toolcrib_core::policy::{DeniedPaths, PathAccess};

use super::folder_watch::FolderWatch;
use crate::files::root::{Root, open_below};
use crate::sandbox::folder_stamp::{FolderStamp, FolderStamps};

/// The clock of file times stands still for so long, in nanoseconds: what is younger may change and not show it.
const CLOCK_STEP: u64 = 20_000_000;

/// How many folders may be read again because the map was not saved.
const MOST_UNSAVED_FOLDERS: usize = 64;

/// The most folders that one thread checks.
const FOLDERS_PER_THREAD: usize = 2000;

/// Every folder of a root, by its path relative to the root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FolderMap {
    folders: BTreeMap<PathBuf, Folder>,
    /// The few folders that have a role, a link of git's or a denied name.
    notable: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Folder {
    stamp: FolderStamp,
    roles: FolderRoles,
    /// The names in it that policy denies.
    denied: Vec<OsString>,
    /// The links in it, if it is a git folder or in one.
    links: Vec<OsString>,
    /// Whether the folder was read long enough after its last change. Otherwise it is read again.
    is_stable: bool,
}

/// The folders that may have changed.
pub(crate) enum Suspects<'s> {
    /// Any of them. The stamps were read just now, and need not be read again.
    All(&'s FolderStamps),
    /// Only these, by paths relative to the root.
    Only(BTreeSet<PathBuf>),
}

/// What a folder is. It can be several of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderRole {
    /// It has a `.git`, so it is a repository.
    Repository = 1,
    /// It has what a git folder has. Git takes it for one, whatever its name is.
    GitFolder = 2,
    /// It cannot be read.
    Closed = 4,
}

/// The roles of a folder, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FolderRoles(u8);

impl FolderRoles {
    fn has(self, role: FolderRole) -> bool {
        self.0 & role as u8 != 0
    }

    fn with(self, role: FolderRole) -> Self {
        Self(self.0 | role as u8)
    }
}

impl FolderMap {
    /// Brings the map up to date. Calls `see` for each file in a folder that changed, with its path. Names that policy
    /// denies are kept; the map must always be refreshed with the same `denied`. Folders that are read are watched.
    /// Returns whether so much changed that it is worth saving.
    pub(crate) fn refresh(
        &mut self,
        root: &Root,
        denied: Option<&DeniedPaths>,
        suspects: Suspects<'_>,
        mut watch: Option<&mut FolderWatch>,
        see: &mut dyn FnMut(&Path),
    ) -> bool {
        let before = self.folders.len();
        let mut stale = match suspects {
            _ if before == 0 => vec![PathBuf::new()],
            Suspects::All(just_read) => self.stale(root, just_read),
            Suspects::Only(folders) => self.stale_among(root, folders),
        };
        let mut read = 0;
        while let Some(folder) = stale.pop() {
            read += 1;
            match self.read(root, &folder, denied, watch.as_deref_mut(), see) {
                Ok(fresh) => stale.extend(fresh),
                Err(errno) => self.close(root, &folder, errno),
            }
        }
        // A few folders are read again faster than a large map is saved.
        read > MOST_UNSAVED_FOLDERS || self.folders.len() != before
    }

    /// Returns the folders with a role, with the path of each.
    pub(crate) fn with_role(&self, role: FolderRole) -> impl Iterator<Item = &Path> {
        let folders = self.notable().filter(move |(_, folder)| folder.roles.has(role));
        folders.map(|(path, _)| path)
    }

    /// Returns the paths that policy denies, each behind the folder that it is in.
    pub(crate) fn denied(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.notable();
        folders.flat_map(|(path, folder)| folder.denied.iter().map(move |name| path.join(name)))
    }

    /// Returns the links in git folders.
    pub(crate) fn git_links(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.notable();
        folders.flat_map(|(path, folder)| folder.links.iter().map(move |name| path.join(name)))
    }

    fn notable(&self) -> impl Iterator<Item = (&Path, &Folder)> {
        let paths = self.notable.iter();
        paths.filter_map(|path| self.folders.get(path).map(|folder| (path.as_path(), folder)))
    }

    fn insert(&mut self, path: PathBuf, folder: Folder) {
        let is_notable =
            folder.roles.0 != 0 || !folder.denied.is_empty() || !folder.links.is_empty();
        if is_notable {
            self.notable.insert(path.clone());
        } else {
            self.notable.remove(&path);
        }
        self.folders.insert(path, folder);
    }

    fn remove(&mut self, path: &Path) {
        self.notable.remove(path);
        self.folders.remove(path);
    }

    /// Returns every folder, the outermost first.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.folders.keys().map(PathBuf::as_path)
    }

    /// Returns how many folders there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.folders.len()
    }

    /// Returns the folders that may have changed, and forgets those that are gone.
    fn stale(&mut self, root: &Root, just_read: &FolderStamps) -> Vec<PathBuf> {
        let known: Vec<(&PathBuf, &Folder)> = self.folders.iter().collect();
        let check = |part: &[(&PathBuf, &Folder)]| -> Vec<(PathBuf, bool)> {
            let is_same = |folder: &Folder, now: Option<FolderStamp>| {
                folder.is_stable && now == Some(folder.stamp)
            };
            part.iter()
                .map(|(path, folder)| {
                    let now = just_read.get(*path).copied();
                    (path, folder, now.or_else(|| FolderStamp::at(root, path)))
                })
                .filter(|(_, folder, now)| !is_same(folder, *now))
                .map(|(path, _, now)| ((*path).clone(), now.is_some()))
                .collect()
        };
        let changed: Vec<(PathBuf, bool)> = thread::scope(|scope| {
            let mut parts = known.chunks(FOLDERS_PER_THREAD.max(known.len().div_ceil(2)));
            let own = parts.next();
            let others: Vec<_> = parts.map(|part| scope.spawn(move || check(part))).collect();
            let mut changed = own.map(check).unwrap_or_default();
            // A thread of ours that panicked takes this one with it.
            changed.extend(others.into_iter().flat_map(|it| it.join().unwrap_or_default()));
            changed
        });
        let mut stale = Vec::new();
        for (path, is_there) in changed {
            if is_there {
                stale.push(path);
            } else {
                self.remove(&path);
            }
        }
        stale
    }

    /// Returns those of the folders that have changed, and forgets those that are gone. Another folder may be in the
    /// place of one, or of a folder in one.
    fn stale_among(&mut self, root: &Root, mut folders: BTreeSet<PathBuf>) -> Vec<PathBuf> {
        // Nobody can watch these.
        folders.extend(self.with_role(FolderRole::Closed).map(Path::to_owned));
        let mut stale = Vec::new();
        for path in folders {
            let Some(known) = self.folders.get(&path) else { continue };
            let (stamp, is_stable) = (known.stamp, known.is_stable);
            match FolderStamp::at(root, &path) {
                None => self.forget(&path),
                Some(now) if is_stable && now == stamp => {}
                Some(now) => {
                    let is_other = |inside: &&PathBuf| {
                        now.inode != stamp.inode
                            || inside.parent() == Some(&path)
                                && FolderStamp::at(root, inside).map(|it| it.inode)
                                    != self.folders.get(*inside).map(|it| it.stamp.inode)
                    };
                    let others: Vec<PathBuf> =
                        self.below(&path).filter(is_other).cloned().collect();
                    for other in others {
                        self.forget(&other);
                    }
                    stale.push(path);
                }
            }
        }
        stale
    }

    /// Watches every folder. Changes before that may be unknown.
    pub(crate) fn watch(&self, root: &Root, watch: &mut FolderWatch) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        for folder in self.folders.keys() {
            let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let resolve = ResolveFlags::NO_SYMLINKS;
            // One that is gone, or cannot be read, shows when the map is refreshed.
            if let Ok(handle) = open_below(root.handle(), named, flags, Mode::empty(), resolve) {
                watch.add(root, &handle, folder);
            }
        }
    }

    /// Reads a folder. Returns the folders in it that are new.
    fn read(
        &mut self,
        root: &Root,
        folder: &Path,
        denied: Option<&DeniedPaths>,
        watch: Option<&mut FolderWatch>,
        see: &mut dyn FnMut(&Path),
    ) -> Result<Vec<PathBuf>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let resolve = ResolveFlags::NO_SYMLINKS;
        let handle = open_below(root.handle(), named, flags, Mode::empty(), resolve)?;
        // Watch and stamp come first: a change meanwhile shows.
        if let Some(watch) = watch {
            watch.add(root, &handle, folder);
        }
        let stamp =
            FolderStamp::of(&statx(&handle, "", AtFlags::EMPTY_PATH, FolderStamp::wanted())?);
        let is_stable = stamp.changed.saturating_add(CLOCK_STEP) < file_clock();
        let mut seen = SeenNames::in_folder(folder);
        let mut links = Vec::new();
        let mut inside = Vec::new();
        let mut denied_names = Vec::new();
        for entry in Dir::read_from(&handle)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            seen.add(name);
            let path = folder.join(OsStr::from_bytes(name.to_bytes()));
            let whole = denied.map(|denied| (denied, root.path().join(&path)));
            if whole.is_some_and(|(it, whole)| it.rule(&whole, PathAccess::Read).is_some()) {
                denied_names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
            }
            match kind(&handle, name, entry.file_type()) {
                FileType::Directory => inside.push(path),
                FileType::Symlink => {
                    links.push(OsStr::from_bytes(name.to_bytes()).to_owned());
                    see(&path);
                }
                _ => see(&path),
            }
        }
        let roles = seen.roles();
        let is_git = |folder: &Folder| folder.roles.has(FolderRole::GitFolder);
        let was_git = self.folders.get(folder).is_some_and(is_git);
        if roles.has(FolderRole::GitFolder) && !was_git {
            // The links in what is below it count from now on.
            let below: Vec<PathBuf> = self.below(folder).cloned().collect();
            for path in below {
                self.remove(&path);
            }
        }
        let mut above = folder.ancestors().skip(1).filter_map(|path| self.folders.get(path));
        if !roles.has(FolderRole::GitFolder) && !above.any(is_git) {
            links.clear();
        }
        // What was a folder may be a link now. What was in it is found again where it is.
        let gone: Vec<PathBuf> = self
            .below(folder)
            .filter(|path| path.parent() == Some(folder) && !inside.contains(path))
            .cloned()
            .collect();
        for path in gone {
            self.forget(&path);
        }
        inside.retain(|path| !self.folders.contains_key(path));
        let fresh = Folder { stamp, roles, denied: denied_names, links, is_stable };
        self.insert(folder.to_owned(), fresh);
        Ok(inside)
    }

    /// Returns the folders below a folder.
    fn below<'m>(&'m self, folder: &'m Path) -> impl Iterator<Item = &'m PathBuf> {
        let after = self
            .folders
            .range::<Path, _>((std::ops::Bound::Excluded(folder), std::ops::Bound::Unbounded));
        after.map(|(path, _)| path).take_while(move |path| path.starts_with(folder))
    }

    /// Forgets a folder and everything below it.
    fn forget(&mut self, folder: &Path) {
        let below: Vec<PathBuf> = self.below(folder).cloned().collect();
        for path in below {
            self.remove(&path);
        }
        self.remove(folder);
    }

    /// Notes that a folder cannot be read, or forgets one that is gone.
    fn close(&mut self, root: &Root, folder: &Path, errno: Errno) {
        let is_gone = matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP);
        match FolderStamp::at(root, folder).filter(|_| !is_gone) {
            Some(stamp) => {
                let (roles, denied) = (FolderRoles::default().with(FolderRole::Closed), Vec::new());
                let closed = Folder { stamp, roles, denied, links: Vec::new(), is_stable: false };
                self.insert(folder.to_owned(), closed);
            }
            None => self.forget(folder),
        }
    }
}

/// The names in a folder that tell whether git takes it for one of its own.
#[derive(Default)]
struct SeenNames(Vec<&'static str>);

impl SeenNames {
    fn in_folder(folder: &Path) -> Self {
        let is_git = folder.file_name() == Some(OsStr::new(".git"));
        Self(if is_git { vec!["named .git"] } else { Vec::new() })
    }

    fn add(&mut self, name: &CStr) {
        match name.to_bytes() {
            b"HEAD" => self.0.push("HEAD"),
            b"config" => self.0.push("config"),
            b"objects" => self.0.push("objects"),
            b"refs" => self.0.push("refs"),
            b"commondir" => self.0.push("commondir"),
            b".git" => self.0.push(".git"),
            _ => {}
        }
    }

    fn roles(&self) -> FolderRoles {
        let has = |name| self.0.contains(&name);
        let mut roles = FolderRoles::default();
        // Git asks for less than one would think: `objects` and `refs` may be executable files.
        let is_git = ["config", "objects", "refs", "commondir"].into_iter().any(has);
        // What is in a folder of this name is git's as soon as somebody says `git init`.
        // Two of them are enough where a `commondir` leads.
        let is_common = has("objects") && has("refs");
        if has("HEAD") && is_git || is_common || has("named .git") {
            roles = roles.with(FolderRole::GitFolder);
        }
        if has(".git") {
            roles = roles.with(FolderRole::Repository);
        }
        roles
    }
}

/// Returns the kind of an entry; some file systems do not tell it with the name.
fn kind(folder: &impl std::os::fd::AsFd, name: &CStr, told: FileType) -> FileType {
    if told != FileType::Unknown {
        return told;
    }
    let meta = statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE);
    meta.map_or(told, |meta| FileType::from_raw_mode(meta.stx_mode.into()))
}

/// Returns the time by the clock of file times, in nanoseconds since 1970.
pub(super) fn file_clock() -> u64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(0);
    u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000) + nanoseconds
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refreshed(map: &mut FolderMap, root: &Root) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let (none, see) = (FolderStamps::new(), &mut |path: &Path| files.push(path.to_owned()));
        map.refresh(root, None, Suspects::All(&none), None, see);
        files.sort();
        files
    }

    /// Waits until the clock of file times has gone on, so that every folder is settled when it is read.
    fn wait_for_clock() {
        let end = file_clock() + 2 * CLOCK_STEP;
        while file_clock() <= end {
            thread::yield_now();
        }
    }

    #[test]
    fn changes_are_found_at_any_depth_and_nothing_else_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c/d/e/f/g");
        fs::create_dir_all(&deep).unwrap();
        fs::write(folder.path().join("a/x"), "").unwrap();
        wait_for_clock();
        let root = Root::open(folder.path()).unwrap();
        let mut map = FolderMap::default();
        assert_eq!(refreshed(&mut map, &root), [PathBuf::from("a/x")]);
        assert_eq!(map.len(), 8);
        assert_eq!(refreshed(&mut map, &root), Vec::<PathBuf>::new());
        for name in ["HEAD", "objects", "refs"] {
            fs::create_dir_all(deep.join("new/.git").join(name)).unwrap();
        }
        fs::write(deep.join("new/file"), "").unwrap();
        assert_eq!(refreshed(&mut map, &root), [PathBuf::from("a/b/c/d/e/f/g/new/file")]);
        let git: Vec<&Path> = map.with_role(FolderRole::GitFolder).collect();
        assert_eq!(git, [Path::new("a/b/c/d/e/f/g/new/.git")]);
        let repositories: Vec<&Path> = map.with_role(FolderRole::Repository).collect();
        assert_eq!(repositories, [Path::new("a/b/c/d/e/f/g/new")]);
        let saved = folder.path().join("saved");
        map.save(&saved).unwrap();
        assert_eq!(FolderMap::load(&saved), map);
        fs::remove_dir_all(folder.path().join("a/b")).unwrap();
        refreshed(&mut map, &root);
        assert_eq!(map.len(), 2, "{map:?}");
    }

    #[test]
    fn a_folder_that_becomes_a_link_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::create_dir_all(folder.path().join("z/b")).unwrap();
        let root = Root::open(folder.path()).unwrap();
        let mut map = FolderMap::default();
        refreshed(&mut map, &root);
        fs::rename(folder.path().join("a"), folder.path().join("y")).unwrap();
        std::os::unix::fs::symlink("z", folder.path().join("a")).unwrap();
        refreshed(&mut map, &root);
        let names: Vec<&PathBuf> = map.folders.keys().collect();
        assert_eq!(names, ["", "y", "y/b", "z", "z/b"].map(Path::new));
    }

    /// A generator of numbers that is the same in each run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, most: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % most
        }

        fn path(&mut self) -> PathBuf {
            let names = ["a", "b", "c", ".git", "HEAD", "config", "x.pem"];
            let levels = 1 + self.below(4);
            (0..levels).map(|_| names[usize::try_from(self.below(7)).unwrap()]).collect()
        }
    }

    #[test]
    fn a_watched_map_is_what_a_fresh_one_is() {
        for seed in 1..=15 {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path().join("root");
            fs::create_dir_all(at.join("a/b/c")).unwrap();
            let root = Root::open(&at).unwrap();
            let mut map = FolderMap::default();
            refreshed(&mut map, &root);
            let mut watch = FolderWatch::new(&root).expect("the test needs a local file system");
            map.watch(&root, &mut watch);
            refreshed(&mut map, &root);
            let mut numbers = Numbers(seed * 0x9e37_79b9);
            // The kernel does not tell of the end of a folder that somebody keeps open.
            let mut open = Vec::new();
            for step in 0..30 {
                for _ in 0..=numbers.below(4) {
                    let (one, other) = (at.join(numbers.path()), at.join(numbers.path()));
                    let out = folder.path().join("out");
                    // Some of these fail, and that is as good.
                    let _ = match numbers.below(11) {
                        0..=2 => fs::create_dir_all(&one),
                        3 => fs::write(&one, ""),
                        4 => fs::remove_dir_all(&one),
                        5 => fs::rename(&one, &other),
                        6 => std::os::unix::fs::symlink(&other, &one),
                        7 | 8 => fs::File::open(&one).and_then(|handle| {
                            open.push(handle);
                            fs::remove_dir_all(&one)?;
                            fs::create_dir_all(one.join("b"))
                        }),
                        9 => fs::rename(&one, &out).and_then(|()| fs::create_dir(&one)),
                        _ => fs::rename(&out, &one),
                    };
                }
                let changed = watch.take().expect("nothing is lost");
                map.refresh(&root, None, Suspects::Only(changed), Some(&mut watch), &mut |_| {});
                let mut fresh = FolderMap::default();
                refreshed(&mut fresh, &root);
                let known = |map: &FolderMap| -> Vec<(PathBuf, u64, FolderRoles)> {
                    let folders = map.folders.iter();
                    folders.map(|(path, it)| (path.clone(), it.stamp.inode, it.roles)).collect()
                };
                assert_eq!(known(&map), known(&fresh), "seed {seed}, step {step}");
            }
        }
    }

    #[test]
    fn too_many_events_are_no_events() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        let mut map = FolderMap::default();
        refreshed(&mut map, &root);
        let mut watch = FolderWatch::new(&root).unwrap();
        map.watch(&root, &mut watch);
        assert!(watch.take().is_some_and(|changed| changed.is_empty()));
        fs::write(folder.path().join("one"), "").unwrap();
        assert!(watch.take().is_some_and(|changed| changed.len() == 1), "the control");
        let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        for _ in 0..=most.trim().parse::<usize>().unwrap() {
            fs::write(folder.path().join("two"), "").unwrap();
            fs::remove_file(folder.path().join("two")).unwrap();
        }
        assert_eq!(watch.take(), None);
    }

    #[test]
    fn links_in_git_folders_are_known_also_where_a_commondir_leads() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["st/objects", "st/refs", "st/logs", "plain/logs", "n/.git/logs", "later/logs"]
        {
            fs::create_dir_all(at(path)).unwrap();
        }
        for path in ["st/logs/l", "plain/logs/l", "n/.git/logs/l", "later/logs/l"] {
            std::os::unix::fs::symlink("x", at(path)).unwrap();
        }
        let root = Root::open(folder.path()).unwrap();
        let mut map = FolderMap::default();
        let mut links = |expect: &[&str]| {
            refreshed(&mut map, &root);
            let links: Vec<PathBuf> = map.git_links().collect();
            assert_eq!(links, expect.iter().map(PathBuf::from).collect::<Vec<_>>());
        };
        links(&["n/.git/logs/l", "st/logs/l"]);
        // A folder that becomes one of git's later.
        fs::write(at("later/HEAD"), "").unwrap();
        fs::write(at("later/config"), "").unwrap();
        links(&["later/logs/l", "n/.git/logs/l", "st/logs/l"]);
    }
}
