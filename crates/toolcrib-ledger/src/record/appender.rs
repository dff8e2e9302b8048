//! Appends lines to the record. Several processes append at once; each line is tied to the one before it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::record::chain::{ChainLink, SigningKey};
use crate::record::event_kind::EventKind;
use crate::record::head::{
    HEAD_BYTES, Head, HeadState, bytes_name_lines, lock_head, open_head, read_bytes,
};
use crate::record::json::push_number;
use crate::record::late_segments::add_late_segment;
use crate::record::reader::RecordReader;
use crate::record::recorded_settings::RecordedSettings;
use crate::record::segment::{RecordSegment, hour_of};
use crate::record::unsigned_line::UnsignedLine;
use crate::state::{is_torn_at, open_append, read_regular};

/// The size at which a segment is full and the next one is begun.
pub(crate) const SEGMENT_BYTES: u64 = 10 << 20;

/// How much of the buffer that lines are put together in is kept between calls.
const MOST_BUFFER_BYTES: usize = 64 << 10;

/// The record, open for appending.
pub(crate) struct Appender {
    folder: PathBuf,
    key: SigningKey,
    head: File,
    /// The size at which a segment is full.
    full_size: u64,
    settings: RecordedSettings,
    /// The head as it was last seen, with its bytes.
    seen: Option<([u8; HEAD_BYTES], Head)>,
    /// The open segment.
    current: Option<(RecordSegment, Arc<File>)>,
    /// The segment of the last line, with its name.
    named: Option<(RecordSegment, String)>,
    /// Where lines are put together, so that not every call allocates.
    buffer: Vec<u8>,
    /// The last segment that is on the list of late segments.
    late: Option<RecordSegment>,
}

/// What was found at the end of the record.
struct RecordEnd {
    head: Option<Head>,
    /// The segment that the head names.
    file: Option<Arc<File>>,
    /// Lines about what was found, to be recorded before the new ones.
    notes: Vec<UnsignedLine>,
    /// Whether the last line has no line feed.
    is_torn: bool,
}

/// Where new lines go.
struct Destination {
    /// The head before the new lines.
    head: Head,
    file: Arc<File>,
    /// The byte offset of the new lines.
    start: u64,
    /// Lines about what was found, to be recorded before the new ones.
    notes: Vec<UnsignedLine>,
    /// Whether what is there does not end with a line feed.
    is_torn: bool,
}

/// Where lines were appended.
pub(crate) struct Appended {
    /// The number of the last line.
    pub(crate) seq: u64,
    /// The segment the lines are in.
    pub(crate) file: Arc<File>,
}

impl Appender {
    /// Opens the record in `folder`, signed by the key at `key`.
    pub(crate) fn open(folder: &Path, key: &Path, settings: RecordedSettings) -> io::Result<Self> {
        let head = open_head(folder)?;
        // The key and the head are made under one lock, so that where there is a key there is a head.
        lock_head(&head)?;
        let key = open_key(folder, key, &head);
        head.unlock()?;
        Ok(Self {
            key: key?,
            head,
            folder: folder.to_owned(),
            full_size: SEGMENT_BYTES,
            settings,
            seen: None,
            current: None,
            named: None,
            buffer: Vec::new(),
            late: None,
        })
    }

    /// Makes segments smaller.
    #[cfg(test)]
    pub(crate) fn begin_segment_after(&mut self, bytes: u64) {
        self.full_size = bytes;
    }

    /// Appends lines, each tied to the one before it. All of them are appended, or none.
    pub(crate) fn append(
        &mut self,
        now: Timestamp,
        lines: &[UnsignedLine],
    ) -> io::Result<Appended> {
        lock_head(&self.head)?;
        let appended = self.append_locked(now, lines);
        let unlocked = self.head.unlock();
        let appended = appended?;
        unlocked?;
        Ok(appended)
    }

    fn append_locked(&mut self, now: Timestamp, lines: &[UnsignedLine]) -> io::Result<Appended> {
        let Destination { mut head, file, start, notes, is_torn } = self.find_destination(now)?;
        let segment = head.segment;
        if hour_of(now) < segment.hour && self.late != Some(segment) {
            add_late_segment(&self.folder, segment)?;
            self.late = Some(segment);
        }
        let mut text = std::mem::take(&mut self.buffer);
        text.clear();
        if is_torn {
            // What is there and does not belong to the chain stays a line of its own.
            text.push(b'\n');
        }
        if self.named.as_ref().is_none_or(|(named, _)| *named != segment) {
            self.named = Some((segment, segment.to_string()));
        }
        let name = self.named.as_ref().map_or("", |(_, name)| name);
        for line in notes.iter().chain(lines) {
            let from = text.len();
            text.extend_from_slice(line.bytes());
            head.seq += 1;
            text.extend_from_slice(b",\"seq\":");
            push_number(&mut text, head.seq);
            text.extend_from_slice(b",\"prev\":\"");
            text.extend_from_slice(&head.hash.letters());
            head.hash = self.key.sign_line(&text[from..], name);
            text.extend_from_slice(b"\",\"sign\":\"");
            text.extend_from_slice(&head.hash.letters());
            text.extend_from_slice(b"\"}\n");
        }
        // One write for all lines, so that a reader sees whole lines.
        if let Err(err) = (&*file).write_all(&text) {
            let _ = file.set_len(start);
            return Err(err);
        }
        head.size = start + text.len() as u64;
        let bytes = head.bytes_with_name(name, &self.key);
        self.head.write_all_at(&bytes, 0)?;
        self.seen = Some((bytes, head));
        text.shrink_to(MOST_BUFFER_BYTES);
        self.buffer = text;
        Ok(Appended { seq: head.seq, file })
    }

    /// Finds the segment and the offset for the next lines.
    fn find_destination(&mut self, now: Timestamp) -> io::Result<Destination> {
        let RecordEnd { head: mut last, file, mut notes, is_torn } = self.find_end(now)?;
        let place = |head: Option<Head>| head.map(|head| (head.segment, head.size));
        let mut segment = RecordSegment::for_line(place(last), now, self.full_size);
        if let Some(head) = last.filter(|head| head.segment != segment) {
            last = Some(self.catch_up(head, segment, now, &mut notes)?);
            segment = RecordSegment::for_line(place(last), now, self.full_size);
        }
        let mut start =
            place(last).filter(|(last, _)| *last == segment).map_or(0, |(_, size)| size);
        let mut head = Head { segment, ..last.unwrap_or(Head::first(segment)) };
        let (hash, changed) = self.settings.since(head.settings);
        head.settings = hash;
        if let Some(shown) = changed {
            notes.push(UnsignedLine::about_record(now, EventKind::Settings, shown)?);
        }
        let file = match file {
            Some(file) if last.is_some_and(|last| last.segment == segment) => file,
            _ => self.open_segment(segment)?,
        };
        let mut is_torn = is_torn && start > 0;
        let size = if start == 0 { file.metadata()?.len() } else { start };
        if start == 0 && size > 0 {
            // A process began this segment and died before it wrote the head.
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
            file.read_exact_at(&mut bytes, 0)?;
            let followed = follow_chain(head, &bytes, &self.key);
            (head, start, is_torn) = (followed.head, size, is_torn_at(&file, size)?);
            notes.extend(followed.torn_note(now, segment)?);
        }
        Ok(Destination { head, file, start, notes, is_torn })
    }

    /// Follows the chain through the segments between the one that the head names and `upto`, which is to be
    /// begun. A process that began such a segment died before it wrote the head.
    fn catch_up(
        &self,
        mut head: Head,
        upto: RecordSegment,
        now: Timestamp,
        notes: &mut Vec<UnsignedLine>,
    ) -> io::Result<Head> {
        let between = |segment: &RecordSegment| *segment > head.segment && *segment < upto;
        let segments: Vec<RecordSegment> =
            RecordSegment::list(&self.folder)?.into_iter().filter(between).collect();
        for segment in segments {
            let bytes = match read_regular(&segment.path(&self.folder)) {
                Err(err) if err.kind() == io::ErrorKind::NotFound => continue,
                bytes => bytes?,
            };
            let followed = follow_chain(Head { segment, ..head }, &bytes, &self.key);
            let is_torn = serde_json::from_slice::<Value>(&bytes).is_err();
            // A segment without a line of ours is somebody else's file, unless it is a piece of a line.
            if followed.head.seq == head.seq && (!is_torn || bytes.contains(&b'\n')) {
                continue;
            }
            head = Head { size: bytes.len() as u64, ..followed.head };
            notes.extend(followed.torn_note(now, segment)?);
        }
        Ok(head)
    }

    /// Finds the last line of the chain, and what there is to record about the end.
    fn find_end(&mut self, now: Timestamp) -> io::Result<RecordEnd> {
        let mut bytes = [0; HEAD_BYTES];
        let got = read_bytes(&self.head, &mut bytes)?;
        let state = match &self.seen {
            Some((seen, head)) if *seen == bytes => HeadState::Signed(*head),
            _ => Head::parse(&bytes[..got], &self.key),
        };
        let mut notes = Vec::new();
        let head = match state {
            HeadState::Signed(head)
                if head.seq == 0 && RecordSegment::list(&self.folder)?.is_empty() =>
            {
                return Ok(RecordEnd { head: None, file: None, notes, is_torn: false });
            }
            HeadState::Signed(head) => head,
            HeadState::LaterVersion => {
                let message = "a later version of toolcrib wrote the record; use that version";
                return Err(io::Error::other(message));
            }
            HeadState::Empty | HeadState::Unsigned => {
                match self.end_without_head(state, now, &mut notes)? {
                    Some(head) => head,
                    None => return Ok(RecordEnd { head: None, file: None, notes, is_torn: false }),
                }
            }
        };
        self.compare_with_segment(head, now, notes)
    }

    /// Finds the last line of the last segment, because no signed head tells it. Returns `None` if there is no
    /// segment.
    fn end_without_head(
        &self,
        state: HeadState,
        now: Timestamp,
        notes: &mut Vec<UnsignedLine>,
    ) -> io::Result<Option<Head>> {
        let Some(segment) = RecordSegment::list(&self.folder)?.pop() else {
            let detail = json!({"continues_after": 0, "file": ""});
            notes.push(UnsignedLine::about_record(now, EventKind::EndNotKnown, detail)?);
            return Ok(None);
        };
        let event = if state == HeadState::Unsigned {
            EventKind::EndNotSigned
        } else {
            EventKind::EndNotKnown
        };
        let bytes = RecordReader::open_folder(&self.folder)?.load(segment)?.bytes;
        let head = last_line_of(segment, &bytes, &self.key);
        let detail = json!({"continues_after": head.seq, "file": segment.to_string()});
        notes.push(UnsignedLine::about_record(now, event, detail)?);
        Ok(Some(head))
    }

    /// Compares the head with the segment it names, which may be shorter or longer than the head says.
    fn compare_with_segment(
        &mut self,
        head: Head,
        now: Timestamp,
        mut notes: Vec<UnsignedLine>,
    ) -> io::Result<RecordEnd> {
        let mut file = self.open_segment(head.segment)?;
        let mut stat = rustix::fs::fstat(&*file)?;
        if stat.st_nlink == 0 {
            // Somebody removed the segment while we held it open.
            self.current = None;
            file = self.open_segment(head.segment)?;
            stat = rustix::fs::fstat(&*file)?;
        }
        let size = stat.st_size.cast_unsigned();
        if size == head.size {
            return Ok(RecordEnd { head: Some(head), file: Some(file), notes, is_torn: false });
        }
        let is_torn = is_torn_at(&file, size)?;
        if size < head.size {
            let detail = span_detail(head.segment, head.size - size, head.seq);
            notes.push(UnsignedLine::about_record(now, EventKind::LinesMissing, detail)?);
            let head = Some(Head { size, ..head });
            return Ok(RecordEnd { head, file: Some(file), notes, is_torn });
        }
        // A process wrote lines and died before it wrote the head.
        let mut bytes = vec![0; (size - head.size) as usize];
        file.read_exact_at(&mut bytes, head.size)?;
        let followed = follow_chain(head, &bytes, &self.key);
        if followed.torn_bytes > 0 {
            let detail = span_detail(head.segment, followed.torn_bytes as u64, head.seq);
            notes.push(UnsignedLine::about_record(now, EventKind::LineTorn, detail)?);
        }
        let head = Some(Head { size, ..followed.head });
        Ok(RecordEnd { head, file: Some(file), notes, is_torn })
    }

    fn open_segment(&mut self, segment: RecordSegment) -> io::Result<Arc<File>> {
        if let Some((open, file)) = &self.current
            && *open == segment
        {
            return Ok(Arc::clone(file));
        }
        let path = segment.path(&self.folder);
        let is_new = !path.exists();
        let file = Arc::new(open_append(&path)?);
        if is_new {
            // The folder is synced, so that a line that must last has a name to be found by.
            File::open(&self.folder)?.sync_all()?;
        }
        if let Some((_, old)) = self.current.replace((segment, Arc::clone(&file))) {
            old.sync_data()?;
        }
        Ok(file)
    }
}

/// Opens the key. If there is neither a key nor a line, the record begins: first its signed head is written and then
/// its key, so that where there is a key there is a head.
fn open_key(folder: &Path, path: &Path, head: &File) -> io::Result<SigningKey> {
    if let Some(key) = SigningKey::read(path)? {
        return Ok(key);
    }
    let (key, secret) = SigningKey::generate()?;
    let mut bytes = [0; HEAD_BYTES];
    let got = read_bytes(head, &mut bytes)?;
    if !RecordSegment::list(folder)?.is_empty() || bytes_name_lines(&bytes[..got]) {
        return Err(SigningKey::missing());
    }
    let no_segment = RecordSegment { hour: 0, part: 0 };
    head.write_all_at(&Head::first(no_segment).bytes(&key), 0)?;
    head.sync_data()?;
    SigningKey::save(path, &secret)?;
    Ok(key)
}

/// Returns the last signed line of a segment, when no head tells where the record ends.
fn last_line_of(segment: RecordSegment, bytes: &[u8], key: &SigningKey) -> Head {
    let mut head = Head { size: bytes.len() as u64, ..Head::first(segment) };
    let name = segment.to_string();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(link) = ChainLink::parse(line, key, &name) {
            head = Head { seq: link.seq, hash: link.own, ..head };
        }
    }
    head
}

/// How far the chain goes.
struct FollowedChain {
    /// The end of the chain.
    head: Head,
    /// How many bytes belong to a torn line and not to the chain.
    torn_bytes: usize,
}

impl FollowedChain {
    /// Returns a line that says how much of a segment is torn, if any of it is.
    fn torn_note(
        &self,
        now: Timestamp,
        segment: RecordSegment,
    ) -> io::Result<Option<UnsignedLine>> {
        if self.torn_bytes == 0 {
            return Ok(None);
        }
        let detail = span_detail(segment, self.torn_bytes as u64, self.head.seq);
        UnsignedLine::about_record(now, EventKind::LineTorn, detail).map(Some)
    }
}

/// Follows the chain over the bytes that come after `head`.
fn follow_chain(head: Head, bytes: &[u8], key: &SigningKey) -> FollowedChain {
    let (mut head, mut torn_bytes, name) = (head, 0, head.segment.to_string());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // A line that lacks only its line feed is whole: the next line brings the line feed.
        let ended = if line.ends_with(b"\n") { line.to_vec() } else { [line, b"\n"].concat() };
        match ChainLink::parse(&ended, key, &name) {
            Some(link) if link.prev == head.hash && link.seq == head.seq + 1 => {
                head = Head { seq: link.seq, hash: link.own, ..head };
            }
            // A line with a line feed that is not ours was put there: it is not torn, and stays a problem.
            _ if line.ends_with(b"\n") => {}
            _ => torn_bytes += line.len(),
        }
    }
    FollowedChain { head, torn_bytes }
}

/// Returns the detail of an event about some bytes of a segment, after the line with this number.
fn span_detail(segment: RecordSegment, bytes: u64, after: u64) -> Value {
    json!({"file": segment.to_string(), "bytes": bytes, "after": after})
}
