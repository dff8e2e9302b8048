//! Proposals and tools from other authors, as JSON tells them: over HTTP, with `--json` at the terminal, and to a terminal
//! that works with a server.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::escape;
use toolcrib_plugins::activation::ToolSummary;
use toolcrib_plugins::permissions::{PermissionChanges, Permissions};
use toolcrib_plugins::review::{KeptProposal, PendingTool, ProposalReview};
use toolcrib_plugins::source_text::source_text;
use toolcrib_plugins::tool_proposal::{ExampleResult, ProposalAnswer, ToolProposal};
use toolcrib_plugins::version_store::SavedVersion;

/// A proposal, as every reply has it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalFields {
    /// The id.
    pub id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// `pending`, `approved`, `rejected` or `expired`.
    pub status: String,
    /// When it was proposed.
    pub created_at: String,
    /// Until when it can be answered.
    pub expires_at: String,
    /// The hash of code and declaration, which an approval is bound to.
    pub hash: String,
    /// The hash of the version that was active when it was proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Who proposed it.
    pub by: String,
    /// The role of who proposed it.
    pub role: String,
    /// The door that the proposal came by.
    pub door: String,
    /// Why.
    pub reasoning: String,
    /// What the examples did that the module declares.
    pub examples: Vec<ExampleFields>,
}

/// What an example of a module did.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ExampleFields {
    /// What the example shows.
    pub about: String,
    /// Whether the tool did what the example says.
    pub ok: bool,
    /// Whether its result was compared with one that the example names. Otherwise the call only had to succeed.
    #[serde(default)]
    pub compared: bool,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(rename = "elapsedMs", default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<f64>,
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
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingFields {
    /// The proposal.
    #[serde(flatten)]
    pub proposal: ProposalFields,
    /// What the tool does, in the words of who proposed it.
    pub description: String,
    /// What the module says of itself, which is what models will read.
    pub declared_description: String,
    /// The beginning of the code.
    pub code_preview: String,
    /// What the tool would be allowed to do.
    #[serde(flatten)]
    pub asked: AskedPermissions,
}

/// What a tool would be allowed to do.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskedPermissions {
    /// The tier that the tool would have.
    pub tier: u8,
    /// What it asks for: `read`, `write`, `hosts`, `tools`, `secrets`, `volumes`.
    #[schemars(with = "Value")]
    pub permissions: Permissions,
    /// What it asks for and the active version does not, and the other way round: `added` and `removed`.
    #[schemars(with = "Value")]
    pub permission_changes: PermissionChanges,
}

/// A proposal with all that an answer needs.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewFields {
    /// The proposal.
    pub proposal: ProposalFields,
    /// What the tool does, in the words of who proposed it.
    pub description: String,
    /// What the module says of itself, which is what models will read.
    pub declared_description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// What the tool would be allowed to do.
    #[serde(flatten)]
    pub asked: AskedPermissions,
    /// The code. Characters that would hide something are escaped.
    pub code: String,
    /// The hash of the version that is active now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// What differs from the code of that version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    /// What the examples of that version did when it was proposed.
    pub examples_before: Vec<ExampleFields>,
    /// The answer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerFields>,
    /// What people granted to calls of the tool. It holds for the new version, too.
    pub grants: Vec<String>,
}

/// The answer to a proposal.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct AnswerFields {
    /// Who answered. Nobody, if its time was over.
    pub by: Option<String>,
    /// The reason that was given.
    pub reason: String,
    /// When.
    pub at: String,
}

impl ProposalFields {
    /// Returns what is told of a proposal.
    pub fn of(proposal: &ToolProposal, status: &'static str) -> Self {
        Self {
            id: proposal.id.as_str().to_owned(),
            tool_name: proposal.name.clone(),
            status: status.to_owned(),
            created_at: stamp(proposal.created_at),
            expires_at: stamp(proposal.expires_at),
            hash: proposal.hash.as_str().to_owned(),
            replaces: proposal.replaces.as_ref().map(|hash| hash.as_str().to_owned()),
            by: proposal.by.principal.name.clone(),
            role: proposal.by.principal.role.as_str().to_owned(),
            door: proposal.by.door.as_str().to_owned(),
            reasoning: proposal.reasoning.clone(),
            examples: proposal.examples.iter().map(ExampleFields::of).collect(),
        }
    }
}

impl ExampleFields {
    /// Returns what is told of an example.
    pub fn of(example: &ExampleResult) -> Self {
        Self {
            about: example.about.clone(),
            ok: example.is_ok,
            compared: example.is_compared,
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
            declared_description: escape::lines(&declared.description).into_owned(),
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
        Self { tier, permissions: permissions.clone(), permission_changes: changes.clone() }
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
            grants: review.grants,
        }
    }
}

/// A tool from another author.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginFields {
    /// The name.
    pub name: String,
    /// Whether nobody has disabled it.
    pub enabled: bool,
    /// Whether it is on offer: it is enabled, runs, and asks for no more than the settings allow.
    pub on_offer: bool,
    /// The hash of the active version.
    pub version: Option<String>,
    /// What it may use.
    #[schemars(with = "Value")]
    pub permissions: Option<Permissions>,
    /// Why the active version does not run, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The id of a proposal that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// The versions that became active, the oldest first.
    pub history: Vec<VersionFields>,
}

/// A version that became active.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct VersionFields {
    /// The hash.
    pub version: String,
    /// When.
    pub at: String,
    /// Who did it.
    pub by: String,
    /// `approved`, `rolled_back`, `reloaded` or `written`.
    pub how: String,
}

/// A tool from another author, with its code.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginDetailFields {
    /// The tool, as it is listed.
    #[serde(flatten)]
    pub plugin: PluginFields,
    /// What the version that runs says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The hash of the version that a roll-back without a version makes active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_before: Option<String>,
    /// The code of the version that runs. Characters that would hide something are escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl PluginFields {
    /// Returns what is told of a tool.
    pub fn of(tool: &ToolSummary) -> Self {
        let running = tool.running.as_ref().ok().and_then(Option::as_ref);
        let history = tool.state.history.iter().map(|it| VersionFields {
            version: it.hash.as_str().to_owned(),
            at: stamp(it.at),
            by: it.by.clone(),
            how: it.how.as_str().to_owned(),
        });
        Self {
            name: tool.name.clone(),
            enabled: tool.state.is_enabled,
            on_offer: tool.is_on_offer,
            version: tool.state.active.as_ref().map(|hash| hash.as_str().to_owned()),
            permissions: running.map(|version| version.declaration.permissions.clone()),
            problem: tool.running.as_ref().err().map(ToString::to_string),
            pending: tool.pending.as_ref().map(|id| id.as_str().to_owned()),
            history: history.collect(),
        }
    }
}

impl PluginDetailFields {
    /// Returns what is told of one tool.
    pub fn of(tool: &ToolSummary) -> Self {
        let running = tool.running.as_ref().ok().and_then(Option::as_ref);
        let described =
            |version: &SavedVersion| escape::lines(&version.declaration.description).into_owned();
        let code =
            |version: &SavedVersion| escape::lines(&source_text(&version.source)).into_owned();
        Self {
            plugin: PluginFields::of(tool),
            description: running.map(described),
            version_before: tool.state.version_before().map(|hash| hash.as_str().to_owned()),
            code: running.map(code),
        }
    }
}

/// Returns a time as the contract shows it.
pub(crate) fn stamp(at: Timestamp) -> String {
    format!("{at:.3}")
}
