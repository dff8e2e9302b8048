//! Who makes a request: the owner of its bearer token.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{AUTHORIZATION, USER_AGENT, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::sleep;
use toolcrib_core::caller::{Caller, Door, Principal};
use toolcrib_core::escape::is_deceptive;
use toolcrib_ledger::{TokenFile, TokenHash};

use crate::config::RequestRate;
use crate::reply::ApiError;
use crate::token_bucket::TokenBucket;

/// How long a token may be. Longer ones are wrong, and are not hashed.
const LONGEST_TOKEN: usize = 512;

/// How much is kept of what a client calls itself.
const LONGEST_CLIENT: usize = 128;

/// The tokens that the server accepts.
pub trait TokenBook: Send + Sync {
    /// Returns the owner of a token, if there is one. The time it takes says nothing about how much of a wrong token
    /// is right.
    fn find(&self, presented: &TokenHash) -> Option<Principal>;

    /// Whether a token still counts. If that cannot be found out, it does.
    fn is_current(&self, token: &TokenHash) -> bool;
}

impl TokenBook for TokenFile {
    fn find(&self, presented: &TokenHash) -> Option<Principal> {
        self.find(presented)
    }

    fn is_current(&self, token: &TokenHash) -> bool {
        self.is_current(token).unwrap_or(true)
    }
}

/// How often the server looks whether the token of a request that runs still counts.
const TOKEN_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until a token counts no more.
pub(crate) async fn wait_for_end_of_token(tokens: &dyn TokenBook, token: &TokenHash) {
    // The token was good a moment ago, and most requests are short.
    sleep(TOKEN_INTERVAL).await;
    while tokens.is_current(token) {
        sleep(TOKEN_INTERVAL).await;
    }
}

/// Finds out who makes a request.
pub(crate) struct Identifier {
    tokens: Arc<dyn TokenBook>,
    wrong_tokens: Mutex<TokenBucket>,
}

impl Identifier {
    pub(crate) fn new(tokens: Arc<dyn TokenBook>, wrong_tokens: RequestRate) -> Self {
        let bucket = TokenBucket::full(wrong_tokens, Instant::now());
        Self { tokens, wrong_tokens: Mutex::new(bucket) }
    }

    /// Returns the caller and the hash of its token, or the error for a request without a good one.
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Result<(Caller, TokenHash), ApiError> {
        let token = presented_token(headers)?;
        // The token is compared even while wrong ones are refused, so that guesses of others never shut out who has
        // a good one.
        let hash = Some(token).filter(|it| it.len() <= LONGEST_TOKEN).map(TokenHash::of);
        let found = hash.and_then(|hash| Some((self.tokens.find(&hash)?, hash)));
        let (principal, hash) = found.ok_or_else(|| self.wrong_token())?;
        let caller = Caller { principal, door: Door::Http, client: client_name(headers) };
        Ok((caller, hash))
    }

    /// Waits until a token counts no more. Returns the error for what was asked with it.
    pub(crate) async fn end_of(&self, token: &TokenHash) -> ApiError {
        wait_for_end_of_token(&*self.tokens, token).await;
        unauthorized(
            "this token was revoked or rotated meanwhile; what was asked with it is cancelled",
        )
    }

    fn wrong_token(&self) -> ApiError {
        let mut bucket = self.wrong_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        match bucket.take(Instant::now()) {
            Ok(()) => unauthorized("this token is wrong or revoked; ask the operator for a token"),
            Err(wait) => {
                let message =
                    "too many wrong tokens; wait, then use a token that the operator made";
                ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_wrong_tokens", message)
                    .retry_after(wait)
                    .closing()
            }
        }
    }
}

fn presented_token(headers: &HeaderMap) -> Result<&str, ApiError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(unauthorized("a token is needed; send `Authorization: Bearer TOKEN`"));
    };
    if values.next().is_some() {
        return Err(unauthorized("`Authorization` is given more than once; send it once"));
    }
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token))
            if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() =>
        {
            Ok(token.trim())
        }
        _ => Err(unauthorized("the token is not in the form `Authorization: Bearer TOKEN`")),
    }
}

// The connection ends, so that a program that guesses pays for a new one each time.
fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
        .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        .closing()
}

fn client_name(headers: &HeaderMap) -> Option<String> {
    let text = String::from_utf8_lossy(headers.get(USER_AGENT)?.as_bytes());
    let is_shown = |it: &char| !it.is_control() && !is_deceptive(*it);
    let name: String = text.chars().filter(is_shown).take(LONGEST_CLIENT).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
