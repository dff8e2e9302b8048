//! Snapshots: the content of files before a command that may change them. Each running command has one snapshot
//! file, which is removed once it is known what the command did.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::change::{ConcurrentChanges, Snapshot};
use toolcrib_core::{CallId, Change, Snapshots, file_system};

use crate::state::{StateFolder, open_regular, read_regular};
use crate::undo::journal::Journal;

/// The folder of the snapshot files.
const SNAPSHOT_FOLDER: &str = "aside";

/// The age at which an orphaned snapshot is removed: its workspace is gone, or its writer died while writing it.
const OLDEST_ORPHAN: Duration = Duration::from_hours(30 * 24);

/// A snapshot may take at most one part in this many of the free disk space.
const FREE_SPACE_PARTS: u64 = 4;

/// The folder of snapshots. Each file is named by its call and locked by the process that will resolve it.
pub struct SnapshotStore {
    folder: PathBuf,
    journal: Arc<Journal>,
    /// The snapshots that this process holds locked.
    held: Mutex<HashMap<CallId, File>>,
}

/// The first line of a snapshot file. The contents of the files follow it, one after the other.
#[derive(Serialize, Deserialize)]
struct SnapshotHeader {
    changes: Vec<Change>,
    sizes: Vec<usize>,
    /// Where the journal ended before the files were read.
    journal: u64,
}

/// The snapshots of one call.
#[derive(Debug, Default, PartialEq, Eq)]
struct StoredSnapshots {
    snapshots: Vec<Snapshot>,
    /// Where the journal ended before the files were read.
    position: u64,
}

impl SnapshotStore {
    /// Opens the snapshots in `state`. The journal tells what other calls changed meanwhile.
    pub fn new(state: &StateFolder, journal: Arc<Journal>) -> Self {
        Self { folder: state.folder().join(SNAPSHOT_FOLDER), journal, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<CallId, File>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the snapshots of a call; none if the file is damaged.
    fn load_stored(&self, call: &CallId) -> io::Result<StoredSnapshots> {
        let bytes = match read_regular(&self.path(call)?) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                return Ok(StoredSnapshots::default());
            }
            bytes => bytes?,
        };
        Ok(parse(&bytes).unwrap_or_default())
    }

    /// Returns the paths in snapshots of other commands that still run.
    fn paths_held_by_others(&self, call: &CallId) -> Vec<String> {
        let mut paths = Vec::new();
        for (name, path) in self.files() {
            if name == call.0 || name.starts_with('.') {
                continue;
            }
            let Ok(file) = open_regular(&path) else { continue };
            if file.try_lock_shared().is_ok() {
                continue;
            }
            let mut first = Vec::new();
            let read = BufReader::new(file).read_until(b'\n', &mut first);
            let header = read.ok().and_then(|_| serde_json::from_slice(&first).ok());
            let header: Option<SnapshotHeader> = header;
            paths.extend(header.iter().flat_map(|it| &it.changes).map(Change::place));
        }
        paths
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
            .collect()
    }

    fn path(&self, call: &CallId) -> io::Result<PathBuf> {
        if call.0.is_empty() || !call.0.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a call id"));
        }
        Ok(self.folder.join(&call.0))
    }

    /// Writes a snapshot file, locks it and syncs it to the disk.
    fn write(&self, call: &CallId, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(call)?;
        // The file is locked and whole before it gets the name that others look for. If the power fails before it is
        // synced, it may be torn; its command has not started then.
        let fresh = self.folder.join(format!(".{call}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let written = file
            .lock()
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| fs::rename(&fresh, &path))
            .and_then(|()| file.sync_all())
            .and_then(|()| match rustix::fs::fstatfs(&file) {
                Ok(disk) if file_system::syncs_names(disk.f_type) => Ok(()),
                _ => File::open(&self.folder)?.sync_all(),
            });
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
            let _ = fs::remove_file(&path);
        } else {
            self.held().insert(call.clone(), file);
        }
        written
    }
}

impl Snapshots for SnapshotStore {
    fn take(&self, call: &CallId, snapshots: &[Snapshot], position: u64) -> io::Result<()> {
        let header = SnapshotHeader {
            changes: snapshots.iter().map(|snapshot| snapshot.change.clone()).collect(),
            sizes: snapshots.iter().map(|snapshot| snapshot.content.len()).collect(),
            journal: position,
        };
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        for snapshot in snapshots {
            bytes.extend_from_slice(&snapshot.content);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let disk = rustix::fs::statvfs(&self.folder)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if (bytes.len() as u64).saturating_mul(FREE_SPACE_PARTS) > free {
            let message = "there is too little free disk space";
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        self.write(call, &bytes)
    }

    fn load(&self, call: &CallId) -> io::Result<Vec<Snapshot>> {
        self.load_stored(call).map(|stored| stored.snapshots)
    }

    fn replace(&self, call: &CallId, snapshots: &[Snapshot]) -> io::Result<()> {
        let position = self.load_stored(call)?.position;
        self.take(call, snapshots, position)
    }

    fn discard(&self, call: &CallId) -> io::Result<()> {
        let removed = match fs::remove_file(self.path(call)?) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        self.release(call);
        removed
    }

    fn release(&self, call: &CallId) {
        self.held().remove(call);
    }

    fn orphaned(&self) -> Vec<CallId> {
        let mut orphaned = Vec::new();
        for (name, path) in self.files() {
            let Ok(file) = open_regular(&path) else { continue };
            if file.try_lock().is_err() {
                continue;
            }
            let made = file.metadata().and_then(|meta| meta.modified());
            let age = made.ok().and_then(|made| made.elapsed().ok()).unwrap_or_default();
            // If the file is not whole, its command had not started.
            if age > OLDEST_ORPHAN || name.starts_with('.') {
                let _ = fs::remove_file(&path);
            } else {
                self.held().insert(CallId(name.clone()), file);
                orphaned.push(CallId(name));
            }
        }
        orphaned
    }

    fn concurrent(&self, call: &CallId) -> io::Result<ConcurrentChanges> {
        let position = self.load_stored(call)?.position;
        // Running commands are listed first: a command that records its changes and discards its snapshots meanwhile
        // is then found in the journal.
        let in_progress = self.paths_held_by_others(call);
        let changes = self.journal.changes_since(position)?;
        let (own, others) = changes.into_iter().partition(|change| change.call == *call);
        Ok(ConcurrentChanges { own, others, in_progress })
    }
}

fn parse(bytes: &[u8]) -> Option<StoredSnapshots> {
    let (first, mut rest) = bytes.split_at_checked(memchr::memchr(b'\n', bytes)? + 1)?;
    let header: SnapshotHeader = serde_json::from_slice(first).ok()?;
    let mut snapshots = Vec::new();
    for (change, size) in header.changes.into_iter().zip(header.sizes) {
        let (content, more) = rest.split_at_checked(size)?;
        snapshots.push(Snapshot { change, content: content.to_vec() });
        rest = more;
    }
    Some(StoredSnapshots { snapshots, position: header.journal })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::undo::fixture::change;
    use std::path::Path;
    use toolcrib_core::ChangeJournal;

    fn store(folder: &Path) -> SnapshotStore {
        let state = StateFolder::open(&folder.join("state")).unwrap();
        SnapshotStore::new(&state, Arc::new(Journal::new(&state)))
    }

    fn snapshot(path: &str, content: &[u8]) -> Snapshot {
        Snapshot { change: change("01A", path), content: content.to_vec() }
    }

    #[test]
    fn snapshots_are_loaded_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let call = CallId("01A".to_owned());
        assert_eq!(store.load_stored(&call).unwrap(), StoredSnapshots::default());
        let all =
            [snapshot("a", b"one\ntwo"), snapshot("b", b""), snapshot("c\n", &[0xff, 0, b'\n'])];
        store.take(&call, &all, 7).unwrap();
        let stored = StoredSnapshots { snapshots: all.to_vec(), position: 7 };
        assert_eq!(store.load_stored(&call).unwrap(), stored);
        let path = store.path(&call).unwrap();
        assert!(path.ends_with("state/aside/01A"));
        let bytes = fs::read(&path).unwrap();
        for size in 0..bytes.len() {
            fs::write(&path, &bytes[..size]).unwrap();
            assert_eq!(store.load_stored(&call).unwrap(), StoredSnapshots::default(), "{size}");
        }
        store.discard(&call).unwrap();
        store.discard(&call).unwrap();
        assert!(!path.exists());
        assert!(store.take(&CallId("../x".to_owned()), &all, 0).is_err());
    }

    #[test]
    fn only_snapshots_that_no_process_holds_are_orphaned() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (store(folder.path()), store(folder.path()));
        let (first, second) = (CallId("01A".to_owned()), CallId("01B".to_owned()));
        one.take(&first, &[snapshot("a", b"x")], 0).unwrap();
        assert_eq!(other.paths_held_by_others(&second), ["/a"]);
        assert_eq!(one.paths_held_by_others(&first), [""; 0], "the snapshot is the call's own");
        assert_eq!((one.orphaned(), other.orphaned()), (Vec::new(), Vec::new()));
        let half = one.folder.join(".01C");
        drop(one);
        fs::write(&half, "half").unwrap();
        assert_eq!(other.paths_held_by_others(&second), [""; 0], "no process holds it");
        assert_eq!(other.orphaned(), std::slice::from_ref(&first));
        assert!(!half.exists());
        assert_eq!(other.orphaned(), [], "this process holds it now");
        other.release(&first);
        assert_eq!(other.orphaned(), [first]);
    }

    #[test]
    fn concurrent_changes_are_those_after_the_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let call = CallId("01A".to_owned());
        store.journal.append(&change("01X", "before")).unwrap();
        store.take(&call, &[snapshot("a", b"x")], store.journal.position()).unwrap();
        store.journal.append(&change("01A", "own")).unwrap();
        store.journal.append(&change("01X", "other")).unwrap();
        let found = store.concurrent(&call).unwrap();
        let paths = |changes: &[Change]| -> Vec<String> {
            changes.iter().map(|change| change.path.clone()).collect()
        };
        assert_eq!(
            (paths(&found.own), paths(&found.others)),
            (vec!["own".into()], vec!["other".into()])
        );
        assert!(found.in_progress.is_empty());
    }
}
