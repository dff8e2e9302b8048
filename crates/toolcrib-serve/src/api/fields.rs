//! The body and the query of a request as typed fields. Errors are worded from the schema of the same type.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolcrib_core::schema::{self, ValueWords};

use crate::body::{JsonBody, JsonBodyIfAny};
use crate::query;
use crate::reply::ApiError;

const BODY: ValueWords =
    ValueWords { whole: "the body", member: "field", none: "the body can have none" };

const QUERY: ValueWords =
    ValueWords { whole: "the query", member: "parameter", none: "this path takes none" };

/// The fields of a body.
pub(super) struct BodyFields<T>(pub(super) T);

/// The fields of a body that may be left out. It is then the default.
pub(super) struct OptionalBodyFields<T>(pub(super) T);

/// The parameters of a query.
pub(super) struct QueryFields<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + JsonSchema> FromRequest<S> for BodyFields<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let JsonBody(body) = JsonBody::from_request(request, state).await?;
        body_fields(body).map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + JsonSchema + Default> FromRequest<S>
    for OptionalBodyFields<T>
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let JsonBodyIfAny(body) = JsonBodyIfAny::from_request(request, state).await?;
        body.map_or_else(|| Ok(T::default()), body_fields).map(Self)
    }
}

fn body_fields<T: DeserializeOwned + JsonSchema>(body: Value) -> Result<T, ApiError> {
    // A list would be taken as the fields in their order.
    if !body.is_object() {
        return Err(refused_body("the body must be a JSON object"));
    }
    fields(BODY, body, refused_body)
}

impl<S: Send + Sync, T: DeserializeOwned + JsonSchema> FromRequestParts<S> for QueryFields<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut values = Map::new();
        for (name, text) in query::parse(parts.uri.query())? {
            values.insert(name, Value::String(text));
        }
        if !values.is_empty() {
            with_types(&mut values, &schema::of::<T>());
        }
        fields(QUERY, Value::Object(values), query::refused).map(Self)
    }
}

/// Gives the values of a query the types that their parameters have. A value that has not the type stays text.
fn with_types(values: &mut Map<String, Value>, schema: &Value) {
    for (name, value) in values {
        let Value::String(text) = value else { continue };
        let typed = match schema["properties"][name.as_str()]["type"].as_str() {
            Some("integer") => text.parse::<u64>().ok().map(Value::from),
            Some("boolean") => text.parse::<bool>().ok().map(Value::from),
            _ => None,
        };
        if let Some(typed) = typed {
            *value = typed;
        }
    }
}

fn fields<T: DeserializeOwned + JsonSchema>(
    words: ValueWords,
    value: Value,
    refused: fn(String) -> ApiError,
) -> Result<T, ApiError> {
    T::deserialize(&value).map_err(|err| {
        refused(schema::faults_in(words, &schema::of::<T>(), &value, &err.to_string()).0)
    })
}

/// Refuses a body whose fields do not fit.
pub(super) fn refused_body(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
}
