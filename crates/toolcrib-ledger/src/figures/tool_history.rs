//! What is remembered of a tool beside its counts: its versions, who calls it, and how it fails.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::Door;

use crate::figures::message_shape::{OTHER_SHAPES, message_shape};
use crate::record::entry::RecordEntry;

/// The most versions that are remembered of a tool. The one that was called least recently is forgotten first.
const MOST_VERSIONS: usize = 30;

/// The most changes of version that are remembered.
const MOST_CHANGES: usize = 50;

/// The most callers that are remembered. The one that called least recently is forgotten first.
const MOST_CALLERS: usize = 50;

/// The most groups of errors that are told apart. Further ones are counted together.
const MOST_ERROR_GROUPS: usize = 100;

/// The bytes of a message that are kept as a sample.
const SAMPLE_BYTES: usize = 400;

/// A version that was called within this time before another one is in use beside it, and did not come back.
const USED_TOGETHER: SignedDuration = SignedDuration::from_mins(1);

/// What is remembered of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolHistory {
    /// The last failure.
    pub(crate) last_error: Option<LastError>,
    /// Its versions.
    pub(crate) versions: VersionHistory,
    /// Who called it.
    pub(crate) callers: Vec<KnownCaller>,
    /// How it failed, since its errors were last cleared.
    pub(crate) errors: Vec<ErrorGroup>,
}

/// The last call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastError {
    /// The kind of error.
    pub code: String,
    /// The beginning of the message.
    pub message: String,
    /// When the call ended.
    pub at: Timestamp,
    /// The id of the call.
    pub call: String,
}

/// The versions of a tool that were called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionHistory {
    /// Each version, in the order of their first calls.
    pub called: Vec<KnownVersion>,
    /// When another version took over, in the order of the record.
    pub changes: Vec<VersionChange>,
}

/// A version of a tool that was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownVersion {
    /// The version.
    pub version: String,
    /// Its first call.
    pub first_at: Timestamp,
    /// Its last call.
    pub last_at: Timestamp,
    /// How often it was called.
    pub calls: u64,
}

/// Another version took over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionChange {
    /// When it was called first.
    pub at: Timestamp,
    /// The version.
    pub version: String,
    /// The version before it.
    pub before: Option<String>,
}

/// Someone who called a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownCaller {
    /// The name of the principal.
    pub principal: String,
    /// The door: `http`, `mcp`, `terminal`, …
    pub door: String,
    /// The calls that ended, refused ones too.
    pub calls: u64,
    /// When the last one ended.
    pub last_at: Timestamp,
}

/// Calls that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorGroup {
    /// The kind of error.
    pub code: String,
    /// The message without what is different in each call.
    pub shape: String,
    /// The beginning of the first message.
    pub message: String,
    /// How many calls failed so.
    pub count: u64,
    /// The first of them.
    pub first_at: Timestamp,
    /// The last of them.
    pub last_at: Timestamp,
    /// The id of the last of them.
    pub call: String,
    /// The version of the tool that failed first.
    pub version: String,
}

/// Who made a call, as the record names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallerName {
    pub(crate) principal: String,
    pub(crate) door: String,
    /// The number of the user at the terminal, who has no other name on the record.
    user: Option<u32>,
}

impl CallerName {
    /// Returns who asked for a call. Who is at the terminal is on the record as the number of a user.
    pub(crate) fn of(entry: &RecordEntry<'_>) -> Self {
        let fields = &entry.call.caller;
        if let Some(principal) = &fields.principal {
            return Self::new(principal, fields.door.as_deref().unwrap_or_default());
        }
        let Some(user) = entry.call.user else { return Self::default() };
        let name = format!("user {user}");
        Self { user: Some(user), ..Self::new(&name, Door::Terminal.as_str()) }
    }

    /// Returns a caller by its name and door.
    pub(crate) fn new(principal: &str, door: &str) -> Self {
        Self { principal: principal.to_owned(), door: door.to_owned(), user: None }
    }

    /// Whether an entry names the same.
    pub(crate) fn is_of(&self, entry: &RecordEntry<'_>) -> bool {
        let fields = &entry.call.caller;
        match fields.principal.as_deref() {
            Some(name) => {
                name == self.principal && fields.door.as_deref() == Some(self.door.as_str())
            }
            None => self.user.is_some() && self.user == entry.call.user,
        }
    }
}

impl ToolHistory {
    /// Adds a call that ended, refused or not.
    pub(crate) fn add_caller(&mut self, caller: &CallerName, at: Timestamp) {
        let is_it =
            |it: &&mut KnownCaller| it.principal == caller.principal && it.door == caller.door;
        if let Some(known) = self.callers.iter_mut().find(is_it) {
            known.calls += 1;
            known.last_at = known.last_at.max(at);
            return;
        }
        if self.callers.len() >= MOST_CALLERS {
            forget_oldest(&mut self.callers, |it| it.last_at);
        }
        let CallerName { principal, door, user: _ } = caller.clone();
        self.callers.push(KnownCaller { principal, door, calls: 1, last_at: at });
    }

    /// Adds a call that ran, and how it failed.
    pub(crate) fn add_run(&mut self, entry: &RecordEntry<'_>, version: &str) {
        self.versions.add(version, entry.at);
        let Some(code) = &entry.end.error else { return };
        let message = entry.end.message.as_deref().unwrap_or_default();
        self.add_error(entry, version, code, message);
        let message = beginning(message);
        let call = entry.call.id.to_string();
        self.last_error = Some(LastError { code: code.to_string(), message, at: entry.at, call });
    }

    fn add_error(&mut self, entry: &RecordEntry<'_>, version: &str, code: &str, message: &str) {
        let mut shape = message_shape(message);
        let mut code = code;
        let is_it = |it: &ErrorGroup, code: &str, shape: &str| it.code == code && it.shape == shape;
        let mut found = self.errors.iter().position(|it| is_it(it, code, &shape));
        if found.is_none() && self.errors.len() >= MOST_ERROR_GROUPS {
            OTHER_SHAPES.clone_into(&mut shape);
            code = "";
            found = self.errors.iter().position(|it| is_it(it, code, &shape));
        }
        if let Some(known) = found.and_then(|at| self.errors.get_mut(at)) {
            known.count += 1;
            known.last_at = known.last_at.max(entry.at);
            known.call = entry.call.id.to_string();
            return;
        }
        self.errors.push(ErrorGroup {
            code: code.to_owned(),
            shape,
            message: beginning(message),
            count: 1,
            first_at: entry.at,
            last_at: entry.at,
            call: entry.call.id.to_string(),
            version: version.to_owned(),
        });
    }

    /// Forgets how the tool failed.
    pub(crate) fn clear_errors(&mut self) {
        self.errors.clear();
        self.last_error = None;
    }
}

impl VersionHistory {
    /// Returns the version that took over last.
    pub fn newest(&self) -> Option<&KnownVersion> {
        let newest = self.changes.last()?;
        self.called.iter().find(|it| it.version == newest.version)
    }

    /// Returns when the version that is in use took over, if another one was in use before.
    pub fn replaced_at(&self) -> Option<Timestamp> {
        self.changes.last().filter(|it| it.before.is_some()).map(|it| it.at)
    }

    fn add(&mut self, version: &str, at: Timestamp) {
        let newest = self.changes.last();
        let is_newest = newest.is_some_and(|it| it.version == version);
        let known = self.called.iter_mut().find(|it| it.version == version);
        // Two servers can have two versions in use at once, and neither takes over from the other.
        let is_used_beside = known
            .as_ref()
            .is_some_and(|it| it.last_at.checked_add(USED_TOGETHER).is_ok_and(|until| at <= until));
        if let Some(known) = known {
            known.calls += 1;
            known.first_at = known.first_at.min(at);
            known.last_at = known.last_at.max(at);
        } else {
            if self.called.len() >= MOST_VERSIONS {
                forget_oldest(&mut self.called, |it| it.last_at);
            }
            let version = version.to_owned();
            self.called.push(KnownVersion { version, first_at: at, last_at: at, calls: 1 });
        }
        if is_newest || is_used_beside {
            return;
        }
        if self.changes.len() >= MOST_CHANGES {
            self.changes.remove(0);
        }
        let before = self.changes.last().map(|it| it.version.clone());
        self.changes.push(VersionChange { at, version: version.to_owned(), before });
    }
}

fn forget_oldest<T>(all: &mut Vec<T>, last_at: fn(&T) -> Timestamp) {
    let oldest = all.iter().enumerate().min_by_key(|(_, it)| last_at(it));
    if let Some((at, _)) = oldest {
        all.remove(at);
    }
}

fn beginning(message: &str) -> String {
    message[..message.floor_char_boundary(SAMPLE_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn a_version_that_comes_back_took_over_and_one_beside_another_did_not() {
        let mut history = VersionHistory::default();
        for (second, version) in [(0, "a"), (10, "b"), (20, "a"), (30, "b"), (500, "b"), (600, "a")]
        {
            history.add(version, at(second));
        }
        let changes: Vec<_> = history
            .changes
            .iter()
            .map(|it| (it.at, it.version.as_str(), it.before.as_deref()))
            .collect();
        assert_eq!(
            changes,
            [(at(0), "a", None), (at(10), "b", Some("a")), (at(600), "a", Some("b"))]
        );
        assert_eq!(history.newest().unwrap().version, "a");
        assert_eq!(history.replaced_at(), Some(at(600)));
        let mut one = VersionHistory::default();
        one.add("a", at(0));
        assert_eq!(one.replaced_at(), None, "it replaced nothing");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut history = ToolHistory::default();
        for number in 0..1000 {
            let (name, second) = (number.to_string(), i64::from(number) * 100);
            history.versions.add(&name, at(second));
            history.add_caller(&CallerName::new(&name, "http"), at(second));
            let line = format!(
                r#"{{"ts":"2026-11-01T00:00:00Z","error":"failed","message":"{}"}}"#,
                "x".repeat(1 + usize::try_from(number).unwrap())
            );
            history.add_run(&RecordEntry::parse(line.as_bytes()).unwrap(), &name);
        }
        let lengths = (history.versions.called.len(), history.versions.changes.len());
        assert_eq!(lengths, (MOST_VERSIONS, MOST_CHANGES));
        assert_eq!(history.callers.len(), MOST_CALLERS);
        assert!(history.callers.iter().any(|it| it.principal == "999"), "the newest is there");
        assert!(history.errors.len() <= MOST_ERROR_GROUPS + 1);
        let all: u64 = history.errors.iter().map(|it| it.count).sum();
        assert_eq!(all, 1000, "each is counted");
        assert!(history.errors.iter().all(|it| it.message.len() <= SAMPLE_BYTES));
    }
}
