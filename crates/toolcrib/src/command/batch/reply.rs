//! The reply to a call of a batch.

use std::borrow::Cow;

use toolcrib_core::Outcome;

use crate::exit::Exit;

/// The reply to a call, as a line has it.
pub(super) struct BatchReply<'a> {
    /// The catalogue's reply, as JSON in one line.
    pub(super) text: Cow<'a, str>,
    pub(super) elapsed_us: u128,
    pub(super) unrecorded: Option<String>,
    pub(super) exit: Exit,
}

impl<'a> From<&'a Outcome> for BatchReply<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        Self {
            text: outcome.text.as_str().into(),
            elapsed_us: outcome.elapsed.as_micros(),
            unrecorded: outcome.unrecorded.as_ref().map(ToString::to_string),
            exit: Exit::of_outcome(outcome),
        }
    }
}
