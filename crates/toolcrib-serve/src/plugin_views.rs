//! Proposals and tools from other authors, as JSON tells them: over HTTP, and with `--json` at the terminal.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_core::escape;
use toolcrib_plugins::activation::ToolSummary;
use toolcrib_plugins::permissions::{PermissionChanges, Permissions};
use toolcrib_plugins::review::{KeptProposal, PendingTool, ProposalReview};
use toolcrib_plugins::tool_proposal::{ExampleResult, ProposalAnswer, ToolProposal};

/// A proposal, as every reply has it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalFields {
    id: String,
    tool_name: String,
    /// `pending`, `approved`, `rejected` or `expired`.
    status: &'static str,
    created_at: String,
    expires_at: String,
    /// The hash of code and declaration, which an approval is bound to.
    hash: String,
    /// Who proposed it.
    by: String,
    /// Why.
    reasoning: String,
    /// What the examples did that the module declares.
    examples: Vec<ExampleFields>,
}

/// What an example of a module did.
#[derive(Serialize, JsonSchema)]
struct ExampleFields {
    about: String,
    ok: bool,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(rename = "elapsedMs", skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<f64>,
}

/// A proposal that is kept, answered or not.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeptFields {
    #[serde(flatten)]
    proposal: ProposalFields,
    /// The answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerFields>,
}

/// A proposal that waits.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingFields {
    #[serde(flatten)]
    proposal: ProposalFields,
    description: String,
    /// The beginning of the code.
    code_preview: String,
    #[serde(flatten)]
    asked: AskedPermissions,
}

/// What a tool would be allowed to do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AskedPermissions {
    /// The tier that the tool would have.
    tier: u8,
    /// What it asks for: `read`, `write`, `hosts`, `tools`, `secrets`.
    permissions: Value,
    /// What it asks for and the active version does not, and the other way round: `added` and `removed`.
    permission_changes: Value,
}

/// A proposal with all that an answer needs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewFields {
    proposal: ProposalFields,
    description: String,
    /// What the module says of itself, which is what models will read.
    declared_description: String,
    /// The JSON Schema of the arguments.
    parameters: Value,
    #[serde(flatten)]
    asked: AskedPermissions,
    /// The code. Characters that would hide something are escaped.
    code: String,
    /// The hash of the version that is active now.
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<String>,
    /// What differs from the code of that version.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    /// What the examples of that version did when it was proposed.
    examples_before: Vec<ExampleFields>,
    /// The answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerFields>,
}

/// The answer to a proposal.
#[derive(Serialize, JsonSchema)]
struct AnswerFields {
    /// Who answered. Nobody, if its time was over.
    by: Option<String>,
    /// The reason that was given.
    reason: String,
    at: String,
}

impl ProposalFields {
    /// Returns what is told of a proposal.
    pub fn of(proposal: &ToolProposal, status: &'static str) -> Self {
        Self {
            id: proposal.id.as_str().to_owned(),
            tool_name: proposal.name.clone(),
            status,
            created_at: stamp(proposal.created_at),
            expires_at: stamp(proposal.expires_at),
            hash: proposal.hash.as_str().to_owned(),
            by: proposal.by.principal.name.clone(),
            reasoning: proposal.reasoning.clone(),
            examples: proposal.examples.iter().map(ExampleFields::of).collect(),
        }
    }
}

impl ExampleFields {
    fn of(example: &ExampleResult) -> Self {
        Self {
            about: example.about.clone(),
            ok: example.is_ok,
            message: example.message.clone(),
            elapsed_ms: example.elapsed_us.map(|micros| micros as f64 / 1000.0),
        }
    }
}

impl AnswerFields {
    fn of(answer: ProposalAnswer) -> Self {
        Self { by: answer.by.map(|by| by.name), reason: answer.words, at: stamp(answer.at) }
    }
}

impl KeptFields {
    /// Returns what is told of a proposal that is kept.
    pub(crate) fn of(kept: KeptProposal) -> Self {
        Self {
            proposal: ProposalFields::of(&kept.proposal, kept.status.as_str()),
            answer: kept.answer.map(AnswerFields::of),
        }
    }
}

impl PendingFields {
    /// Returns what is told of a proposal that waits.
    pub fn of(pending: &PendingTool) -> Self {
        let declared = &pending.declaration;
        Self {
            proposal: ProposalFields::of(&pending.proposal, "pending"),
            description: pending.proposal.description.clone(),
            code_preview: pending.code_preview.clone(),
            asked: AskedPermissions::of(
                declared.tier.number(),
                &declared.permissions,
                &pending.permission_changes,
            ),
        }
    }
}

impl AskedPermissions {
    fn of(tier: u8, permissions: &Permissions, changes: &PermissionChanges) -> Self {
        Self { tier, permissions: json!(permissions), permission_changes: json!(changes) }
    }
}

impl ReviewFields {
    /// Returns what is told to whoever answers.
    pub fn of(review: ProposalReview) -> Self {
        let declared = &review.declaration;
        Self {
            proposal: ProposalFields::of(&review.proposal, review.status.as_str()),
            description: review.proposal.description.clone(),
            asked: AskedPermissions::of(
                declared.tier.number(),
                &declared.permissions,
                &review.permission_changes,
            ),
            declared_description: escape::lines(&declared.description).into_owned(),
            answer: review.answer.map(AnswerFields::of),
            examples_before: review.examples_before.iter().map(ExampleFields::of).collect(),
            parameters: review.declaration.parameters,
            code: review.code,
            active: review.active.map(String::from),
            difference: review.difference,
        }
    }
}

/// A tool from another author.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginFields {
    name: String,
    /// Whether it is on offer.
    enabled: bool,
    /// The hash of the active version.
    version: Option<String>,
    /// What it may use.
    permissions: Value,
    /// Why the active version does not run, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The id of a proposal that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<String>,
    /// The versions that became active, the oldest first.
    history: Vec<VersionFields>,
}

/// A version that became active.
#[derive(Serialize, JsonSchema)]
struct VersionFields {
    version: String,
    at: String,
    by: String,
    /// `approved`, `rolled_back`, `reloaded` or `written`.
    how: Value,
}

impl PluginFields {
    /// Returns what is told of a tool.
    pub fn of(tool: &ToolSummary) -> Self {
        let permissions = match &tool.running {
            Ok(Some(version)) => json!(version.declaration.permissions),
            Ok(None) | Err(_) => Value::Null,
        };
        let history = tool.state.history.iter().map(|it| VersionFields {
            version: it.hash.as_str().to_owned(),
            at: stamp(it.at),
            by: it.by.clone(),
            how: json!(it.how),
        });
        Self {
            name: tool.name.clone(),
            enabled: tool.state.is_enabled,
            version: tool.state.active.as_ref().map(|hash| hash.as_str().to_owned()),
            permissions,
            problem: tool.running.as_ref().err().map(ToString::to_string),
            pending: tool.pending.as_ref().map(|id| id.as_str().to_owned()),
            history: history.collect(),
        }
    }
}

/// Returns a time as the contract shows it.
pub(crate) fn stamp(at: Timestamp) -> String {
    format!("{at:.3}")
}
