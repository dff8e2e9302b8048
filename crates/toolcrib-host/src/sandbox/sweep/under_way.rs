//! Which commands are under way, on disk: the sweep after a command that its process did not live to make is made
//! before the next one.

use std::collections::BTreeSet;
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
    /// The path of each root, with the marks of what made git run programs there.
    pub(super) roots: Vec<(PathBuf, BTreeSet<String>)>,
}

/// A command that is under way. Its file is locked as long as this process lives.
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

    /// Notes that the sweep was made.
    pub(super) fn end(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Takes the commands in these roots whose process died before their sweep.
pub(super) fn take_abandoned(folder: &Path, roots: &[PathBuf]) -> Vec<(Begun, UnderWay)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut abandoned = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|it| it != "json") {
            continue;
        }
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
