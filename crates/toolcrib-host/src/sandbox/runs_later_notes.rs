//! What a command changed that other programs run or obey on their own: the reader of the reply is told.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, StatxFlags, statx};
use toolcrib_core::runs_later::{LaterLevel, RunsLater};

use super::walk::{BULKY_FOLDERS, since_1970};
use crate::files::root::Root;
use crate::files::spelling::spelt;

/// How many places a note names.
const MOST_TOLD_PLACES: usize = 12;

/// How many files are gathered.
const MOST_TOLD_FILES: usize = 4096;

/// The changes that the reader of a reply is told of.
#[derive(Default)]
pub(crate) struct ToldChanges {
    /// Each place, and how many files there changed. The place is the file itself, or the folder of installed or built
    /// files that it is in: a package manager writes thousands of such files.
    places: BTreeMap<(usize, PathBuf), u64>,
    /// The files that were added.
    seen: HashSet<PathBuf>,
    more: u64,
}

/// Files that other programs run, in folders that changed.
#[derive(Default)]
pub(crate) struct LaterFiles(Vec<(PathBuf, PathBuf)>);

impl LaterFiles {
    /// Takes a file if other programs run it.
    pub(crate) fn see(&mut self, root: &Root, path: &Path) {
        if self.0.len() < MOST_TOLD_FILES && is_told(path) {
            self.0.push((root.path().to_owned(), path.to_owned()));
        }
    }

    /// Returns the files that changed since a moment, each with its root.
    pub(crate) fn changed_since(self, roots: &[Root], at: Duration) -> Vec<(&Root, PathBuf)> {
        let of_root = |(root, path): (PathBuf, PathBuf)| {
            let root = roots.iter().find(|it| it.path() == root)?;
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let meta = statx(root.handle(), &path, flags, StatxFlags::CTIME).ok()?;
            (since_1970(meta.stx_ctime) >= at).then_some((root, path))
        };
        self.0.into_iter().filter_map(of_root).collect()
    }
}

fn is_told(path: &Path) -> bool {
    let names = path.iter().map(|name| Cow::Borrowed(name.as_bytes()));
    // Whatever changes git's and our own folders is not told of here.
    RunsLater::of_names(names).is_some_and(|row| row.level != LaterLevel::Refused)
}

impl ToldChanges {
    /// Adds a path below a root that changed, if other programs run it.
    pub(crate) fn add(&mut self, path: &Path) {
        if !is_told(path) || !self.seen.insert(path.to_owned()) {
            return;
        }
        let is_bulky = |name| BULKY_FOLDERS.iter().any(|bulky| name == *bulky);
        let bulky = path.iter().position(is_bulky);
        let place: PathBuf = match bulky {
            Some(at) => path.iter().take(at + 1).collect(),
            None => path.to_owned(),
        };
        // The places nearest to the root are the most telling.
        let place = (place.iter().count(), place);
        if let Some(count) = self.places.get_mut(&place) {
            *count += 1;
        } else if self.places.len() < MOST_TOLD_FILES {
            self.places.insert(place, 1);
        } else {
            self.more += 1;
        }
    }

    /// Returns the changes in a sentence, if there are any.
    pub(crate) fn note(&self) -> Option<String> {
        // A folder changes because of what is in it.
        let above = self.places.keys().flat_map(|(_, path)| path.ancestors().skip(1));
        let explained: HashSet<&Path> = above.collect();
        let places = self.places.iter().filter(|it| !explained.contains(it.0.1.as_path()));
        let shown = |((_, path), count): (&(usize, PathBuf), &u64)| match count {
            1 => format!("`{}`", spelt(path)),
            count => format!("`{}` ({count} files)", spelt(path)),
        };
        let mut shown: Vec<String> = places.map(shown).collect();
        let more = shown.len().saturating_sub(MOST_TOLD_PLACES) as u64 + self.more;
        shown.truncate(MOST_TOLD_PLACES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        (!shown.is_empty()).then(|| {
            format!(
                "the command changed files that other programs run or obey on their own: {}{more}; review them",
                shown.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], expect: Option<&str>) {
        let mut told = ToldChanges::default();
        for path in paths {
            told.add(Path::new(path));
        }
        let note = told.note();
        let shown = note.as_deref().and_then(|it| it.split(": ").nth(1)?.split(';').next());
        assert_eq!(shown, expect, "{paths:?}");
    }

    #[test]
    fn changes_are_told_by_name_the_nearest_first() {
        check(&["src/main.rs", ".git/config", ".env"], None);
        check(
            &["a/b/.zed/tasks.json", "package.json", "a/.npmrc"],
            Some("`package.json`, `a/.npmrc`, `a/b/.zed/tasks.json`"),
        );
        // A folder is told of where nothing within it changed: it was moved there.
        check(&[".idea", ".idea/workspace.xml"], Some("`.idea/workspace.xml`"));
        check(&[".idea"], Some("`.idea`"));
    }

    #[test]
    fn what_is_installed_or_built_is_one_place() {
        let modules = ["package.json", "node_modules/a/package.json", "node_modules/b/.npmrc"];
        check(&modules, Some("`node_modules` (2 files), `package.json`"));
        let mut told = ToldChanges::default();
        for number in 0..20 {
            told.add(Path::new(&format!("a{number:02}/Makefile")));
        }
        assert!(told.note().unwrap().contains("`a11/Makefile` and 8 more;"));
    }
}
