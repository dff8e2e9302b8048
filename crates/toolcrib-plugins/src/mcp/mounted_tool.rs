//! A tool of an MCP server, as a tool of Toolcrib: its arguments are checked against the schema that was accepted, and the
//! server answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    Ctx, Declared, ErrorKind, Limits, LoadedTool, Permit, Plan, Prepared, ToolError, ToolKind,
    escape,
};

use super::definition::ToolDefinition;
use super::pin_store::ServerPins;
use super::server_connection::{AcceptedTool, ServerCallTerms, ServerConnection};
use super::server_spec::ServerSpec;
use crate::examination::all_texts;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::schema_check::CheckedSchema;

/// The most bytes of a reply. Pictures are larger than what most tools return.
const MAX_REPLY_BYTES: usize = 4 << 20;

/// The time after its deadline in which a call is given up.
const CANCEL_RESERVE: Duration = Duration::from_millis(1_500);

/// How many digits of a hash tell versions apart.
const VERSION_DIGITS: usize = 12;

/// A tool of a server.
pub struct MountedTool {
    definition: ToolDefinition,
    name: String,
    summary: String,
    /// The hash of the definition that was accepted.
    hash: String,
    parameters: CheckedSchema,
    /// The schema of the structured part of the result, if the server declares one.
    output: Option<CheckedSchema>,
    spec: ServerSpec,
    /// The connection. A process that only lists tools has none.
    connection: Option<Arc<ServerConnection>>,
}

impl MountedTool {
    /// Makes a tool of a definition that was accepted.
    pub fn new(
        definition: &ToolDefinition,
        spec: &ServerSpec,
        connection: Option<&Arc<ServerConnection>>,
    ) -> Result<Arc<Self>, PluginError> {
        let name = definition.safe_name();
        if name.is_empty() || name.contains("__") {
            // With `__`, clients are told catalogue and tool in one name.
            let message = "its name is empty, or has `__` in it";
            return Err(PluginError::new(PluginErrorKind::BadName, message));
        }
        let is_plain = |text: &str| escape::lines(text) == text;
        let schemas = [&definition.input_schema, &definition.output_schema];
        if !schemas.iter().all(|schema| all_texts(schema, &is_plain)) {
            let message = "its schema has characters that a reader does not see";
            return Err(PluginError::new(PluginErrorKind::BadSchema, message));
        }
        let parameters = CheckedSchema::new(definition.input_schema.clone())?;
        let output = Some(&definition.output_schema).filter(|schema| !schema.is_null());
        let output = output.map(|schema| CheckedSchema::new(schema.clone())).transpose()?;
        Ok(Arc::new(Self {
            name,
            summary: definition.summary(&spec.name),
            hash: definition.hash(),
            parameters,
            output,
            definition: definition.clone(),
            spec: spec.clone(),
            connection: connection.cloned(),
        }))
    }

    /// Makes the tools of a server that are on offer. Returns a warning for each that is not.
    pub fn all(
        pins: &ServerPins,
        spec: &ServerSpec,
        connection: Option<&Arc<ServerConnection>>,
    ) -> (Vec<Arc<Self>>, Vec<String>) {
        let (mut tools, mut warnings, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
        let server = &spec.name;
        let (exact, others): (Vec<_>, Vec<_>) =
            pins.on_offer().partition(|it| it.safe_name() == it.name);
        // A name that only becomes another tool's by our spelling must not take its place.
        for definition in exact.into_iter().chain(others) {
            let made = if names.insert(definition.safe_name()) {
                Self::new(definition, spec, connection)
            } else {
                let message = "another tool of the server has the same name";
                Err(PluginError::new(PluginErrorKind::NameTaken, message))
            };
            match made {
                Ok(tool) => tools.push(tool),
                Err(err) => {
                    let name = escape::line(&definition.name).into_owned();
                    warnings.push(format!("{server}/{name} is not on offer: {err}"));
                }
            }
        }
        if !pins.waiting.is_empty() {
            let names: Vec<String> =
                pins.waiting.keys().map(|name| escape::line(name).into_owned()).collect();
            warnings.push(format!(
                "the MCP server {server} has changed {}; look at it with `toolcrib plugins servers`",
                names.join(", ")
            ));
        }
        (tools, warnings)
    }
}

impl MountedTool {
    /// Fails if the structured part of a reply does not fit what the server declared.
    fn check_reply(&self, reply: &Value) -> Result<(), ToolError> {
        let Some(output) = &self.output else { return Ok(()) };
        let Some(structured) = reply.get("structuredContent") else {
            let message = format!(
                "the MCP server `{}` declares a structured result of `{}`, and sent none",
                self.spec.name, self.name
            );
            return Err(ToolError::new(ErrorKind::Failed, message).with("reason", "bad_result"));
        };
        output.check_result(structured)
    }
}

impl LoadedTool for MountedTool {
    fn kind(&self) -> ToolKind {
        ToolKind::Mcp
    }

    fn declaration(&self) -> Declared<'_> {
        let Self { spec, .. } = self;
        let deadline_ms = spec.longest.as_millis() as u64;
        Declared {
            name: &self.name,
            summary: &self.summary,
            tier: spec.tier,
            effect: spec.effect,
            limits: Limits { deadline_ms, output_bytes: MAX_REPLY_BYTES },
        }
    }

    fn schema(&self) -> Value {
        self.parameters.value().clone()
    }

    fn reply_schema(&self) -> Value {
        self.definition.output_schema.clone()
    }

    fn version(&self) -> &str {
        &self.hash[..VERSION_DIGITS]
    }

    fn parse(self: Arc<Self>, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        self.parameters.check_args(args)?;
        let Value::Object(args) = args else {
            return Err(ToolError::new(ErrorKind::BadArgs, "the arguments must be an object"));
        };
        Ok(Box::new(PreparedServerCall { args: args.clone(), tool: self }))
    }

    fn reserve(&self) -> Duration {
        CANCEL_RESERVE
    }
}

/// A call of a tool of a server.
struct PreparedServerCall {
    tool: Arc<MountedTool>,
    args: serde_json::Map<String, Value>,
}

impl Prepared for PreparedServerCall {
    fn check(&self, _: &Ctx) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    fn run(self: Box<Self>, _: Permit, ctx: Ctx) -> ReplyFuture {
        Box::pin(async move {
            let Self { tool, args } = *self;
            let terms = ServerCallTerms {
                longest: Duration::from_millis(ctx.terms.limits.deadline_ms),
                cancel: &ctx.cancel,
                meter: &ctx.meter,
                client: &*ctx.client,
            };
            let Some(connection) = &tool.connection else {
                let message = "this process only lists tools";
                return Err(ToolError::new(ErrorKind::Unavailable, message));
            };
            let accepted = AcceptedTool { name: &tool.definition.name, hash: &tool.hash };
            let reply = connection.call(accepted, args, terms).await?;
            tool.check_reply(&reply)?;
            Ok(reply)
        })
    }
}
