//! The rate limit and the quota of a user over all processes: calls in the last minute, bytes written and time run
//! today.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolcrib_core::ToolName;

use crate::state::{StateFolder, open_append};

/// The window of the rate limit, in milliseconds.
const RATE_WINDOW_MS: i64 = 60_000;

/// The limits of a user. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// Calls of one tool in a minute.
    pub calls_per_minute: Option<u64>,
    /// Bytes written in a day.
    pub bytes: Option<u64>,
    /// The time that calls may run in a day.
    pub time: Option<Duration>,
}

/// The quota of one user, counted in a file that all processes of the user share.
pub struct UserQuotaFile {
    path: PathBuf,
    limits: UserLimits,
}

/// The usage of a user, as the file holds it.
#[derive(Default, Serialize, Deserialize)]
struct UserUsage {
    /// When each tool was called in the last minute, in milliseconds since 1970.
    #[serde(default)]
    calls: HashMap<ToolName, Vec<i64>>,
    /// The day of `bytes` and `us`, counted since 1970.
    #[serde(default)]
    day: i64,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    us: u64,
}

impl UserQuotaFile {
    /// Opens the quota in the state folder; `None` if there is no limit to count for.
    pub fn new(state: &StateFolder, limits: UserLimits) -> Option<Self> {
        let path = state.folder().join("tally.json");
        (limits != UserLimits::default()).then_some(Self { path, limits })
    }

    /// Counts a call of a tool that will write `planned` bytes. Returns why the call may not run, if a limit is
    /// reached; then it is not counted. `running` is the time of tasks that still run: their time is recorded at their
    /// end.
    pub fn count(
        &self,
        tool: &ToolName,
        now: Timestamp,
        running: Duration,
        planned: u64,
    ) -> Option<String> {
        // A call that cannot be counted cannot be limited, so it is refused.
        self.change(now, |usage| {
            self.over_quota(usage, running, planned)
                .or_else(|| self.count_call(usage, tool, now.as_millisecond()))
        })
        .unwrap_or_else(|err| Some(format!("the usage of this user cannot be counted: {err}")))
    }

    fn over_quota(&self, usage: &UserUsage, running: Duration, planned: u64) -> Option<String> {
        let UserLimits { bytes, time, .. } = self.limits;
        let is_over =
            |most: &u64| usage.bytes >= *most || usage.bytes.saturating_add(planned) > *most;
        if let Some(most) = bytes.filter(is_over) {
            return Some(format!(
                "the quota of a user is {most} bytes a day, and this user has written {}",
                usage.bytes
            ));
        }
        let ran = Duration::from_micros(usage.us) + running;
        if let Some(most) = time.filter(|most| ran >= *most) {
            let (most, ran) = (most.as_secs(), ran.as_secs());
            return Some(format!(
                "the quota of a user is {most} s a day of running calls, and this user has used {ran} s"
            ));
        }
        None
    }

    fn count_call(&self, usage: &mut UserUsage, tool: &ToolName, now: i64) -> Option<String> {
        let most = self.limits.calls_per_minute?;
        let times = usage.calls.entry(tool.clone()).or_default();
        times.retain(|at| (0..RATE_WINDOW_MS).contains(&(now - at)));
        if (times.len() as u64) < most {
            times.push(now);
            return None;
        }
        let wait = times.first().map_or(60, |first| (RATE_WINDOW_MS - (now - first)) / 1000 + 1);
        Some(format!("limit of {most} calls a minute for one user; try again in {wait} s"))
    }

    /// Adds what a call wrote and how long it ran.
    pub fn spend(&self, bytes: u64, time: Duration, now: Timestamp) {
        if self.limits.bytes.is_none() && self.limits.time.is_none() {
            return;
        }
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let _ = self.change(now, |usage| {
            usage.bytes = usage.bytes.saturating_add(bytes);
            usage.us = usage.us.saturating_add(us);
        });
    }

    fn change<T>(&self, now: Timestamp, change: impl FnOnce(&mut UserUsage) -> T) -> io::Result<T> {
        let mut file: File = open_append(&self.path)?;
        file.lock()?;
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        // A file that is only half written, because its process died, starts again from zero.
        let mut usage: UserUsage = serde_json::from_slice(&bytes).unwrap_or_default();
        let day = now.as_second().div_euclid(86_400);
        if usage.day != day {
            usage = UserUsage { day, calls: usage.calls, ..UserUsage::default() };
        }
        let done = change(&mut usage);
        let text = serde_json::to_vec(&usage)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_of_all_processes_of_a_user_is_counted_together() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        assert!(UserQuotaFile::new(&state, UserLimits::default()).is_none());
        let limits = UserLimits {
            calls_per_minute: Some(2),
            bytes: Some(100),
            time: Some(Duration::from_secs(10)),
        };
        let quota = || UserQuotaFile::new(&state, limits).unwrap();
        let count = |tool: &str, now: Timestamp, running: Duration, planned: u64| {
            quota().count(&tool.into(), now, running, planned)
        };
        let no_task = Duration::ZERO;
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        assert!(count("t", at(0), no_task, 0).is_none());
        assert!(count("t", at(1), no_task, 0).is_none());
        assert!(count("t", at(2), no_task, 0).unwrap().contains("try again in 59 s"));
        assert!(count("other", at(2), no_task, 0).is_none());
        assert!(count("t", at(61), no_task, 0).is_none());
        assert!(count("w", at(62), no_task, 101).unwrap().contains("100 bytes a day"));
        assert!(count("w", at(62), no_task, 100).is_none());
        quota().spend(100, Duration::ZERO, at(62));
        assert!(count("x", at(63), no_task, 0).unwrap().contains("100 bytes a day"));
        let tomorrow = at(86_400);
        assert!(count("x", tomorrow, no_task, 0).is_none());
        let task = Duration::from_secs(10);
        assert!(count("y", tomorrow, task, 0).unwrap().contains("10 s a day"));
        quota().spend(0, Duration::from_secs(11), tomorrow);
        assert!(count("y", tomorrow, no_task, 0).unwrap().contains("10 s a day"));
        std::fs::write(state.folder().join("tally.json"), "{torn").unwrap();
        assert!(count("y", tomorrow, no_task, 0).is_none());
    }
}
