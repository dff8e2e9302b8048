//! The token of a request, for what outlasts its check: a call, a stream, a session of the page.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::WWW_AUTHENTICATE;
use axum::response::Response;
use tokio::time::sleep;
use toolcrib_core::caller::{Principal, Role};
use toolcrib_ledger::{TokenFile, TokenHash};

use crate::oauth::ResourceServer;
use crate::reply::NeededRoles;
use crate::session_life::SessionLife;

/// The tokens that the server accepts.
pub trait TokenBook: Send + Sync {
    /// Returns the owner of a token, if there is one. The time it takes says nothing about how much of a wrong token
    /// is right.
    fn find(&self, presented: &TokenHash) -> Option<Principal>;

    /// Whether a token still counts. If that cannot be found out, it does.
    fn is_current(&self, token: &TokenHash) -> bool;

    /// Whether a principal was revoked for whom an authorization server vouches. `None` if that cannot be found out.
    fn is_revoked(&self, principal: &Principal) -> Option<bool>;
}

impl TokenBook for TokenFile {
    fn find(&self, presented: &TokenHash) -> Option<Principal> {
        self.find(presented)
    }

    fn is_current(&self, token: &TokenHash) -> bool {
        self.is_current(token).unwrap_or(true)
    }

    fn is_revoked(&self, principal: &Principal) -> Option<bool> {
        self.is_active(principal).ok().map(|is_active| !is_active)
    }
}

/// How often the server looks whether the token of a request that runs still counts.
const TOKEN_INTERVAL: Duration = Duration::from_millis(500);

/// The token of a request, for what outlasts its check.
#[derive(Clone)]
pub(crate) struct PresentedToken {
    pub(crate) tokens: Arc<dyn TokenBook>,
    pub(crate) kind: TokenKind,
    /// The session of the page that was begun with the token, if the request is one of it.
    pub(crate) session: Option<Arc<SessionLife>>,
}

#[derive(Clone)]
pub(crate) enum TokenKind {
    /// One that the operator made.
    Own(TokenHash),
    /// One of an authorization server.
    Access { issuer: Arc<ResourceServer>, owner: Principal, expires_at: i64 },
    /// The link that the server printed. It was used up, and only the session is left of it.
    Link,
}

/// Another role that the owner of a token has. It is taken where the first one is not enough, so that a client that was
/// given two scopes can use both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherRole(pub(crate) Role);

/// The owner of a token.
#[derive(Clone)]
pub(crate) struct TokenOwner {
    pub(crate) principal: Principal,
    pub(crate) other_role: Option<OtherRole>,
    pub(crate) token: PresentedToken,
}

impl PresentedToken {
    /// Waits until the token was revoked or rotated, or its session was ended. A call that has begun goes on when its
    /// token expires, because its client can only send a new token with its next request.
    pub(crate) async fn wait_for_revocation(&self) {
        self.wait_while(|| !self.is_revoked()).await;
    }

    /// Waits until the token counts no more: it was revoked or rotated, or has expired, or so has its session. For
    /// replies without an end.
    pub(crate) async fn wait_for_end(&self) {
        self.wait_while(|| {
            let is_good = !self.is_revoked() && !self.has_expired();
            if is_good && let Some(session) = &self.session {
                // Somebody reads along, so the session is not idle.
                session.note_use();
            }
            is_good
        })
        .await;
    }

    async fn wait_while(&self, is_good: impl Fn() -> bool) {
        // The token was good a moment ago, and most requests are short.
        sleep(TOKEN_INTERVAL).await;
        while is_good() {
            sleep(TOKEN_INTERVAL).await;
        }
    }

    /// Whether a new request could be made with the token. If that cannot be found out, it could not.
    pub(crate) fn is_good(&self) -> bool {
        let is_known = match &self.kind {
            TokenKind::Own(hash) => self.tokens.find(hash).is_some(),
            TokenKind::Access { owner, .. } => self.tokens.is_revoked(owner) == Some(false),
            TokenKind::Link => true,
        };
        is_known && !self.has_expired()
    }

    /// Returns the second in which the token expires, if it does.
    pub(crate) fn expires_at(&self) -> Option<i64> {
        match &self.kind {
            TokenKind::Own(_) | TokenKind::Link => None,
            TokenKind::Access { expires_at, .. } => Some(*expires_at),
        }
    }

    fn is_revoked(&self) -> bool {
        let was_ended = self.session.as_ref().is_some_and(|session| session.has_ended());
        was_ended
            || match &self.kind {
                TokenKind::Own(hash) => !self.tokens.is_current(hash),
                TokenKind::Access { owner, .. } => self.tokens.is_revoked(owner) == Some(true),
                TokenKind::Link => false,
            }
    }

    fn has_expired(&self) -> bool {
        let is_over = self.session.as_ref().is_some_and(|session| session.has_expired());
        is_over
            || match &self.kind {
                TokenKind::Own(_) | TokenKind::Link => false,
                TokenKind::Access { issuer, expires_at, .. } => issuer.has_expired(*expires_at),
            }
    }

    /// Adds to a refusal which scope would have been enough, if the token has scopes.
    pub(crate) fn explain_refusal(&self, response: &mut Response) {
        let needed = response.extensions().get::<NeededRoles>().copied();
        if let (TokenKind::Access { issuer, .. }, Some(NeededRoles(roles))) = (&self.kind, needed) {
            let challenge = issuer.scope_challenge(roles);
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
    }
}
