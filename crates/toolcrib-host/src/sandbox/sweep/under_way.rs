//! Notes on disk which commands still need their sweep. If the process dies, or something cannot be held, the sweep is
//! made before the next command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// What a sweep has to know about the beginning of its command.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The call.
    pub(super) call: String,
    /// When the command began, by the clock of file times, in nanoseconds since 1970.
    #[serde(default)]
    pub(super) at: u64,
    /// The path of each root, with the marks of what made git run programs there.
    pub(super) roots: Vec<(PathBuf, BTreeSet<String>)>,
    /// The absolute paths that the command cannot change, each with device and inode.
    #[serde(default)]
    pub(super) shielded: BTreeMap<PathBuf, (u64, u64)>,
    /// The marks of what could not be held; `None` if the sweep was not made yet.
    #[serde(default)]
    pub(super) only: Option<BTreeSet<String>>,
}

impl Begun {
    /// Whether the command could not change what is at an absolute path. When somebody replaces a shielded file, the
    /// shield is gone.
    pub(super) fn is_shielded(&self, path: &Path) -> bool {
        path.ancestors().any(|path| {
            let shield = self.shielded.get(path);
            shield.is_some_and(|is| {
                fs::symlink_metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == *is)
            })
        })
    }

    /// Keeps the marks that were there before every command that is under way in the same root.
    pub(super) fn drop_marks_of_other_commands(&mut self, folder: &Path) {
        for (_, bytes) in files(folder) {
            let Ok(other) = serde_json::from_slice::<Self>(&bytes) else { continue };
            if other.only.is_some() {
                continue;
            }
            for (root, marks) in &mut self.roots {
                if let Some((_, before)) = other.roots.iter().find(|(path, _)| path == root) {
                    marks.retain(|mark| before.contains(mark));
                }
            }
        }
    }
}

/// Returns the files of the commands that are under way, with the content of each.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let paths = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    paths.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))).collect()
}

/// A command that is under way. Its file is locked as long as this value lives.
pub(super) struct UnderWay {
    path: PathBuf,
    _lock: File,
}

impl UnderWay {
    /// Notes that a command begins.
    pub(super) fn begin(folder: &Path, begun: &Begun) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.json", begun.call));
        let fresh = folder.join(format!("{}.fresh", begun.call));
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        io::Write::write_all(&mut file, &serde_json::to_vec(begun)?)?;
        // It gets its name when it is locked and whole, so that nobody takes it for one that was left.
        fs::rename(fresh, &path)?;
        Ok(Self { path, _lock: file })
    }

    /// Notes more about the beginning of the command.
    pub(super) fn update(&mut self, begun: &Begun) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        *self = Self::begin(&folder, begun)?;
        Ok(())
    }

    /// Notes that the sweep was made.
    pub(super) fn end(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Takes the commands whose roots are all among these, and whose sweep was not made or failed.
pub(super) fn take_owed(folder: &Path, roots: &[PathBuf]) -> Vec<(Begun, UnderWay)> {
    let mut abandoned = Vec::new();
    for (path, _) in files(folder) {
        let Ok(file) = File::open(&path) else { continue };
        let is_left = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            // Somebody may have made the sweep since the file was opened.
            && file.metadata().is_ok_and(|meta| meta.nlink() > 0);
        let begun = fs::read(&path).ok().filter(|_| is_left);
        let begun: Option<Begun> = begun.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(begun) =
            begun.filter(|it| it.roots.iter().all(|(root, _)| roots.contains(root)))
        {
            abandoned.push((begun, UnderWay { path, _lock: file }));
        }
    }
    abandoned
}
