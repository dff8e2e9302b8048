//! The journal of changes: what every call did to which file, and what was taken back.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolcrib_core::change::{ConcurrentChanges, Snapshot};
use toolcrib_core::{CallId, Change, ChangeJournal, Snapshots};

use crate::aside::Aside;
use crate::objects::Objects;
use crate::state::{State, is_torn, open_append, open_plain};

/// Keeps changes and the content they replaced.
pub struct Journal {
    path: PathBuf,
    objects: Objects,
    aside: Aside,
}

/// The journal, held against another undo at the same time.
pub struct Held {
    _file: File,
}

/// One line of the journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most lines are changes")]
enum Line {
    Change(Change),
    /// The change of this call that was noted last for this path was not made.
    Forgotten {
        call: CallId,
        path: String,
    },
    Taken(Taken),
}

/// A call that was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The call taken back.
    pub call: CallId,
    /// The undo that did it, which can be taken back in turn.
    pub by: CallId,
}

impl Journal {
    /// Keeps the journal in `state`.
    pub fn new(state: &State) -> Self {
        Self {
            path: state.folder().join("changes.jsonl"),
            objects: Objects::new(state.folder().join("objects")),
            aside: Aside::new(state.folder().join("aside")),
        }
    }

    /// Returns all changes, oldest first, and all calls that were taken back.
    pub fn read(&self) -> io::Result<(Vec<Change>, Vec<Taken>)> {
        self.since(0)
    }

    /// The same of what is behind its first bytes.
    fn since(&self, from: u64) -> io::Result<(Vec<Change>, Vec<Taken>)> {
        let text = match open_plain(&self.path) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.seek(SeekFrom::Start(from))?;
                file.read_to_end(&mut bytes)?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => String::new(),
            Err(err) => return Err(err),
        };
        let (mut changes, mut taken) = (Vec::new(), Vec::new());
        // A line torn by a crash was never acted on: it is noted before the change is made.
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Change(change) => changes.push(change),
                Line::Taken(call) => taken.push(call),
                Line::Forgotten { call, path } => {
                    let is_it = |change: &Change| change.call == call && change.path == path;
                    if let Some(at) = changes.iter().rposition(is_it) {
                        changes.remove(at);
                    }
                }
            }
        }
        Ok((changes, taken))
    }

    /// Notes that a call was taken back.
    pub fn take(&self, taken: &Taken) -> io::Result<()> {
        self.write_line(&Line::Taken(taken.clone())).map(drop)
    }

    /// Returns content that a change replaced.
    pub fn content(&self, sha256: &str) -> io::Result<Vec<u8>> {
        self.objects.load(sha256)
    }

    /// Holds the journal for someone who reads it and then adds to it, until dropped.
    pub fn hold(&self) -> io::Result<Held> {
        let file = open_append(&self.path)?;
        file.lock()?;
        Ok(Held { _file: file })
    }

    fn write_line(&self, line: &Line) -> io::Result<File> {
        self.write_lines(std::slice::from_ref(line))
    }

    fn write_lines(&self, lines: &[Line]) -> io::Result<File> {
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

impl ChangeJournal for Journal {
    fn store(&self, content: &mut dyn Read) -> io::Result<(String, u64)> {
        self.objects.keep(content)
    }

    fn append(&self, change: &Change) -> io::Result<()> {
        // On the disk before the change is made: after a power cut it can be undone, too.
        self.write_line(&Line::Change(change.clone()))?.sync_data()
    }

    fn append_all(&self, changes: &[Change]) -> io::Result<()> {
        let lines: Vec<Line> = changes.iter().cloned().map(Line::Change).collect();
        self.write_lines(&lines)?.sync_data()
    }

    fn retract(&self, change: &Change) -> io::Result<()> {
        let line = Line::Forgotten { call: change.call.clone(), path: change.path.clone() };
        self.write_line(&line).map(drop)
    }

    fn position(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }
}

impl Snapshots for Journal {
    fn take(&self, call: &CallId, snapshots: &[Snapshot], position: u64) -> io::Result<()> {
        self.aside.keep(call, snapshots, position)
    }

    fn load(&self, call: &CallId) -> io::Result<Vec<Snapshot>> {
        self.aside.load(call).map(|(snapshots, _)| snapshots)
    }

    fn replace(&self, call: &CallId, snapshots: &[Snapshot]) -> io::Result<()> {
        self.aside.keep_only(call, snapshots)
    }

    fn discard(&self, call: &CallId) -> io::Result<()> {
        self.aside.let_go(call)
    }

    fn release(&self, call: &CallId) {
        self.aside.leave(call);
    }

    fn orphaned(&self) -> Vec<CallId> {
        self.aside.left()
    }

    fn concurrent(&self, call: &CallId) -> io::Result<ConcurrentChanges> {
        let (_, position) = self.aside.load(call)?;
        // Running commands first: one that records its changes and discards its snapshots meanwhile is in the journal.
        let in_progress = self.aside.held_by_others(call);
        let (own, others) =
            self.since(position)?.0.into_iter().partition(|change| change.call == *call);
        Ok(ConcurrentChanges { own, others, in_progress })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use toolcrib_core::{ChangeKind, FileId};

    pub(crate) fn change(call: &str, path: &str) -> Change {
        Change {
            call: CallId(call.to_owned()),
            tool: "t".to_owned(),
            at: String::new(),
            kind: ChangeKind::Created,
            root: "/".to_owned(),
            root_id: FileId { device: 0, inode: 0, born: 0 },
            path: path.to_owned(),
            before: None,
            after: None,
            made: None,
            doubt: None,
        }
    }

    #[test]
    fn a_torn_line_does_not_swallow_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        let journal = Journal::new(&state);
        journal.append(&change("one", "a")).unwrap();
        let mut file = open_append(&journal.path).unwrap();
        file.write_all(br#"{"change":{"call":"torn"#).unwrap();
        journal.append(&change("two", "b")).unwrap();
        let calls: Vec<_> = journal.read().unwrap().0.into_iter().map(|it| it.call.0).collect();
        assert_eq!(calls, ["one", "two"]);
    }

    #[test]
    fn a_change_that_was_not_made_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        let journal = Journal::new(&state);
        for path in ["a", "b"] {
            journal.append(&change("one", path)).unwrap();
        }
        journal.retract(&change("one", "a")).unwrap();
        let paths: Vec<_> = journal.read().unwrap().0.into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["b"]);
    }
}
