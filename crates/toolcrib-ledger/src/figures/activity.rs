//! What happened to the calls of a tool in one hour, minute by minute, and how the database holds it.

use std::collections::BTreeMap;

use crate::figures::histogram::{read_varint, write_varint};

/// The minutes of an hour.
const HOUR_MINUTES: u8 = 60;

/// The bins that one minute has room for in a key of the durations. No duration has so high a bin.
const MINUTE_KEYS: u32 = 1 << 16;

/// How the calls of a span of time ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCounts {
    /// The calls that ran.
    pub(crate) calls: u64,
    /// The calls that ran and failed.
    pub(crate) failed: u64,
    /// The calls that were not run: policy refused them, or their arguments did not fit.
    pub(crate) refused: u64,
    /// The calls that a person declined.
    pub(crate) declined: u64,
    /// For how long calls ran in this span, all together, in microseconds.
    pub(crate) busy_us: u64,
}

impl CallCounts {
    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.refused += other.refused;
        self.declined += other.declined;
        self.busy_us += other.busy_us;
    }
}

/// The calls of one hour. When its minutes are forgotten, its first minute has all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActivityHour {
    /// The counts of each minute in which something happened.
    counts: BTreeMap<u8, CallCounts>,
    /// How many durations lie in which bin, by minute and bin.
    durations: BTreeMap<u32, u64>,
}

impl ActivityHour {
    /// Returns the counts of a minute.
    pub(crate) fn minute(&mut self, minute: u8) -> &mut CallCounts {
        self.counts.entry(minute).or_default()
    }

    /// Adds the duration of a call that ended in a minute, by its bin.
    pub(crate) fn add_duration(&mut self, minute: u8, bin: u16) {
        *self.durations.entry(u32::from(minute) * MINUTE_KEYS + u32::from(bin)).or_default() += 1;
    }

    /// Adds the calls of another part of the hour.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (minute, counts) in &other.counts {
            self.minute(*minute).add(counts);
        }
        for (key, count) in &other.durations {
            *self.durations.entry(*key).or_default() += count;
        }
    }

    /// Forgets the minutes.
    pub(crate) fn forget_minutes(&mut self) {
        let mut whole = Self::default();
        for counts in self.counts.values() {
            whole.minute(0).add(counts);
        }
        for (key, count) in &self.durations {
            *whole.durations.entry(key % MINUTE_KEYS).or_default() += count;
        }
        *self = whole;
    }

    /// Encodes the counts.
    pub(crate) fn count_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (minute, it) in &self.counts {
            write_varint(&mut bytes, u64::from(*minute));
            for number in [it.calls, it.failed, it.refused, it.declined, it.busy_us] {
                write_varint(&mut bytes, number);
            }
        }
        bytes
    }

    /// Encodes the durations.
    pub(crate) fn duration_bytes(&self) -> Vec<u8> {
        let (mut bytes, mut last) = (Vec::new(), 0);
        for (key, count) in &self.durations {
            write_varint(&mut bytes, u64::from(key - last));
            write_varint(&mut bytes, *count);
            last = *key;
        }
        bytes
    }

    /// Decodes what the two functions above wrote; `None` for anything else.
    pub(crate) fn from_bytes(counts: &[u8], durations: &[u8]) -> Option<Self> {
        let mut hour = Self::default();
        each_count(counts, |minute, counts| hour.minute(minute).add(&counts))?;
        each_duration(durations, |minute, bin, count| {
            let key = u32::from(minute) * MINUTE_KEYS + u32::from(bin);
            *hour.durations.entry(key).or_default() += count;
        })?;
        Some(hour)
    }
}

/// Calls `take` with each minute of encoded counts, in order. Returns `None` if they cannot be decoded.
pub(crate) fn each_count(mut bytes: &[u8], mut take: impl FnMut(u8, CallCounts)) -> Option<()> {
    while !bytes.is_empty() {
        let minute = minute_within_hour(read_varint(&mut bytes)?)?;
        let mut number = || read_varint(&mut bytes);
        let counts = CallCounts {
            calls: number()?,
            failed: number()?,
            refused: number()?,
            declined: number()?,
            busy_us: number()?,
        };
        take(minute, counts);
    }
    Some(())
}

/// Calls `take` with each minute, bin and count of encoded durations, in order. Returns `None` if they cannot be
/// decoded.
pub(crate) fn each_duration(mut bytes: &[u8], mut take: impl FnMut(u8, u16, u64)) -> Option<()> {
    let mut key = 0_u32;
    while !bytes.is_empty() {
        key = key.checked_add(u32::try_from(read_varint(&mut bytes)?).ok()?)?;
        let minute = minute_within_hour(u64::from(key / MINUTE_KEYS))?;
        let bin = u16::try_from(key % MINUTE_KEYS).ok()?;
        take(minute, bin, read_varint(&mut bytes)?);
    }
    Some(())
}

fn minute_within_hour(number: u64) -> Option<u8> {
    u8::try_from(number).ok().filter(|minute| *minute < HOUR_MINUTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour() -> ActivityHour {
        let mut hour = ActivityHour::default();
        for number in 0..1000_u64 {
            let minute = (number % 60) as u8;
            let counts =
                CallCounts { calls: 1, failed: number % 2, busy_us: number, ..Default::default() };
            hour.minute(minute).add(&counts);
            hour.add_duration(minute, (number * 7 % 2300) as u16);
        }
        hour
    }

    #[test]
    fn an_hour_is_read_as_it_was_written() {
        for hour in [ActivityHour::default(), hour()] {
            let (counts, durations) = (hour.count_bytes(), hour.duration_bytes());
            assert_eq!(ActivityHour::from_bytes(&counts, &durations), Some(hour));
        }
        assert_eq!(ActivityHour::from_bytes(&[60, 0, 0, 0, 0, 0], &[]), None, "no such minute");
        assert_eq!(ActivityHour::from_bytes(&[1, 0, 0], &[]), None, "cut off");
        assert_eq!(ActivityHour::from_bytes(&[], &[0xff; 30]), None, "no number");
    }

    #[test]
    fn an_hour_without_its_minutes_has_the_same_calls() {
        let mut whole = hour();
        whole.forget_minutes();
        let (mut calls, mut durations) = (0, 0);
        each_count(&whole.count_bytes(), |minute, counts| {
            assert_eq!(minute, 0);
            calls += counts.calls;
        })
        .unwrap();
        each_duration(&whole.duration_bytes(), |minute, _, count| {
            assert_eq!(minute, 0);
            durations += count;
        })
        .unwrap();
        assert_eq!((calls, durations), (1000, 1000));
        // Parts that are merged and then lose their minutes are the same as parts that lost them before.
        let (mut together, mut parts) = (hour(), hour());
        together.merge(&hour());
        together.forget_minutes();
        parts.forget_minutes();
        parts.merge(&whole);
        assert_eq!(parts, together);
    }
}
