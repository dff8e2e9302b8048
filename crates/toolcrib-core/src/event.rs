//! What is put on the record of a call, and the port that records it.

use jiff::Timestamp;
use serde_json::Value;

use crate::call::{CallId, SessionId};
use crate::command::{ChangedFiles, End, Usage};
use crate::declaration::Effect;
use crate::error::ErrorKind;

/// One line of the record.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// When.
    pub at: Timestamp,
    /// The call.
    pub call: &'a CallId,
    /// The conversation it belongs to.
    pub session: &'a SessionId,
    /// The tool, `catalogue/name` where it was found.
    pub tool: &'a str,
    /// What happened.
    pub moment: Moment<'a>,
}

/// The moments of a call's life.
#[derive(Clone, Debug)]
pub enum Moment<'a> {
    /// Someone asked for it.
    Asked {
        /// Canonical arguments.
        args: &'a str,
        /// The digest that a permit is bound to.
        digest: String,
        /// What the tool does to the world.
        effect: Effect,
    },
    /// Policy, and perhaps a person, decided.
    Decided {
        /// What came of it: `allow` or `deny`.
        verdict: &'a str,
        /// The rule, in words.
        rule: &'a str,
        /// The person who answered, if one did.
        by: Option<&'a str>,
    },
    /// A person is asked.
    Waits {
        /// The rule that wants it.
        rule: &'a str,
    },
    /// The tool begins. What it changes from here on is its doing.
    Started {
        /// The files it is about to change, where they are.
        places: &'a [String],
        /// The directory of its command, if it runs one.
        directory: Option<&'a str>,
        /// What holds for that command: the profile of the sandbox and its limits.
        terms: Option<&'a str>,
    },
    /// It is over.
    Ended {
        /// How it failed, if it did.
        error: Option<(ErrorKind, &'a str)>,
        /// From asked to ended, in microseconds.
        elapsed_us: u64,
        /// The tool's version, where the tool was found.
        version: Option<&'a str>,
        /// The catalogue's reply.
        reply: &'a str,
        /// What it used.
        usage: Usage,
        /// Whether it left a command running.
        has_task: bool,
        /// What its command was seen to have changed.
        touched: Option<&'a ChangedFiles>,
    },
    /// A task that it started is over.
    TaskEnded {
        /// How it ended.
        end: End,
        /// How long it took, in microseconds.
        elapsed_us: u64,
        /// What it used.
        usage: Usage,
        /// What it was seen to have changed.
        touched: Option<&'a ChangedFiles>,
    },
}

/// How well a line is kept before whoever wrote it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// It may wait for the next line.
    Buffered,
    /// It is written: our death does not undo that.
    Written,
    /// It is on the disk: a power cut does not undo that.
    Synced,
}

/// Something on the record that is no moment of a call.
#[derive(Clone, Debug)]
pub struct Note<'a> {
    /// When.
    pub at: Timestamp,
    /// Who did it: `user` or `system`.
    pub actor: &'a str,
    /// What it is about: `approval`, `grant`, `statistics` …
    pub act: &'a str,
    /// What happened.
    pub event: &'a str,
    /// The tool it is about, if it is about one.
    pub tool: &'a str,
    /// The call it is about, if it is about one.
    pub call: &'a str,
    /// All that there is to say.
    pub detail: Value,
}

/// Keeps the record.
pub trait Recorder: Send + Sync {
    /// Appends one event.
    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), String>;

    /// Writes what may have waited.
    fn flush(&self);

    /// Appends something that is no moment of a call. It is written when this returns.
    fn note(&self, note: &Note<'_>) -> Result<(), String>;
}
