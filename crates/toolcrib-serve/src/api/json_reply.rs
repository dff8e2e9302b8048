//! A reply of JSON, as handlers return it.

use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use toolcrib_ledger::Redactor;

use crate::reply::{ApiError, json_response};

/// What a handler returns.
pub(super) type Reply = Result<JsonReply, ApiError>;

/// A reply of JSON.
pub(super) struct JsonReply {
    pub(super) status: StatusCode,
    pub(super) body: String,
    /// The call that the reply is about, for the header of the same name.
    pub(super) call: Option<String>,
}

impl JsonReply {
    /// Replies with a value. `Err` cannot happen for the types of replies, and is told as a defect.
    pub(super) fn ok(body: &impl Serialize) -> Reply {
        match serde_json::to_string(body) {
            Ok(body) => Ok(Self { status: StatusCode::OK, body, call: None }),
            Err(err) => {
                let message = format!("the reply cannot be written: {err}");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Err(ApiError::new(status, "internal_error", message))
            }
        }
    }
}

impl JsonReply {
    /// Replies with a value without what is secret in it.
    pub(super) fn redacted(redactor: &Redactor, body: &impl Serialize) -> Reply {
        let value = serde_json::to_value(body).unwrap_or_default();
        Self::ok(&redactor.clean_json(&value))
    }
}

impl IntoResponse for JsonReply {
    fn into_response(self) -> Response {
        let mut response = json_response(self.status, self.body);
        let call = self.call.and_then(|id| HeaderValue::from_str(&id).ok());
        if let Some(call) = call {
            response.headers_mut().insert("x-toolcrib-call", call);
        }
        response
    }
}
