//! A tool that only the server has. Its declaration is what the server says of it, and its calls run there.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_core::{
    Declared, Effect, ErrorKind, Limits, LoadedTool, Prepared, Tier, ToolError, ToolKind, escape,
};

/// What a server says of a tool.
#[derive(Deserialize)]
pub(super) struct ServedDeclaration {
    function: ServedFunction,
}

#[derive(Deserialize)]
struct ServedFunction {
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Value,
}

/// A tool that only the server has.
pub(super) struct ServedTool {
    name: String,
    function: ServedFunction,
    limits: Limits,
}

impl ServedTool {
    pub(super) fn new(name: &str, declared: ServedDeclaration, limits: Limits) -> Self {
        let ServedFunction { description, parameters } = declared.function;
        let description = escape::lines(&description).into_owned();
        let function = ServedFunction { description, parameters: escaped(parameters) };
        Self { name: name.to_owned(), function, limits }
    }
}

/// Returns a value whose texts can be printed. A server is not trusted with the terminal.
fn escaped(value: Value) -> Value {
    let line = |text: &str| escape::line(text).into_owned();
    match value {
        Value::String(text) => line(&text).into(),
        Value::Array(items) => items.into_iter().map(escaped).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (line(&name), escaped(value))).collect()
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

impl LoadedTool for ServedTool {
    fn kind(&self) -> ToolKind {
        ToolKind::BuiltIn
    }

    fn declaration(&self) -> Declared<'_> {
        Declared {
            name: &self.name,
            summary: &self.function.description,
            // The server knows these, and decides by them.
            tier: Tier::Standard,
            effect: Effect::Write,
            limits: self.limits,
        }
    }

    fn schema(&self) -> Value {
        self.function.parameters.clone()
    }

    fn version(&self) -> &'static str {
        "served"
    }

    fn parse(self: Arc<Self>, _: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        Err(ToolError::new(ErrorKind::Bug, "a tool of a server was to run here"))
    }
}
