//! Idempotency keys: a call with a key runs once, and the same key gives the same reply, also after a crash.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::canonical::Digest;
use toolcrib_core::{Call, CallId};

use crate::once_file::{forget_older, is_first, read, write_new};
use crate::state::StateFolder;

/// How long a key is remembered.
const KEY_TIME: Duration = Duration::from_hours(24);

/// How many keys are added between two looks at the old ones.
const ADDS_BETWEEN_SWEEPS: usize = 256;

/// The keys that callers have used.
pub struct IdempotencyKeys {
    folder: PathBuf,
    added: AtomicUsize,
}

/// The first use of a key.
#[derive(Serialize, Deserialize)]
struct KeyUse {
    call: CallId,
    /// The digest of what was asked for.
    digest: String,
}

/// A reply that is given again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// What is known about a key.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It is new. The call may run.
    New,
    /// It was used for another call.
    OtherCall,
    /// It was used for this call, as the call with this id, which has this reply if it has ended.
    Used(CallId, Option<KeptReply>),
}

impl IdempotencyKeys {
    /// Opens the keys in the state folder.
    pub fn new(state: &StateFolder) -> Self {
        Self { folder: state.folder().join("idempotency"), added: AtomicUsize::new(0) }
    }

    /// Takes a key for a call. Of several callers at once, one gets [`KeyState::New`].
    pub fn take(&self, key: &str, call: &Call) -> io::Result<KeyState> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        if self.added.fetch_add(1, Ordering::Relaxed).is_multiple_of(ADDS_BETWEEN_SWEEPS) {
            forget_older(&self.folder, KEY_TIME);
        }
        let digest = call.digest().to_string();
        let this = KeyUse { call: call.id.clone(), digest };
        if is_first(write_new(&self.path(key, call, "use"), &this))? {
            return Ok(KeyState::New);
        }
        let first: KeyUse = read(&self.path(key, call, "use"))?;
        if first.digest != this.digest {
            return Ok(KeyState::OtherCall);
        }
        let reply = match read(&self.path(key, call, "reply")) {
            Ok(reply) => Some(reply),
            Err(err) if err.kind() == io::ErrorKind::NotFound => None,
            Err(err) => return Err(err),
        };
        Ok(KeyState::Used(first.call, reply))
    }

    /// Keeps the reply to the call that a key was taken for.
    pub fn keep(&self, key: &str, call: &Call, reply: &KeptReply) -> io::Result<()> {
        write_new(&self.path(key, call, "reply"), reply)
    }

    /// Returns the path of a file about a key. Keys are the principal's own.
    fn path(&self, key: &str, call: &Call, kind: &str) -> PathBuf {
        let owner = serde_json::json!([call.caller.principal.name, key]);
        self.folder.join(format!("{}.{kind}", Digest::of("idempotency key", &owner)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use toolcrib_core::{Caller, SessionId};

    use super::*;

    fn call(id: &str, principal: &str, args: Value) -> Call {
        let caller = Arc::new(Caller::at_terminal(principal));
        Call::new(CallId(id.to_owned()), SessionId("s".to_owned()), caller, "t".into(), args)
    }

    #[test]
    fn a_key_is_taken_once_and_gives_the_same_reply() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let keys = IdempotencyKeys::new(&state);
        let first = call("1", "ci", json!({"a": 1}));
        assert_eq!(keys.take("k", &first).unwrap(), KeyState::New);
        let again = call("2", "ci", json!({"a": 1}));
        let used = |reply| KeyState::Used(CallId("1".to_owned()), reply);
        assert_eq!(keys.take("k", &again).unwrap(), used(None));
        let reply = KeptReply { status: 200, body: "{}".to_owned() };
        keys.keep("k", &first, &reply).unwrap();
        // Another process, such as one after a crash.
        let keys = IdempotencyKeys::new(&state);
        assert_eq!(keys.take("k", &again).unwrap(), used(Some(reply)));
        assert_eq!(keys.take("k", &call("3", "ci", json!({"a": 2}))).unwrap(), KeyState::OtherCall);
        assert_eq!(keys.take("k", &call("4", "docs", json!({"a": 1}))).unwrap(), KeyState::New);
        assert_eq!(keys.take("other", &again).unwrap(), KeyState::New);
    }

    #[test]
    fn of_many_at_once_one_gets_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let keys = IdempotencyKeys::new(&state);
        let won: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|number| {
                    let (keys, call) = (&keys, call(&number.to_string(), "ci", json!({})));
                    scope.spawn(move || keys.take("k", &call).unwrap() == KeyState::New)
                })
                .collect();
            tries.into_iter().map(|it| usize::from(it.join().unwrap())).sum()
        });
        assert_eq!(won, 1);
    }
}
