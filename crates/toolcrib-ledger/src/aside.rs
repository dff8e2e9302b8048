//! What files held before a command that may change them: one file for each command that runs, gone once it is
//! known what the command did.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::change::Snapshot;
use toolcrib_core::{CallId, Change};

use crate::state::{open_plain, read_plain};

/// What nobody came back for in this time is removed: its workspace is gone, or its writer died at it.
const OLD: Duration = Duration::from_hours(30 * 24);

/// Of the room that is left, no more than one part in this many is taken.
const SHARE: u64 = 4;

/// A folder of them, each named by its call and locked by whoever sees to it.
pub(crate) struct Aside {
    folder: PathBuf,
    /// Those that we see to.
    ours: Mutex<HashMap<CallId, File>>,
}

/// The first line of a file; what files held comes after it, one after the other.
#[derive(Serialize, Deserialize)]
struct Listed {
    changes: Vec<Change>,
    sizes: Vec<usize>,
    /// How large the journal was.
    journal: u64,
}

impl Aside {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, ours: Mutex::default() }
    }

    fn ours(&self) -> MutexGuard<'_, HashMap<CallId, File>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps this in the place of what is kept for a call.
    pub(crate) fn keep_only(&self, call: &CallId, held: &[Snapshot]) -> io::Result<()> {
        let (_, journal) = self.load(call)?;
        self.keep(call, held, journal)
    }

    /// Keeps it so that no power cut takes it, with how large the journal is.
    pub(crate) fn keep(&self, call: &CallId, held: &[Snapshot], journal: u64) -> io::Result<()> {
        let listed = Listed {
            changes: held.iter().map(|held| held.change.clone()).collect(),
            sizes: held.iter().map(|held| held.content.len()).collect(),
            journal,
        };
        let mut bytes = serde_json::to_vec(&listed)?;
        bytes.push(b'\n');
        for held in held {
            bytes.extend_from_slice(&held.content);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let disk = rustix::fs::statvfs(&self.folder)?;
        if (bytes.len() as u64).saturating_mul(SHARE) > disk.f_bavail.saturating_mul(disk.f_frsize)
        {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "there is too little room"));
        }
        let path = self.path(call)?;
        // Locked and whole before it has the name that others look for.
        let fresh = self.folder.join(format!(".{call}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let kept =
            file.lock().and_then(|()| file.write_all(&bytes)).and_then(|()| file.sync_data());
        let kept = kept.and_then(|()| fs::rename(&fresh, &path));
        let kept = kept.and_then(|()| File::open(&self.folder)?.sync_all());
        if kept.is_err() {
            let _ = fs::remove_file(&fresh);
            let _ = fs::remove_file(&path);
        } else {
            self.ours().insert(call.clone(), file);
        }
        kept
    }

    /// Returns what is kept, and how large the journal was then; nothing if it is damaged.
    pub(crate) fn load(&self, call: &CallId) -> io::Result<(Vec<Snapshot>, u64)> {
        let bytes = match read_plain(&self.path(call)?) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            bytes => bytes?,
        };
        Ok(parse(&bytes).unwrap_or_default())
    }

    pub(crate) fn let_go(&self, call: &CallId) -> io::Result<()> {
        let removed = match fs::remove_file(self.path(call)?) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        self.leave(call);
        removed
    }

    pub(crate) fn leave(&self, call: &CallId) {
        self.ours().remove(call);
    }

    /// The calls whose process is gone; from here on they are ours to see to.
    pub(crate) fn left(&self) -> Vec<CallId> {
        let mut left = Vec::new();
        for (name, path) in self.files() {
            let Ok(file) = open_plain(&path) else { continue };
            if file.try_lock().is_err() {
                continue;
            }
            let made = file.metadata().and_then(|meta| meta.modified());
            let age = made.ok().and_then(|made| made.elapsed().ok()).unwrap_or_default();
            // Of one that is not whole the command had not begun.
            if age > OLD || name.starts_with('.') {
                let _ = fs::remove_file(&path);
            } else {
                self.ours().insert(CallId(name.clone()), file);
                left.push(CallId(name));
            }
        }
        left
    }

    /// The places that are set aside for other commands which run.
    pub(crate) fn held_by_others(&self, call: &CallId) -> Vec<String> {
        let mut held = Vec::new();
        for (name, path) in self.files() {
            if name == call.0 || name.starts_with('.') {
                continue;
            }
            let Ok(file) = open_plain(&path) else { continue };
            if file.try_lock_shared().is_ok() {
                continue;
            }
            let mut first = Vec::new();
            let read = BufReader::new(file).read_until(b'\n', &mut first);
            let listed = read.ok().and_then(|_| serde_json::from_slice::<Listed>(&first).ok());
            held.extend(listed.iter().flat_map(|it| &it.changes).map(Change::place));
        }
        held
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
            .collect()
    }

    fn path(&self, call: &CallId) -> io::Result<PathBuf> {
        if call.0.is_empty() || !call.0.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "that is no id of a call"));
        }
        Ok(self.folder.join(&call.0))
    }
}

fn parse(bytes: &[u8]) -> Option<(Vec<Snapshot>, u64)> {
    let (first, mut rest) = bytes.split_at_checked(memchr::memchr(b'\n', bytes)? + 1)?;
    let listed: Listed = serde_json::from_slice(first).ok()?;
    let mut all = Vec::new();
    for (change, size) in listed.changes.into_iter().zip(listed.sizes) {
        let (content, more) = rest.split_at_checked(size)?;
        all.push(Snapshot { change, content: content.to_vec() });
        rest = more;
    }
    Some((all, listed.journal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::tests::change;

    fn held(path: &str, content: &[u8]) -> Snapshot {
        Snapshot { change: change("01A", path), content: content.to_vec() }
    }

    #[test]
    fn what_was_set_aside_comes_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let aside = Aside::new(folder.path().join("aside"));
        let call = CallId("01A".to_owned());
        assert_eq!(aside.load(&call).unwrap(), (Vec::new(), 0));
        let all = [held("a", b"one\ntwo"), held("b", b""), held("c\n", &[0xff, 0, b'\n'])];
        aside.keep(&call, &all, 7).unwrap();
        assert_eq!(aside.load(&call).unwrap(), (all.to_vec(), 7));
        let path = aside.path(&call).unwrap();
        let bytes = fs::read(&path).unwrap();
        for size in 0..bytes.len() {
            fs::write(&path, &bytes[..size]).unwrap();
            assert_eq!(aside.load(&call).unwrap(), (Vec::new(), 0), "{size}");
        }
        aside.let_go(&call).unwrap();
        aside.let_go(&call).unwrap();
        assert!(!path.exists());
        assert!(aside.keep(&CallId("../x".to_owned()), &all, 0).is_err());
    }

    #[test]
    fn only_what_nobody_sees_to_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Aside::new(folder.path().into()), Aside::new(folder.path().into()));
        let (first, second) = (CallId("01A".to_owned()), CallId("01B".to_owned()));
        one.keep(&first, &[held("a", b"x")], 0).unwrap();
        assert_eq!(other.held_by_others(&second), ["/a"]);
        assert_eq!(one.held_by_others(&first), [""; 0], "it is its own");
        assert_eq!((one.left(), other.left()), (Vec::new(), Vec::new()));
        drop(one);
        let half = folder.path().join(".01C");
        fs::write(&half, "half").unwrap();
        assert_eq!(other.held_by_others(&second), [""; 0], "nobody sees to it");
        assert_eq!(other.left(), std::slice::from_ref(&first));
        assert!(!half.exists());
        assert_eq!(other.left(), [], "now it is ours");
        other.leave(&first);
        assert_eq!(other.left(), [first]);
    }
}
