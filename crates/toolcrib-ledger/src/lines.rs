//! The record, read again.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_core::Usage;
use toolcrib_core::command::{ChangedFiles, End};

use crate::head::{Head, Told};
use crate::link::Key;
use crate::log::{Tied, strays};
use crate::segment::Segment;
use crate::state::{Damaged, State, open_plain, read_plain};
use crate::tidy::{unpack, unpacked_size};
use crate::verify::read_end_in;

/// A line of the record. What a later version adds is passed over.
#[derive(Clone, Debug, Deserialize)]
pub struct Entry {
    /// When.
    pub ts: Timestamp,
    /// `tool`, `user` or `system`.
    #[serde(default)]
    pub actor: String,
    /// `tool_call`, or what else it is about.
    #[serde(default)]
    pub act: String,
    /// The conversation.
    #[serde(default)]
    pub conv_id: String,
    /// The call.
    #[serde(default)]
    pub trace_id: String,
    /// What happened.
    #[serde(default)]
    pub event: String,
    /// The tool's catalogue.
    #[serde(default)]
    pub catalogue: String,
    /// The tool.
    #[serde(default)]
    pub name: String,
    /// The user that asked, by number.
    pub user: Option<u32>,
    /// `ok`, `error` or `unknown`.
    pub status: Option<String>,
    /// How long it took.
    pub elapsed_ms: Option<f64>,
    /// The tool's version.
    pub version: Option<String>,
    /// What it used.
    pub used: Option<Usage>,
    /// The beginning of the arguments.
    pub args_preview: Option<String>,
    /// The beginning of the reply.
    pub result_preview: Option<String>,
    /// How long the arguments or the reply are.
    pub bytes: Option<u64>,
    /// What the tool does to the world.
    pub effect: Option<String>,
    /// The digest of the call.
    pub digest: Option<String>,
    /// `allow` or `deny`.
    pub decision: Option<String>,
    /// The rule.
    pub rule: Option<String>,
    /// The person who answered.
    pub by: Option<String>,
    /// The files it was about to change.
    #[serde(default)]
    pub places: Vec<String>,
    /// Where its command began.
    pub directory: Option<String>,
    /// What held for it.
    pub terms: Option<String>,
    /// The process that ran it.
    pub process: Option<String>,
    /// How it failed.
    pub error: Option<String>,
    /// Why it failed.
    pub message: Option<String>,
    /// Whether it left a command running.
    pub task: Option<bool>,
    /// How its task ended.
    pub end: Option<End>,
    /// What its command was seen to have changed.
    pub touched: Option<ChangedFiles>,
    /// What else there is to say.
    pub detail: Option<Value>,
    /// The number of the line.
    #[serde(default)]
    pub seq: u64,
}

impl Entry {
    /// Reads a line; nothing if it is none.
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Who answered when a person was asked elsewhere, of a line that says so.
    pub fn answered_by(&self) -> Option<&str> {
        self.detail.as_ref().filter(|_| self.act == "approval")?["by"].as_str()
    }

    /// `catalogue/tool`.
    pub fn tool(&self) -> String {
        if self.catalogue.is_empty() {
            return self.name.clone();
        }
        format!("{}/{}", self.catalogue, self.name)
    }
}

/// The files of the record, in the order they were written in.
pub struct Record {
    folder: PathBuf,
    segments: Vec<Segment>,
    /// Those that have lines from before their hour.
    strays: Vec<Segment>,
    key: Option<Key>,
    damaged: Damaged,
}

/// One file of the record.
pub struct Page {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    key: Option<Key>,
}

impl Page {
    /// Its lines that are ours, without their ends.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.pieces().filter(|piece| self.is_ours(piece)).map(|piece| &piece[..piece.len() - 1])
    }

    /// Whatever stands between line ends, with those.
    pub fn pieces(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.bytes.split_inclusive(|byte| *byte == b'\n')
    }

    /// Whether a piece is a line that we signed, in this file.
    pub fn is_ours(&self, piece: &[u8]) -> bool {
        self.number_of(piece).is_some()
    }

    /// The number of a line that we signed, in this file.
    pub(crate) fn number_of(&self, piece: &[u8]) -> Option<u64> {
        let key = self.key.as_ref()?;
        Tied::parse(piece, key, &self.name).map(|tied| tied.seq)
    }
}

impl Record {
    /// Looks at what there is.
    pub fn open(state: &State) -> io::Result<Self> {
        let record = Self::at(&state.folder().join("context_log"))?;
        Ok(Self { damaged: Arc::clone(state.damaged()), ..record })
    }

    pub(crate) fn at(folder: &Path) -> io::Result<Self> {
        let (segments, strays) = (Segment::list(folder)?, strays(folder)?);
        // Read after them: where there are lines there was a key.
        let key = Key::read(&folder.with_file_name("record.key"))?;
        if key.is_none() && !segments.is_empty() {
            return Err(Key::missing());
        }
        let damaged = Damaged::default();
        Ok(Self { folder: folder.to_owned(), segments, strays, key, damaged })
    }

    /// Leaves out the files that ended before `since` or began after `until`.
    pub fn between(mut self, since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        let hour = |at: Timestamp| at.as_second().div_euclid(3600);
        // A clock that was set back writes into later files.
        self.segments.retain(|segment| since.is_none_or(|since| segment.hour >= hour(since)));
        if let Some(until) = until {
            let wanted = self.segments.iter().copied().filter(|it| self.can_have(*it, until));
            self.segments = wanted.collect();
        }
        self
    }

    /// Whether a file can have lines from `until` or before.
    pub(crate) fn can_have(&self, segment: Segment, until: Timestamp) -> bool {
        segment.hour <= until.as_second().div_euclid(3600) || self.strays.contains(&segment)
    }

    /// The files, oldest first. One that is removed meanwhile because it is old is passed over.
    pub fn pages(&self) -> impl DoubleEndedIterator<Item = io::Result<Page>> {
        self.segments.iter().filter_map(|segment| self.readable(*segment).transpose())
    }

    /// A file; nothing if it is gone, or is damaged, which is noted.
    pub(crate) fn readable(&self, segment: Segment) -> io::Result<Option<Page>> {
        use io::ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
        match self.page(segment) {
            Err(err) if err.kind() == NotFound => Ok(None),
            Err(err) if matches!(err.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
                let mut damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
                damaged.insert(segment.to_string(), format!("of the record {err}"));
                Ok(None)
            }
            page => page.map(Some),
        }
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub(crate) fn size(&self, segment: Segment) -> io::Result<u64> {
        match fs::metadata(segment.path(&self.folder)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                unpacked_size(&segment.packed_path(&self.folder))
            }
            meta => Ok(meta?.len()),
        }
    }

    pub(crate) fn page(&self, segment: Segment) -> io::Result<Page> {
        let bytes = match read_plain(&segment.path(&self.folder)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                unpack(&segment.packed_path(&self.folder))
            }
            bytes => bytes,
        };
        let named = |err: io::Error| {
            io::Error::new(err.kind(), format!("`{segment}` cannot be read: {err}"))
        };
        let bytes = bytes.map_err(named)?;
        Ok(Page { name: segment.to_string(), bytes, key: self.key.clone() })
    }
}

/// Where the record ends, if that is signed and there are lines.
fn end_of(folder: &Path, key: Option<&Key>) -> io::Result<Option<Head>> {
    let told = key.map_or(Ok(Told::Nothing), |key| read_end_in(folder, key))?;
    Ok(match told {
        Told::Head(head) if head.seq > 0 => Some(head),
        _ => None,
    })
}

/// Reads lines as they are written.
pub struct Follower {
    folder: PathBuf,
    segment: Option<Segment>,
    at: u64,
    key: Option<Key>,
}

impl Follower {
    /// Begins after the last line.
    pub fn at_end(state: &State) -> io::Result<Self> {
        let folder = state.folder().join("context_log");
        let record = Record::at(&folder)?;
        if let Some(head) = end_of(&folder, record.key.as_ref())? {
            let at = record.size(head.segment).unwrap_or(head.size);
            return Ok(Self { folder, segment: Some(head.segment), at, key: record.key });
        }
        // One that is empty may be there for another reason, with a name that nothing comes after.
        let mut last = None;
        for segment in record.segments.iter().rev() {
            let size = record.size(*segment)?;
            if size > 0 {
                last = Some((*segment, size));
                break;
            }
        }
        let (segment, at) = (last.map(|it| it.0), last.map_or(0, |it| it.1));
        Ok(Self { folder, segment, at, key: record.key })
    }

    fn rest(&self, segment: Segment) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match open_plain(&segment.path(&self.folder)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                let all = unpack(&segment.packed_path(&self.folder))?;
                let at = usize::try_from(self.at).unwrap_or(usize::MAX);
                bytes.extend_from_slice(all.get(at..).unwrap_or_default());
            }
            file => {
                let mut file = file?;
                file.seek(SeekFrom::Start(self.at))?;
                file.read_to_end(&mut bytes)?;
            }
        }
        Ok(bytes)
    }

    /// Returns what was written since it was last asked, by lines; with each, whether we signed it.
    pub fn fresh(&mut self) -> io::Result<Vec<(Vec<u8>, bool)>> {
        if self.key.is_none() {
            self.key = Key::read(&self.folder.with_file_name("record.key"))?;
        }
        let mut lines = Vec::new();
        // Behind the end are no lines of ours, whatever a file is called.
        let end = end_of(&self.folder, self.key.as_ref())?;
        for segment in Segment::list(&self.folder)? {
            if self.segment.is_some_and(|known| segment < known)
                || end.is_some_and(|end| segment > end.segment)
            {
                continue;
            }
            if self.segment != Some(segment) {
                if Record::at(&self.folder)?.size(segment)? == 0 {
                    continue;
                }
                (self.segment, self.at) = (Some(segment), 0);
            }
            let bytes = self.rest(segment)?;
            let name = segment.to_string();
            // A line that is not whole yet is left for the next time.
            let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
            self.at += whole as u64;
            let key = self.key.as_ref();
            lines.extend(bytes[..whole].split_inclusive(|byte| *byte == b'\n').map(|piece| {
                let is_ours = key.is_some_and(|key| Tied::parse(piece, key, &name).is_some());
                (piece.to_vec(), is_ours)
            }));
        }
        Ok(lines)
    }
}
