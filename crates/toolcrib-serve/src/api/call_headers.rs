//! What a request to make a call says in its headers. They are read where they are: a copy of all headers costs more than
//! the call's own checks.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};

use super::full_outcome::OutcomeForm;
use crate::observation::TraceContext;
use crate::reply::ApiError;

/// How long a caller may wait for an answer to a question, with `Prefer: wait=N`.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// How long an idempotency key may be.
const LONGEST_KEY: usize = 255;

/// What the headers of a request say about its call.
pub(super) struct CallHeaders {
    /// How long the caller waits for an answer to a question.
    pub(super) wait: Duration,
    pub(super) form: OutcomeForm,
    /// The idempotency key.
    pub(super) key: Option<String>,
    /// Where in a trace the call is made.
    pub(super) trace: Option<TraceContext>,
}

impl<S: Send + Sync> FromRequestParts<S> for CallHeaders {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let headers = &parts.headers;
        Ok(Self {
            wait: wait_of(headers)?,
            form: OutcomeForm::of(headers),
            key: key_of(headers)?,
            trace: TraceContext::read(headers),
        })
    }
}

/// Reads `Idempotency-Key`.
fn key_of(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(key) = given.next() else { return Ok(None) };
    let is_plain = |byte: &u8| byte.is_ascii_graphic();
    let bytes = key.as_bytes();
    let is_good = (1..=LONGEST_KEY).contains(&bytes.len()) && bytes.iter().all(is_plain);
    match key.to_str() {
        Ok(key) if is_good && given.next().is_none() => Ok(Some(key.to_owned())),
        _ => {
            let message = format!(
                "`Idempotency-Key` is given once, with at most {LONGEST_KEY} visible ASCII characters"
            );
            Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_header", message))
        }
    }
}

/// Reads `Prefer: wait=N`.
fn wait_of(headers: &HeaderMap) -> Result<Duration, ApiError> {
    let mut given = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let wait_in = |value: &'_ str| -> Option<String> {
        let mut parts = value.split([',', ';']);
        parts.find_map(|part| part.trim().strip_prefix("wait=").map(str::to_owned))
    };
    let wait = given.find_map(wait_in);
    let Some(wait) = wait else { return Ok(Duration::ZERO) };
    let seconds = wait.parse().map_err(|_| {
        let message = format!("`Prefer: wait=` takes whole seconds, not `{wait}`");
        ApiError::new(StatusCode::BAD_REQUEST, "invalid_header", message)
    })?;
    Ok(Duration::from_secs(seconds).min(LONGEST_WAIT))
}
