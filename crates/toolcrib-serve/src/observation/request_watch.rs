//! Watches one request from its head to its reply.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use toolcrib_core::Principal;

use super::metric::LabelValue;
use super::observer::Observer;
use super::server_metrics::{GaugeHold, method_label};
use super::span::{AttributeValue, Span, SpanKind};
use super::trace_context::{SpanId, TRACEPARENT, TraceContext};
use crate::reply::{ErrorCode, RequestId};

/// The error of a request whose client did not wait for the reply.
const CLIENT_GONE: &str = "client_gone";

/// Routes whose good replies are not worth a line in the log.
const QUIET_ROUTES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Paths that are answered before there is a router.
const FIXED_ROUTES: [&str; 7] = [
    "/healthz",
    "/readyz",
    "/docs",
    "/docs/viewer.js",
    "/docs/viewer.css",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];

/// Watches one request. If it is dropped before it has a status, the client went away.
pub(crate) struct RequestWatch {
    observer: Observer,
    id: RequestId,
    method: LabelValue,
    started: Instant,
    /// Where the request is in a trace: the caller's, or one that begins here because spans are exported.
    trace: Option<TraceContext>,
    /// The header that names the trace and our span in it.
    traceparent: Option<HeaderValue>,
    /// The span of the caller.
    parent: Option<SpanId>,
    found: Arc<RequestFindings>,
    status: Option<StatusCode>,
    error: Option<ErrorCode>,
}

/// What the stages of a request find out about it.
#[derive(Default)]
pub(crate) struct RequestFindings {
    route: OnceLock<&'static str>,
    principal: OnceLock<Principal>,
}

impl RequestFindings {
    /// Notes the template of the path.
    pub(crate) fn found_route(&self, route: &'static str) {
        let _ = self.route.set(route);
    }
}

impl RequestWatch {
    /// Begins to watch a request.
    pub(crate) fn begin<B>(observer: &Observer, request: &axum::http::Request<B>) -> Self {
        let parent = TraceContext::read(request.headers());
        let trace = match &parent {
            Some(parent) => Some(parent.child()),
            None => observer.spans.as_ref().map(|_| TraceContext::generate()),
        };
        Self {
            observer: observer.clone(),
            id: RequestId::of(request.headers()),
            method: method_label(request.method()),
            started: Instant::now(),
            traceparent: trace.as_ref().and_then(TraceContext::header),
            trace,
            parent: parent.map(|parent| parent.span),
            found: Arc::default(),
            status: None,
            error: None,
        }
    }

    /// Returns the id of the request.
    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    /// Puts the trace into the headers of the request, in place of what the caller sent.
    pub(crate) fn write_trace(&self, headers: &mut HeaderMap) {
        if let Some(trace) = &self.trace {
            trace.write_state(headers);
            self.write_traceparent(headers);
        }
    }

    /// Puts the trace, and our span in it, into the headers of the reply.
    pub(crate) fn write_traceparent(&self, headers: &mut HeaderMap) {
        if let Some(traceparent) = &self.traceparent {
            headers.insert(TRACEPARENT, traceparent.clone());
        }
    }

    /// Notes the path of a request that was answered before there is a router.
    pub(crate) fn found_fixed_route(&self, path: &str) {
        if let Some(route) = FIXED_ROUTES.into_iter().find(|route| *route == path) {
            self.found.found_route(route);
        }
    }

    /// Notes the name of a path that is answered before there is a router.
    pub(crate) fn found_route(&self, route: &'static str) {
        self.found.found_route(route);
    }

    /// Counts the request as being answered until the returned value is dropped.
    pub(crate) fn in_flight(&self) -> GaugeHold {
        self.observer.metrics.requests_in_flight.hold()
    }

    /// Notes who makes the request.
    pub(crate) fn found_principal(&self, principal: &Principal) {
        let _ = self.found.principal.set(principal.clone());
    }

    /// Returns where the stages note what they find, for the extensions of the request.
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
            // Whoever asks whether the server is ready wants to know, and nothing failed.
            Some(StatusCode::SERVICE_UNAVAILABLE) if route == Some("/readyz") => line!(debug),
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
    fn export(&self, route: &'static str, elapsed: Duration, error: &LabelValue) {
        let (Some(spans), Some(trace)) = (&self.observer.spans, &self.trace) else { return };
        if !trace.is_sampled() {
            return;
        }
        let mut attributes: Vec<(&'static str, AttributeValue)> = vec![
            ("http.request.method", self.method.clone().into()),
            ("toolcrib.request.id", self.id.as_str().to_owned().into()),
        ];
        if !route.is_empty() {
            attributes.push(("http.route", route.into()));
        }
        if let Some(status) = self.status {
            attributes.push(("http.response.status_code", i64::from(status.as_u16()).into()));
        }
        if let Some(principal) = self.found.principal.get() {
            attributes.push(("toolcrib.principal.role", principal.role.as_str().into()));
        }
        let end = Timestamp::now().as_nanosecond();
        spans.push(Span {
            trace: trace.trace,
            id: trace.span,
            parent: self.parent,
            state: trace.state.clone(),
            name: format!("{} {route}", self.method).trim_end().to_owned(),
            kind: SpanKind::Server,
            start: end - elapsed.as_nanos().cast_signed(),
            end,
            error: Some(error.clone()).filter(|error| !error.is_empty()),
            attributes,
        });
    }
}

impl Drop for RequestWatch {
    fn drop(&mut self) {
        let route = self.found.route.get().copied().unwrap_or_default();
        let elapsed = self.started.elapsed();
        self.log(route, elapsed);
        let status = self.status.map(|status| status.as_u16().to_string()).unwrap_or_default();
        let error = match self.status {
            Some(code) if code.is_server_error() => status.clone().into(),
            Some(_) => LabelValue::default(),
            None => CLIENT_GONE.into(),
        };
        if !self.is_quiet(route) {
            self.export(route, elapsed, &error);
        }
        let labels = [self.method.clone(), route.into(), status.into(), error];
        self.observer.metrics.request_durations.observe(labels, elapsed);
    }
}
