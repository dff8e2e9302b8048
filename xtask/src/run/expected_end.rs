//! How the calls of the agents of the scratch project end.

/// The end of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedEnd {
    Done,
    Failed,
    Unconfirmed,
    Waits,
}

impl ExpectedEnd {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed or was refused",
            Self::Unconfirmed => "is to be confirmed by the agent",
            Self::Waits => "waits for you",
        }
    }
}
