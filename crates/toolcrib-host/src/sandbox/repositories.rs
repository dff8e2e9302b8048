//! The repositories within a workspace. Those that were once found are remembered: a command could make
//! so many folders, or close so many, that a later look does not come to them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use toolcrib_core::canonical::Digest;

/// How deep, and in how many folders, repositories within the workspace are looked for.
const DEEPEST: usize = 4;
const MOST_FOLDERS: usize = 10_000;

/// The most that are remembered.
const MOST: usize = 4096;

/// Folders that hold what was installed or built: nobody works in a repository there.
const NOT_LOOKED_INTO: [&str; 5] = [".git", ".venv", "__pycache__", "node_modules", "target"];

/// How old a look may be, as a multiple of what it took.
const PATIENCE: u32 = 20;

/// What is known of the repositories within each root.
pub(crate) struct Repositories {
    /// Where they are remembered.
    folder: PathBuf,
    known: Mutex<HashMap<PathBuf, Look>>,
}

struct Look {
    /// When it is time for another one.
    again: Instant,
    found: Arc<Found>,
}

/// What was found within a root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Folders that are repositories.
    pub(crate) open: Vec<PathBuf>,
    /// Folders that cannot be looked into.
    pub(crate) closed: Vec<PathBuf>,
}

impl Repositories {
    /// Remembers them in a folder of our own.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    /// The repositories within a root, its own left out: those known before, then those found since.
    pub(crate) fn within(&self, root: &Path) -> std::io::Result<Arc<Found>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = known.get(root)
            && Instant::now() < look.again
        {
            return Ok(Arc::clone(&look.found));
        }
        let start = Instant::now();
        let mut all = self.remembered(root);
        let before = all.clone();
        // One that is gone is forgotten; one that only cannot be seen is not.
        all.retain(|path| is_there(&root.join(path).join(".git")));
        let seen: BTreeSet<PathBuf> = all.iter().cloned().collect();
        let Found { open, closed } = find(root);
        all.extend(open.into_iter().filter(|path| !seen.contains(path)));
        all.truncate(MOST);
        if all != before {
            self.remember(root, &all)?;
        }
        let found = Arc::new(Found { open: all, closed });
        let again = Instant::now() + start.elapsed() * PATIENCE;
        known.insert(root.to_owned(), Look { again, found: Arc::clone(&found) });
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
        // Whole or not at all, for others who read it.
        let fresh = self.folder.join(format!("{}.fresh", std::process::id()));
        fs::write(&fresh, serde_json::to_vec(all)?)?;
        fs::rename(fresh, self.file(root))
    }
}

fn is_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(err) => {
            !matches!(err.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
    }
}

fn find(root: &Path) -> Found {
    let mut found = Found::default();
    let mut open = VecDeque::from([(PathBuf::new(), 0)]);
    let mut seen = 0;
    while let Some((folder, depth)) = open.pop_front() {
        seen += 1;
        if seen > MOST_FOLDERS {
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
            // They are told to other processes in text.
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name == ".git" && depth > 0 {
                found.open.push(folder.clone());
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_open = !NOT_LOOKED_INTO.contains(&name.as_str());
            if is_folder && is_open && depth < DEEPEST {
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
        let look = || {
            let fresh = Repositories::new(folder.path().join("known"));
            fresh.within(&root).unwrap().open.clone()
        };
        let repo = PathBuf::from("libs/deep/repo");
        assert_eq!(look(), std::slice::from_ref(&repo));
        // More folders than are looked into, and before it.
        for number in 0..MOST_FOLDERS + 10 {
            fs::create_dir(root.join(format!("a{number}"))).unwrap();
        }
        assert_eq!(find(&root), Found::default(), "the control");
        assert_eq!(look(), [repo]);
        fs::remove_dir_all(root.join("libs")).unwrap();
        assert_eq!(look(), Vec::<PathBuf>::new());
    }
}
