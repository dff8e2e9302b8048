//! Handlers for the tests: one that echoes, one that waits until it is told, one that panics.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Path, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use hyper::body::{Frame, SizeHint};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib_core::caller::Caller;
use toolcrib_serve::{JsonBody, RequestId};

/// How large the reply of `/large` is. It fits in no socket's buffers.
pub(crate) const LARGE_BYTES: usize = 64 << 20;

/// What the handlers share with the test.
pub(crate) struct Handled {
    /// How many handlers have run.
    pub(crate) runs: AtomicUsize,
    /// Hears of each `/wait` and `/large` that has begun.
    pub(crate) begun: Sender<()>,
    /// Each permit lets one `/wait` end.
    pub(crate) releases: Semaphore,
}

type Shared = State<Arc<Handled>>;

pub(crate) fn routes(handled: Arc<Handled>) -> Router {
    Router::new()
        .route("/echo", post(echo).get(who))
        .route("/named/{name}", get(tool))
        .route("/number/{number}", get(number))
        .route("/admin", get(who))
        .route("/raw", post(raw))
        .route("/wait", get(wait))
        .route("/stream", get(stream))
        .route("/large", get(large))
        .route("/panic", get(panics))
        .route("/api/echo", post(echo).get(who))
        .route("/api/wait", get(wait))
        .route("/api/stream", get(stream))
        .route("/metrics", get(who))
        .route("/mcp", post(echo).get(who))
        .with_state(handled)
}

fn reply(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn echo(
    State(handled): Shared,
    Extension(caller): Extension<Caller>,
    Extension(id): Extension<RequestId>,
    JsonBody(body): JsonBody,
) -> Response {
    handled.runs.fetch_add(1, Ordering::SeqCst);
    reply(&json!({"ok": true, "body": body, "caller": caller, "id": id.as_str()}))
}

async fn who(
    State(handled): Shared,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    assert!(!headers.contains_key(AUTHORIZATION), "a handler sees the token");
    assert!(!headers.contains_key(COOKIE), "a handler sees the cookie");
    handled.runs.fetch_add(1, Ordering::SeqCst);
    reply(&json!({"ok": true, "caller": caller}))
}

async fn tool(State(handled): Shared, Path(name): Path<String>) -> Response {
    handled.runs.fetch_add(1, Ordering::SeqCst);
    reply(&json!({"ok": true, "tool": name}))
}

async fn number(Path(number): Path<u32>) -> Response {
    reply(&json!({"ok": true, "number": number}))
}

/// Reads the body by itself, and does not know why it cannot be read.
async fn raw(State(handled): Shared, body: Body) -> Response {
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => {
            handled.runs.fetch_add(1, Ordering::SeqCst);
            reply(&json!({"ok": true, "bytes": bytes.len()}))
        }
        Err(_) => (StatusCode::BAD_REQUEST, "no idea").into_response(),
    }
}

async fn wait(State(handled): Shared) -> Response {
    handled.begun.send(()).unwrap();
    handled.releases.acquire().await.unwrap().forget();
    handled.runs.fetch_add(1, Ordering::SeqCst);
    reply(&json!({"ok": true}))
}

async fn large(State(handled): Shared) -> Body {
    handled.begun.send(()).unwrap();
    Body::new(LargeBody { left: LARGE_BYTES })
}

/// A body that is made while it is sent.
struct LargeBody {
    left: usize,
}

impl HttpBody for LargeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = Bytes::from_static(&[b'x'; 16 << 10]);
        self.left = match self.left.checked_sub(part.len()) {
            Some(left) => left,
            None => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}

async fn stream(State(handled): Shared) -> Body {
    handled.begun.send(()).unwrap();
    Body::new(EndlessBody { next: permit(&handled), handled })
}

/// A body without an end. Each permit lets one byte of it be sent.
struct EndlessBody {
    next: Pin<Box<dyn Future<Output = ()> + Send>>,
    handled: Arc<Handled>,
}

fn permit(handled: &Arc<Handled>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let handled = Arc::clone(handled);
    Box::pin(async move { handled.releases.acquire().await.unwrap().forget() })
}

impl HttpBody for EndlessBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::task::ready!(self.next.as_mut().poll(cx));
        self.next = permit(&self.handled);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

async fn panics() -> Response {
    panic!("the secret of the handler")
}
