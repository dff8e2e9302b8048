//! `/healthz` and `/readyz`, which need no token: whether the process answers, and whether it takes calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::reply::{ApiError, json_response};

/// When a client that was refused may try again.
const RETRY_TIME: Duration = Duration::from_secs(1);

/// Says what the server has lost that it cannot do without, if it has lost something.
pub type FindLoss = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// Whether the server takes calls, and why not. Clones share one state.
#[derive(Clone)]
pub struct Readiness(Arc<SharedReadiness>);

struct SharedReadiness {
    state: Mutex<ReadinessState>,
    find_loss: FindLoss,
    /// Whether the last look found a loss. Every request reads it, so that not every request has to look.
    has_loss: AtomicBool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ReadinessState {
    Ready,
    Waiting(String),
    /// The server is told to stop. It does not become ready again.
    Stopping,
}

impl Readiness {
    /// Returns the state of a server that does not take calls yet, for a reason.
    pub fn waiting(reason: impl Into<String>, find_loss: FindLoss) -> Self {
        let state = Mutex::new(ReadinessState::Waiting(reason.into()));
        Self(Arc::new(SharedReadiness { state, find_loss, has_loss: AtomicBool::new(false) }))
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

    /// Looks whether the server has lost something that it cannot do without. Returns what that is. Until another look
    /// finds it back, every request is refused.
    pub fn look_for_loss(&self) -> Option<String> {
        let loss = (self.0.find_loss)();
        self.0.has_loss.store(loss.is_some(), Ordering::Relaxed);
        loss
    }

    /// Returns the error for a request if the server cannot answer any.
    pub(crate) fn check_loss(&self) -> Result<(), ApiError> {
        if !self.0.has_loss.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.refuse_at_loss()
    }

    /// Returns the error for a request if a new look finds a loss.
    pub(crate) fn refuse_at_loss(&self) -> Result<(), ApiError> {
        match self.look_for_loss() {
            Some(loss) => Err(ApiError::unavailable(loss).retry_after(RETRY_TIME)),
            None => Ok(()),
        }
    }

    fn change(&self, to: ReadinessState) {
        let mut state = self.state();
        if *state != ReadinessState::Stopping {
            *state = to;
        }
    }

    fn state(&self) -> MutexGuard<'_, ReadinessState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        ReadinessState::Ready => readiness.look_for_loss(),
        ReadinessState::Waiting(reason) => Some(reason),
        ReadinessState::Stopping => Some("the server is stopping".to_owned()),
    };
    Some(match reason.filter(|_| is_readiness) {
        Some(reason) => {
            let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", reason);
            error.retry_after(RETRY_TIME).into_response()
        }
        None => json_response(StatusCode::OK, r#"{"ok":true}"#.to_owned()),
    })
}
