//! Calls whose clients come back for the outcome. Each is a file, which is on the disk before the client is told of it. Its
//! end is a second file.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::Call;

use crate::once_file::{forget_older, read, write_new};
use crate::process_name::{is_running, this_process};
use crate::state::StateFolder;

/// How many calls are added between two looks at the old ones.
const ADDS_BETWEEN_SWEEPS: usize = 64;

/// The longest id of a call.
const LONGEST_ID: usize = 64;

/// The calls whose clients come back for the outcome.
pub struct DetachedCalls {
    folder: PathBuf,
    added: AtomicUsize,
}

/// A call whose client comes back for the outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetachedCall {
    /// The id of the call.
    pub id: String,
    /// Who made it.
    pub principal: String,
    /// The tool.
    pub tool: String,
    /// When the client was told to come back.
    pub at: Timestamp,
    /// The process that runs it: [`this_process`].
    process: String,
}

/// How such a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetachedEnd {
    /// When.
    pub at: Timestamp,
    /// What the client gets.
    pub result: DetachedResult,
}

/// What a client gets that comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetachedResult {
    /// The result of the call, in the form of the client's protocol.
    Completed(Value),
    /// The call ended without a result: why.
    Failed(String),
    /// The call was cancelled.
    Cancelled,
}

/// What is known about such a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetachedState {
    /// It runs.
    Running,
    /// It has ended.
    Ended(DetachedEnd),
    /// The process that ran it is gone.
    Lost,
}

impl DetachedCalls {
    /// How long a call and its outcome are kept.
    pub const KEPT_TIME: Duration = Duration::from_hours(24);

    /// Opens the calls in the state folder.
    pub fn new(state: &StateFolder) -> Self {
        Self { folder: state.folder().join("detached"), added: AtomicUsize::new(0) }
    }

    /// Adds a call that this process runs. It is on the disk when this returns.
    pub fn add(&self, call: &Call, at: Timestamp) -> io::Result<DetachedCall> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        if self.added.fetch_add(1, Ordering::Relaxed).is_multiple_of(ADDS_BETWEEN_SWEEPS) {
            forget_older(&self.folder, Self::KEPT_TIME);
        }
        let detached = DetachedCall {
            id: call.id.0.clone(),
            principal: call.caller.principal.name.clone(),
            tool: call.tool.to_string(),
            at,
            process: this_process(),
        };
        write_new(&self.path(&detached.id, "call"), &detached)?;
        Ok(detached)
    }

    /// Keeps how a call ended.
    pub fn end(&self, id: &str, end: &DetachedEnd) -> io::Result<()> {
        write_new(&self.path(id, "end"), end)
    }

    /// Returns a call and how it stands, if it is known.
    pub fn find(&self, id: &str) -> io::Result<Option<(DetachedCall, DetachedState)>> {
        let is_id = id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_id {
            return Ok(None);
        }
        let Some(call) = found(read::<DetachedCall>(&self.path(id, "call")))? else {
            return Ok(None);
        };
        // Looked at before the end: a process that is gone may have written it just before.
        let is_running = is_running(&call.process);
        let state = match found(read(&self.path(id, "end")))? {
            Some(end) => DetachedState::Ended(end),
            None if is_running => DetachedState::Running,
            None => DetachedState::Lost,
        };
        Ok(Some((call, state)))
    }

    fn path(&self, id: &str, kind: &str) -> PathBuf {
        self.folder.join(format!("{id}.{kind}"))
    }
}

/// Returns what was read, or nothing if there is no such file.
fn found<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use toolcrib_core::{CallId, Caller, SessionId};

    use super::*;

    #[test]
    fn a_call_is_found_with_its_end_also_by_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let calls = DetachedCalls::new(&state);
        let caller = Arc::new(Caller::at_terminal("me"));
        let id = CallId("01ABC".to_owned());
        let call = Call::new(id, SessionId("s".to_owned()), caller, "a/b".into(), json!({}));
        assert_eq!(calls.find("01ABC").unwrap(), None);
        let added = calls.add(&call, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((added.principal.as_str(), added.tool.as_str()), ("me", "a/b"));
        let other = DetachedCalls::new(&state);
        assert_eq!(other.find("01ABC").unwrap(), Some((added.clone(), DetachedState::Running)));
        let end = DetachedEnd {
            at: Timestamp::UNIX_EPOCH,
            result: DetachedResult::Completed(json!({"content": []})),
        };
        calls.end("01ABC", &end).unwrap();
        assert_eq!(other.find("01ABC").unwrap(), Some((added, DetachedState::Ended(end))));
        for wrong in ["../idempotency/x", "01ABC.call", "", "é"] {
            assert_eq!(other.find(wrong).unwrap(), None, "{wrong}");
        }
    }

    #[test]
    fn a_call_of_a_process_that_is_gone_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let calls = DetachedCalls::new(&state);
        fs::create_dir(&calls.folder).unwrap();
        let gone = DetachedCall {
            id: "X".to_owned(),
            principal: "me".to_owned(),
            tool: "a/b".to_owned(),
            at: Timestamp::UNIX_EPOCH,
            process: format!("{} 0", std::process::id()),
        };
        write_new(&calls.path("X", "call"), &gone).unwrap();
        assert_eq!(calls.find("X").unwrap(), Some((gone, DetachedState::Lost)));
    }
}
