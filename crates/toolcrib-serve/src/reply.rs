//! The form of every reply: errors as `{"ok":false,"error":…,"message":…}`, and the headers that all replies have.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, ETAG, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, Limited};
use serde_json::{Map, Value};
use toolcrib_core::{Role, escape};

/// The header with the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How long an id may be that a client gives to its request.
const LONGEST_REQUEST_ID: usize = 64;

/// How much is kept of a text that becomes the message of an error.
const LONGEST_PLAIN_MESSAGE: usize = 4096;

/// The id of a request: the client's own, or a ULID. It is in the request's extensions and in its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Returns a new id.
    pub fn generate() -> Self {
        Self(ulid::Ulid::generate().to_string())
    }

    /// Returns the client's own id if it is well formed, or a new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
        let is_plain = |text: &&str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let is_short = |text: &&str| (1..=LONGEST_REQUEST_ID).contains(&text.len());
        match given.filter(is_short).filter(is_plain) {
            Some(id) => Self(id.to_owned()),
            None => Self::generate(),
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn to_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

/// An error as a client gets it: a status, a stable code for programs, and a message for people.
#[derive(Clone, Debug)]
pub struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// More fields beside `ok`, `error` and `message`.
    extra: Map<String, Value>,
    headers: HeaderMap,
    needed_roles: Option<NeededRoles>,
}

impl ApiError {
    /// Makes an error. `code` is in `snake_case` and never changes.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let (extra, headers) = (Map::new(), HeaderMap::new());
        Self { status, code, message: message.into(), extra, headers, needed_roles: None }
    }

    /// Makes a 400 error of a request that is not well formed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// Makes the 404 error of a path that leads nowhere.
    pub fn not_found() -> Self {
        let message = "there is nothing at this path; check its spelling";
        Self::new(StatusCode::NOT_FOUND, code_of(StatusCode::NOT_FOUND), message)
    }

    /// Makes a 405 error. `allow` lists the methods that the path has.
    pub fn method_not_allowed(allow: &'static str) -> Self {
        let message = match allow {
            "" => "this server does not take requests with this method".to_owned(),
            _ => format!("this path does not take this method; use {allow}"),
        };
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Self::new(status, code_of(status), message).header(ALLOW, HeaderValue::from_static(allow))
    }

    /// Makes the 503 error of something that the server needs and cannot use now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(status, code_of(status), message)
    }

    /// Makes the 500 error of a defect. The message says nothing about the defect.
    pub fn internal(id: &RequestId) -> Self {
        let message =
            format!("the server failed while it answered; report request {}", id.as_str());
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(status, code_of(status), message).field("requestId", id.as_str())
    }

    /// Adds a field beside `ok`, `error` and `message`.
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a header to the reply.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Says of which roles one is needed, the weakest first.
    pub(crate) fn needs_role(mut self, roles: &'static [Role]) -> Self {
        self.needed_roles = Some(NeededRoles(roles));
        self
    }

    /// Says when the client may try again, in whole seconds, at least one.
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1);
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Closes the connection after the reply.
    pub fn closing(self) -> Self {
        self.header(CONNECTION, HeaderValue::from_static("close"))
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the message for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the code.
    pub fn code(&self) -> &'static str {
        self.code
    }

    fn json(&self) -> String {
        let mut object = Map::new();
        object.insert("ok".to_owned(), Value::Bool(false));
        object.insert("error".to_owned(), self.code.into());
        object.insert("message".to_owned(), escape::lines(&self.message).into());
        object.extend(self.extra.clone());
        Value::Object(object).to_string()
    }

    /// Returns the whole reply as bytes, for a request that does not get as far as the HTTP library.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let body = escape::json(&self.json()).into_owned();
        let mut headers = self.headers.clone();
        add_common_headers(&mut headers, &RequestId::generate());
        let reason = self.status.canonical_reason().unwrap_or_default();
        let mut bytes = format!("HTTP/1.1 {} {reason}\r\n", self.status.as_u16()).into_bytes();
        for (name, value) in &headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        let rest = "content-type: application/json\r\nconnection: close";
        bytes.extend_from_slice(
            format!("{rest}\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(),
        );
        bytes.extend_from_slice(body.as_bytes());
        bytes
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json_response(self.status, self.json());
        response.extensions_mut().insert(ErrorCode(self.code));
        if let Some(needed) = self.needed_roles {
            response.extensions_mut().insert(needed);
        }
        response.headers_mut().extend(self.headers);
        response
    }
}

/// The code of the error in a reply, for the log.
#[derive(Clone, Copy)]
pub(crate) struct ErrorCode(pub(crate) &'static str);

/// The roles of which a request needed one, for clients that can get a token with another role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeededRoles(pub(crate) &'static [Role]);

/// Makes a reply of JSON text.
pub(crate) fn json_response(status: StatusCode, text: String) -> Response {
    // The same value, but safe to show on a terminal.
    let text = match escape::json(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Adds the headers that every reply has.
pub(crate) fn add_common_headers(headers: &mut HeaderMap, id: &RequestId) {
    if let Some(id) = id.to_header() {
        headers.insert(REQUEST_ID, id);
    }
    // A file with a tag may be kept by clients that ask each time whether it has changed.
    let caching = if headers.contains_key(ETAG) { "no-cache" } else { "no-store" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Gives an error that is not JSON the form of all errors. Such errors come from the router, which answers unknown
/// paths and wrong methods without a body, and from extractors, which answer with plain text.
pub(crate) async fn with_error_form(response: Response) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || is_json(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = Limited::new(body, LONGEST_PLAIN_MESSAGE).collect().await;
    let text = text.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let message = match text.trim() {
        "" => plain_message(status, &parts.headers),
        text => text.to_owned(),
    };
    // They describe the body that is replaced.
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(axum::http::header::CONTENT_LENGTH);
    let mut response = ApiError::new(status, code_of(status), message).into_response();
    response.headers_mut().extend(parts.headers);
    response
}

fn plain_message(status: StatusCode, headers: &HeaderMap) -> String {
    let allow = headers.get(ALLOW).and_then(|value| value.to_str().ok());
    match (status, allow) {
        (StatusCode::NOT_FOUND, _) => ApiError::not_found().message,
        (StatusCode::METHOD_NOT_ALLOWED, Some(allow)) => {
            format!("this path does not take this method; use {}", allow.replace(',', ", "))
        }
        _ => status.canonical_reason().unwrap_or("the request failed").to_lowercase(),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.starts_with("application/json"))
}

/// Returns the code of an error that has none of its own.
fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
        StatusCode::REQUEST_TIMEOUT => "timeout",
        StatusCode::CONFLICT => "conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "body_too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
        StatusCode::UNPROCESSABLE_ENTITY => "unprocessable",
        StatusCode::TOO_MANY_REQUESTS => "rate_limited",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        status if status.is_server_error() => "internal_error",
        _ => "bad_request",
    }
}
