//! Which role may do what.

use axum::http::{Extensions, StatusCode};
use toolcrib_core::{Caller, Principal, Role};

use crate::presented_token::OtherRole;
use crate::reply::ApiError;

/// What a request wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessRight {
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
            Self::Approve => "read or answer questions, undo calls or revoke grants",
            Self::Inspect => "read the record and the statistics of everybody",
            Self::Administer => "change what holds for everybody",
        }
    }

    /// Refuses a request whose caller may not do it. If only another role of the caller may, the request has that role.
    pub(crate) fn admit(self, request: &mut Extensions) -> Result<(), ApiError> {
        let other = request.get::<OtherRole>().copied();
        let caller = request.get_mut::<Caller>().ok_or_else(ApiError::not_found)?;
        match other {
            Some(OtherRole(role))
                if self.check(caller).is_err() && self.roles().contains(&role) =>
            {
                caller.principal.role = role;
                Ok(())
            }
            _ => self.check(caller),
        }
    }

    /// Refuses a caller whose role may not do it.
    pub(crate) fn check(self, caller: &Caller) -> Result<(), ApiError> {
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
        Err(ApiError::new(StatusCode::FORBIDDEN, "role_not_allowed", message)
            .needs_role(self.roles()))
    }
}

/// Whose calls and commands a caller sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallVisibility {
    /// Those of everybody, because the role reads the record.
    Everybody,
    /// Only its own.
    Own(Principal),
}

impl CallVisibility {
    pub(super) fn of(caller: &Caller) -> Self {
        match AccessRight::Inspect.check(caller) {
            Ok(()) => Self::Everybody,
            Err(_) => Self::Own(caller.principal.clone()),
        }
    }

    /// Whether the caller sees what belongs to `owner`. Without an owner, it belongs to the user of this machine.
    pub(super) fn includes(&self, owner: Option<&Principal>) -> bool {
        match self {
            Self::Everybody => true,
            Self::Own(own) => owner.map_or(own.role == Role::User, |owner| owner == own),
        }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_core::Door;

    use super::*;

    #[test]
    fn agents_see_what_is_their_own_and_others_see_everything() {
        let principal = |name: &str, role| Principal { name: name.to_owned(), role };
        let seen = |role: Role, owner: Option<&Principal>| {
            let caller = Caller {
                principal: principal("ci", role),
                door: Door::Http,
                client: None,
                connection: None,
                via: None,
            };
            CallVisibility::of(&caller).includes(owner)
        };
        let (own, other) = (principal("ci", Role::Agent), principal("other", Role::Agent));
        assert!(seen(Role::Agent, Some(&own)));
        assert!(!seen(Role::Agent, Some(&other)) && !seen(Role::Agent, None));
        for role in [Role::Approver, Role::Admin] {
            assert!(seen(role, Some(&own)) && seen(role, Some(&other)) && seen(role, None));
        }
    }
}
