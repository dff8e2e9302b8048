//! Why no call is made of a request.

/// What is wrong with a request, for its sender.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BusRefusal {
    pub(crate) code: RefusalCode,
    pub(crate) message: String,
}

/// The kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalCode {
    /// It is no envelope, or a part of the envelope is missing.
    InvalidRequest,
    /// It is too old, or from the future.
    StaleRequest,
    /// Another request had its id.
    IdReused,
    /// It came before, and its reply was not kept.
    DuplicateRequest,
    /// Too many calls are running, or too many requests are remembered.
    RateLimited,
    /// An operator revoked the agent.
    Revoked,
    /// Something that decides about it cannot be read now.
    Unavailable,
    /// The call was made, and its reply is larger than a message may be.
    ReplyTooLarge,
    /// The call ended without an outcome.
    InternalError,
}

impl RefusalCode {
    /// Returns the spelling in replies.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::StaleRequest => "STALE_REQUEST",
            Self::IdReused => "ID_REUSED",
            Self::DuplicateRequest => "DUPLICATE_REQUEST",
            Self::RateLimited => "RATE_LIMITED",
            Self::Revoked => "REVOKED",
            Self::Unavailable => "UNAVAILABLE",
            Self::ReplyTooLarge => "REPLY_TOO_LARGE",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }
}
