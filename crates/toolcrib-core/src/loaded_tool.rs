//! Tools that arrive while the process runs, and the handle that stands for both kinds of tool.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::declaration::{Declared, Example};
use crate::error::ToolError;
use crate::tool::{AnyTool, Ctx, Prepared};

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// It is part of Toolcrib.
    BuiltIn,
    /// An ES module of another author.
    Module,
    /// A program of another author.
    Program,
    /// A tool of a mounted MCP server.
    Mcp,
    /// A tool whose runner listens behind a NATS server.
    Bus,
}

/// A tool that arrived while the process runs. It owns its declaration, so it can leave again.
pub trait LoadedTool: Send + Sync {
    /// Returns where the tool comes from.
    fn kind(&self) -> ToolKind;

    /// Returns the tool as data.
    fn declaration(&self) -> Declared<'_>;

    /// Returns calls with their replies.
    fn examples(&self) -> Vec<Example<'_>> {
        Vec::new()
    }

    /// Returns the JSON Schema of the arguments.
    fn schema(&self) -> Value;

    /// Returns the JSON Schema of the reply, before its catalogue gives it a form. Without one, it is null.
    fn reply_schema(&self) -> Value {
        Value::Null
    }

    /// Returns what tells this version of the tool from others: the first 12 digits of a hash.
    fn version(&self) -> &str;

    /// Parses the arguments. What is returned keeps this version alive until the call is over.
    fn parse(self: Arc<Self>, args: &Value) -> Result<Box<dyn Prepared>, ToolError>;

    /// Fails if the tool could not work now.
    fn health(&self, ctx: &Ctx) -> Result<(), ToolError> {
        let _ = ctx;
        Ok(())
    }

    /// Returns the time that the tool needs beyond its deadline: to end what it has started.
    fn reserve(&self) -> Duration {
        Duration::ZERO
    }
}

/// A tool: compiled in, or loaded while the process runs. To clone the handle of a compiled one copies a pointer.
#[derive(Clone)]
pub enum ToolHandle {
    /// A compiled tool.
    Compiled(&'static dyn AnyTool),
    /// A loaded tool. The handle keeps its version alive.
    Loaded(Arc<dyn LoadedTool>),
}

impl ToolHandle {
    /// Returns where the tool comes from.
    pub fn kind(&self) -> ToolKind {
        match self {
            Self::Compiled(_) => ToolKind::BuiltIn,
            Self::Loaded(tool) => tool.kind(),
        }
    }

    /// Returns the tool as data.
    pub fn declaration(&self) -> Declared<'_> {
        match self {
            Self::Compiled(tool) => tool.declaration().declared(),
            Self::Loaded(tool) => tool.declaration(),
        }
    }

    /// Returns calls with their replies.
    pub fn examples(&self) -> Vec<Example<'_>> {
        match self {
            Self::Compiled(tool) => tool.declaration().examples.to_vec(),
            Self::Loaded(tool) => tool.examples(),
        }
    }

    /// Returns the JSON Schema of the arguments.
    pub fn schema(&self) -> Value {
        match self {
            Self::Compiled(tool) => tool.schema(),
            Self::Loaded(tool) => tool.schema(),
        }
    }

    /// Returns the JSON Schema of the reply, before its catalogue gives it a form. Without one, it is null.
    pub fn reply_schema(&self) -> Value {
        match self {
            Self::Compiled(tool) => tool.reply_schema(),
            Self::Loaded(tool) => tool.reply_schema(),
        }
    }

    /// Parses the arguments.
    pub fn parse(&self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        match self {
            Self::Compiled(tool) => tool.parse(args),
            Self::Loaded(tool) => Arc::clone(tool).parse(args),
        }
    }

    /// Fails if the tool could not work now.
    pub fn health(&self, ctx: &Ctx) -> Result<(), ToolError> {
        match self {
            Self::Compiled(tool) => tool.health(ctx),
            Self::Loaded(tool) => tool.health(ctx),
        }
    }

    /// Whether the tool makes calls of other tools. Any loaded one may.
    pub fn makes_calls(&self) -> bool {
        match self {
            Self::Compiled(tool) => tool.makes_calls(),
            Self::Loaded(_) => true,
        }
    }

    /// Returns the loaded tool, if it is one.
    pub fn loaded(&self) -> Option<&Arc<dyn LoadedTool>> {
        match self {
            Self::Compiled(_) => None,
            Self::Loaded(tool) => Some(tool),
        }
    }
}
