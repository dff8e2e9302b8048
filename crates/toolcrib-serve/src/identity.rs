//! Who makes a request: the owner of its bearer token, or of the session whose cookie it has.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{AUTHORIZATION, USER_AGENT, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use toolcrib_core::caller::{Caller, Door, Role, is_connection_name};
use toolcrib_core::escape::is_deceptive;
use toolcrib_ledger::TokenHash;

use crate::config::RequestRate;
use crate::oauth::{AccessDenial, AccessGrant, ResourceServer, TokenFault};
use crate::page_session::{PageDoor, PageSession};
use crate::presented_token::{OtherRole, PresentedToken, TokenBook, TokenKind, TokenOwner};
use crate::reply::ApiError;
use crate::token_bucket::TokenBucket;

/// How long a token of ours may be. Longer ones are not hashed.
const LONGEST_TOKEN: usize = 512;

/// How much is kept of what a client calls itself.
const LONGEST_CLIENT: usize = 128;

/// What the page is called as a client.
const PAGE_CLIENT: &str = "page";

/// The header with the second secret of a session. No page of another origin can send it.
pub(crate) const CSRF_HEADER: HeaderName = HeaderName::from_static("x-toolcrib-csrf");

/// The header with the name of the connection that the tools of a request read.
const CONNECTION_HEADER: HeaderName = HeaderName::from_static("x-toolcrib-connection");

/// When a client may try again whose token could not be verified.
const KEY_RETRY_TIME: Duration = Duration::from_secs(10);

/// Who makes a request.
pub(crate) struct Identified {
    pub(crate) caller: Caller,
    pub(crate) other_role: Option<OtherRole>,
    pub(crate) token: PresentedToken,
    /// The session of the page that the request is one of.
    pub(crate) session: Option<Arc<PageSession>>,
}

/// Finds out who makes a request.
pub(crate) struct Identifier {
    tokens: Arc<dyn TokenBook>,
    issuer: Option<Arc<ResourceServer>>,
    page: Arc<PageDoor>,
    wrong_tokens: Mutex<TokenBucket>,
}

impl Identifier {
    pub(crate) fn new(
        tokens: Arc<dyn TokenBook>,
        issuer: Option<Arc<ResourceServer>>,
        page: Arc<PageDoor>,
        wrong_tokens: RequestRate,
    ) -> Self {
        let bucket = TokenBucket::full(wrong_tokens, Instant::now());
        Self { tokens, issuer, page, wrong_tokens: Mutex::new(bucket) }
    }

    /// Returns who makes a request, or the error for one without a good token or session.
    pub(crate) async fn identify(&self, request: &Parts) -> Result<Identified, ApiError> {
        let headers = &request.headers;
        if !headers.contains_key(AUTHORIZATION) && takes_cookie(request.uri.path()) {
            let presented = self.page.cookie.presented(headers);
            if !presented.is_empty() {
                return self.identify_session(request, &presented);
            }
        }
        let token = presented_token(headers).map_err(|words| self.unauthorized(words, None))?;
        let TokenOwner { principal, other_role, token } = self.owner_of(token).await?;
        let (client, connection) = (client_name(headers), chosen_connection(headers)?);
        let caller = Caller { principal, door: Door::Http, client, connection, via: None };
        Ok(Identified { caller, other_role, token, session: None })
    }

    /// Returns who makes a request with the cookie of a session, if only a page of this server can have made it.
    /// Of several cookies, the one counts that is of a session.
    fn identify_session(&self, request: &Parts, ids: &[&str]) -> Result<Identified, ApiError> {
        let mut found = ids.iter().filter_map(|id| self.page.sessions.find(id)).peekable();
        let first = found.peek().cloned().ok_or_else(|| {
            self.unauthorized("the session of the page has ended; log in again", None)
        })?;
        let session = found.find(|it| check_sender(request, it).is_ok()).unwrap_or(first);
        check_sender(request, &session)?;
        let TokenOwner { principal, other_role, token } = session.owner.clone();
        let (client, connection) =
            (Some(PAGE_CLIENT.to_owned()), chosen_connection(&request.headers)?);
        let caller = Caller { principal, door: Door::Http, client, connection, via: None };
        Ok(Identified { caller, other_role, token, session: Some(session) })
    }

    /// Returns the owner of a token.
    pub(crate) async fn owner_of(&self, token: &str) -> Result<TokenOwner, ApiError> {
        // The token is compared even while wrong ones are refused, so that guesses of others never shut out who has
        // a good one.
        let hash = Some(token).filter(|it| it.len() <= LONGEST_TOKEN).map(TokenHash::of);
        let found = hash.and_then(|hash| Some((self.tokens.find(&hash)?, hash)));
        let (principal, other_role, kind) = match (found, &self.issuer) {
            (Some((owner, hash)), _) => (owner, None, TokenKind::Own(hash)),
            (None, Some(issuer)) if token.contains('.') => {
                // Its future would be a part of that of every request.
                let grant = Box::pin(self.verify(issuer, token)).await?;
                let AccessGrant { principal, other_role, expires_at } = grant;
                let (issuer, owner) = (Arc::clone(issuer), principal.clone());
                (principal, other_role, TokenKind::Access { issuer, owner, expires_at })
            }
            (None, _) => {
                let fault = TokenFault::Unknown;
                return Err(self.wrong_token(fault.words(), Some(fault)));
            }
        };
        let token = PresentedToken { tokens: Arc::clone(&self.tokens), kind, session: None };
        Ok(TokenOwner { principal, other_role: other_role.map(OtherRole), token })
    }

    /// Returns whom the printed link logs in. It then counts no more.
    pub(crate) fn owner_of_link(&self, code: &str) -> Result<TokenOwner, ApiError> {
        self.page.sessions.redeem_link(code, &self.tokens).ok_or_else(|| {
            let words = "this link was used or is too old, or is not the one that the server printed; log in with a token, or start the server again";
            self.wrong_token(words, None)
        })
    }

    /// Answers a request for what clients must know before they have a token. Returns `None` for any other path.
    pub(crate) fn answer(&self, method: &Method, path: &str) -> Option<Response> {
        self.issuer.as_ref()?.answer(method, path)
    }

    /// Waits until a token counts no more. Returns the error for what was asked with it.
    pub(crate) async fn end_of(&self, token: &PresentedToken) -> ApiError {
        token.wait_for_revocation().await;
        let words = match token.session {
            None => {
                "this token was revoked or rotated meanwhile; what was asked with it is cancelled"
            }
            Some(_) => {
                "this session or its token was ended meanwhile; what was asked in it is cancelled"
            }
        };
        self.unauthorized(words, None)
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
            Err(self.wrong_token(fault.words(), Some(fault)))
        } else {
            Err(self.unauthorized(fault.words(), Some(fault)))
        }
    }

    fn wrong_token(&self, words: &str, fault: Option<TokenFault>) -> ApiError {
        let mut bucket = self.wrong_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        match bucket.take(Instant::now()) {
            Ok(()) => self.unauthorized(words, fault),
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

/// Whether requests for a path can be made with a session of the page. A client of MCP has a token.
fn takes_cookie(path: &str) -> bool {
    path.starts_with("/api/") || path.starts_with("/page/") || path == "/metrics"
}

/// Refuses a request that another page, or a program that only knows the cookie, can have made. `Origin` was checked
/// before.
fn check_sender(request: &Parts, session: &PageSession) -> Result<(), ApiError> {
    let refuse = |message: &str| Err(ApiError::new(StatusCode::FORBIDDEN, "csrf", message));
    let headers = &request.headers;
    if headers.get_all("sec-fetch-site").iter().any(|value| value != "same-origin") {
        return refuse(
            "the cookie of the page counts only for requests that the page makes; open `/` and use the page",
        );
    }
    // Also to read: a browser sends the cookie to every port of the host, so other programs can have it.
    let mut values = headers.get_all(CSRF_HEADER).iter();
    match (values.next().and_then(|value| value.to_str().ok()), values.next()) {
        (Some(presented), None) if session.has_csrf(presented) => Ok(()),
        _ => refuse(
            "`X-Toolcrib-Csrf` is missing or is not that of this session; send the `csrf` that the login returned, or log in again",
        ),
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

/// Returns the connection that a request chooses. Whether the operator has added it is said when a tool reads it.
fn chosen_connection(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(CONNECTION_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match value.to_str() {
        Ok(name) if is_connection_name(name) && values.next().is_none() => {
            Ok(Some(name.to_owned()))
        }
        _ => {
            let message = "`X-Toolcrib-Connection` is given once, with the name of a connection: letters, digits, `-`, `_` and `.`";
            Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_header", message))
        }
    }
}
