//! What a reply of GitHub says when it is not the one that was wanted, as errors with a next step.

use serde::Deserialize;
use toolcrib_core::net::FetchReply;
use toolcrib_core::{ErrorKind, ToolError, escape};

use crate::github::rate_limit::TokenUse;

/// The most characters of a message that are passed on.
const MOST_MESSAGE_CHARS: usize = 300;

/// A question that was not answered.
#[derive(Debug)]
pub(super) struct ApiFailure {
    /// The status of the reply; 0 without one.
    pub(super) status: u16,
    pub(super) error: ToolError,
}

impl From<ToolError> for ApiFailure {
    fn from(error: ToolError) -> Self {
        Self { status: 0, error }
    }
}

impl From<ApiFailure> for ToolError {
    fn from(failure: ApiFailure) -> Self {
        failure.error
    }
}

/// The body of an error.
#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: serde_json::Value,
}

/// Returns the message of a reply that is an error.
pub(super) fn message_of(reply: &FetchReply) -> String {
    let body: ErrorBody = serde_json::from_slice(&reply.body).unwrap_or_default();
    let message: String = body.message.chars().take(MOST_MESSAGE_CHARS).collect();
    escape::line(&message).into_owned()
}

/// Whether a reply is a page for people, in the place of data.
pub(super) fn is_page(reply: &FetchReply) -> bool {
    let is_html = reply.header("content-type").is_some_and(|it| it.starts_with("text/html"));
    is_html || reply.body.trim_ascii_start().starts_with(b"<")
}

/// Returns the error for a page in the place of data.
pub(super) fn page_error(host: &str, status: u16) -> ToolError {
    let message = format!("`{host}` answered with a page for people ({status}), and not as an API");
    ToolError::new(ErrorKind::Unavailable, message)
        .hint("check the API address; that of an Enterprise server is `https://HOST/api/v3`")
}

/// Returns the failure that a status other than that of a success means.
pub(super) fn failure_of(reply: &FetchReply, host: &str, token: TokenUse) -> ApiFailure {
    let says = message_of(reply);
    let status = reply.status;
    let told =
        if says.is_empty() { format!("status {status}") } else { format!("{status}, {says}") };
    let error = |kind: ErrorKind, message: String, hint: &str| {
        ToolError::new(kind, message).hint(hint).with("status", status)
    };
    let error = match (status, token) {
        (401, TokenUse::Sent) => error(
            ErrorKind::Permission,
            format!("`{host}` does not take the token: it has expired or is wrong ({told})"),
            "set GITHUB_TOKEN to a token that is valid",
        ),
        (401, TokenUse::None) => error(
            ErrorKind::Permission,
            format!("`{host}` answers only with a token ({told})"),
            "set GITHUB_TOKEN",
        ),
        (403, _) if is_too_large(reply) => error(
            ErrorKind::TooLarge,
            format!("`{host}` does not send so large a file ({told})"),
            "connect a clone of the repository to read it",
        ),
        (403, TokenUse::Sent) => error(
            ErrorKind::Permission,
            format!("`{host}` forbids this to the token ({told})"),
            "give the token the permission to read contents, checks and pull requests, and authorize it for the \
             organization if that has single sign-on",
        ),
        (403, TokenUse::None) => error(
            ErrorKind::Permission,
            format!("`{host}` forbids this without a token ({told})"),
            "set GITHUB_TOKEN",
        ),
        _ if is_page(reply) && status < 500 => page_error(host, status),
        (404 | 410 | 451, _) => error(
            ErrorKind::NotFound,
            format!("`{host}` has no such thing, or the token may not see it ({told})"),
            "check the name, and that GITHUB_TOKEN may read it",
        ),
        (500.., _) => error(
            ErrorKind::Unavailable,
            format!("`{host}` cannot answer now ({told})"),
            "repeat the call later; https://www.githubstatus.com says whether GitHub has a problem",
        ),
        _ => error(
            ErrorKind::Unavailable,
            format!("`{host}` answered in an unexpected way ({told})"),
            "check the API address and the name of the repository",
        ),
    };
    ApiFailure { status, error }
}

fn is_too_large(reply: &FetchReply) -> bool {
    let body: ErrorBody = serde_json::from_slice(&reply.body).unwrap_or_default();
    let codes = body.errors.as_array().into_iter().flatten();
    codes.into_iter().any(|error| error["code"] == "too_large")
}
