//! The tool `propose_tool`, with which an agent proposes a tool.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    Ctx, Declared, Effect, ErrorKind, Limits, LoadedTool, Permit, Plan, Prepared, Tier, ToolError,
    ToolKind,
};

use crate::examination::ProposalFaults;
use crate::lifecycle::Lifecycle;
use crate::plugin_error::PluginError;
use crate::plugin_source::PluginSource;
use crate::propose::NewTool;
use crate::schema_check::CheckedSchema;

/// The name of the tool.
pub const PROPOSE_TOOL: &str = "propose_tool";

const SUMMARY: &str = "Propose a new tool, or a new version of one. It is an ES module that exports name, \
                       description, parameters (a JSON Schema) and execute(args, ctx). A person reads it, and it is \
                       loaded if they approve. Returns: {id, toolName, status, hash, expiresAt, examples}";

/// Proposes tools. To propose harms nobody: nothing is loaded before a person has approved it.
pub struct ProposeTool {
    /// What is proposed goes here. A process that only lists tools has none.
    lifecycle: Option<Lifecycle>,
    schema: CheckedSchema,
}

#[derive(Deserialize)]
struct ProposeArgs {
    name: String,
    description: String,
    code: String,
    reasoning: String,
}

impl ProposeTool {
    /// Makes the tool. What it proposes goes to `lifecycle`.
    pub fn new(lifecycle: Lifecycle) -> Result<Self, PluginError> {
        Ok(Self { lifecycle: Some(lifecycle), ..Self::listed()? })
    }

    /// Makes the tool for a process that only lists tools.
    pub fn listed() -> Result<Self, PluginError> {
        let text = |about: &str| json!({"type": "string", "description": about});
        let schema = json!({
            "type": "object",
            "properties": {
                "name": text("The name: lower-case letters, digits and single underscores"),
                "description": text("What the tool does"),
                "code": text("The ES module"),
                "reasoning": text("Why the tool is needed, for the person who decides"),
            },
            "required": ["name", "description", "code", "reasoning"],
            "additionalProperties": false,
        });
        Ok(Self { lifecycle: None, schema: CheckedSchema::new(schema)? })
    }
}

impl LoadedTool for ProposeTool {
    fn kind(&self) -> ToolKind {
        ToolKind::BuiltIn
    }

    fn declaration(&self) -> Declared<'_> {
        Declared {
            name: PROPOSE_TOOL,
            summary: SUMMARY,
            tier: Tier::Standard,
            effect: Effect::Write,
            limits: Limits::DEFAULT,
        }
    }

    fn schema(&self) -> Value {
        self.schema.value().clone()
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn parse(self: Arc<Self>, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        self.schema.check_args(args)?;
        let args = ProposeArgs::deserialize(args)
            .map_err(|err| ToolError::new(ErrorKind::BadArgs, err.to_string()))?;
        Ok(Box::new(PreparedProposal { tool: self, args }))
    }
}

struct PreparedProposal {
    tool: Arc<ProposeTool>,
    args: ProposeArgs,
}

impl Prepared for PreparedProposal {
    fn check(&self, _: &Ctx) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    fn run(self: Box<Self>, _: Permit, ctx: Ctx) -> ReplyFuture {
        Box::pin(async move {
            // Only a call that a tool made has none.
            let Some(calls) = &ctx.calls else {
                return Err(ToolError::new(ErrorKind::Refused, "a tool cannot propose tools"));
            };
            let Some(lifecycle) = &self.tool.lifecycle else {
                let message = "this process only lists tools";
                return Err(ToolError::new(ErrorKind::Unavailable, message));
            };
            let ProposeArgs { name, description, code, reasoning } = self.args;
            let source = PluginSource::of_module(code)?;
            let new = NewTool { name, description, source, reasoning };
            let proposed = lifecycle.propose(new, calls.outer_caller());
            let proposal = proposed.map_err(|faults| told(&faults))?;
            Ok(json!({
                "id": proposal.id,
                "toolName": proposal.name,
                "status": "pending",
                "hash": proposal.hash,
                "expiresAt": format!("{:.3}", proposal.expires_at),
                "examples": proposal.examples,
            }))
        })
    }
}

/// Says all that is wrong with a tool.
fn told(faults: &ProposalFaults) -> ToolError {
    let all: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
    let kind =
        faults.0.first().map_or(ErrorKind::Failed, |first| ToolError::from(first.clone()).kind);
    ToolError::new(kind, all.join("; ")).with("errors", all)
}
