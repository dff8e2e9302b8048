//! The call that a person wants in place of one that was sent.

use serde_json::Value;
use toolcrib_core::{Call, CallId};

/// What a person wants in place of a call.
#[derive(Clone)]
pub(crate) struct ReplacingCall {
    /// Who wants it.
    pub(super) by: String,
    /// The call that was sent.
    pub(super) sent: CallId,
    /// The arguments that the caller sent.
    pub(super) sent_args: Value,
    /// The call to make.
    pub(crate) call: Call,
}

impl ReplacingCall {
    /// Returns the same with another call to make, because the person changed it again.
    pub(crate) fn changed_again(self, again: Self) -> Self {
        Self { call: again.call, ..self }
    }
}
