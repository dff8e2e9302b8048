//! Retention: packs the segments that nothing is added to any more and removes those that are too old. Both
//! happen only after the figures of a segment were folded.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use toolcrib_core::{Note, Recorder};

use crate::record::chain::SigningKey;
use crate::record::entry::RecordEntry;
use crate::record::event_kind::{Act, EventKind};
use crate::record::head::{HeadState, read_head};
use crate::record::reader::RecordReader;
use crate::record::segment::{RecordSegment, hour_of};
use crate::state::StateFolder;

/// The name of the lock file.
const RETENTION_LOCK: &str = "tidy.lock";

/// What retention did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionReport {
    /// How many segments were packed.
    pub packed: usize,
    /// How many segments were removed.
    pub removed: usize,
}

/// Which segments are kept, and until when.
pub(crate) struct RetentionRules<'a> {
    pub(crate) now: Timestamp,
    /// How many days a segment is kept.
    pub(crate) keep_days: u64,
    /// Tells whether the figures of a segment are kept elsewhere.
    pub(crate) is_folded: &'a dyn Fn(RecordSegment) -> bool,
}

/// Packs and removes segments of the record.
pub(crate) fn apply_retention(
    state: &StateFolder,
    recorder: &dyn Recorder,
    rules: &RetentionRules<'_>,
) -> io::Result<RetentionReport> {
    let folder = state.record_folder();
    let lock = open_retention_lock(&folder)?;
    // The process that holds the lock does the work for all.
    if lock.try_lock().is_err() {
        return Ok(RetentionReport::default());
    }
    let Some(key) = SigningKey::read(&state.record_key())? else {
        return Ok(RetentionReport::default());
    };
    let mut segments = RecordSegment::list(&folder)?;
    // The segment that is still written to stays as it is.
    segments.pop();
    if let HeadState::Signed(head) = read_head(&folder, &key)? {
        segments.retain(|segment| *segment < head.segment);
    }
    // By a clock that is far ahead, everything is old. The newest of these segments never is.
    let newest = segments.last().map_or(i64::MAX, |segment| segment.hour);
    let oldest = hour_of(rules.now).min(newest) - rules.keep_days.cast_signed() * 24;
    let mut report = RetentionReport::default();
    for segment in segments.into_iter().filter(|it| (rules.is_folded)(*it)) {
        if segment.hour < oldest && ends_before(&folder, segment, oldest)? {
            remove(&folder, segment, recorder, rules.now)?;
            report.removed += 1;
        } else if segment.path(&folder).exists() {
            segment.pack(&folder)?;
            report.packed += 1;
        }
    }
    Ok(report)
}

/// Opens the lock file of retention. Retention locks it; a process that must not be disturbed shares the lock.
pub(crate) fn open_retention_lock(folder: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(flags).open(folder.join(RETENTION_LOCK))
}

/// Returns whether the last line of a segment is from before the hour `oldest`. The name of a segment is not
/// enough, because names can be changed.
fn ends_before(folder: &Path, segment: RecordSegment, oldest: i64) -> io::Result<bool> {
    let loaded = RecordReader::open_folder(folder)?.load(segment)?;
    let last = loaded.lines().rev().find_map(RecordEntry::parse);
    Ok(last.is_some_and(|entry| hour_of(entry.at) < oldest))
}

fn remove(
    folder: &Path,
    segment: RecordSegment,
    recorder: &dyn Recorder,
    now: Timestamp,
) -> io::Result<()> {
    let loaded = RecordReader::open_folder(folder)?.load(segment)?;
    let last = loaded.pieces().rev().find_map(|piece| loaded.line_number(piece)).unwrap_or(0);
    // Recorded before the removal: lines that are gone without a note count as missing.
    let note = Note {
        at: now,
        actor: "system",
        act: Act::Record.as_str(),
        event: EventKind::Removed.as_str(),
        tool: None,
        call: "",
        detail: json!({"file": loaded.name, "last": last}),
    };
    recorder.note(&note).map_err(io::Error::other)?;
    for path in [segment.path(folder), segment.packed_path(folder)] {
        match fs::remove_file(path) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
            _ => {}
        }
    }
    Ok(())
}
