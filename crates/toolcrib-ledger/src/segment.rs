//! The files of the record: one for each hour, another when one is full; their names sort as their lines
//! were written.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// What the name of a packed file ends with.
const PACKED: &str = ".gz";

/// Names one file of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Segment {
    /// Hours since 1970.
    pub(crate) hour: i64,
    /// The number of the file within its hour.
    pub(crate) part: u32,
}

impl Segment {
    /// Returns the file that follows, for a line of `now`, when this one holds `size` bytes. A clock that
    /// was set back does not lead back.
    pub(crate) fn for_line(last: Option<(Self, u64)>, now: Timestamp, most: u64) -> Self {
        let hour = now.as_second().div_euclid(3600);
        match last {
            Some((last, size)) if last.hour >= hour && size < most => last,
            Some((last, _)) if last.hour >= hour => Self { part: last.part + 1, ..last },
            _ => Self { hour, part: 0 },
        }
    }

    /// Reads a file's name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let name = name.strip_suffix(PACKED).unwrap_or(name);
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
        let segment = Self { hour: at.as_second().div_euclid(3600), part };
        // One spelling for each.
        (is_whole && segment.to_string() == name).then_some(segment)
    }

    /// Lists the files in `folder`, in the order they were written in.
    pub(crate) fn list(folder: &Path) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        // Twice: one that is packed meanwhile can be missed under both of its names.
        for entry in fs::read_dir(folder)?.chain(fs::read_dir(folder)?) {
            found.extend(entry?.file_name().to_str().and_then(Self::parse));
        }
        found.sort_unstable();
        // While one is packed there are two of it.
        found.dedup();
        Ok(found)
    }

    /// Where it is.
    pub(crate) fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.to_string())
    }

    /// Where it is once it is packed.
    pub(crate) fn packed_path(self, folder: &Path) -> PathBuf {
        folder.join(format!("{self}{PACKED}"))
    }
}

impl fmt::Display for Segment {
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
        let first = Segment::for_line(None, now, 100);
        assert_eq!(first.to_string(), "ctx-20251104-12.jsonl");
        assert_eq!(Segment::for_line(Some((first, 99)), now, 100), first);
        let second = Segment::for_line(Some((first, 100)), now, 100);
        assert_eq!(second.to_string(), "ctx-20251104-12-1.jsonl");
        for segment in [first, second, Segment { part: 10, ..first }] {
            assert_eq!(Segment::parse(&segment.to_string()), Some(segment));
        }
        assert!(second < Segment { part: 10, ..first });
        for other in ["ctx-20251104-12.txt", "ctx-2025-12.jsonl", "ctx-20251304-12.jsonl", "head"] {
            assert_eq!(Segment::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_lead_back() {
        let (late, early) = ("2030-01-01T00:00:00Z", "2025-11-04T12:00:00Z");
        let late = Segment::for_line(None, late.parse().unwrap(), 100);
        assert_eq!(Segment::for_line(Some((late, 5)), early.parse().unwrap(), 100), late);
        let next = Segment::for_line(Some((late, 100)), early.parse().unwrap(), 100);
        assert_eq!((next.hour, next.part), (late.hour, 1));
    }
}
