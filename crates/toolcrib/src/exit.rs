//! The exit codes: few, documented, one meaning each.

use std::process::ExitCode;

use toolcrib_core::{ErrorKind, Outcome};
use toolcrib_serve::FullOutcome;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done,
    /// The tool or the command failed.
    Failed,
    /// Wrong usage or settings.
    Usage,
    /// Refused by policy, by the toolset, by an allowlist or by a person.
    Refused,
    /// The call needs approval, and nobody could be asked.
    NeedsApproval,
    /// No such tool.
    NoTool,
    /// The arguments do not fit.
    BadArgs,
    /// Timed out.
    Timeout,
    /// Interrupted.
    Interrupted,
    /// The exit code of the command that was run.
    OfCommand(u8),
}

impl Exit {
    /// Returns the exit code that scripts see.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NeedsApproval => 4,
            Self::NoTool => 5,
            Self::BadArgs => 6,
            Self::Timeout => 7,
            Self::Interrupted => 130,
            Self::OfCommand(code) => code,
        }
    }

    /// Returns how the process ends after a call. A command that failed is a failure in every catalogue.
    pub(crate) fn of_outcome(outcome: &Outcome) -> Self {
        match &outcome.error {
            Some(err) => Self::of(err.kind),
            None if outcome.has_failed_command() => Self::Failed,
            None => Self::Done,
        }
    }

    /// Returns how the process ends after a call whose whole outcome is known.
    pub(crate) fn of_full(outcome: &FullOutcome) -> Self {
        match &outcome.error {
            Some(err) => Self::of(err.kind()),
            None if outcome.has_failed_command => Self::Failed,
            None => Self::Done,
        }
    }

    /// Returns how the process ends when a call failed with this kind of error.
    pub(crate) fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NoTool => Self::NoTool,
            ErrorKind::BadArgs | ErrorKind::BadRegex | ErrorKind::BadGlob => Self::BadArgs,
            ErrorKind::Refused | ErrorKind::Declined | ErrorKind::NotOffered => Self::Refused,
            ErrorKind::ApprovalNeeded | ErrorKind::ConfirmationNeeded | ErrorKind::InputNeeded => {
                Self::NeedsApproval
            }
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Cancelled => Self::Interrupted,
            ErrorKind::NotFound
            | ErrorKind::NoMatch
            | ErrorKind::NotUnique
            | ErrorKind::BadRange
            | ErrorKind::Outside
            | ErrorKind::Protected
            | ErrorKind::Permission
            | ErrorKind::Exists
            | ErrorKind::NotRegular
            | ErrorKind::IsDirectory
            | ErrorKind::NotDirectory
            | ErrorKind::TooLarge
            | ErrorKind::OutputTooLarge
            | ErrorKind::NotText
            | ErrorKind::Changed
            | ErrorKind::NoConnection
            | ErrorKind::Unavailable
            | ErrorKind::Failed
            | ErrorKind::Io
            | ErrorKind::Unrecorded
            | ErrorKind::Bug => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// Returns how the process ends when the command line is wrong, or when only help or the version was asked for.
pub(crate) fn usage(err: &clap::Error) -> ExitCode {
    if err.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
