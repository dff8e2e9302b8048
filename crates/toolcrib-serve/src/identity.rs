//! Who makes a request: the owner of its bearer token.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{AUTHORIZATION, USER_AGENT, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use tokio::time::sleep;
use toolcrib_core::caller::{Caller, Door, Principal, Role};
use toolcrib_core::escape::is_deceptive;
use toolcrib_ledger::{TokenFile, TokenHash};

use crate::config::RequestRate;
use crate::oauth::{AccessDenial, AccessGrant, ResourceServer, TokenFault};
use crate::reply::{ApiError, NeededRoles};
use crate::token_bucket::TokenBucket;

/// How long a token of ours may be. Longer ones are not hashed.
const LONGEST_TOKEN: usize = 512;

/// How much is kept of what a client calls itself.
const LONGEST_CLIENT: usize = 128;

/// When a client may try again whose token could not be verified.
const KEY_RETRY_TIME: Duration = Duration::from_secs(10);

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
    tokens: Arc<dyn TokenBook>,
    kind: TokenKind,
}

#[derive(Clone)]
enum TokenKind {
    /// One that the operator made.
    Own(TokenHash),
    /// One of an authorization server.
    Access { issuer: Arc<ResourceServer>, owner: Principal, expires_at: i64 },
}

impl PresentedToken {
    /// Waits until the token was revoked or rotated. A call that has begun goes on when its token expires, because its
    /// client can only send a new token with its next request.
    async fn wait_for_revocation(&self) {
        self.wait_while(|| !self.is_revoked()).await;
    }

    /// Waits until the token counts no more: it was revoked or rotated, or has expired. For replies without an end.
    pub(crate) async fn wait_for_end(&self) {
        self.wait_while(|| !self.is_revoked() && !self.has_expired()).await;
    }

    async fn wait_while(&self, is_good: impl Fn() -> bool) {
        // The token was good a moment ago, and most requests are short.
        sleep(TOKEN_INTERVAL).await;
        while is_good() {
            sleep(TOKEN_INTERVAL).await;
        }
    }

    fn is_revoked(&self) -> bool {
        match &self.kind {
            TokenKind::Own(hash) => !self.tokens.is_current(hash),
            TokenKind::Access { owner, .. } => self.tokens.is_revoked(owner) == Some(true),
        }
    }

    fn has_expired(&self) -> bool {
        match &self.kind {
            TokenKind::Own(_) => false,
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

/// Another role that the owner of a token has. It is taken where the first one is not enough, so that a client that was
/// given two scopes can use both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherRole(pub(crate) Role);

/// Who makes a request.
pub(crate) struct Identified {
    pub(crate) caller: Caller,
    pub(crate) other_role: Option<OtherRole>,
    pub(crate) token: PresentedToken,
}

/// Finds out who makes a request.
pub(crate) struct Identifier {
    tokens: Arc<dyn TokenBook>,
    issuer: Option<Arc<ResourceServer>>,
    wrong_tokens: Mutex<TokenBucket>,
}

impl Identifier {
    pub(crate) fn new(
        tokens: Arc<dyn TokenBook>,
        issuer: Option<Arc<ResourceServer>>,
        wrong_tokens: RequestRate,
    ) -> Self {
        let bucket = TokenBucket::full(wrong_tokens, Instant::now());
        Self { tokens, issuer, wrong_tokens: Mutex::new(bucket) }
    }

    /// Returns who makes a request, or the error for one without a good token.
    pub(crate) async fn identify(&self, headers: &HeaderMap) -> Result<Identified, ApiError> {
        let token = presented_token(headers).map_err(|words| self.unauthorized(words, None))?;
        // The token is compared even while wrong ones are refused, so that guesses of others never shut out who has
        // a good one.
        let hash = Some(token).filter(|it| it.len() <= LONGEST_TOKEN).map(TokenHash::of);
        let found = hash.and_then(|hash| Some((self.tokens.find(&hash)?, hash)));
        let (principal, other_role, kind) = match (found, &self.issuer) {
            (Some((owner, hash)), _) => (owner, None, TokenKind::Own(hash)),
            (None, Some(issuer)) if token.contains('.') => {
                let grant = self.verify(issuer, token).await?;
                let AccessGrant { principal, other_role, expires_at } = grant;
                let (issuer, owner) = (Arc::clone(issuer), principal.clone());
                (principal, other_role, TokenKind::Access { issuer, owner, expires_at })
            }
            (None, _) => return Err(self.wrong_token(TokenFault::Unknown)),
        };
        let caller = Caller { principal, door: Door::Http, client: client_name(headers) };
        let token = PresentedToken { tokens: Arc::clone(&self.tokens), kind };
        Ok(Identified { caller, other_role: other_role.map(OtherRole), token })
    }

    /// Answers a request for what clients must know before they have a token. Returns `None` for any other path.
    pub(crate) fn answer(&self, method: &Method, path: &str) -> Option<Response> {
        self.issuer.as_ref()?.answer(method, path)
    }

    /// Waits until a token counts no more. Returns the error for what was asked with it.
    pub(crate) async fn end_of(&self, token: &PresentedToken) -> ApiError {
        token.wait_for_revocation().await;
        self.unauthorized(
            "this token was revoked or rotated meanwhile; what was asked with it is cancelled",
            None,
        )
    }

    async fn verify(&self, issuer: &ResourceServer, token: &str) -> Result<AccessGrant, ApiError> {
        let verified = issuer.verify(token).await;
        let fault = match verified {
            Ok(grant) if self.tokens.is_revoked(&grant.principal) == Some(false) => {
                return Ok(grant);
            }
            Ok(_) => TokenFault::Revoked,
            Err(AccessDenial::Fault(fault)) => fault,
            Err(AccessDenial::NoRole) => {
                let message = "none of the scopes of this token gives a role here; ask for a token with another scope";
                let challenge = issuer.scope_challenge(&Role::OF_TOKENS);
                return Err(ApiError::new(StatusCode::FORBIDDEN, "insufficient_scope", message)
                    .header(WWW_AUTHENTICATE, challenge)
                    .closing());
            }
            Err(AccessDenial::NoKeys) => {
                let message = "the keys of the authorization server cannot be loaded, so no access token can be checked; try again";
                return Err(ApiError::unavailable(message).retry_after(KEY_RETRY_TIME));
            }
        };
        if fault.may_be_a_guess() {
            Err(self.wrong_token(fault))
        } else {
            Err(self.unauthorized(fault.words(), Some(fault)))
        }
    }

    fn wrong_token(&self, fault: TokenFault) -> ApiError {
        let mut bucket = self.wrong_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        match bucket.take(Instant::now()) {
            Ok(()) => self.unauthorized(fault.words(), Some(fault)),
            Err(wait) => {
                let message =
                    "too many wrong tokens; wait, then use a token that the operator made";
                ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_wrong_tokens", message)
                    .retry_after(wait)
                    .closing()
            }
        }
    }

    // The connection ends, so that a program that guesses pays for a new one each time.
    fn unauthorized(&self, message: &str, fault: Option<TokenFault>) -> ApiError {
        let challenge = match &self.issuer {
            Some(issuer) => issuer.challenge(fault),
            None => HeaderValue::from_static("Bearer"),
        };
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .header(WWW_AUTHENTICATE, challenge)
            .closing()
    }
}

/// Returns the token of a request, or what is wrong with its header.
fn presented_token(headers: &HeaderMap) -> Result<&str, &'static str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or("a token is needed; send `Authorization: Bearer TOKEN`")?;
    if values.next().is_some() {
        return Err("`Authorization` is given more than once; send it once");
    }
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token))
            if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() =>
        {
            Ok(token.trim())
        }
        _ => Err("the token is not in the form `Authorization: Bearer TOKEN`"),
    }
}

fn client_name(headers: &HeaderMap) -> Option<String> {
    let text = String::from_utf8_lossy(headers.get(USER_AGENT)?.as_bytes());
    let is_shown = |it: &char| !it.is_control() && !is_deceptive(*it);
    let name: String = text.chars().filter(is_shown).take(LONGEST_CLIENT).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
