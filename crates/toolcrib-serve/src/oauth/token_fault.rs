//! Why an access token is refused.

/// Why an access token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    /// It is no JWT, and no token of ours.
    Unknown,
    /// It is longer than any that is accepted.
    TooLong,
    /// A part of it has another form than it must.
    Malformed,
    /// It is signed by an algorithm that is not accepted, or not signed.
    Algorithm,
    /// It is a JWT, but none that gives access.
    Type,
    /// It says that its reader must understand something that we do not.
    Critical,
    /// None of the known keys has signed it, as far as it names one.
    UnknownKey,
    /// The key that it names did not sign it.
    Signature,
    /// Another authorization server made it.
    Issuer,
    /// It is for another server.
    Audience,
    /// It has expired.
    Expired,
    /// It does not count yet.
    NotYet,
    /// It counts only together with a proof that nobody checks here.
    Bound,
    /// It does not name its owner in an acceptable form.
    Owner,
    /// The operator of this server has revoked its owner.
    Revoked,
}

impl TokenFault {
    /// Returns what its owner is told. It has no `"` and no `\`, so that it can stand in a header.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Unknown => "this token is wrong or revoked; ask the operator for a token",
            Self::TooLong => "the token is too long",
            Self::Malformed => "the token is not a well-formed JWT access token",
            Self::Algorithm => "the token is not signed with RS256, ES256 or EdDSA",
            Self::Type => "the typ of the token is neither at+jwt nor JWT",
            Self::Critical => "the token has a critical header that this server does not know",
            Self::UnknownKey => "the authorization server does not publish the key of this token",
            Self::Signature => "the signature of the token is wrong",
            Self::Issuer => "the token is from another issuer",
            Self::Audience => "the token is for another server; its aud must be this resource",
            Self::Expired => "the token has expired",
            Self::NotYet => "the token is not valid yet",
            Self::Bound => {
                "the token is bound to a key or certificate, and only bearer tokens are taken here"
            }
            Self::Owner => "the token does not name its owner in an acceptable form",
            Self::Revoked => "the owner of this token was revoked on this server",
        }
    }

    /// Whether somebody may be guessing tokens. What has a good signature was not guessed.
    pub(crate) fn may_be_a_guess(self) -> bool {
        match self {
            Self::Unknown
            | Self::TooLong
            | Self::Malformed
            | Self::Algorithm
            | Self::Type
            | Self::Critical
            | Self::UnknownKey
            | Self::Signature => true,
            Self::Issuer
            | Self::Audience
            | Self::Expired
            | Self::NotYet
            | Self::Bound
            | Self::Owner
            | Self::Revoked => false,
        }
    }
}
