//! The journal of changes: what every call did to which file, and which calls were undone.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolcrib_core::change::{UndoLock, UndoLog, UndoneCall};
use toolcrib_core::{CallId, Change, ChangeJournal};

use crate::state::{StateFolder, is_torn, open_append, open_regular};
use crate::undo::objects::Objects;

/// The journal, and the store of the content that changes replaced.
pub struct Journal {
    path: PathBuf,
    objects: Objects,
}

/// A lock on the journal against another undo at the same time.
struct JournalLock {
    _file: File,
}

impl UndoLock for JournalLock {}

/// One line of the journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most lines are changes")]
enum JournalLine {
    Change(Change),
    /// The last change that was recorded for this path of this call was not made.
    #[serde(rename = "forgotten")]
    Retracted {
        call: CallId,
        path: String,
    },
    #[serde(rename = "taken")]
    Undone(UndoneCall),
}

impl Journal {
    /// Opens the journal in `state`.
    pub fn new(state: &StateFolder) -> Self {
        Self {
            path: state.folder().join("changes.jsonl"),
            objects: Objects::new(state.folder().join("objects")),
        }
    }

    /// Returns the changes that were recorded after the first `position` bytes, oldest first.
    pub(crate) fn changes_since(&self, position: u64) -> io::Result<Vec<Change>> {
        self.read_from(position).map(|(changes, _)| changes)
    }

    fn read_from(&self, position: u64) -> io::Result<(Vec<Change>, Vec<UndoneCall>)> {
        let text = match open_regular(&self.path) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.seek(SeekFrom::Start(position))?;
                file.read_to_end(&mut bytes)?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => String::new(),
            Err(err) => return Err(err),
        };
        let (mut changes, mut undone) = (Vec::new(), Vec::new());
        // A change is recorded before it is made, so a line torn by a crash stands for no change.
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                JournalLine::Change(change) => changes.push(change),
                JournalLine::Undone(call) => undone.push(call),
                JournalLine::Retracted { call, path } => {
                    let is_it = |change: &Change| change.call == call && change.path == path;
                    if let Some(at) = changes.iter().rposition(is_it) {
                        changes.remove(at);
                    }
                }
            }
        }
        Ok((changes, undone))
    }

    fn write_line(&self, line: &JournalLine) -> io::Result<File> {
        self.write_lines(std::slice::from_ref(line))
    }

    fn write_lines(&self, lines: &[JournalLine]) -> io::Result<File> {
        let mut file = open_append(&self.path)?;
        let mut bytes = Vec::new();
        if is_torn(&file)? {
            bytes.push(b'\n');
        }
        for line in lines {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
        }
        file.write_all(&bytes)?;
        Ok(file)
    }
}

impl UndoLog for Journal {
    fn lock(&self) -> io::Result<Box<dyn UndoLock>> {
        let file = open_append(&self.path)?;
        file.lock()?;
        Ok(Box::new(JournalLock { _file: file }))
    }

    fn history(&self) -> io::Result<(Vec<Change>, Vec<UndoneCall>)> {
        self.read_from(0)
    }

    fn content(&self, sha256: &str) -> io::Result<Vec<u8>> {
        self.objects.load(sha256)
    }

    fn record_undo(&self, undone: &UndoneCall) -> io::Result<()> {
        self.write_line(&JournalLine::Undone(undone.clone())).map(drop)
    }
}

impl ChangeJournal for Journal {
    fn store(&self, content: &mut dyn Read) -> io::Result<(String, u64)> {
        self.objects.store(content)
    }

    fn append(&self, change: &Change) -> io::Result<()> {
        // Synced before the change is made, so that the change can be undone even after a power cut.
        self.write_line(&JournalLine::Change(change.clone()))?.sync_data()
    }

    fn append_all(&self, changes: &[Change]) -> io::Result<()> {
        let lines: Vec<JournalLine> = changes.iter().cloned().map(JournalLine::Change).collect();
        self.write_lines(&lines)?.sync_data()
    }

    fn retract(&self, change: &Change) -> io::Result<()> {
        let (call, path) = (change.call.clone(), change.path.clone());
        self.write_line(&JournalLine::Retracted { call, path }).map(drop)
    }

    fn position(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::undo::fixture::change;

    #[test]
    fn a_torn_line_does_not_swallow_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let journal = Journal::new(&state);
        journal.append(&change("one", "a")).unwrap();
        let mut file = open_append(&journal.path).unwrap();
        file.write_all(br#"{"change":{"call":"torn"#).unwrap();
        journal.append(&change("two", "b")).unwrap();
        let calls: Vec<_> = journal.history().unwrap().0.into_iter().map(|it| it.call.0).collect();
        assert_eq!(calls, ["one", "two"]);
    }

    #[test]
    fn a_change_that_was_not_made_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let journal = Journal::new(&state);
        for path in ["a", "b"] {
            journal.append(&change("one", path)).unwrap();
        }
        journal.retract(&change("one", "a")).unwrap();
        let paths: Vec<_> = journal.history().unwrap().0.into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["b"]);
    }
}
