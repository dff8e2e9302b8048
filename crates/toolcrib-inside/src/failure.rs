//! Why a command could not be started: the step that failed, and the message.

use std::io;

use crate::wire::{Report, StartStep};

/// A failed start of a command.
pub(crate) struct StartFailure {
    step: StartStep,
    why: String,
    errno: Option<i32>,
}

impl StartFailure {
    /// Creates a failure that no system call is to blame for.
    pub(crate) fn new(step: StartStep, why: impl Into<String>) -> Self {
        Self { step, why: why.into(), errno: None }
    }

    /// Creates a failure from the error of a system call. `subject` is what the call was about.
    pub(crate) fn from_error(step: StartStep, subject: &str, err: &io::Error) -> Self {
        Self { step, why: format!("`{subject}`: {err}"), errno: err.raw_os_error() }
    }

    /// Returns the report of this failure.
    pub(crate) fn into_report(self) -> Report {
        Report::Failed { step: self.step, why: self.why, errno: self.errno }
    }
}
