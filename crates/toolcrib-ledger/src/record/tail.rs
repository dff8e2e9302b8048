//! Follows the record: reads lines as other processes write them.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::record::chain::{ChainLink, SigningKey};
use crate::record::entry::RecordEntry;
use crate::record::head::{Head, HeadState, read_head};
use crate::record::reader::RecordReader;
use crate::record::segment::{RecordSegment, unpack};
use crate::state::{StateFolder, open_regular};

/// A position in the record, which moves to the end with every read.
pub struct RecordTail {
    folder: PathBuf,
    segment: Option<RecordSegment>,
    /// The byte offset in that segment.
    offset: u64,
    key: Option<SigningKey>,
}

/// A line of the record, whether we wrote it or not.
pub struct TailLine {
    /// The line, with its line feed.
    pub bytes: Vec<u8>,
    /// Whether we signed it.
    pub is_signed: bool,
}

impl TailLine {
    /// Returns the line as JSON, as the record has it. A line that we did not write stands in an object of its own.
    pub fn to_json(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.entry().is_some() {
            return text.trim_end().to_owned();
        }
        json!({"event": NOT_OURS, "text": text}).to_string()
    }

    /// Reads a line as [`TailLine::to_json`] writes it.
    pub fn from_json(json: &str) -> Self {
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        match &value["text"] {
            Value::String(text) if value["event"] == NOT_OURS => {
                Self { bytes: text.clone().into_bytes(), is_signed: false }
            }
            _ => Self { bytes: format!("{json}\n").into_bytes(), is_signed: true },
        }
    }

    /// Returns what the line says, if we wrote it.
    pub fn entry(&self) -> Option<RecordEntry<'_>> {
        RecordEntry::parse(&self.bytes).filter(|_| self.is_signed)
    }
}

/// The event of an object with a line that we did not write.
const NOT_OURS: &str = "line_not_ours";

/// Returns the last lines of the record, oldest first.
pub fn newest_lines(state: &StateFolder, count: usize) -> io::Result<Vec<TailLine>> {
    let mut newest: Vec<TailLine> = Vec::new();
    for segment in RecordReader::open(state)?.load_all().rev() {
        let segment = segment?;
        let pieces = segment.pieces().rev().take(count - newest.len());
        newest.extend(
            pieces.map(|piece| TailLine {
                bytes: piece.to_vec(),
                is_signed: segment.is_signed(piece),
            }),
        );
        if newest.len() >= count {
            break;
        }
    }
    newest.reverse();
    Ok(newest)
}

impl RecordTail {
    /// Starts after the last line of the record.
    pub fn at_end(state: &StateFolder) -> io::Result<Self> {
        let folder = state.record_folder();
        let record = RecordReader::open_folder(&folder)?;
        let key = record.key().cloned();
        if let Some(head) = last_line(&folder, key.as_ref())? {
            let offset = record.size(head.segment).unwrap_or(head.size);
            return Ok(Self { folder, segment: Some(head.segment), offset, key });
        }
        // An empty segment does not count: somebody else may have made it, with a name that nothing comes after.
        let mut last = None;
        for segment in record.segments().iter().rev() {
            let size = record.size(*segment)?;
            if size > 0 {
                last = Some((*segment, size));
                break;
            }
        }
        let (segment, offset) = (last.map(|it| it.0), last.map_or(0, |it| it.1));
        Ok(Self { folder, segment, offset, key })
    }

    /// Returns the lines that were written since the last read.
    pub fn read_new(&mut self) -> io::Result<Vec<TailLine>> {
        if self.key.is_none() {
            self.key = SigningKey::read(&self.folder.with_file_name("record.key"))?;
        }
        let mut lines = Vec::new();
        // After the end of the record there are no lines of ours, whatever a file is called.
        let end = last_line(&self.folder, self.key.as_ref())?;
        for segment in RecordSegment::list(&self.folder)? {
            if self.segment.is_some_and(|known| segment < known)
                || end.is_some_and(|end| segment > end.segment)
            {
                continue;
            }
            if self.segment != Some(segment) {
                if RecordReader::open_folder(&self.folder)?.size(segment)? == 0 {
                    continue;
                }
                (self.segment, self.offset) = (Some(segment), 0);
            }
            let bytes = self.read_rest(segment)?;
            let name = segment.to_string();
            // A line that is not whole yet is left for the next read.
            let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
            self.offset += whole as u64;
            let key = self.key.as_ref();
            lines.extend(bytes[..whole].split_inclusive(|byte| *byte == b'\n').map(|piece| {
                let is_signed =
                    key.is_some_and(|key| ChainLink::parse(piece, key, &name).is_some());
                TailLine { bytes: piece.to_vec(), is_signed }
            }));
        }
        Ok(lines)
    }

    /// Returns the bytes of a segment from the offset on.
    fn read_rest(&self, segment: RecordSegment) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match open_regular(&segment.path(&self.folder)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                let all = unpack(&segment.packed_path(&self.folder))?;
                let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
                bytes.extend_from_slice(all.get(offset..).unwrap_or_default());
            }
            file => {
                let mut file = file?;
                file.seek(SeekFrom::Start(self.offset))?;
                file.read_to_end(&mut bytes)?;
            }
        }
        Ok(bytes)
    }
}

/// Returns the head of the record, if it is signed and there are lines.
fn last_line(folder: &Path, key: Option<&SigningKey>) -> io::Result<Option<Head>> {
    let state = key.map_or(Ok(HeadState::Empty), |key| read_head(folder, key))?;
    Ok(match state {
        HeadState::Signed(head) if head.seq > 0 => Some(head),
        _ => None,
    })
}
