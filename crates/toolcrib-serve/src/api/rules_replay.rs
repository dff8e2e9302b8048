//! What other rules would decide about recorded calls.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{Principal, ToolName};

/// Rules that are tried on recorded calls.
#[derive(Clone, Debug)]
pub struct WantedReplay {
    /// The rules, as in a rules file.
    pub text: String,
    /// The calls since this time are decided again.
    pub since: Timestamp,
    /// Who asks. Calls without a caller on the record are decided as this principal's.
    pub principal: Principal,
}

/// What other rules would decide about recorded calls.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RulesReplay {
    /// The ids of the rules that were tried.
    pub rules: Vec<String>,
    /// When the calls begin that were decided again: as wanted, or later if there are many.
    pub since: Timestamp,
    /// How many calls would be decided as they were.
    pub same: usize,
    /// How many cannot be decided again, because the record does not have all of their arguments, or their tool would not
    /// take them today.
    pub unknown: usize,
    /// How many would be decided differently.
    pub different: usize,
    /// How many of those would run without a question, and were asked about or refused.
    pub freed: usize,
    /// How many of those a person declined.
    pub freed_but_declined: usize,
    /// How many would be asked about or refused, and ran.
    pub stopped: usize,
    /// The newest of the calls that would be decided differently.
    pub calls: Vec<ReplayedCall>,
}

/// A call that would be decided differently.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReplayedCall {
    /// The id of the call.
    pub call: String,
    /// When it was asked for.
    pub at: Timestamp,
    /// The tool.
    pub tool: ToolName,
    /// Its arguments.
    pub args: Value,
    /// What was decided: `allow`, `ask` or `deny`.
    pub was: &'static str,
    /// What would be decided.
    pub would_be: &'static str,
    /// The rule that would decide.
    pub rule: String,
    /// Whether a person was asked, and declined it.
    pub declined: bool,
}
