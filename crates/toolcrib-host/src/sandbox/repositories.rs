//! The repositories within a workspace. A repository that was found once is remembered, because a command could
//! make so many folders, or close so many, that a later search does not reach it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use toolcrib_core::canonical::Digest;

/// How deep, and in how many folders, the workspace is searched for repositories.
const DEEPEST_FOLDER: usize = 4;
const MOST_SEARCHED_FOLDERS: usize = 10_000;

/// How many repositories are remembered.
const MOST_REMEMBERED: usize = 4096;

/// Folders that hold installed or built files: nobody works in a repository there.
const NOT_SEARCHED: [&str; 5] = [".git", ".venv", "__pycache__", "node_modules", "target"];

/// How long the result of a search is used, as a multiple of the time that the search took.
const REUSE_FACTOR: u32 = 20;

/// The known repositories within each root.
pub(crate) struct Repositories {
    /// The folder where the repositories are remembered.
    folder: PathBuf,
    known: Mutex<HashMap<PathBuf, CachedSearch>>,
}

struct CachedSearch {
    /// When the root has to be searched again.
    again: Instant,
    found: Arc<FoundRepositories>,
}

/// The result of a search within a root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundRepositories {
    /// Folders that are repositories.
    pub(crate) open: Vec<PathBuf>,
    /// Folders that cannot be read.
    pub(crate) closed: Vec<PathBuf>,
}

impl Repositories {
    /// Creates the list. `folder` is where repositories are remembered.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    /// Returns the repositories within a root, without the root's own: first those known before, then those found
    /// since.
    pub(crate) fn within(&self, root: &Path) -> std::io::Result<Arc<FoundRepositories>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(search) = known.get(root)
            && Instant::now() < search.again
        {
            return Ok(Arc::clone(&search.found));
        }
        let start = Instant::now();
        let mut all = self.remembered(root);
        let before = all.clone();
        // A repository that is gone is forgotten. One that merely cannot be seen is not.
        all.retain(|path| is_there(&root.join(path).join(".git")));
        let seen: BTreeSet<PathBuf> = all.iter().cloned().collect();
        let FoundRepositories { open, closed } = find(root);
        all.extend(open.into_iter().filter(|path| !seen.contains(path)));
        all.truncate(MOST_REMEMBERED);
        if all != before {
            self.remember(root, &all)?;
        }
        let found = Arc::new(FoundRepositories { open: all, closed });
        let again = Instant::now() + start.elapsed() * REUSE_FACTOR;
        known.insert(root.to_owned(), CachedSearch { again, found: Arc::clone(&found) });
        Ok(found)
    }

    fn file(&self, root: &Path) -> PathBuf {
        self.folder.join(Digest::of("root", &root.display().to_string().into()).to_string())
    }

    fn remembered(&self, root: &Path) -> Vec<PathBuf> {
        let bytes = fs::read(self.file(root)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn remember(&self, root: &Path, all: &[PathBuf]) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // Renamed into place, so that other processes read all of it or nothing.
        let fresh = self.folder.join(format!("{}.fresh", std::process::id()));
        fs::write(&fresh, serde_json::to_vec(all)?)?;
        fs::rename(fresh, self.file(root))
    }
}

/// Whether a path exists, or cannot be seen.
fn is_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(err) => {
            !matches!(err.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
    }
}

fn find(root: &Path) -> FoundRepositories {
    let mut found = FoundRepositories::default();
    let mut open = VecDeque::from([(PathBuf::new(), 0)]);
    let mut seen = 0;
    while let Some((folder, depth)) = open.pop_front() {
        seen += 1;
        if seen > MOST_SEARCHED_FOLDERS {
            break;
        }
        let entries = match fs::read_dir(root.join(&folder)) {
            Ok(entries) => entries,
            Err(err) => {
                if err.kind() == std::io::ErrorKind::PermissionDenied && depth > 0 {
                    found.closed.push(folder);
                }
                continue;
            }
        };
        for entry in entries.flatten() {
            // Paths are sent to other processes as text.
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name == ".git" && depth > 0 {
                found.open.push(folder.clone());
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_open = !NOT_SEARCHED.contains(&name.as_str());
            if is_folder && is_open && depth < DEEPEST_FOLDER {
                open.push_back((folder.join(name), depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_remembered_until_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("libs/deep/repo/.git")).unwrap();
        let search = || {
            let fresh = Repositories::new(folder.path().join("known"));
            fresh.within(&root).unwrap().open.clone()
        };
        let repo = PathBuf::from("libs/deep/repo");
        assert_eq!(search(), std::slice::from_ref(&repo));
        // More folders than are searched, and before it.
        for number in 0..MOST_SEARCHED_FOLDERS + 10 {
            fs::create_dir(root.join(format!("a{number}"))).unwrap();
        }
        assert_eq!(find(&root), FoundRepositories::default(), "the control");
        assert_eq!(search(), [repo]);
        fs::remove_dir_all(root.join("libs")).unwrap();
        assert_eq!(search(), Vec::<PathBuf>::new());
    }
}
