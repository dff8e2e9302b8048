//! A proposal: a version that somebody wants to become a tool, and the answer to it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Caller, Principal, Role};

use crate::plugin_source::PluginKind;
use crate::version_hash::VersionHash;

/// A version that waits for an answer, or has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolProposal {
    /// `prop_` and a ULID.
    pub id: ProposalId,
    /// The tool's name.
    pub name: String,
    /// What the plugin is.
    pub kind: PluginKind,
    /// The version that an approval is bound to.
    pub hash: VersionHash,
    /// The version that was active when this one was proposed.
    pub replaces: Option<VersionHash>,
    /// Who proposed it.
    pub by: Caller,
    /// Why, in the proposer's words.
    pub reasoning: String,
    /// What the tool does, in the proposer's words.
    pub description: String,
    /// What the declared examples did.
    pub examples: Vec<ExampleResult>,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// Until when it can be answered.
    pub expires_at: Timestamp,
}

/// The id of a proposal. It is also the name of its file, so it never has another form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ProposalId(String);

/// What an example did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleResult {
    /// What the example shows.
    pub about: String,
    /// Whether the tool did what the example says.
    #[serde(rename = "ok")]
    pub is_ok: bool,
    /// Whether its result was compared with one that the example names. Otherwise the call only had to succeed.
    #[serde(rename = "compared", default)]
    pub is_compared: bool,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long it took, in microseconds. Proposals from before this was stored have none, nor do examples that did
    /// not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_us: Option<u64>,
}

/// Where a proposal is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalStatus {
    /// It waits for an answer.
    Pending,
    /// Somebody approved it.
    Approved,
    /// Somebody rejected it.
    Rejected,
    /// Nobody answered in time.
    Expired,
}

/// What ended a proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposalAnswer {
    /// What it became.
    pub status: ProposalStatus,
    /// Who answered. Nobody, if its time was over.
    pub by: Option<Principal>,
    /// The reason that was given.
    pub words: String,
    /// When.
    pub at: Timestamp,
}

/// What every id begins with. No tool's name can: the rest is in upper case.
const ID_PREFIX: &str = "prop_";

impl ProposalId {
    /// Makes an id that no other proposal has.
    pub(crate) fn new() -> Self {
        Self(format!("{ID_PREFIX}{}", ulid::Ulid::generate()))
    }

    /// Reads an id.
    pub fn parse(text: &str) -> Option<Self> {
        let ulid: ulid::Ulid = text.strip_prefix(ID_PREFIX)?.parse().ok()?;
        // The parser takes other spellings of the same ULID.
        (text == format!("{ID_PREFIX}{ulid}")).then(|| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<ProposalId> for String {
    fn from(id: ProposalId) -> Self {
        id.0
    }
}

impl TryFrom<String> for ProposalId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        Self::parse(&text).ok_or("no id of a proposal")
    }
}

impl ProposalStatus {
    /// Returns the spelling on wires and in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }
}

impl ProposalAnswer {
    /// Returns who answered, for sentences.
    pub fn answerer(&self) -> &str {
        self.by.as_ref().map_or("nobody", |by| by.name.as_str())
    }

    /// Returns the record's word for whoever answered.
    pub(crate) fn actor(&self) -> &'static str {
        self.by.as_ref().map_or("system", |by| Role::as_str(by.role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_becomes_an_id() {
        let id = ProposalId::new();
        assert_eq!(ProposalId::parse(id.as_str()), Some(id.clone()));
        let lower = id.as_str().to_lowercase();
        for bad in ["", "prop_", "prop_../x", "01ARZ3NDEKTSV4RRFFQ69G5FAV", &lower, "prop_x.json"] {
            assert_eq!(ProposalId::parse(bad), None, "{bad}");
        }
    }
}
