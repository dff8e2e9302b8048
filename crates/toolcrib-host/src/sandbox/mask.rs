//! Finds what policy denies to a command in the workspace, so that it can be masked. The search goes by handles and
//! follows no link. Where it cannot see everything, it masks the folder or fails: a command must not find a file that
//! the search missed.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;
use toolcrib_core::policy::{DeniedPaths, DeniedPlace, PathAccess};
use toolcrib_core::{ErrorKind, ToolError};

use super::sweep::{RootFolders, is_too_deep};
use crate::files::root::Root;

/// The most masks and held folders of one command. Each is a mount.
pub(super) const MOST_MASKS: usize = 4096;

/// How many entries of the workspace are checked before one command.
const MOST_CHECKED_ENTRIES: usize = 500_000;

/// A file or folder to mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeniedEntry {
    /// The path below the root.
    pub(crate) path: PathBuf,
    /// The device and inode.
    pub(crate) is: (u64, u64),
}

/// Returns what policy denies below `root`. Roots within it, which are among `roots`, are left out: each is searched
/// by itself. A denied folder stands for everything in it.
pub(crate) fn denied_below(
    root: &Root,
    roots: &[Root],
    denied: &DeniedPaths,
    reaches: &Reaches,
    folders: &RootFolders,
) -> Result<Vec<DeniedEntry>, ToolError> {
    if reaches.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(rule) = denied.rule(root.path(), PathAccess::Read) {
        let message =
            format!("the command was not run: the rule {rule} hides the whole workspace from it");
        return Err(ToolError::new(ErrorKind::Refused, message)
            .hint("ask the operator to change the rule")
            .with("rule", rule));
    }
    let others = roots.iter().map(Root::path).filter(|other| *other != root.path());
    let mut search = MaskSearch {
        root: root.path(),
        others: others.collect(),
        denied,
        found: Vec::new(),
        checked: 0,
        missing: None,
        most_checked: MOST_CHECKED_ENTRIES,
    };
    if roams(reaches) {
        search.take(root, folders)?;
        return Ok(search.into_found());
    }
    for (place, levels) in reaches {
        search.look_at(root.handle(), place, *levels)?;
    }
    Ok(search.into_found())
}

/// The paths below a root where denied paths can be, in order, and how many levels below each.
pub(crate) type Reaches = [(PathBuf, Option<usize>)];

/// Where denied paths can be, as it was found for each root last: a thousand rules are not compared with the root for
/// every command.
#[derive(Default)]
pub(crate) struct ReachCache(Mutex<HashMap<PathBuf, KnownReaches>>);

/// The places of rules, and what was found for them.
type KnownReaches = (Arc<[DeniedPlace]>, Arc<Reaches>);

impl ReachCache {
    /// Returns where denied paths can be below a root.
    pub(crate) fn get(&self, root: &Root, denied: &DeniedPaths) -> Arc<Reaches> {
        let places = denied.places();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, reaches)) = known.get(root.path())
            && Arc::ptr_eq(of, &places)
        {
            return Arc::clone(reaches);
        }
        let found: Arc<Reaches> = reaches(root.path(), &places).into();
        known.insert(root.path().to_owned(), (places, Arc::clone(&found)));
        found
    }
}

/// Whether denied names can be anywhere below the root, so that a map of all its folders is needed.
pub(crate) fn roams(reaches: &Reaches) -> bool {
    matches!(reaches, [(place, None)] if place.as_os_str().is_empty())
}

/// Returns the paths below a root where denied paths can be, and how many levels below each.
fn reaches(root: &Path, places: &[DeniedPlace]) -> Vec<(PathBuf, Option<usize>)> {
    let below = |place: &DeniedPlace| {
        if let Ok(below) = place.base.strip_prefix(root) {
            return Some((below.to_owned(), place.levels));
        }
        let above = root.strip_prefix(&place.base).ok()?.components().count();
        match place.levels {
            Some(levels) => Some((PathBuf::new(), Some(levels.checked_sub(above)?))),
            None => Some((PathBuf::new(), None)),
        }
    };
    let mut all: Vec<_> = places.iter().filter_map(below).collect();
    if all.iter().any(|(place, levels)| place.as_os_str().is_empty() && levels.is_none()) {
        return vec![(PathBuf::new(), None)];
    }
    // At one place, the widest search comes first and is enough.
    let width = |levels: &Option<usize>| (levels.is_some(), usize::MAX - levels.unwrap_or(0));
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| width(&a.1).cmp(&width(&b.1))));
    all.dedup_by(|one, kept| one.0 == kept.0);
    all
}

/// A search for denied paths below one root.
struct MaskSearch<'a> {
    root: &'a Path,
    others: Vec<&'a Path>,
    denied: &'a DeniedPaths,
    found: Vec<DeniedEntry>,
    checked: usize,
    /// The last path on the way to a place that is missing, below the root.
    missing: Option<PathBuf>,
    most_checked: usize,
}

/// A folder on the way.
struct SearchedFolder {
    handle: OwnedFd,
    /// The absolute path.
    path: PathBuf,
}

/// A folder that is still to be searched.
struct WaitingFolder {
    above: Rc<SearchedFolder>,
    name: CString,
    /// How many levels below it are searched.
    levels: Option<usize>,
}

/// Why a folder was not searched.
enum UnsearchedFolder {
    /// It is closed to us, so nobody can tell what it holds.
    Closed,
    Failed(ToolError),
}

impl MaskSearch<'_> {
    /// Takes what the map of all folders has.
    fn take(&mut self, root: &Root, folders: &RootFolders) -> Result<(), ToolError> {
        let all = folders.denied.iter().chain(&folders.closed).chain(&folders.too_deep);
        for path in all {
            let whole = root.path().join(path);
            if self.others.iter().any(|other| whole.starts_with(other)) {
                continue;
            }
            match statat(root.handle(), path, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(meta) => self.add(&whole, &meta)?,
                // It is gone, or something above it is closed, and masked itself.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
                Err(errno) => return Err(incomplete(&whole, errno)),
            }
        }
        Ok(())
    }

    /// Searches at and below a place.
    fn look_at(
        &mut self,
        root: BorrowedFd<'_>,
        place: &Path,
        levels: Option<usize>,
    ) -> Result<(), ToolError> {
        // A thousand rules may begin with the same folder, which is not there. They come one after the other.
        if self.missing.as_ref().is_some_and(|missing| place.starts_with(missing)) {
            return Ok(());
        }
        let mut here = self.open(root, c".", self.root.to_owned())?;
        for name in place {
            let Ok(name) = CString::new(name.as_bytes()) else { return Ok(()) };
            let path = here.path.join(OsStr::from_bytes(name.to_bytes()));
            let meta = match statat(&here.handle, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(meta) => meta,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                    let below = path.strip_prefix(self.root).unwrap_or(&path);
                    self.missing = Some(below.to_owned());
                    return Ok(());
                }
                Err(Errno::ACCESS) => return self.mask_closed(&here),
                Err(errno) => return Err(incomplete(&here.path, errno)),
            };
            if self.is_denied(&path) {
                return self.add(&path, &meta);
            }
            let is_folder = FileType::from_raw_mode(meta.st_mode) == FileType::Directory;
            if !is_folder || self.others.contains(&path.as_path()) {
                return Ok(());
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = match openat(&here.handle, &name, flags, Mode::empty()) {
                Ok(handle) => handle,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
                Err(errno) => return Err(incomplete(&path, errno)),
            };
            here = SearchedFolder { handle, path };
        }
        if levels == Some(0) {
            return Ok(());
        }
        self.search(here, levels)
    }

    /// Searches everything below a folder, as many levels as there are to be.
    fn search(&mut self, from: SearchedFolder, levels: Option<usize>) -> Result<(), ToolError> {
        let from = Rc::new(from);
        let mut waiting = vec![WaitingFolder { above: from, name: c".".to_owned(), levels }];
        while let Some(next) = waiting.pop() {
            match self.search_folder(&next, &mut waiting) {
                Ok(()) => {}
                Err(UnsearchedFolder::Closed) if next.name.as_c_str() == c"." => {
                    self.mask_closed(&next.above)?;
                }
                Err(UnsearchedFolder::Closed) => self.mask_at(&next.above, &next.name)?,
                Err(UnsearchedFolder::Failed(err)) => return Err(err),
            }
        }
        Ok(())
    }

    /// Checks the entries of one folder, and adds the folders in it to those that wait.
    fn search_folder(
        &mut self,
        next: &WaitingFolder,
        waiting: &mut Vec<WaitingFolder>,
    ) -> Result<(), UnsearchedFolder> {
        let path = if next.name.as_c_str() == c"." {
            next.above.path.clone()
        } else {
            next.above.path.join(OsStr::from_bytes(next.name.to_bytes()))
        };
        let failed = |errno| match errno {
            Errno::ACCESS => UnsearchedFolder::Closed,
            errno => UnsearchedFolder::Failed(incomplete(&path, errno)),
        };
        if is_too_deep(self.root, path.strip_prefix(self.root).unwrap_or(&path)) {
            return Err(UnsearchedFolder::Closed);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match openat(&next.above.handle, &next.name, flags, Mode::empty()) {
            Ok(handle) => handle,
            // It is gone, or something else is in its place now, which is not searched because nothing is there
            // that was there before.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => return Err(failed(errno)),
        };
        let entries = Dir::read_from(&handle).map_err(failed)?;
        let here = Rc::new(SearchedFolder { handle, path: path.clone() });
        let mut entry_path = path.clone();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.checked += 1;
            if self.checked > self.most_checked {
                return Err(UnsearchedFolder::Failed(too_large()));
            }
            entry_path.push(OsStr::from_bytes(name.to_bytes()));
            let is_denied = self.is_denied(&entry_path);
            let mut kind = entry.file_type();
            if is_denied || kind == FileType::Unknown {
                match statat(&here.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(meta) if is_denied => {
                        self.add(&entry_path, &meta).map_err(UnsearchedFolder::Failed)?;
                    }
                    Ok(meta) => kind = FileType::from_raw_mode(meta.st_mode),
                    Err(Errno::NOENT) => {}
                    Err(errno) => return Err(failed(errno)),
                }
            }
            let is_deep = next.levels.is_none_or(|levels| levels > 1);
            if kind == FileType::Directory
                && !is_denied
                && is_deep
                && !self.others.contains(&entry_path.as_path())
            {
                waiting.push(WaitingFolder {
                    above: Rc::clone(&here),
                    name: name.to_owned(),
                    levels: next.levels.map(|levels| levels - 1),
                });
            }
            entry_path.pop();
        }
        Ok(())
    }

    fn open(
        &self,
        above: BorrowedFd<'_>,
        name: &CStr,
        path: PathBuf,
    ) -> Result<SearchedFolder, ToolError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(above, name, flags, Mode::empty()) {
            Ok(handle) => Ok(SearchedFolder { handle, path }),
            Err(errno) => Err(incomplete(self.root, errno)),
        }
    }

    fn is_denied(&self, path: &Path) -> bool {
        self.denied.rule(path, PathAccess::Read).is_some()
    }

    /// Masks a folder by its handle.
    fn mask_closed(&mut self, folder: &SearchedFolder) -> Result<(), ToolError> {
        let meta =
            rustix::fs::fstat(&folder.handle).map_err(|errno| incomplete(&folder.path, errno))?;
        self.add(&folder.path, &meta)
    }

    /// Masks a folder by its name in the folder above it, or the folder above it if that is closed too.
    fn mask_at(&mut self, above: &SearchedFolder, name: &CStr) -> Result<(), ToolError> {
        let path = above.path.join(OsStr::from_bytes(name.to_bytes()));
        match statat(&above.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(meta) => self.add(&path, &meta),
            Err(Errno::NOENT) => Ok(()),
            Err(Errno::ACCESS) => self.mask_closed(above),
            Err(errno) => Err(incomplete(&path, errno)),
        }
    }

    /// Adds a file or folder to mask.
    fn add(&mut self, path: &Path, meta: &Stat) -> Result<(), ToolError> {
        // Rules are about paths without links: where a link leads is denied or not by itself.
        if FileType::from_raw_mode(meta.st_mode) == FileType::Symlink {
            return Ok(());
        }
        let below = path.strip_prefix(self.root).unwrap_or(path);
        if below.as_os_str().is_empty() {
            return Err(incomplete(path, Errno::ACCESS));
        }
        if self.found.len() >= MOST_MASKS {
            return Err(too_many());
        }
        self.found.push(DeniedEntry { path: below.to_owned(), is: (meta.st_dev, meta.st_ino) });
        Ok(())
    }

    /// Returns what was found, without what is in a folder that is masked itself.
    fn into_found(mut self) -> Vec<DeniedEntry> {
        self.found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        // A folder comes before everything in it.
        let mut kept: Vec<DeniedEntry> = Vec::new();
        for entry in self.found {
            if !kept.last().is_some_and(|last| entry.path.starts_with(&last.path)) {
                kept.push(entry);
            }
        }
        kept
    }
}

/// Returns the error for more denied files than can be masked.
pub(super) fn too_many() -> ToolError {
    let message = format!(
        "the command was not run: Toolcrib would have to hide more than {MOST_MASKS} denied files and folders from it"
    );
    ToolError::new(ErrorKind::TooLarge, message)
        .hint("deny a whole folder (`secrets/**`) instead of single files in it")
}

fn too_large() -> ToolError {
    let message = format!(
        "the command was not run: to hide denied files from it, Toolcrib would have to search more than \
         {MOST_CHECKED_ENTRIES} files"
    );
    ToolError::new(ErrorKind::TooLarge, message)
        .hint("begin the globs of the rule with a folder, such as `secrets/**` or `config/*.pem`")
}

fn incomplete(path: &Path, errno: Errno) -> ToolError {
    let (shown, why) = (path.display(), std::io::Error::from(errno));
    let message = format!(
        "the command was not run: Toolcrib cannot search `{shown}` for denied files to hide: \
         {why}"
    );
    ToolError::new(ErrorKind::Io, message)
        .hint("check the permissions of the folder, and try again")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use toolcrib_core::Mode as PolicyMode;
    use toolcrib_core::policy::{Layer, Policy, rules_in};

    use super::*;

    #[test]
    fn a_search_through_too_many_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("conf")).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join("conf").join(name), "").unwrap();
        }
        let root = Root::open(folder.path()).unwrap();
        let rules = "[[rule]]\neffect = \"deny\"\npaths = [\"conf/**/*.pem\"]\n";
        let rules = rules_in(rules, "rules.toml", Layer::Operator, None).unwrap().rules;
        let policy = Policy::new(PolicyMode::Standard, rules);
        let now = jiff::Timestamp::UNIX_EPOCH;
        let denied = policy.denied_paths(&"t".into(), now, || root.path().to_owned()).unwrap();
        let search = |most_checked| {
            let (others, found) = (Vec::new(), Vec::new());
            let (root_path, denied, checked) = (root.path(), &denied, 0);
            let mut search = MaskSearch {
                root: root_path,
                others,
                denied,
                found,
                checked,
                most_checked,
                missing: None,
            };
            search.look_at(root.handle(), Path::new("conf"), None)
        };
        assert!(search(3).is_ok(), "the control");
        let refused = search(2).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::TooLarge);
        assert!(refused.message.contains("more than 500000 files"), "{}", refused.message);
    }

    #[test]
    fn a_search_begins_where_denied_paths_can_be() {
        let root = Path::new("/srv/ws");
        let place = |base: &str, levels| DeniedPlace { base: PathBuf::from(base), levels };
        let check = |places: &[DeniedPlace], expected: &[(&str, Option<usize>)]| {
            let expected: Vec<_> =
                expected.iter().map(|(path, levels)| (PathBuf::from(path), *levels)).collect();
            assert_eq!(reaches(root, places), expected, "{places:?}");
        };
        check(&[place("/srv/ws/.env", Some(0))], &[(".env", Some(0))]);
        check(&[place("/srv/other", None), place("/etc", None)], &[]);
        check(&[place("/srv", Some(1))], &[("", Some(0))]);
        check(&[place("/srv", Some(3))], &[("", Some(2))]);
        check(&[place("/", Some(1))], &[]);
        check(
            &[place("/srv/ws/a", Some(1)), place("/srv/ws/a", Some(3)), place("/srv/ws/b", None)],
            &[("a", Some(3)), ("b", None)],
        );
        check(&[place("/srv/ws/a", Some(1)), place("/", None)], &[("", None)]);
    }
}
