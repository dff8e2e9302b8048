//! A tool of the nachos contract that somebody else runs: its runner listens on the bus, as in the contract. Here it is
//! declared by its manifest, and decided on and recorded like every tool.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    Ctx, Declared, Effect, ErrorKind, Limits, LoadedTool, Permit, Plan, Prepared, Tier, ToolError,
    ToolKind, escape,
};
use toolcrib_plugins::schema_check::CheckedSchema;
use toolcrib_tools::TOOL_ERROR;

use crate::runner_line::{RunnerCall, RunnerLine};

/// The most characters of a description.
const LONGEST_DESCRIPTION: usize = 2000;

/// The longest that a call can take, in milliseconds.
const LONGEST_CALL_MS: u64 = 600_000;

/// The time after its deadline in which a call is given up.
const CANCEL_RESERVE: Duration = Duration::from_millis(500);

/// How many digits of a hash tell versions apart.
const VERSION_DIGITS: usize = 12;

/// The largest manifest, in bytes.
const MOST_MANIFEST_BYTES: usize = 256 << 10;

/// The manifest of a tool, as the contract has it, with its description and its parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BusToolManifest {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "version")]
    _version: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "capabilities", default)]
    _capabilities: Value,
    provides: ProvidedTool,
    description: String,
    parameters: Value,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ProvidedTool {
    tool: String,
    security_tier: u8,
}

/// A tool whose runner listens on the bus.
pub struct BusTool {
    name: String,
    summary: String,
    tier: Tier,
    deadline_ms: u64,
    version: String,
    parameters: CheckedSchema,
    line: Arc<RunnerLine>,
}

impl BusTool {
    /// Reads a manifest. Fails with what is wrong with it.
    pub fn read(manifest: &str, line: Arc<RunnerLine>) -> Result<Arc<Self>, ToolError> {
        let wrong = |what: String| ToolError::new(ErrorKind::BadArgs, what);
        if manifest.len() > MOST_MANIFEST_BYTES {
            return Err(wrong(format!("it has more than {MOST_MANIFEST_BYTES} bytes")));
        }
        let read: BusToolManifest =
            serde_json::from_str(manifest).map_err(|err| wrong(err.to_string()))?;
        let BusToolManifest { kind, provides, description, parameters, timeout_ms, .. } = read;
        let ProvidedTool { tool: name, security_tier } = provides;
        if kind != "tool" {
            return Err(wrong("`type` must be \"tool\"".to_owned()));
        }
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_".contains(&it);
        let is_name = (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
        if !is_name || name.contains("__") {
            return Err(wrong(
                "`provides.tool` must have up to 64 letters, digits, `-` and `_`, and no `__`"
                    .to_owned(),
            ));
        }
        let tier = tier_of(security_tier)
            .ok_or_else(|| wrong("`provides.securityTier` must be 0 to 4".to_owned()))?;
        let is_shown = escape::lines(&description) == description;
        if !is_shown || !(1..=LONGEST_DESCRIPTION).contains(&description.chars().count()) {
            return Err(wrong(format!(
                "`description` must have 1 to {LONGEST_DESCRIPTION} characters that people can see"
            )));
        }
        let deadline_ms = timeout_ms.unwrap_or(Limits::DEFAULT.deadline_ms);
        if !(1..=LONGEST_CALL_MS).contains(&deadline_ms) {
            return Err(wrong(format!("`timeoutMs` must be 1 to {LONGEST_CALL_MS}")));
        }
        if parameters["type"] != "object" {
            return Err(wrong("`parameters` must be a JSON Schema of an object".to_owned()));
        }
        let parameters = CheckedSchema::new(parameters).and_then(|schema| {
            schema.compile()?;
            Ok(schema)
        });
        let parameters = parameters.map_err(|err| wrong(format!("`parameters`: {err}")))?;
        let mut version = Digest::of_bytes(manifest.as_bytes()).to_string();
        version.truncate(VERSION_DIGITS);
        let summary = description;
        Ok(Arc::new(Self { name, summary, tier, deadline_ms, version, parameters, line }))
    }
}

fn tier_of(number: u8) -> Option<Tier> {
    [Tier::Safe, Tier::Standard, Tier::Elevated, Tier::Restricted, Tier::Dangerous]
        .into_iter()
        .find(|tier| tier.number() == number)
}

impl LoadedTool for BusTool {
    fn kind(&self) -> ToolKind {
        ToolKind::Bus
    }

    fn declaration(&self) -> Declared<'_> {
        // What a runner does is not known, so each call counts as one that changes something.
        let effect = if self.tier == Tier::Safe { Effect::Compute } else { Effect::Write };
        let limits = Limits { deadline_ms: self.deadline_ms, ..Limits::DEFAULT };
        Declared { name: &self.name, summary: &self.summary, tier: self.tier, effect, limits }
    }

    fn schema(&self) -> Value {
        self.parameters.value().clone()
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn parse(self: Arc<Self>, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        self.parameters.check_args(args)?;
        let Value::Object(args) = args else {
            return Err(ToolError::new(ErrorKind::BadArgs, "the arguments must be an object"));
        };
        Ok(Box::new(PreparedRunnerCall { args: args.clone(), tool: self }))
    }

    fn reserve(&self) -> Duration {
        CANCEL_RESERVE
    }
}

/// A call of a tool whose runner listens on the bus.
struct PreparedRunnerCall {
    tool: Arc<BusTool>,
    args: Map<String, Value>,
}

impl Prepared for PreparedRunnerCall {
    fn check(&self, _: &Ctx) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    fn run(self: Box<Self>, _: Permit, ctx: Ctx) -> ReplyFuture {
        Box::pin(async move {
            let Self { tool, args } = *self;
            let call = RunnerCall {
                tool: &tool.name,
                call: &ctx.call.0,
                now: ctx.clock.now(),
                longest: Duration::from_millis(ctx.terms.limits.deadline_ms),
            };
            let result = tool.line.call(call, args, &ctx.cancel).await?;
            if result["success"] == true {
                return Ok(result);
            }
            let error = result.get("error").cloned().unwrap_or_else(|| json!({}));
            let message =
                error["message"].as_str().unwrap_or("the tool failed and did not say why");
            let message = escape::lines(message).into_owned();
            Err(ToolError::new(ErrorKind::Failed, message).with(TOOL_ERROR, error))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Value {
        json!({
            "name": "nachos-tool-browser",
            "version": "1.0.0",
            "type": "tool",
            "capabilities": {"network": {"egress": ["*"]}, "resources": {"memory": "1GB", "cpus": 1.0}},
            "provides": {"tool": "browser", "securityTier": 1},
            "description": "Opens pages.",
            "parameters": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
        })
    }

    fn read(manifest: &Value) -> Result<Arc<BusTool>, String> {
        BusTool::read(&manifest.to_string(), Arc::default()).map_err(|err| err.message)
    }

    #[test]
    fn a_manifest_declares_a_tool() {
        let tool = read(&manifest()).unwrap();
        let declared = tool.declaration();
        assert_eq!((declared.name, declared.tier.number()), ("browser", 1));
        assert!(Arc::clone(&tool).parse(&json!({"url": "x"})).is_ok());
        assert!(tool.parse(&json!({})).is_err());
    }

    #[test]
    fn a_wrong_manifest_says_what_is_wrong() {
        for (pointer, value, what) in [
            ("/type", json!("skill"), "`type`"),
            ("/provides/tool", json!("a b"), "`provides.tool`"),
            ("/provides/tool", json!(""), "`provides.tool`"),
            ("/provides/tool", json!("a__b"), "`provides.tool`"),
            ("/provides/securityTier", json!(5), "securityTier"),
            ("/description", json!(""), "`description`"),
            ("/description", json!("a\u{202e}b"), "`description`"),
            ("/parameters", json!({"type": "string"}), "`parameters`"),
            ("/parameters", json!({"type": "object", "properties": 1}), "`parameters`"),
        ] {
            let mut wrong = manifest();
            *wrong.pointer_mut(pointer).unwrap() = value;
            let told = read(&wrong).err().unwrap();
            assert!(told.contains(what), "{pointer}: {told}");
        }
        let mut unknown = manifest();
        unknown["command"] = json!(["sh"]);
        assert!(read(&unknown).err().unwrap().contains("command"));
        assert!(BusTool::read("{", Arc::default()).is_err());
    }
}
