//! Segments: the files of the record. Each hour has one, and another one begins when a segment is full. Their
//! names sort in the order in which their lines were written. An old segment is packed with gzip.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use jiff::Timestamp;

use crate::state::{open_regular, read_regular};

/// The suffix of a packed segment's name.
const PACKED_SUFFIX: &str = ".gz";

/// How much of a segment is read at most for its first line.
const LONGEST_FIRST_LINE: u64 = 1 << 20;

/// The best ratio gzip can reach. A packed segment that claims more was cut off.
const BEST_PACKING_RATIO: u64 = 1100;

/// Returns the hour that a time lies in, counted since 1970.
pub(crate) fn hour_of(at: Timestamp) -> i64 {
    at.as_second().div_euclid(3600)
}

/// The name of one segment of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordSegment {
    /// The hour the segment began in, counted since 1970.
    pub(crate) hour: i64,
    /// The number of the segment within its hour.
    pub(crate) part: u32,
}

impl RecordSegment {
    /// Returns the segment that a line written at `now` belongs to. `last` is the last segment and its size, and
    /// `full_size` the size at which a segment is full. A clock that was set back does not lead back to an
    /// earlier segment.
    pub(crate) fn for_line(last: Option<(Self, u64)>, now: Timestamp, full_size: u64) -> Self {
        let hour = hour_of(now);
        match last {
            Some((last, size)) if last.hour >= hour && size < full_size => last,
            Some((last, _)) if last.hour >= hour => Self { part: last.part + 1, ..last },
            _ => Self { hour, part: 0 },
        }
    }

    /// Parses the name of a segment, packed or not.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let name = name.strip_suffix(PACKED_SUFFIX).unwrap_or(name);
        let rest = name.strip_prefix("ctx-")?.strip_suffix(".jsonl")?;
        let mut parts = rest.split('-');
        let (date, hour) = (parts.next()?, parts.next()?);
        let part = parts.next().map_or(Some(0), |part| part.parse().ok())?;
        let is_whole = date.len() == 8 && hour.len() == 2 && parts.next().is_none();
        let number = |text: &str| text.parse::<i16>().ok();
        let (year, month) = (number(date.get(..4)?)?, number(date.get(4..6)?)?);
        let day = jiff::civil::Date::new(year, month as i8, number(date.get(6..)?)? as i8).ok()?;
        let start = day.at(number(hour)? as i8, 0, 0, 0);
        let at = start.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        let segment = Self { hour: hour_of(at), part };
        // Each segment has only one spelling.
        (is_whole && segment.to_string() == name).then_some(segment)
    }

    /// Lists the segments in `folder`, in the order in which they were written.
    pub(crate) fn list(folder: &Path) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        // The folder is read twice, because a segment that is packed meanwhile can be missed under both names.
        for entry in fs::read_dir(folder)?.chain(fs::read_dir(folder)?) {
            found.extend(entry?.file_name().to_str().and_then(Self::parse));
        }
        found.sort_unstable();
        // A segment that is being packed exists twice.
        found.dedup();
        Ok(found)
    }

    /// Returns the path of the segment.
    pub(crate) fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.to_string())
    }

    /// Returns the path of the packed segment.
    pub(crate) fn packed_path(self, folder: &Path) -> PathBuf {
        folder.join(format!("{self}{PACKED_SUFFIX}"))
    }

    /// Reads the first line of the segment with its line feed. Returns `None` if it cannot be read, or has no line.
    pub(crate) fn read_first_line(self, folder: &Path) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let read_line = |source: &mut dyn Read, line: &mut Vec<u8>| {
            io::BufReader::new(source.take(LONGEST_FIRST_LINE)).read_until(b'\n', line)
        };
        let read = match open_regular(&self.path(folder)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                open_regular(&self.packed_path(folder)).and_then(|file| {
                    read_line(&mut GzDecoder::new(io::BufReader::new(file)), &mut line)
                })
            }
            file => file.and_then(|mut file| read_line(&mut file, &mut line)),
        };
        read.ok().filter(|_| line.ends_with(b"\n")).map(|_| line)
    }

    /// Packs the segment: writes the packed file, then removes the plain one.
    pub(crate) fn pack(self, folder: &Path) -> io::Result<()> {
        let bytes = read_regular(&self.path(folder))?;
        let fresh = folder.join(format!("{self}.packing"));
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        let mut encoder = GzEncoder::new(file, Compression::best());
        encoder.write_all(&bytes)?;
        let file = encoder.finish()?;
        file.sync_all()?;
        fs::rename(&fresh, self.packed_path(folder))?;
        fs::remove_file(self.path(folder))
    }
}

/// Reads a packed segment.
pub(crate) fn unpack(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut packed = GzDecoder::new(io::BufReader::new(open_regular(path)?));
    packed.read_to_end(&mut bytes)?;
    if !packed.into_inner().fill_buf()?.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "there are bytes after its end"));
    }
    Ok(bytes)
}

/// Returns the size a packed segment had before it was packed, from the last four bytes of the gzip file.
pub(crate) fn unpacked_size(path: &Path) -> io::Result<u64> {
    let named = |err: io::Error| io::Error::new(err.kind(), format!("`{}`: {err}", path.display()));
    let file = open_regular(path).map_err(named)?;
    let packed_size = file.metadata()?.len();
    let mut last = [0; 4];
    file.read_exact_at(&mut last, packed_size.saturating_sub(4)).map_err(named)?;
    let size = u64::from(u32::from_le_bytes(last));
    if size > packed_size.saturating_mul(BEST_PACKING_RATIO) {
        return Err(named(io::Error::new(io::ErrorKind::InvalidData, "the gzip file was cut off")));
    }
    Ok(size)
}

impl fmt::Display for RecordSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = Timestamp::from_second(self.hour * 3600).unwrap_or_default();
        let start = jiff::tz::Offset::UTC.to_datetime(start);
        let (year, month, day, hour) = (start.year(), start.month(), start.day(), start.hour());
        write!(f, "ctx-{year:04}{month:02}{day:02}-{hour:02}")?;
        if self.part > 0 {
            write!(f, "-{}", self.part)?;
        }
        f.write_str(".jsonl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract_and_sort_as_written() {
        let now: Timestamp = "2025-11-04T12:34:56Z".parse().unwrap();
        let first = RecordSegment::for_line(None, now, 100);
        assert_eq!(first.to_string(), "ctx-20251104-12.jsonl");
        assert_eq!(RecordSegment::for_line(Some((first, 99)), now, 100), first);
        let second = RecordSegment::for_line(Some((first, 100)), now, 100);
        assert_eq!(second.to_string(), "ctx-20251104-12-1.jsonl");
        for segment in [first, second, RecordSegment { part: 10, ..first }] {
            assert_eq!(RecordSegment::parse(&segment.to_string()), Some(segment));
        }
        assert!(second < RecordSegment { part: 10, ..first });
        for other in ["ctx-20251104-12.txt", "ctx-2025-12.jsonl", "ctx-20251304-12.jsonl", "head"] {
            assert_eq!(RecordSegment::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_lead_back() {
        let (late, early) = ("2030-01-01T00:00:00Z", "2025-11-04T12:00:00Z");
        let late = RecordSegment::for_line(None, late.parse().unwrap(), 100);
        assert_eq!(RecordSegment::for_line(Some((late, 5)), early.parse().unwrap(), 100), late);
        let next = RecordSegment::for_line(Some((late, 100)), early.parse().unwrap(), 100);
        assert_eq!((next.hour, next.part), (late.hour, 1));
    }
}
