//! One operation of the API: its method and path, who may use it, its handler, and what the specification says of it.
//! The routes and the specification are both made from the list of operations, so they always
//! agree.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, delete, get, post};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use toolcrib_core::schema::Within;

use super::access::AccessRight;
use super::context::Api;
use crate::observation::RequestFindings;

/// The method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationMethod {
    Get,
    Post,
    Delete,
}

impl OperationMethod {
    /// Returns the spelling in the specification.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}

/// One operation of the API.
pub(super) struct Operation {
    pub(super) method: OperationMethod,
    pub(super) path: &'static str,
    /// The name of the operation, in `snake_case`.
    pub(super) id: &'static str,
    /// What it does, in one sentence.
    pub(super) summary: &'static str,
    pub(super) access: AccessRight,
    /// The schema of the parameters of the query. Schemas are made when somebody reads the specification, which is
    /// seldom.
    pub(super) query: Option<fn() -> Value>,
    /// The schema of the body.
    pub(super) body: Option<fn() -> Value>,
    /// The schema of the reply, if the reply is JSON.
    pub(super) reply: Option<fn() -> Value>,
    /// The media type of the reply.
    pub(super) media_type: &'static str,
    /// How it fails beside the ways in which every operation can, each with the sentence about when.
    pub(super) failures: Vec<(StatusCode, &'static str)>,
    /// Whether it makes a call of a tool.
    pub(super) makes_calls: bool,
    handler: MethodRouter<Arc<Api>>,
}

impl Operation {
    pub(super) fn get<H, T>(path: &'static str, id: &'static str, handler: H) -> Self
    where
        H: Handler<T, Arc<Api>>,
        T: 'static,
    {
        Self::new(OperationMethod::Get, path, id, get(handler))
    }

    pub(super) fn post<H, T>(path: &'static str, id: &'static str, handler: H) -> Self
    where
        H: Handler<T, Arc<Api>>,
        T: 'static,
    {
        Self::new(OperationMethod::Post, path, id, post(handler))
    }

    pub(super) fn delete<H, T>(path: &'static str, id: &'static str, handler: H) -> Self
    where
        H: Handler<T, Arc<Api>>,
        T: 'static,
    {
        Self::new(OperationMethod::Delete, path, id, delete(handler))
    }

    fn new(
        method: OperationMethod,
        path: &'static str,
        id: &'static str,
        handler: MethodRouter<Arc<Api>>,
    ) -> Self {
        Self {
            method,
            path,
            id,
            summary: "",
            access: AccessRight::Administer,
            query: None,
            body: None,
            reply: None,
            media_type: "application/json",
            failures: Vec::new(),
            makes_calls: false,
            handler,
        }
    }

    /// Says what the operation does, and who may use it. An operation that does not say so is for admins.
    pub(super) fn about(mut self, access: AccessRight, summary: &'static str) -> Self {
        (self.access, self.summary) = (access, summary);
        self
    }

    /// Says which parameters the query can have.
    pub(super) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of_request::<T>);
        self
    }

    /// Says what the body must be.
    pub(super) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(schema_of_request::<T>);
        self
    }

    /// Says what the reply is.
    pub(super) fn replies<T: JsonSchema>(mut self) -> Self {
        self.reply = Some(schema_of_reply::<T>);
        self
    }

    /// Says that the reply is no JSON.
    pub(super) fn replies_as(mut self, media_type: &'static str) -> Self {
        self.media_type = media_type;
        self
    }

    /// Says that the operation makes a call of the tool that its path names.
    pub(super) fn makes_calls(mut self) -> Self {
        self.makes_calls = true;
        self
    }

    /// Says how the operation can fail.
    pub(super) fn fails(mut self, status: StatusCode, when: &'static str) -> Self {
        self.failures.push((status, when));
        self
    }

    /// Adds the operation to the routes. A caller whose role may not use it does not get as far as its handler.
    pub(super) fn mount(self, routes: Router<Arc<Api>>) -> Router<Arc<Api>> {
        let (access, path) = (self.access, self.path);
        let check = from_fn(move |mut request: Request, next: Next| async move {
            if let Some(findings) = request.extensions().get::<Arc<RequestFindings>>() {
                findings.found_route(path);
            }
            match access.admit(request.extensions_mut()) {
                Ok(()) => next.run(request).await,
                Err(err) => err.into_response(),
            }
        });
        routes.route(self.path, self.handler.route_layer(check))
    }
}

fn schema_of_request<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn schema_of_reply<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
    }
    make_plain(&mut schema);
    schema
}

/// Replaces formats of numbers by a maximum and tuples of one type by `items`, because many readers of schemas ignore
/// both.
fn make_plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let most = match fields.get("format").and_then(Value::as_str) {
                Some("uint32") => Some(u64::from(u32::MAX)),
                Some("uint" | "uint64") => Some(MOST_EXACT),
                _ => None,
            };
            if let Some(most) = most {
                fields.remove("format");
                fields.entry("maximum").or_insert_with(|| most.into());
            }
            if let Some(Value::Array(parts)) = fields.get("prefixItems")
                && let Some(first) = parts.first().cloned()
                && parts.iter().all(|part| *part == first)
            {
                fields.remove("prefixItems");
                fields.insert("items".to_owned(), first);
            }
            fields.values_mut().for_each(make_plain);
        }
        Value::Array(items) => items.iter_mut().for_each(make_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The largest whole number that JSON keeps exactly everywhere.
const MOST_EXACT: u64 = (1 << 53) - 1;

/// The number of a line of the record, as a query has it.
pub(super) type LineNumber = Within<0, MOST_EXACT>;
