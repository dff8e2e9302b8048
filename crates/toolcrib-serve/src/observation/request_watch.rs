//! Watches one request from its head to its reply.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use jiff::Timestamp;
use toolcrib_core::Principal;

use super::metric::LabelValue;
use super::observer::Observer;
use super::server_metrics::{GaugeHold, method_label};
use super::span::{AttributeValue, Span, SpanKind};
use super::trace_context::{SpanId, TraceContext};
use crate::reply::{ErrorCode, RequestId};

/// The error of a request whose client did not wait for the reply.
const CLIENT_GONE: &str = "client_gone";

/// Routes whose good replies are not worth a line in the log.
const QUIET_ROUTES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Watches one request. If it is dropped before it has a status, the client went away.
pub(crate) struct RequestWatch {
    observer: Observer,
    id: RequestId,
    method: LabelValue,
    started: Instant,
    /// Where the request is in a trace: the caller's, or one that begins here.
    trace: TraceContext,
    /// The span of the caller.
    parent: Option<SpanId>,
    started_at: Timestamp,
    found: Arc<RequestFindings>,
    status: Option<StatusCode>,
    error: Option<ErrorCode>,
}

/// What the stages of a request find out about it.
#[derive(Default)]
pub(crate) struct RequestFindings {
    route: OnceLock<String>,
    principal: OnceLock<Principal>,
}

impl RequestWatch {
    /// Begins to watch a request.
    pub(crate) fn begin<B>(observer: &Observer, request: &axum::http::Request<B>) -> Self {
        let parent = TraceContext::read(request.headers());
        Self {
            observer: observer.clone(),
            id: RequestId::of(request.headers()),
            method: method_label(request.method()),
            started: Instant::now(),
            trace: match &parent {
                Some(parent) => parent.child(),
                None => TraceContext::generate(observer.sampling()),
            },
            parent: parent.map(|parent| parent.span),
            started_at: Timestamp::now(),
            found: Arc::default(),
            status: None,
            error: None,
        }
    }

    /// Returns the id of the request.
    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns where the request is in a trace.
    pub(crate) fn trace(&self) -> &TraceContext {
        &self.trace
    }

    /// Counts the request as being answered until the returned value is dropped.
    pub(crate) fn in_flight(&self) -> GaugeHold {
        self.observer.metrics.requests_in_flight.hold()
    }

    /// Notes who makes the request.
    pub(crate) fn found_principal(&self, principal: &Principal) {
        let _ = self.found.principal.set(principal.clone());
    }

    /// Notes the template of the path.
    pub(crate) fn found_route(&self, route: &str) {
        let _ = self.found.route.set(route.to_owned());
    }

    /// Returns what the router notes the route in, for the extensions of the request.
    pub(crate) fn findings(&self) -> Arc<RequestFindings> {
        Arc::clone(&self.found)
    }

    /// Ends the watch, because the reply begins.
    pub(crate) fn end(mut self, response: &Response) {
        self.status = Some(response.status());
        self.error = response.extensions().get().copied();
    }

    /// Writes the line of the request into the log. It has nothing that the request brought, except a plain id.
    fn log(&self, route: &str, elapsed: Duration) {
        let error = match (self.status, self.error) {
            (None, _) => Some(CLIENT_GONE),
            (Some(_), code) => code.map(|ErrorCode(code)| code),
        };
        let principal = self.found.principal.get().map(|principal| principal.name.as_str());
        let status = self.status.map(|status| status.as_u16());
        let route = Some(route).filter(|route| !route.is_empty());
        let ms = elapsed.as_secs_f64() * 1000.0;
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    method = &*self.method,
                    route,
                    status,
                    ms = (ms * 1000.0).round() / 1000.0,
                    request = self.id.as_str(),
                    principal,
                    error,
                    "request"
                )
            };
        }
        match self.status {
            Some(status) if status.is_server_error() => line!(error),
            Some(StatusCode::UNAUTHORIZED) => line!(warn),
            _ if self.is_quiet(route.unwrap_or_default()) => line!(debug),
            _ => line!(info),
        }
    }

    /// Whether the request is one that comes every few seconds and says nothing.
    fn is_quiet(&self, route: &str) -> bool {
        self.status == Some(StatusCode::OK) && QUIET_ROUTES.contains(&route)
    }

    /// Exports the span of the request, if its trace is recorded.
    fn export(&self, route: &str, elapsed: Duration, error: &LabelValue) {
        let Some(spans) = self.observer.spans.as_ref().filter(|_| self.trace.is_sampled()) else {
            return;
        };
        let mut attributes: Vec<(&'static str, AttributeValue)> = vec![
            ("http.request.method", self.method.clone().into()),
            ("toolcrib.request.id", self.id.as_str().to_owned().into()),
        ];
        if !route.is_empty() {
            attributes.push(("http.route", route.to_owned().into()));
        }
        if let Some(status) = self.status {
            attributes.push(("http.response.status_code", i64::from(status.as_u16()).into()));
        }
        if let Some(principal) = self.found.principal.get() {
            attributes.push(("toolcrib.principal.role", principal.role.as_str().into()));
        }
        let start = self.started_at.as_nanosecond();
        spans.push(Span {
            trace: self.trace.trace,
            id: self.trace.span,
            parent: self.parent,
            state: self.trace.state.clone(),
            name: format!("{} {route}", self.method).trim_end().to_owned(),
            kind: SpanKind::Server,
            start,
            end: start + elapsed.as_nanos().cast_signed(),
            error: Some(error.clone()).filter(|error| !error.is_empty()),
            attributes,
        });
    }
}

impl Drop for RequestWatch {
    fn drop(&mut self) {
        let route = self.found.route.get().cloned().unwrap_or_default();
        let elapsed = self.started.elapsed();
        self.log(&route, elapsed);
        let status = self.status.map(|status| status.as_u16().to_string()).unwrap_or_default();
        let error = match self.status {
            Some(code) if code.is_server_error() => status.clone().into(),
            Some(_) => LabelValue::default(),
            None => CLIENT_GONE.into(),
        };
        if !self.is_quiet(&route) {
            self.export(&route, elapsed, &error);
        }
        let labels = [self.method.clone(), route.into(), status.into(), error];
        self.observer.metrics.request_durations.observe(labels, elapsed);
    }
}

/// Notes the template of the path that the router found.
pub(crate) async fn note_route(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    if let Some(found) = extensions.get::<Arc<RequestFindings>>()
        && let Some(path) = extensions.get::<MatchedPath>()
    {
        let _ = found.route.set(path.as_str().to_owned());
    }
    next.run(request).await
}
