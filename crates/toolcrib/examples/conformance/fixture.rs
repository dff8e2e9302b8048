//! A tool as a value: its name, its schema, and what it does.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value, json};
use toolcrib_core::policy::Permit;
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    AnyTool, Ctx, Declaration, Effect, ErrorKind, Limits, Plan, Prepared, Tier, ToolError,
};

/// How long a tool may run: the suite cancels some that would take a minute.
const DEADLINE_MS: u64 = 120_000;

/// What a tool does with its arguments.
pub(crate) type Work = fn(Ctx, Map<String, Value>) -> WorkFuture;

/// The content blocks of a reply, once they are there.
pub(crate) type WorkFuture = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

/// A tool of the suite.
pub(crate) struct Fixture {
    declaration: &'static Declaration,
    schema: Value,
    work: Work,
}

impl Fixture {
    /// A tool without arguments.
    pub(crate) fn new(name: &'static str, work: Work) -> Self {
        Self::with_schema(name, json!({"type": "object", "properties": {}}), work)
    }

    /// A tool with these arguments.
    pub(crate) fn with_schema(name: &'static str, schema: Value, work: Work) -> Self {
        let declaration = Declaration {
            name,
            summary: "A tool of the conformance suite.",
            tier: Tier::Safe,
            effect: Effect::Compute,
            limits: Limits { deadline_ms: DEADLINE_MS, ..Limits::DEFAULT },
            examples: &[],
        };
        Self { declaration: Box::leak(Box::new(declaration)), schema, work }
    }
}

impl AnyTool for Fixture {
    fn declaration(&self) -> &'static Declaration {
        self.declaration
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    fn reply_schema(&self) -> Value {
        Value::Null
    }

    fn parse(&'static self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        match args {
            Value::Object(args) => {
                Ok(Box::new(ReadyFixture { work: self.work, args: args.clone() }))
            }
            _ => Err(ToolError::new(ErrorKind::BadArgs, "the arguments must be an object")),
        }
    }

    fn makes_calls(&self) -> bool {
        false
    }

    fn health(&self, _: &Ctx) -> Result<(), ToolError> {
        Ok(())
    }
}

struct ReadyFixture {
    work: Work,
    args: Map<String, Value>,
}

impl Prepared for ReadyFixture {
    fn check(&self, _: &Ctx) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    fn run(self: Box<Self>, _: Permit, ctx: Ctx) -> ReplyFuture {
        (self.work)(ctx, self.args)
    }
}

/// Returns a reply of one text.
pub(crate) fn text(text: &str) -> Value {
    json!([text_block(text)])
}

/// Returns a block of text.
pub(crate) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
