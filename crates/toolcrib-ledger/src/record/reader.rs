//! Reads the record: its segments, and the lines in them that we signed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use jiff::Timestamp;

use crate::record::chain::{ChainLink, SigningKey};
use crate::record::late_segments::late_segments;
use crate::record::segment::{RecordSegment, hour_of, unpack, unpacked_size};
use crate::state::{DamagedFiles, StateFolder, open_regular, read_regular};

/// How many bytes of a segment a part has, or as many as its first line has. The whole record of a busy hour is
/// hundreds of megabytes.
const PART_BYTES: u64 = 1 << 20;

/// The segments of the record, in the order in which they were written.
pub struct RecordReader {
    folder: PathBuf,
    segments: Vec<RecordSegment>,
    /// The segments with lines from before their hour.
    late: Vec<RecordSegment>,
    key: Option<SigningKey>,
    damaged: DamagedFiles,
}

/// One segment of the record, or a part of it, read into memory.
pub struct LoadedSegment {
    /// The name of the segment.
    pub name: String,
    /// The content of the segment, or the whole lines of a part.
    pub bytes: Vec<u8>,
    key: Option<SigningKey>,
}

impl LoadedSegment {
    /// Returns the lines that we signed, without their line feeds.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.pieces().filter(|piece| self.is_signed(piece)).map(|piece| &piece[..piece.len() - 1])
    }

    /// Returns everything between line feeds, signed or not, each with its line feed.
    pub fn pieces(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.bytes.split_inclusive(|byte| *byte == b'\n')
    }

    /// Returns whether we signed a piece as a line of this segment.
    pub fn is_signed(&self, piece: &[u8]) -> bool {
        self.line_number(piece).is_some()
    }

    /// Returns the number of a line that we signed for this segment.
    pub(crate) fn line_number(&self, piece: &[u8]) -> Option<u64> {
        let key = self.key.as_ref()?;
        ChainLink::parse(piece, key, &self.name).map(|link| link.seq)
    }
}

impl RecordReader {
    /// Lists the segments of the record in `state`.
    pub fn open(state: &StateFolder) -> io::Result<Self> {
        let record = Self::open_folder(&state.record_folder())?;
        Ok(Self { damaged: Arc::clone(state.damaged()), ..record })
    }

    /// Lists the segments in `folder`.
    pub(crate) fn open_folder(folder: &Path) -> io::Result<Self> {
        let (segments, late) = (RecordSegment::list(folder)?, late_segments(folder)?);
        // The key is read after the segments: where there are lines, there was a key.
        let key = SigningKey::read(&folder.with_file_name("record.key"))?;
        if key.is_none() && !segments.is_empty() {
            return Err(SigningKey::missing());
        }
        let damaged = DamagedFiles::default();
        Ok(Self { folder: folder.to_owned(), segments, late, key, damaged })
    }

    /// Leaves out the segments that ended before `since` or began after `until`.
    pub fn between(mut self, since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        // After a clock was set back, lines go into later segments, never into earlier ones.
        self.segments.retain(|segment| since.is_none_or(|since| segment.hour >= hour_of(since)));
        if let Some(until) = until {
            let wanted = self.segments.iter().copied().filter(|it| self.can_contain(*it, until));
            self.segments = wanted.collect();
        }
        self
    }

    /// Leaves out the segments that begin with this line or a later one.
    pub fn before(mut self, line: u64) -> Self {
        self.segments.truncate(self.count_before(line));
        self
    }

    /// Returns how many segments begin before a line.
    pub(crate) fn count_before(&self, line: u64) -> usize {
        let (mut low, mut high) = (0, self.segments.len());
        while low < high {
            let middle = low.midpoint(high);
            // A segment that cannot be read says nothing, so what comes after it is kept.
            if self.first_line(self.segments[middle]).is_none_or(|first| first < line) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the number of the first line of a segment, of which no more than that line is read.
    fn first_line(&self, segment: RecordSegment) -> Option<u64> {
        let line = segment.read_first_line(&self.folder)?;
        let link = ChainLink::parse(&line, self.key.as_ref()?, &segment.to_string())?;
        Some(link.seq)
    }

    /// Returns whether a segment can contain lines from `until` or before.
    pub(crate) fn can_contain(&self, segment: RecordSegment, until: Timestamp) -> bool {
        segment.hour <= hour_of(until) || self.late.contains(&segment)
    }

    /// Loads the segments, oldest first. A segment that is removed meanwhile because of its age is skipped.
    pub fn load_all(&self) -> impl DoubleEndedIterator<Item = io::Result<LoadedSegment>> {
        self.segments.iter().filter_map(|segment| self.load_if_readable(*segment).transpose())
    }

    /// Loads a segment. Returns `None` if it is gone, or if it is damaged; a damaged one is listed in the state.
    pub(crate) fn load_if_readable(
        &self,
        segment: RecordSegment,
    ) -> io::Result<Option<LoadedSegment>> {
        self.if_readable(segment, self.load(segment))
    }

    /// Loads the next part of a segment: what follows its first `done` bytes. Returns `None` as for a whole segment.
    pub(crate) fn load_part(
        &self,
        segment: RecordSegment,
        done: u64,
    ) -> io::Result<Option<LoadedSegment>> {
        let bytes = match open_regular(&segment.path(&self.folder)) {
            // A segment is packed once, when it was folded. Only figures that are made anew meet packed ones.
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                unpack(&segment.packed_path(&self.folder)).map(|mut bytes| {
                    bytes.drain(..bytes.len().min(usize::try_from(done).unwrap_or(usize::MAX)));
                    bytes
                })
            }
            file => file.and_then(|mut file| read_part(&mut file, done)),
        };
        self.if_readable(segment, self.named(segment, bytes))
    }

    fn if_readable(
        &self,
        segment: RecordSegment,
        loaded: io::Result<LoadedSegment>,
    ) -> io::Result<Option<LoadedSegment>> {
        use io::ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
        match loaded {
            Err(err) if err.kind() == NotFound => Ok(None),
            Err(err) if matches!(err.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
                let mut damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
                damaged.insert(segment.to_string(), format!("the record's file {err}"));
                Ok(None)
            }
            loaded => loaded.map(Some),
        }
    }

    /// Loads a segment, packed or not.
    pub(crate) fn load(&self, segment: RecordSegment) -> io::Result<LoadedSegment> {
        let bytes = match read_regular(&segment.path(&self.folder)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                unpack(&segment.packed_path(&self.folder))
            }
            bytes => bytes,
        };
        self.named(segment, bytes)
    }

    fn named(
        &self,
        segment: RecordSegment,
        bytes: io::Result<Vec<u8>>,
    ) -> io::Result<LoadedSegment> {
        let bytes = bytes.map_err(|err| {
            io::Error::new(err.kind(), format!("`{segment}` cannot be read: {err}"))
        })?;
        Ok(LoadedSegment { name: segment.to_string(), bytes, key: self.key.clone() })
    }

    /// Returns the segments.
    pub(crate) fn segments(&self) -> &[RecordSegment] {
        &self.segments
    }

    /// Returns the size of a segment, unpacked.
    pub(crate) fn size(&self, segment: RecordSegment) -> io::Result<u64> {
        match fs::metadata(segment.path(&self.folder)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                unpacked_size(&segment.packed_path(&self.folder))
            }
            meta => Ok(meta?.len()),
        }
    }

    /// Returns the key that signs the record, if there is one.
    pub(crate) fn key(&self) -> Option<&SigningKey> {
        self.key.as_ref()
    }
}

/// Reads what follows the first `done` bytes of a file: to its end, or as many whole lines as a part has.
fn read_part(file: &mut File, done: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(done))?;
    let mut bytes = Vec::new();
    while file.by_ref().take(PART_BYTES).read_to_end(&mut bytes)? as u64 == PART_BYTES {
        if let Some(end) = memchr::memrchr(b'\n', &bytes) {
            bytes.truncate(end + 1);
            break;
        }
    }
    Ok(bytes)
}
