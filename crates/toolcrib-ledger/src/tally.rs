//! What a user does in all processes: calls of the last minute, and what was written and run today.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state::{State, open_append};

/// The window that calls are counted in, in milliseconds.
const MINUTE: i64 = 60_000;

/// What a user may do; nothing is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserBounds {
    /// Calls a minute of one tool.
    pub calls_per_minute: Option<u64>,
    /// Bytes written in a day.
    pub bytes: Option<u64>,
    /// Time that calls run in a day.
    pub time: Option<Duration>,
}

/// Counts for one user, in a file that all of their processes share.
pub struct TallyFile {
    path: PathBuf,
    bounds: UserBounds,
}

#[derive(Default, Serialize, Deserialize)]
struct Counted {
    /// When each tool was called, in milliseconds since 1970.
    #[serde(default)]
    calls: HashMap<String, Vec<i64>>,
    /// The day that the rest is of, since 1970.
    #[serde(default)]
    day: i64,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    us: u64,
}

impl TallyFile {
    /// Counts in the state folder; nothing if there is no bound to count for.
    pub fn new(state: &State, bounds: UserBounds) -> Option<Self> {
        let path = state.folder().join("tally.json");
        (bounds != UserBounds::default()).then_some(Self { path, bounds })
    }

    /// Counts a call of a tool. Returns why it may not run instead, if there were too many. `running` is how
    /// long tasks have run that are not over: what they took is counted at their end.
    pub fn count(
        &self,
        tool: &str,
        now: Timestamp,
        running: Duration,
        planned: u64,
    ) -> Option<String> {
        // What cannot be counted cannot be bounded, so it is not run.
        self.change(now, |counted| {
            self.is_spent(counted, running, planned)
                .or_else(|| self.counted(counted, tool, now.as_millisecond()))
        })
        .unwrap_or_else(|err| Some(format!("what this user does cannot be counted: {err}")))
    }

    fn is_spent(&self, counted: &Counted, running: Duration, planned: u64) -> Option<String> {
        let UserBounds { bytes, time, .. } = self.bounds;
        let is_over =
            |most: &u64| counted.bytes >= *most || counted.bytes.saturating_add(planned) > *most;
        if let Some(most) = bytes.filter(is_over) {
            return Some(format!(
                "a user may write {most} bytes a day, and this one has written {}",
                counted.bytes
            ));
        }
        let ran = Duration::from_micros(counted.us) + running;
        if let Some(most) = time.filter(|most| ran >= *most) {
            let (most, ran) = (most.as_secs(), ran.as_secs());
            return Some(format!(
                "calls of a user may run {most} s a day, and those of this one have run {ran} s"
            ));
        }
        None
    }

    fn counted(&self, counted: &mut Counted, tool: &str, now: i64) -> Option<String> {
        let most = self.bounds.calls_per_minute?;
        let times = counted.calls.entry(tool.to_owned()).or_default();
        times.retain(|at| (0..MINUTE).contains(&(now - at)));
        if (times.len() as u64) < most {
            times.push(now);
            return None;
        }
        let wait = times.first().map_or(60, |first| (MINUTE - (now - first)) / 1000 + 1);
        Some(format!("limit of {most} calls a minute for one user, free in {wait} s"))
    }

    /// Counts what a call wrote and how long it ran.
    pub fn spend(&self, bytes: u64, time: Duration, now: Timestamp) {
        if self.bounds.bytes.is_none() && self.bounds.time.is_none() {
            return;
        }
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let _ = self.change(now, |counted| {
            counted.bytes = counted.bytes.saturating_add(bytes);
            counted.us = counted.us.saturating_add(us);
        });
    }

    fn change<T>(&self, now: Timestamp, change: impl FnOnce(&mut Counted) -> T) -> io::Result<T> {
        let mut file: File = open_append(&self.path)?;
        file.lock()?;
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        // Half written by one that died, it is counted anew.
        let mut counted: Counted = serde_json::from_slice(&bytes).unwrap_or_default();
        let day = now.as_second().div_euclid(86_400);
        if counted.day != day {
            counted = Counted { day, calls: counted.calls, ..Counted::default() };
        }
        let done = change(&mut counted);
        let text = serde_json::to_vec(&counted)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_processes_of_a_user_do_is_counted_together() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        assert!(TallyFile::new(&state, UserBounds::default()).is_none());
        let bounds = UserBounds {
            calls_per_minute: Some(2),
            bytes: Some(100),
            time: Some(Duration::from_secs(10)),
        };
        let tally = || TallyFile::new(&state, bounds).unwrap();
        let no_task = Duration::ZERO;
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        assert!(tally().count("t", at(0), no_task, 0).is_none());
        assert!(tally().count("t", at(1), no_task, 0).is_none());
        assert!(tally().count("t", at(2), no_task, 0).unwrap().contains("free in 59 s"));
        assert!(tally().count("other", at(2), no_task, 0).is_none());
        assert!(tally().count("t", at(61), no_task, 0).is_none());
        assert!(tally().count("w", at(62), no_task, 101).unwrap().contains("100 bytes a day"));
        assert!(tally().count("w", at(62), no_task, 100).is_none());
        tally().spend(100, Duration::ZERO, at(62));
        assert!(tally().count("x", at(63), no_task, 0).unwrap().contains("100 bytes a day"));
        let tomorrow = at(86_400);
        assert!(tally().count("x", tomorrow, no_task, 0).is_none());
        let task = Duration::from_secs(10);
        assert!(tally().count("y", tomorrow, task, 0).unwrap().contains("10 s a day"));
        tally().spend(0, Duration::from_secs(11), tomorrow);
        assert!(tally().count("y", tomorrow, no_task, 0).unwrap().contains("10 s a day"));
        std::fs::write(state.folder().join("tally.json"), "{torn").unwrap();
        assert!(tally().count("y", tomorrow, no_task, 0).is_none());
    }
}
