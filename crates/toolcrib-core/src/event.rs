//! What is put on the record of a call, and the port that records it.

use jiff::Timestamp;

use crate::call::{CallId, SessionId};
use crate::command::{End, Usage};
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
    /// It is over.
    Ended {
        /// How it failed, if it did.
        error: Option<(ErrorKind, &'a str)>,
        /// From asked to ended, in microseconds.
        elapsed_us: u64,
        /// The catalogue's reply.
        reply: &'a str,
        /// What it used.
        usage: Usage,
    },
    /// A task that it started is over.
    TaskEnded {
        /// How it ended.
        end: End,
        /// How long it took, in microseconds.
        elapsed_us: u64,
        /// What it used.
        usage: Usage,
    },
}

/// Keeps the record.
pub trait Recorder: Send + Sync {
    /// Appends one event.
    fn record(&self, event: &Event<'_>) -> Result<(), String>;
}
