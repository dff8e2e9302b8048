//! `/healthz` and `/readyz`, which need no token: whether the process answers, and whether it takes calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::reply::{ApiError, json_response};

/// Whether the server takes calls, and why not. Clones share one state.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<Mutex<ReadinessState>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ReadinessState {
    Ready,
    Waiting(String),
    /// The server is told to stop. It does not become ready again.
    Stopping,
}

impl Readiness {
    /// Returns the state of a server that does not take calls yet, for a reason.
    pub fn waiting(reason: impl Into<String>) -> Self {
        Self(Arc::new(Mutex::new(ReadinessState::Waiting(reason.into()))))
    }

    /// Says that the server takes calls, unless it is stopping.
    pub fn set_ready(&self) {
        self.change(ReadinessState::Ready);
    }

    /// Says what the server waits for, unless it is stopping.
    pub fn set_waiting(&self, reason: impl Into<String>) {
        self.change(ReadinessState::Waiting(reason.into()));
    }

    /// Says that the server takes no more calls.
    pub(crate) fn set_stopping(&self) {
        *self.state() = ReadinessState::Stopping;
    }

    fn change(&self, to: ReadinessState) {
        let mut state = self.state();
        if *state != ReadinessState::Stopping {
            *state = to;
        }
    }

    fn state(&self) -> MutexGuard<'_, ReadinessState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a request for `/healthz` or `/readyz`. Returns `None` for any other path.
pub(crate) fn answer(method: &Method, path: &str, readiness: &Readiness) -> Option<Response> {
    let is_readiness = match path {
        "/healthz" => false,
        "/readyz" => true,
        _ => return None,
    };
    if *method != Method::GET && *method != Method::HEAD {
        return Some(ApiError::method_not_allowed("GET, HEAD").into_response());
    }
    let reason = match readiness.state().clone() {
        ReadinessState::Ready => None,
        ReadinessState::Waiting(reason) => Some(reason),
        ReadinessState::Stopping => Some("the server is stopping".to_owned()),
    };
    Some(match reason.filter(|_| is_readiness) {
        Some(reason) => {
            let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", reason);
            error.retry_after(Duration::from_secs(1)).into_response()
        }
        None => json_response(StatusCode::OK, r#"{"ok":true}"#.to_owned()),
    })
}
