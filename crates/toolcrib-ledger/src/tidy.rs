//! Old files of the record: packed when nothing is added to them any more, removed when they are too old. Both
//! only after their figures were folded.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use serde_json::json;
use toolcrib_core::{Note, Recorder};

use crate::head::Told;
use crate::lines::{Entry, Record};
use crate::link::Key;
use crate::log::Tied;
use crate::segment::Segment;
use crate::state::{State, open_plain, read_plain};
use crate::verify::read_end;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Files that were packed.
    pub packed: usize,
    /// Files that were removed.
    pub removed: usize,
}

/// Packs and removes files of the record. `is_folded` tells whether the figures of a file are kept elsewhere.
pub(crate) fn tidy(
    state: &State,
    recorder: &dyn Recorder,
    now: Timestamp,
    keep_days: u64,
    is_folded: &dyn Fn(Segment) -> bool,
) -> io::Result<Tidied> {
    let folder = state.folder().join("context_log");
    let lock = open_tidy_lock(&folder)?;
    // Whoever is at it does it for all.
    if lock.try_lock().is_err() {
        return Ok(Tidied::default());
    }
    let Some(key) = Key::read(&state.folder().join("record.key"))? else {
        return Ok(Tidied::default());
    };
    let mut segments = Segment::list(&folder)?;
    // What is still written to stays as it is.
    segments.pop();
    if let Told::Head(head) = read_end(state, &key)? {
        segments.retain(|segment| *segment < head.segment);
    }
    // By a clock that is far ahead everything is old: the newest of these files is not.
    let newest = segments.last().map_or(i64::MAX, |segment| segment.hour);
    let oldest = now.as_second().div_euclid(3600).min(newest) - keep_days.cast_signed() * 24;
    let mut done = Tidied::default();
    for segment in segments.into_iter().filter(|it| is_folded(*it)) {
        if segment.hour < oldest && is_old(&folder, segment, oldest)? {
            remove(&folder, segment, recorder, now, &key)?;
            done.removed += 1;
        } else if segment.path(&folder).exists() {
            pack(&folder, segment)?;
            done.packed += 1;
        }
    }
    Ok(done)
}

/// Opens the file that is locked by whoever packs and removes, and shared by those who must not be disturbed by it.
pub(crate) fn open_tidy_lock(folder: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(flags).open(folder.join("tidy.lock"))
}

/// Whether the last line of a file is as old as its name: names can be changed.
fn is_old(folder: &Path, segment: Segment, oldest: i64) -> io::Result<bool> {
    let page = Record::at(folder)?.page(segment)?;
    let last = page.lines().rev().find_map(Entry::parse);
    Ok(last.is_some_and(|entry| entry.ts.as_second().div_euclid(3600) < oldest))
}

fn remove(
    folder: &Path,
    segment: Segment,
    recorder: &dyn Recorder,
    now: Timestamp,
    key: &Key,
) -> io::Result<()> {
    let page = Record::at(folder)?.page(segment)?;
    let tied = |line| Tied::parse(line, key, &page.name);
    let last = page.pieces().rev().find_map(tied).map_or(0, |tied| tied.seq);
    // Said first: what is gone without a word is missing.
    let note = Note {
        at: now,
        actor: "system",
        act: "record",
        event: "removed",
        tool: "",
        call: "",
        detail: json!({"file": page.name, "last": last}),
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

fn pack(folder: &Path, segment: Segment) -> io::Result<()> {
    let bytes = read_plain(&segment.path(folder))?;
    let fresh = folder.join(format!("{segment}.packing"));
    let file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    let mut encoder = GzEncoder::new(file, Compression::best());
    encoder.write_all(&bytes)?;
    let file = encoder.finish()?;
    file.sync_all()?;
    fs::rename(&fresh, segment.packed_path(folder))?;
    fs::remove_file(segment.path(folder))
}

/// Reads a packed file.
pub(crate) fn unpack(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut packed = GzDecoder::new(io::BufReader::new(open_plain(path)?));
    packed.read_to_end(&mut bytes)?;
    if !packed.into_inner().fill_buf()?.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "there is more behind its end"));
    }
    Ok(bytes)
}

/// How large a packed file is when it is not: its last four bytes say so.
pub(crate) fn unpacked_size(path: &Path) -> io::Result<u64> {
    use std::os::unix::fs::FileExt;
    let named = |err: io::Error| io::Error::new(err.kind(), format!("`{}`: {err}", path.display()));
    let file = open_plain(path).map_err(named)?;
    let size = file.metadata()?.len();
    let mut last = [0; 4];
    file.read_exact_at(&mut last, size.saturating_sub(4)).map_err(named)?;
    let told = u64::from(u32::from_le_bytes(last));
    // Nothing packs better than that: it was cut off.
    if told > size.saturating_mul(1100) {
        return Err(named(io::Error::new(io::ErrorKind::InvalidData, "its end is not its own")));
    }
    Ok(told)
}
