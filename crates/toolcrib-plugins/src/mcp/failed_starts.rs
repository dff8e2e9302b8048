//! Servers that ended or could not be started, on disk: the pause before the next attempt holds for processes that live
//! for one call, too.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Clock, ToolError};

use super::server_spec::ServerSpec;
use crate::plugin_store::PluginStore;
use crate::private_file::{PRIVATE_MODE, if_there, make_private_folder, read_json, replace};

/// The longest time between two attempts to start a server.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// The largest file of a failure, in bytes.
const MAX_FAILURE_BYTES: u64 = 64 << 10;

/// How often a server has failed since its last answer, and why it did so last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedStart {
    /// Which command the server had.
    identity: String,
    /// How often it has ended or could not be started since its last answer.
    pub failures: u32,
    /// When it failed last.
    at: Timestamp,
    /// Why.
    pub message: String,
    /// What to do about it.
    #[serde(default)]
    pub hint: Option<String>,
}

impl FailedStart {
    /// Returns how long the server is left alone from now on. After its first failure, it is started at once; then
    /// pauses double.
    pub fn pause_left(&self, now: Timestamp) -> Duration {
        let pause = match self.failures {
            0 | 1 => Duration::ZERO,
            more => Duration::from_secs(1 << (more - 2).min(6)).min(MAX_PAUSE),
        };
        let passed = now.duration_since(self.at);
        // If the clock was set back, the whole pause begins again, and no more than that.
        pause.saturating_sub(Duration::try_from(passed).unwrap_or_default())
    }
}

/// The failures of all servers.
#[derive(Clone)]
pub struct FailedStarts {
    store: PluginStore,
    clock: Arc<dyn Clock>,
}

impl FailedStarts {
    /// Names the failures in the folder of the plugins. Nothing is read or made.
    pub fn new(store: PluginStore, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Returns how the server failed, unless it has answered since.
    pub fn find(&self, spec: &ServerSpec) -> Option<FailedStart> {
        let failed: io::Result<FailedStart> = read_json(&self.file(spec), MAX_FAILURE_BYTES);
        // A file that cannot be read must not keep a server from starting.
        let failed = if_there(failed).ok().flatten();
        failed.filter(|failed| failed.identity == spec.identity())
    }

    /// Returns how long the server is left alone from now on.
    pub fn pause_left(&self, failed: &FailedStart) -> Duration {
        failed.pause_left(self.clock.now())
    }

    /// Counts a failure. Processes that run are told of it if it is another one than before.
    pub(crate) fn add(&self, spec: &ServerSpec, err: &ToolError) -> io::Result<()> {
        let before = self.find(spec);
        let failed = FailedStart {
            identity: spec.identity(),
            failures: before.as_ref().map_or(0, |before| before.failures).saturating_add(1),
            at: self.clock.now(),
            message: err.message.clone(),
            hint: err.hint.clone(),
        };
        let file = self.file(spec);
        if let Some(folder) = file.parent() {
            make_private_folder(folder)?;
        }
        replace(&file, &serde_json::to_vec_pretty(&failed)?, PRIVATE_MODE)?;
        if before.is_none_or(|before| before.message != failed.message) {
            let _lock = self.store.lock()?;
            self.store.next_generation()?;
        }
        Ok(())
    }

    /// Forgets the failures of a server: it has answered, or a person wants another attempt.
    pub fn clear(&self, spec: &ServerSpec) {
        // If it cannot be removed, the next attempt comes a little later.
        let _ = fs::remove_file(self.file(spec));
    }

    fn file(&self, spec: &ServerSpec) -> PathBuf {
        self.store.folder().join("failed_starts").join(format!("{}.json", spec.name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_core::ErrorKind;

    use super::*;
    use crate::lifecycle_fixture::Fixture;

    #[test]
    fn pauses_double_up_to_a_minute_and_a_clock_that_was_set_back_adds_nothing() {
        let at = Timestamp::UNIX_EPOCH;
        let pause = |failures, now: i64| {
            let (identity, message, hint) = (String::new(), String::new(), None);
            let failed = FailedStart { identity, failures, at, message, hint };
            failed.pause_left(Timestamp::from_second(now).unwrap()).as_secs()
        };
        let pauses: Vec<u64> = (1..=9).map(|failures| pause(failures, 0)).collect();
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!((pause(4, 3), pause(4, 4), pause(4, -1000)), (1, 0, 4));
        assert_eq!(pause(u32::MAX, 0), 60);
    }

    #[test]
    fn failures_are_counted_until_the_server_answers_or_is_another_one() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        let failed = FailedStarts::new(lifecycle.store.clone(), lifecycle.clock.clone());
        let spec = |command: &str| ServerSpec::of_table("s", &json!({"command": command})).unwrap();
        let count = |command: &str| failed.find(&spec(command)).map_or(0, |it| it.failures);
        let err = ToolError::new(ErrorKind::Unavailable, "it is gone");
        assert_eq!(count("a"), 0);
        failed.add(&spec("a"), &err).unwrap();
        failed.add(&spec("a"), &err).unwrap();
        assert_eq!((count("a"), count("b")), (2, 0), "another command is another server");
        failed.clear(&spec("a"));
        assert_eq!(count("a"), 0);
    }
}
