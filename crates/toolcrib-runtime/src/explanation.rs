//! What would be decided about a call, as data for programs.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::ToolName;
use toolcrib_core::policy::{Confirmation, DraftedCall, RuleDraft};

use crate::preview::Preview;

/// What would be decided about a call, and why.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Explanation {
    /// The tool.
    pub tool: ToolName,
    /// `allow`, `ask` or `deny`.
    pub decision: &'static str,
    /// The rule that decides.
    pub rule: String,
    /// Why, in words.
    pub because: String,
    /// Where the rule is written, if it is in a file.
    pub source: Option<RulePlace>,
    /// What its command would do, if it has one.
    pub reading: Option<String>,
    /// Whether the agent first has to confirm that it means the call.
    pub confirm: bool,
    /// The rules that only have it noted.
    pub audited: Vec<String>,
    /// Why the call would fail anyway, if it would.
    pub trouble: Option<String>,
}

/// Where a rule is written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RulePlace {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

impl Preview {
    /// Returns what would be decided, as data.
    pub fn explanation(&self) -> Explanation {
        let decision = &self.decision;
        let source = decision.source.as_ref();
        Explanation {
            tool: self.tool.clone(),
            decision: decision.verdict().as_str(),
            rule: decision.rule.clone(),
            because: decision.because.clone(),
            source: source.map(|it| RulePlace { file: it.file.clone(), line: it.line }),
            reading: decision.reading.as_ref().map(ToString::to_string),
            confirm: decision.confirmation() != Confirmation::NotNeeded,
            audited: decision.audited.clone(),
            trouble: self.trouble.as_ref().map(|trouble| trouble.message.clone()),
        }
    }

    /// Returns drafts of rules about the call.
    pub fn rule_drafts(&self) -> Vec<RuleDraft> {
        let Self { tool, question, commands, .. } = self;
        let edits = question.plan.edits.iter().map(|edit| edit.path.clone());
        let writes: Vec<String> = edits.collect();
        let root = question.root.as_str();
        let (args, reads) = (&question.args, &question.plan.reads);
        DraftedCall { tool, args, commands, reads, writes: &writes, root }.drafts()
    }
}
