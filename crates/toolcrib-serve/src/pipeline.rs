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
use axum::http::header::{AUTHORIZATION, CONNECTION, COOKIE, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::activity::RequestMark;
use crate::body::{bounded, check_announced_length};
use crate::config::{ListenAddress, RequestBounds, ServerConfig};
use crate::health::{self, Readiness};
use crate::identity::{Identified, Identifier};
use crate::limits::{Admission, Admitted};
use crate::oauth::ResourceServer;
use crate::observation::{GaugeHold, Observer, RequestWatch};
use crate::page;
use crate::page_session::{PageDoor, PageSessions, SessionCookie};
use crate::presented_token::{PresentedToken, TokenBook};
use crate::reply::{ApiError, add_common_headers, with_error_form};
use crate::request_check::{BodyPresence, RequestCheck, is_plain_path};
use crate::viewer;

/// How many bytes the body of a login may have. An access token can be as long as a head.
const LOGIN_BYTES: usize = 64 << 10;

/// What a server serves.
pub struct Served {
    /// The handlers. They find the verified `Caller` and the `RequestId` in a request's extensions.
    pub routes: Router,
    /// The tokens that are accepted.
    pub tokens: Arc<dyn TokenBook>,
    /// Accepts the tokens of an authorization server too.
    pub oauth: Option<Arc<ResourceServer>>,
    /// Who is logged in to the page.
    pub sessions: Arc<PageSessions>,
    /// Whether calls are taken, for `/readyz`.
    pub readiness: Readiness,
    /// Sees every request and connection.
    pub observer: Observer,
}

/// What every request of a server goes through.
pub(crate) struct Pipeline {
    check: RequestCheck,
    readiness: Readiness,
    identifier: Identifier,
    page: Arc<PageDoor>,
    admission: Arc<Admission>,
    bounds: RequestBounds,
    observer: Observer,
    routes: TowerToHyperService<Router>,
}

impl Pipeline {
    /// Puts the stages together. `address` has the real port.
    pub(crate) fn new(config: &ServerConfig, address: &ListenAddress, served: Served) -> Self {
        let Served { routes, tokens, oauth, sessions, readiness, observer } = served;
        let bounds = config.requests.clone();
        let cookie = SessionCookie::new(address, config.scheme());
        let page = Arc::new(PageDoor { sessions, cookie });
        let routes = routes.merge(page::page_routes(Arc::clone(&page)));
        Self {
            check: RequestCheck::new(address, config.scheme(), &config.host_names),
            readiness,
            identifier: Identifier::new(tokens, oauth, Arc::clone(&page), bounds.wrong_tokens),
            page,
            admission: Arc::new(Admission::new(bounds.clone())),
            bounds,
            observer,
            routes: TowerToHyperService::new(routes),
        }
    }

    /// Answers a request. It always gets a reply, also if its handler panics.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        mark: RequestMark,
    ) -> Result<Response<ReplyBody>, Infallible> {
        let watch = RequestWatch::begin(&self.observer, &request);
        let in_flight = watch.in_flight();
        // The head gate does not follow chunks, so it cannot find the head after them.
        let is_last = request.headers().contains_key(TRANSFER_ENCODING);
        let handling = tokio::time::timeout(self.bounds.answer_time, self.handle(request, &watch));
        let (mut response, asked) = match without_panic(handling).await {
            Ok(Ok(Ok(answer))) => answer,
            Ok(Ok(Err(error))) => (error.into_response(), None),
            Ok(Err(_)) => (self.too_long().into_response(), None),
            Err(_) => {
                tracing::error!(request = watch.id().as_str(), "a handler panicked");
                (ApiError::internal(watch.id()).into_response(), None)
            }
        };
        if is_last {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        add_common_headers(response.headers_mut(), watch.id());
        watch.write_traceparent(response.headers_mut());
        watch.end(&response);
        let (admitted, token) = asked.unzip();
        let held = (admitted, mark, in_flight);
        Ok(response.map(|body| {
            // A body without a length may have no end, and a token that counts no more gets no more of it.
            let token = token.filter(|_| body.size_hint().exact().is_none());
            let end = token.map(|token| Box::pin(async move { token.wait_for_end().await }) as _);
            ReplyBody { body, end, _held: held }
        }))
    }

    /// Takes a request through the stages. What admitted it counts it as running until its reply was sent. Its token is
    /// for a reply that outlasts its check.
    async fn handle(
        &self,
        request: Request<Incoming>,
        watch: &RequestWatch,
    ) -> Result<(Response, Option<(Admitted, PresentedToken)>), ApiError> {
        let (mut parts, incoming) = request.into_parts();
        let presence =
            if incoming.is_end_stream() { BodyPresence::Absent } else { BodyPresence::Present };
        self.check.check(&parts, presence)?;
        if let Some(response) = self.answer_anybody(&parts, watch) {
            return Ok((response, None));
        }
        self.readiness.check_loss()?;
        if parts.uri.path() == page::LOGIN_PATH {
            // Logins are rare, and their future would be a part of that of every request.
            return Ok((Box::pin(self.log_in(parts, incoming, watch)).await?, None));
        }
        let identified = self.unless_lost(self.identifier.identify(&parts).await)?;
        let Identified { caller, other_role, token, session } = identified;
        watch.found_principal(&caller.principal);
        // No handler needs the token or the cookie, so none can pass it on.
        parts.headers.remove(AUTHORIZATION);
        parts.headers.remove(COOKIE);
        let admitted = self.admission.admit(&caller.principal, Instant::now())?;
        if !is_plain_path(parts.uri.path()) {
            return Err(ApiError::not_found());
        }
        check_announced_length(&parts.headers, self.bounds.body_bytes)?;
        // Handlers see the span of this request, whatever the caller sent.
        watch.write_trace(&mut parts.headers);
        parts.extensions.insert(caller);
        parts.extensions.insert(token.clone());
        if let Some(role) = other_role {
            parts.extensions.insert(role);
        }
        if let Some(session) = session {
            parts.extensions.insert(session);
        }
        parts.extensions.insert(watch.id().clone());
        parts.extensions.insert(watch.findings());
        let (body, body_watch) = bounded(incoming, &self.bounds);
        // A handler that is dropped ends as if its client had gone: a call that it made is cancelled.
        let mut response = tokio::select! {
            biased;
            Ok(response) = self.routes.call(Request::from_parts(parts, body)) => response,
            ended = self.identifier.end_of(&token) => {
                // The tokens may be gone with everything else, and then this one was not revoked.
                self.readiness.refuse_at_loss()?;
                return Err(ended);
            }
        };
        token.explain_refusal(&mut response);
        let failed = response.status().is_client_error() || response.status().is_server_error();
        let response = match body_watch.error().filter(|_| failed) {
            Some(error) => error.into_response(),
            None => with_error_form(response).await,
        };
        Ok((response, Some((admitted, token))))
    }

    /// Answers a request that needs no token.
    fn answer_anybody(&self, request: &Parts, watch: &RequestWatch) -> Option<Response> {
        let (method, path) = (&request.method, request.uri.path());
        if let Some((route, response)) = page::answer(request) {
            watch.found_route(route);
            return Some(response);
        }
        let response = health::answer(method, path, &self.readiness)
            .or_else(|| viewer::answer(method, path))
            .or_else(|| self.identifier.answer(method, path))?;
        watch.found_fixed_route(path);
        Some(response)
    }

    /// Begins a session of the page.
    async fn log_in(
        &self,
        request: Parts,
        incoming: Incoming,
        watch: &RequestWatch,
    ) -> Result<Response, ApiError> {
        watch.found_route(page::LOGIN_PATH);
        let body_bytes = self.bounds.body_bytes.min(LOGIN_BYTES);
        check_announced_length(&request.headers, body_bytes)?;
        let (body, _) = bounded(incoming, &RequestBounds { body_bytes, ..self.bounds.clone() });
        let owner = page::log_in(&self.identifier, Request::from_parts(request, body)).await;
        let owner = self.unless_lost(owner)?;
        watch.found_principal(&owner.principal);
        let _admitted = self.admission.admit(&owner.principal, Instant::now())?;
        page::begin_session(&self.page, owner)
    }

    /// Returns what was found out about a token. The tokens may be gone with everything else, and then none is wrong.
    fn unless_lost<T>(&self, found: Result<T, ApiError>) -> Result<T, ApiError> {
        if found.is_err() {
            self.readiness.refuse_at_loss()?;
        }
        found
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
    /// Is ready when the body must end.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _held: (Option<Admitted>, RequestMark, GaugeHold),
}

impl HttpBody for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(end) = &mut self.end
            && end.as_mut().poll(cx).is_ready()
        {
            (self.body, self.end) = (Body::empty(), None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
