//! Events of a call, and the port that records them.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use crate::call::{CallId, CallTrace, SessionId};
use crate::caller::Caller;
use crate::command::{ChangedFiles, End, NetworkAccount, Usage};
use crate::declaration::Effect;
use crate::error::ErrorKind;
use crate::tool_name::ToolName;

/// One event of a call, which becomes one line of the record.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// When it happened.
    pub at: Timestamp,
    /// The call.
    pub call: &'a CallId,
    /// The conversation it belongs to.
    pub session: &'a SessionId,
    /// Where the caller places the call in its own work.
    pub trace: Option<&'a CallTrace>,
    /// The tool, by its full name where it was found.
    pub tool: &'a ToolName,
    /// What happened.
    pub moment: Moment<'a>,
}

/// What happened to a call.
#[derive(Clone, Debug)]
pub enum Moment<'a> {
    /// A caller asked for the call.
    Asked {
        /// Canonical arguments.
        args: &'a str,
        /// The digest that a permit is bound to.
        digest: String,
        /// What the tool does to the world.
        effect: Effect,
        /// Who asked.
        caller: &'a Caller,
    },
    /// Policy, and perhaps a person, decided.
    Decided {
        /// The result: `allow` or `deny`.
        verdict: &'a str,
        /// The rule, in words.
        rule: &'a str,
        /// The person who answered, if one did.
        by: Option<&'a str>,
    },
    /// A person is being asked.
    Waits {
        /// The rule that asks.
        rule: &'a str,
    },
    /// The tool starts. Changes from here on are its own.
    Started {
        /// The absolute paths of the files it is about to change.
        places: &'a [String],
        /// The directory its command starts in, if it runs one.
        directory: Option<&'a str>,
        /// The terms that hold for that command: the sandbox profile and the limits.
        terms: Option<&'a str>,
    },
    /// The call ended.
    Ended {
        /// The error, if the call failed.
        error: Option<(ErrorKind, &'a str)>,
        /// From asked to ended, in microseconds.
        elapsed_us: u64,
        /// The tool's version, where the tool was found.
        version: Option<&'a str>,
        /// The catalogue's reply.
        reply: &'a str,
        /// The id under which the whole reply is saved, if it is.
        saved_as: Option<&'a str>,
        /// The resources it used.
        usage: Usage,
        /// Whether its command goes on as a background task.
        has_task: bool,
        /// How its command ended, if it ran one to its end.
        command_end: Option<End>,
        /// The files that changed while its command ran.
        touched: Option<&'a ChangedFiles>,
        /// What passed between its command and the network.
        network: Option<&'a NetworkAccount>,
    },
    /// A background task of the call ended.
    TaskEnded {
        /// How it ended.
        end: End,
        /// How long it took, in microseconds.
        elapsed_us: u64,
        /// The resources it used.
        usage: Usage,
        /// The files that changed while it ran.
        touched: Option<&'a ChangedFiles>,
        /// What passed between it and the network.
        network: Option<&'a NetworkAccount>,
    },
}

/// How durable a line is before its writer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// In memory: it is written together with the next line.
    Buffered,
    /// Written to the file: it survives the death of this process.
    Written,
    /// Synced to the disk: it survives a power cut.
    Synced,
}

/// Something on the record that is no event of a call, such as a grant.
#[derive(Clone, Debug)]
pub struct Note<'a> {
    /// When it happened.
    pub at: Timestamp,
    /// Who did it: `user` or `system`.
    pub actor: &'a str,
    /// The subject: `approval`, `grant`, `statistics` …
    pub act: &'a str,
    /// What happened.
    pub event: &'a str,
    /// The tool it is about, if it is about one.
    pub tool: Option<&'a ToolName>,
    /// The call it is about, if it is about one.
    pub call: &'a str,
    /// The details.
    pub detail: Value,
}

/// Why something is not on the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// What could not be done.
    pub kind: RecordErrorKind,
    /// What went wrong, as a clause that follows what was to be recorded.
    pub message: String,
}

/// What could not be done for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordErrorKind {
    /// The line could not be put together.
    Unprepared,
    /// The line could not be written.
    Unwritten,
    /// The line is written, but a copy of it in an older format is not.
    CopyUnwritten,
}

impl RecordError {
    /// Makes an error of this kind.
    pub fn new(kind: RecordErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RecordError {}

/// Keeps the record.
pub trait Recorder: Send + Sync {
    /// Appends one event.
    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), RecordError>;

    /// Writes what is buffered.
    fn flush(&self);

    /// Appends a note. It is written when this returns.
    fn note(&self, note: &Note<'_>) -> Result<(), RecordError>;

    /// Returns what is held in memory for calls.
    fn held_counts(&self) -> HeldCounts {
        HeldCounts::new()
    }
}

/// How many things of calls a part of the process holds in memory, each with its name. None of them may grow with the
/// number of calls that were made.
pub type HeldCounts = Vec<(&'static str, usize)>;
