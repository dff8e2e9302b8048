//! Which processes change things now: each holds a file of its own locked, so that the next one to start
//! can tell who died at it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::state::{State, open_plain};

const FOLDER: &str = "live";

/// Nobody takes so long to enter.
const STALE: Duration = Duration::from_hours(1);

/// A process that is there.
pub(crate) struct Live {
    path: PathBuf,
    name: String,
    /// Whether its file stays when it goes: something of it is not on the record.
    stays: bool,
    _file: File,
}

/// A process that is gone without a word.
pub(crate) struct Dead {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// Held, so that only one of us sees to it.
    _file: File,
}

impl Live {
    /// Says that this process is there.
    pub(crate) fn enter(state: &State) -> io::Result<Self> {
        let folder = state.folder().join(FOLDER);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let name = crate::new_call_id().0;
        // Locked before it has the name that others look for.
        let fresh = folder.join(format!(".{name}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.lock()?;
        let path = folder.join(&name);
        fs::rename(&fresh, &path)?;
        // With what it is about to write, so that a power cut leaves both or neither.
        File::open(&folder)?.sync_all()?;
        Ok(Self { path, name, stays: false, _file: file })
    }

    /// Has the next process look at what became of its calls.
    pub(crate) fn leave_behind(&mut self) {
        self.stays = true;
    }

    /// The name that its lines have.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        let _ = fs::remove_file(&self.path);
    }
}

impl Dead {
    /// Finds those that are gone.
    pub(crate) fn find(state: &State) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(state.folder().join(FOLDER)) {
            Ok(entries) => entries,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(err) => return Err(err),
        };
        let mut dead = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.starts_with('.') {
                // Somebody is about to enter, or died at it long ago.
                let made = path.metadata().and_then(|meta| meta.modified());
                let age = made.ok().and_then(|made| made.elapsed().ok());
                if age.is_some_and(|age| age > STALE) {
                    let _ = fs::remove_file(&path);
                }
                continue;
            }
            let name = name.to_owned();
            let Ok(file) = open_plain(&path) else { continue };
            if file.try_lock().is_ok() {
                dead.push(Self { path, name, _file: file });
            }
        }
        Ok(dead)
    }
}
