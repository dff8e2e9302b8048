//! Which role may do what.

use axum::http::StatusCode;
use toolcrib_core::{Caller, Role};

use crate::reply::ApiError;

/// What a request wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessRight {
    /// What every token may do; a handler may show less of it to some.
    Any,
    /// Make calls.
    Call,
    /// Answer questions about calls, and take back what was done or granted.
    Approve,
    /// Read the record and the statistics of everybody.
    Inspect,
    /// Change what holds for everybody.
    Administer,
}

impl AccessRight {
    /// Returns the roles that may do it.
    pub(super) fn roles(self) -> &'static [Role] {
        match self {
            Self::Any => &Role::OF_TOKENS,
            Self::Call => &[Role::Agent, Role::Admin],
            Self::Approve | Self::Inspect => &[Role::Approver, Role::Admin],
            Self::Administer => &[Role::Admin],
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Any => "use the server",
            Self::Call => "make calls",
            Self::Approve => "answer questions, undo calls or revoke grants",
            Self::Inspect => "read the record and the statistics of everybody",
            Self::Administer => "change what holds for everybody",
        }
    }

    /// Refuses a caller whose role may not do it.
    pub(super) fn check(self, caller: &Caller) -> Result<(), ApiError> {
        let role = caller.principal.role;
        if self.roles().contains(&role) {
            return Ok(());
        }
        let roles: Vec<&str> = self.roles().iter().map(|role| role.as_str()).collect();
        let message = format!(
            "a token with the role `{}` may not {}; use one with the role `{}`",
            role.as_str(),
            self.words(),
            roles.join("` or `")
        );
        Err(ApiError::new(StatusCode::FORBIDDEN, "role_not_allowed", message))
    }
}
