//! Presence files: each process that changes things holds a file of its own locked, so that the next process to
//! start can tell which ones died.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::id::new_call_id;
use crate::state::{StateFolder, open_regular};

/// The folder of the presence files.
const PRESENCE_FOLDER: &str = "live";

/// The age at which a presence file that was never finished is removed. No process takes so long to make one.
const UNFINISHED_AGE: Duration = Duration::from_hours(1);

/// The presence file of this process. Dropping it removes the file.
pub(crate) struct Presence {
    path: PathBuf,
    name: String,
    /// Whether the file outlives the process, because something it did is not on the record.
    is_left_behind: bool,
    _file: File,
}

/// A process that died without removing its presence file.
pub(crate) struct DeadProcess {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// Keeps the file locked, so that only one process recovers the calls of the dead one.
    _file: File,
}

impl Presence {
    /// Makes the presence file of this process and locks it.
    pub(crate) fn enter(state: &StateFolder) -> io::Result<Self> {
        let folder = state.folder().join(PRESENCE_FOLDER);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let name = new_call_id().0;
        // The file is locked before it gets the name that others look for.
        let fresh = folder.join(format!(".{name}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.lock()?;
        let path = folder.join(&name);
        fs::rename(&fresh, &path)?;
        // Synced together with the line that is about to be written, so that a power cut leaves both or neither.
        File::open(&folder)?.sync_all()?;
        Ok(Self { path, name, is_left_behind: false, _file: file })
    }

    /// Leaves the file behind, so that the next process recovers the calls of this one.
    pub(crate) fn leave_behind(&mut self) {
        self.is_left_behind = true;
    }

    /// Returns the name of this process, which the lines of its calls carry.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.is_left_behind {
            return;
        }
        let _ = fs::remove_file(&self.path);
    }
}

impl DeadProcess {
    /// Finds the processes that died, and locks their files.
    pub(crate) fn find(state: &StateFolder) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(state.folder().join(PRESENCE_FOLDER)) {
            Ok(entries) => entries,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(err) => return Err(err),
        };
        let mut dead = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.starts_with('.') {
                // A process is making its file, or died while doing so long ago.
                let made = path.metadata().and_then(|meta| meta.modified());
                let age = made.ok().and_then(|made| made.elapsed().ok());
                if age.is_some_and(|age| age > UNFINISHED_AGE) {
                    let _ = fs::remove_file(&path);
                }
                continue;
            }
            let name = name.to_owned();
            let Ok(file) = open_regular(&path) else { continue };
            if file.try_lock().is_ok() {
                dead.push(Self { path, name, _file: file });
            }
        }
        Ok(dead)
    }
}
