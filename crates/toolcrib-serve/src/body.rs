//! The body of a request: bounded in size and in time, and read as strict JSON.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep_until};
use toolcrib_core::json::{self, JsonErrorKind};

use crate::config::RequestBounds;
use crate::reply::ApiError;

/// How much room is made for a body before its first byte has come.
const FIRST_ROOM: usize = 64 << 10;

/// The body of a request as strict JSON, for handlers.
#[derive(Debug)]
pub struct JsonBody(
    /// The value.
    pub Value,
);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = read(request.into_body()).await?;
        parse(&bytes).map(Self)
    }
}

/// The body of a request as strict JSON, if it has one.
#[derive(Debug)]
pub(crate) struct JsonBodyIfAny(pub(crate) Option<Value>);

impl<S: Send + Sync> FromRequest<S> for JsonBodyIfAny {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = read(request.into_body()).await?;
        let value = if bytes.is_empty() { None } else { Some(parse(&bytes)?) };
        Ok(Self(value))
    }
}

fn parse(bytes: &[u8]) -> Result<Value, ApiError> {
    json::parse(bytes).map_err(|err| match err.kind {
        JsonErrorKind::TooLong => too_large(json::MAX_BYTES),
        JsonErrorKind::NotUtf8 | JsonErrorKind::Empty | JsonErrorKind::Syntax => {
            let message = format!("the body cannot be accepted as JSON: {err}");
            ApiError::new(StatusCode::BAD_REQUEST, "invalid_json", message)
        }
    })
}

async fn read(mut body: Body) -> Result<Vec<u8>, ApiError> {
    let expected = body.size_hint().lower();
    let room = usize::try_from(expected).map_or(FIRST_ROOM, |expected| expected.min(FIRST_ROOM));
    let mut bytes = Vec::with_capacity(room);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|err| match err.into_inner().downcast::<BodyFailure>() {
            Ok(failure) => failure.to_error(),
            Err(_) => BodyFailure::Cut.to_error(),
        })?;
        if let Ok(part) = frame.into_data() {
            bytes.extend_from_slice(&part);
        }
    }
    Ok(bytes)
}

/// Refuses a request that announces a body over the limit, before any of it is read.
pub(crate) fn check_announced_length(headers: &HeaderMap, limit: usize) -> Result<(), ApiError> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    // A length that is no number did not get past the head, so it can only be a huge one.
    let is_too_large = |text: &str| text.parse::<u64>().map_or(true, |bytes| bytes > limit as u64);
    if announced.is_some_and(is_too_large) { Err(too_large(limit)) } else { Ok(()) }
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("the body is over the limit of {limit} bytes; send less at once");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
        .field("limitBytes", limit)
        .closing()
}

/// Why a body could not be read to its end.
#[derive(Clone, Debug)]
enum BodyFailure {
    TooLarge { limit: usize },
    TooSlow { seconds: u64 },
    Cut,
}

impl BodyFailure {
    fn to_error(&self) -> ApiError {
        match self {
            Self::TooLarge { limit } => too_large(*limit),
            Self::TooSlow { seconds } => {
                let message =
                    format!("the body did not arrive within {seconds} seconds; nothing was run");
                ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", message).closing()
            }
            Self::Cut => {
                let message = "the body ended before its announced end; nothing was run";
                ApiError::new(StatusCode::BAD_REQUEST, "incomplete_body", message).closing()
            }
        }
    }
}

impl fmt::Display for BodyFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge { .. } => "the body is over the limit",
            Self::TooSlow { .. } => "the body did not arrive in time",
            Self::Cut => "the body ended before its announced end",
        })
    }
}

impl Error for BodyFailure {}

/// Knows whether the body of a request could be read to its end.
#[derive(Clone, Default)]
pub(crate) struct BodyWatch(Arc<OnceLock<BodyFailure>>);

impl BodyWatch {
    /// Returns the error of a body that failed. It replaces the error of a handler that read the body by itself and
    /// could not know why it ended.
    pub(crate) fn error(&self) -> Option<ApiError> {
        self.0.get().map(BodyFailure::to_error)
    }
}

/// A body that fails when it gets too large or takes too long.
struct BoundedBody {
    inner: Incoming,
    limit: usize,
    received: usize,
    seconds: u64,
    deadline: Pin<Box<Sleep>>,
    watch: BodyWatch,
}

/// Bounds a body, and returns what knows of its failure.
pub(crate) fn bounded(inner: Incoming, bounds: &RequestBounds) -> (Body, BodyWatch) {
    let watch = BodyWatch::default();
    if inner.is_end_stream() {
        return (Body::empty(), watch);
    }
    let body = BoundedBody {
        inner,
        limit: bounds.body_bytes,
        received: 0,
        seconds: bounds.body_time.as_secs(),
        deadline: Box::pin(sleep_until(Instant::now() + bounds.body_time)),
        watch: watch.clone(),
    };
    (Body::new(body), watch)
}

impl BoundedBody {
    fn fail(&self, failure: BodyFailure) -> BodyFailure {
        self.watch.0.get_or_init(|| failure).clone()
    }

    fn count(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, BodyFailure> {
        self.received += frame.data_ref().map_or(0, Bytes::len);
        if self.received > self.limit {
            Err(self.fail(BodyFailure::TooLarge { limit: self.limit }))
        } else {
            Ok(frame)
        }
    }
}

impl HttpBody for BoundedBody {
    type Data = Bytes;
    type Error = BodyFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFailure>>> {
        if let Some(failure) = self.watch.0.get() {
            return Poll::Ready(Some(Err(failure.clone())));
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(self.count(frame))),
            Poll::Ready(Some(Err(_))) => Poll::Ready(Some(Err(self.fail(BodyFailure::Cut)))),
            Poll::Pending => match self.deadline.as_mut().poll(cx) {
                Poll::Ready(()) => {
                    let failure = BodyFailure::TooSlow { seconds: self.seconds };
                    Poll::Ready(Some(Err(self.fail(failure))))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
