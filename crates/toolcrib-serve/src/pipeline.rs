//! The stages of one request: check, token, limits, path, handler, reply.

use std::any::Any;
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONNECTION, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::activity::RequestMark;
use crate::body::{bounded, check_announced_length};
use crate::config::{ListenAddress, RequestBounds, ServerConfig};
use crate::health::{self, Readiness};
use crate::identity::{Identifier, TokenBook};
use crate::limits::{Admission, Admitted};
use crate::reply::{ApiError, RequestId, add_common_headers, with_error_form};
use crate::request_check::{BodyPresence, RequestCheck, is_plain_path};
use crate::viewer;

/// What every request of a server goes through.
pub(crate) struct Pipeline {
    check: RequestCheck,
    readiness: Readiness,
    identifier: Identifier,
    admission: Arc<Admission>,
    bounds: RequestBounds,
    routes: TowerToHyperService<Router>,
}

impl Pipeline {
    /// Puts the stages together. `address` has the real port.
    pub(crate) fn new(
        config: &ServerConfig,
        address: &ListenAddress,
        routes: Router,
        tokens: Arc<dyn TokenBook>,
        readiness: Readiness,
    ) -> Self {
        let bounds = config.requests.clone();
        Self {
            check: RequestCheck::new(address, config.scheme(), &config.host_names),
            readiness,
            identifier: Identifier::new(tokens, bounds.wrong_tokens),
            admission: Arc::new(Admission::new(bounds.clone())),
            bounds,
            routes: TowerToHyperService::new(routes),
        }
    }

    /// Answers a request. It always gets a reply, also if its handler panics.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        mark: RequestMark,
    ) -> Result<Response<ReplyBody>, Infallible> {
        let id = RequestId::of(request.headers());
        // The head gate does not follow chunks, so it cannot find the head after them.
        let is_last = request.headers().contains_key(TRANSFER_ENCODING);
        let handling = tokio::time::timeout(self.bounds.answer_time, self.handle(request, &id));
        let (mut response, admitted) = match without_panic(handling).await {
            Ok(Ok(Ok(answer))) => answer,
            Ok(Ok(Err(error))) => (error.into_response(), None),
            Ok(Err(_)) => (self.too_long().into_response(), None),
            Err(_) => (ApiError::internal(&id).into_response(), None),
        };
        if is_last {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        add_common_headers(response.headers_mut(), &id);
        Ok(response.map(|body| ReplyBody { body, _admitted: admitted, _mark: mark }))
    }

    /// Takes a request through the stages. What admitted it counts it as running until its reply was sent.
    async fn handle(
        &self,
        request: Request<Incoming>,
        id: &RequestId,
    ) -> Result<(Response, Option<Admitted>), ApiError> {
        let (mut parts, incoming) = request.into_parts();
        let presence =
            if incoming.is_end_stream() { BodyPresence::Absent } else { BodyPresence::Present };
        self.check.check(&parts, presence)?;
        if let Some(response) = health::answer(&parts.method, parts.uri.path(), &self.readiness) {
            return Ok((response, None));
        }
        if let Some(response) = viewer::answer(&parts.method, parts.uri.path()) {
            return Ok((response, None));
        }
        let caller = self.identifier.identify(&parts.headers)?;
        let admitted = self.admission.admit(&caller.principal, Instant::now())?;
        if !is_plain_path(parts.uri.path()) {
            return Err(ApiError::not_found());
        }
        check_announced_length(&parts.headers, self.bounds.body_bytes)?;
        parts.extensions.insert(caller);
        parts.extensions.insert(id.clone());
        let (body, watch) = bounded(incoming, &self.bounds);
        let Ok(response) = self.routes.call(Request::from_parts(parts, body)).await;
        let failed = response.status().is_client_error() || response.status().is_server_error();
        let response = match watch.error().filter(|_| failed) {
            Some(error) => error.into_response(),
            None => with_error_form(response).await,
        };
        Ok((response, Some(admitted)))
    }

    fn too_long(&self) -> ApiError {
        let seconds = self.bounds.answer_time.as_secs();
        let message = format!("the request took more than {seconds} seconds and was cancelled");
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", message).closing()
    }
}

/// Runs a future, and returns the panic if it panics.
async fn without_panic<T>(future: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// The body of a reply. The request counts as running until the body was sent or dropped.
pub(crate) struct ReplyBody {
    body: Body,
    _admitted: Option<Admitted>,
    _mark: RequestMark,
}

impl HttpBody for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
