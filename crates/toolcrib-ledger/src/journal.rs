//! The journal of changes: what every call did to which file, and what was taken back.

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolcrib_core::{CallId, Change, Changes};

use crate::objects::Objects;
use crate::state::{State, open_append};

/// Keeps changes and the content they replaced.
pub struct Journal {
    path: PathBuf,
    objects: Objects,
}

/// One line of the journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Change(Change),
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
        }
    }

    /// Returns all changes, oldest first, and all calls that were taken back.
    pub fn read(&self) -> io::Result<(Vec<Change>, Vec<Taken>)> {
        let text = match fs::read(&self.path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(err) if err.kind() == io::ErrorKind::NotFound => String::new(),
            Err(err) => return Err(err),
        };
        let (mut changes, mut taken) = (Vec::new(), Vec::new());
        // A line torn by a crash was never acted on: it is noted before the change is made.
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Change(change) => changes.push(change),
                Line::Taken(call) => taken.push(call),
            }
        }
        Ok((changes, taken))
    }

    /// Notes that a call was taken back.
    pub fn take(&self, taken: &Taken) -> io::Result<()> {
        self.append(&Line::Taken(taken.clone()))
    }

    /// Returns content that a change replaced.
    pub fn load(&self, sha256: &str) -> io::Result<Vec<u8>> {
        self.objects.load(sha256)
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        open_append(&self.path)?.write_all(&bytes)
    }
}

impl Changes for Journal {
    fn keep(&self, content: &mut dyn Read) -> io::Result<(String, u64)> {
        self.objects.keep(content)
    }

    fn note(&self, change: &Change) -> io::Result<()> {
        self.append(&Line::Change(change.clone()))
    }
}
