//! `GET /api/openapi.json`: the specification, made from the same list of operations as the routes.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use toolcrib_core::toolset::Offer;

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::QueryFields;
use super::json_reply::JsonReply;
use super::operation::Operation;
use super::tools::{ToolsetQuery, served_name};

/// How every operation can fail, each with the sentence about when.
const COMMON_FAILURES: [(StatusCode, &str); 7] = [
    (StatusCode::BAD_REQUEST, "The request is not well formed."),
    (StatusCode::UNAUTHORIZED, "The token is missing or wrong."),
    (StatusCode::FORBIDDEN, "The role of the token may not do this."),
    (StatusCode::REQUEST_TIMEOUT, "The request took too long."),
    (StatusCode::TOO_MANY_REQUESTS, "The token makes too many requests; `Retry-After` says when."),
    (StatusCode::INTERNAL_SERVER_ERROR, "The server failed; the message has the request's id."),
    (StatusCode::SERVICE_UNAVAILABLE, "The server is busy, or its state cannot be used."),
];

/// How an operation with a body can fail besides.
const BODY_FAILURES: [(StatusCode, &str); 3] = [
    (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large."),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body is not `application/json`."),
    (StatusCode::UNPROCESSABLE_ENTITY, "The body does not fit."),
];

/// The parts of the specification that do not depend on the tools on offer.
struct Specification {
    paths: Map<String, Value>,
    /// The operation that executes a tool, as every tool has it, and its path.
    execute: Value,
    execute_path: &'static str,
}

/// Returns the operation that serves the specification of `others` and of itself. The specification is made anew each
/// time: kept, it would take more memory than all else that an idle server has.
pub(super) fn operation(others: fn() -> Vec<Operation>) -> Operation {
    // One at a time: a document takes megabytes while it is made.
    let turn = Arc::new(Mutex::new(()));
    let handler = async move |State(api): State<Arc<Api>>, query: QueryFields<ToolsetQuery>| {
        let _turn = turn.lock().await;
        let (own, of_others) = query.0.offers(&api)?;
        let document = move || Specification::of(&others()).document(own.iter().chain(&of_others));
        JsonReply::ok(&blocking(document).await?)
    };
    about(Operation::get(PATH, ID, handler))
}

const PATH: &str = "/api/openapi.json";
const ID: &str = "specification";

fn about(operation: Operation) -> Operation {
    let summary = "Returns this specification, with one path for each tool of a toolset.";
    operation
        .about(AccessRight::Any, summary)
        .query::<ToolsetQuery>()
        .replies::<Value>()
        .fails(StatusCode::NOT_FOUND, "No tool on offer is in the toolset.")
}

impl Specification {
    /// Describes operations, and the one that serves the specification.
    fn of(operations: &[Operation]) -> Self {
        // Stands in for this operation, whose handler needs the finished specification.
        let own = about(Operation::get(PATH, ID, || async {}));
        let examples = serde_json::from_str(include_str!("examples.json")).unwrap_or_default();
        let mut paths = Map::new();
        for it in operations.iter().chain([&own]) {
            let methods = paths.entry(it.path).or_insert_with(|| json!({}));
            methods[it.method.as_str()] = described(it, &examples);
        }
        // The first one: it takes the name of a tool, as it is served.
        let execute = operations.iter().find(|it| it.makes_calls);
        let execute = execute.map(|it| (described(it, &examples), it.path));
        let (execute, execute_path) = execute.unwrap_or_default();
        Self { paths, execute, execute_path }
    }

    /// Returns the whole, with a path for each tool.
    fn document<'o>(&self, offers: impl Iterator<Item = &'o Offer>) -> Value {
        let mut paths = self.paths.clone();
        for offer in offers {
            let path = self.execute_path.replace("{tool}", &served_name(offer));
            paths.insert(path, json!({"post": self.described_tool(offer)}));
        }
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Toolcrib",
                "version": env!("CARGO_PKG_VERSION"),
                "summary": "Calls of agents: checked, decided, approved, run in a sandbox and recorded.",
                "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
            },
            "security": [{"token": []}],
            "paths": paths,
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "schemas": {"Error": error_schema()},
            },
        })
    }

    /// Returns what the specification says of a tool.
    fn described_tool(&self, offer: &Offer) -> Value {
        let mut value = self.execute.clone();
        let content = &mut value["requestBody"]["content"]["application/json"];
        let schema = offer.tool.schema();
        let takes_some = schema["required"].as_array().is_some_and(|names| !names.is_empty());
        content["schema"]["properties"]["args"] = with_null(schema);
        if takes_some {
            content["schema"]["required"] = json!(["args"]);
        }
        if let Some(content) = content.as_object_mut() {
            content.remove("example");
        }
        let reply = &mut value["responses"]["200"]["content"]["application/json"];
        if let Some(reply) = reply.as_object_mut() {
            reply.remove("example");
        }
        let id = offer.full_name().as_str().replace('/', "_");
        value["operationId"] = format!("execute_{id}").into();
        value["summary"] = offer.tool.declaration().summary.into();
        if let Some(parameters) = value["parameters"].as_array_mut() {
            parameters.retain(|it| it["in"] != "path");
        }
        value
    }
}

/// Returns what the specification says of an operation. `examples` has a request and its reply for each; a test makes
/// the requests, and compares the replies.
fn described(operation: &Operation, examples: &Value) -> Value {
    let example = &examples[operation.id];
    let mut value = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "description": roles_sentence(operation.access),
        "tags": [tag_of(operation.path)],
        "parameters": parameters(operation, example),
        "responses": responses(operation, example),
    });
    if let Some(schema) = operation.body {
        value["requestBody"] = body(&schema(), &example["body"]);
    }
    value
}

/// Adds `null` to the type of every member that is not required. Models send null for "not given", and it is taken so.
fn with_null(mut schema: Value) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return schema };
    for (name, member) in properties {
        let mut inner = with_null(std::mem::take(member));
        if let Some(items) = inner.get_mut("items") {
            *items = with_null(std::mem::take(items));
        }
        *member = if required.iter().any(|it| it == name.as_str()) || inner.get("type").is_none() {
            inner
        } else {
            json!({"anyOf": [inner, {"type": "null"}]})
        };
    }
    schema
}

fn body(schema: &Value, example: &Value) -> Value {
    let mut content = json!({"schema": schema});
    if !example.is_null() {
        content["example"] = example.clone();
    }
    json!({"required": true, "content": {"application/json": content}})
}

fn parameters(operation: &Operation, example: &Value) -> Vec<Value> {
    let names = operation
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')));
    let mut all: Vec<Value> = names
        .map(|name| {
            let schema = json!({"type": "string", "minLength": 1});
            let mut parameter =
                json!({"name": name, "in": "path", "required": true, "schema": schema});
            if let Some(value) = example["path"].get(name) {
                parameter["example"] = value.clone();
            }
            parameter
        })
        .collect();
    let mut query = operation.query.map(|schema| schema()).unwrap_or_default();
    let required = query["required"].as_array().cloned().unwrap_or_default();
    let properties = query["properties"].as_object_mut().map(std::mem::take).unwrap_or_default();
    all.extend(properties.into_iter().map(|(name, schema)| {
        let mut schema = without_null(schema);
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({"name": name, "in": "query", "schema": schema});
        if required.contains(&json!(name)) {
            parameter["required"] = true.into();
        }
        if let Some(value) = example["query"].get(&name) {
            parameter["example"] = value.clone();
        }
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameter
    }));
    if operation.makes_calls {
        let header = |name: &str, schema: Value, description: &str| json!({"name": name, "in": "header", "description": description, "schema": schema});
        all.push(header(
            "Idempotency-Key",
            json!({"type": "string", "pattern": "^[!-~]{1,255}$"}),
            "The call runs once for each key; the same key gives the same reply.",
        ));
        all.push(header(
            "Prefer",
            json!({"type": "string"}),
            "How many seconds to wait for a person, as `wait=30`.",
        ));
    }
    all
}

/// Removes `null` from the types of a parameter: a query has no null.
fn without_null(mut schema: Value) -> Value {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|branch| branch["type"] != "null");
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            if let Some(fields) = schema.as_object_mut() {
                fields.remove("anyOf");
                for (key, value) in only {
                    fields.entry(key).or_insert(value);
                }
            }
        }
    }
    schema
}

fn responses(operation: &Operation, example: &Value) -> Value {
    let mut content = match operation.reply {
        Some(schema) => json!({"schema": schema()}),
        None => json!({"schema": {"type": "string"}}),
    };
    if operation.reply.is_some() && !example["reply"].is_null() {
        content["example"] = example["reply"].clone();
    }
    let mut all = Map::new();
    all.insert(
        "200".to_owned(),
        json!({"description": "It was done.", "content": {operation.media_type: content}}),
    );
    let own = operation.failures.iter();
    let of_body = BODY_FAILURES.iter().filter(|_| operation.body.is_some());
    for (status, when) in own.chain(of_body).chain(&COMMON_FAILURES) {
        all.entry(status.as_str()).or_insert_with(|| {
            let schema = json!({"$ref": "#/components/schemas/Error"});
            json!({"description": when, "content": {"application/json": {"schema": schema}}})
        });
    }
    Value::Object(all)
}

fn roles_sentence(access: AccessRight) -> String {
    let roles: Vec<String> = access.roles().iter().map(|it| format!("`{}`", it.as_str())).collect();
    format!("For tokens with the role {}.", roles.join(" or "))
}

/// Returns the group of an operation: the part of its path after `/api`.
fn tag_of(path: &str) -> &str {
    let mut parts = path.split('/').skip(1).filter(|part| *part != "api");
    parts.next().unwrap_or_default().trim_end_matches(".json")
}

/// Returns the schema of an error, which all failed requests have.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["ok", "error", "message"],
        "properties": {
            "ok": {"const": false},
            "error": {"type": "string", "description": "a stable code for programs"},
            "message": {"type": "string", "description": "what happened, and what to do next"},
        },
    })
}
