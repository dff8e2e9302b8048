//! Spans, and their form in the JSON encoding of OTLP.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::trace_context::{SpanId, TraceId};

/// What took how long, and in which trace.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) state: Option<Arc<str>>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// In nanoseconds since 1970.
    pub(super) start: i128,
    pub(super) end: i128,
    /// Why it failed, if it did.
    pub(super) error: Option<Cow<'static, str>>,
    pub(super) attributes: Vec<(&'static str, AttributeValue)>,
}

/// Whether a span answers a request of somebody else, or is a step of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal = 1,
    Server = 2,
}

#[derive(Clone, Debug)]
pub(super) enum AttributeValue {
    Text(Cow<'static, str>),
    Number(i64),
}

impl From<&'static str> for AttributeValue {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Cow<'static, str>> for AttributeValue {
    fn from(text: Cow<'static, str>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl Span {
    fn json(&self) -> Value {
        let error = self.error.clone().map(AttributeValue::Text);
        let error = error.iter().map(|value| ("error.type", value));
        let attributes = self.attributes.iter().map(|(key, value)| (*key, value)).chain(error);
        let mut span = json!({
            "traceId": self.trace.to_string(),
            "spanId": self.id.to_string(),
            "name": self.name,
            "kind": self.kind as u8,
            "startTimeUnixNano": self.start.to_string(),
            "endTimeUnixNano": self.end.to_string(),
            "attributes": attributes.map(|(key, value)| attribute(key, value)).collect::<Vec<_>>(),
        });
        if let Some(parent) = &self.parent {
            span["parentSpanId"] = parent.to_string().into();
        }
        if let Some(state) = &self.state {
            span["traceState"] = state.as_ref().into();
        }
        if self.error.is_some() {
            const ERROR: u8 = 2;
            span["status"] = json!({ "code": ERROR });
        }
        span
    }
}

fn attribute(key: &str, value: &AttributeValue) -> Value {
    let value = match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        // A 64-bit number is text in this encoding.
        AttributeValue::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

/// Returns the body of a request that exports spans.
pub(super) fn export_body(spans: &[Span]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        ("service.name", AttributeValue::from("toolcrib")),
        ("service.version", version.into()),
        ("process.pid", i64::from(std::process::id()).into()),
    ];
    let resource: Vec<Value> = resource.iter().map(|(key, value)| attribute(key, value)).collect();
    let spans: Vec<Value> = spans.iter().map(Span::json).collect();
    let scope = json!({ "name": "toolcrib", "version": version });
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }],
    })
    .to_string()
}
