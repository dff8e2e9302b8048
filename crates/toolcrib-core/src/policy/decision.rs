//! The decision about a call, which only policy can make an allowing one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::command_reading::ReadingSummary;

use super::rule::Source;
use super::tier::{Mode, Tier};

/// What policy says. The order is severity: the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Runs without a question.
    Allow,
    /// Runs if a person says yes.
    Ask,
    /// Does not run.
    Deny,
}

impl Verdict {
    /// The spelling on wires and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A verdict, the rule it comes from, and why.
///
/// Only [`Policy::decide`] can allow a call, or [`Policy::accept`] where the same policy decided on another machine: outside of this module the verdict can be read and
/// tightened, never loosened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub(in crate::policy) verdict: Verdict,
    pub(in crate::policy) confirmation: Confirmation,
    /// The deciding rule, in words.
    pub rule: String,
    /// The reason, in the words of whoever wrote the rule.
    pub because: String,
    /// Where the rule is written. Empty if tier and mode decide.
    pub source: Option<Source>,
    /// The grant that allows the call, if one does.
    pub grant: Option<String>,
    /// How the command was read, if the call runs one.
    pub reading: Option<ReadingSummary>,
    /// The audit rules that match the call.
    pub audited: Vec<String>,
    /// The rules that ask about the call. Whoever lets it run has answered them.
    pub asking: Vec<String>,
}

/// Whether an agent must confirm a call before a person is asked about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// The agent need not confirm.
    NotNeeded,
    /// The agent confirms first, and then a person is asked.
    ThenAsk,
    /// The agent confirms first. Its word is enough where the operator's settings allow that.
    MaySuffice,
}

/// Decides a call by its tool's tier and the session's mode.
pub fn by_tier(tier: Tier, mode: Mode) -> Decision {
    let verdict = match (tier, mode) {
        (Tier::Safe, _)
        | (Tier::Standard, Mode::Standard | Mode::Permissive)
        | (Tier::Elevated, Mode::Permissive) => Verdict::Allow,
        (Tier::Standard, Mode::Strict)
        | (Tier::Elevated, Mode::Strict | Mode::Standard)
        | (Tier::Restricted, Mode::Standard | Mode::Permissive)
        | (Tier::Dangerous, Mode::Permissive) => Verdict::Ask,
        (Tier::Restricted, Mode::Strict) | (Tier::Dangerous, Mode::Strict | Mode::Standard) => {
            Verdict::Deny
        }
    };
    Decision::unwritten(verdict, format!("tier {} in mode {}", tier.number(), mode.as_str()))
}

impl Decision {
    /// Returns a decision to refuse a call: a limit is reached, or the tool is in quarantine.
    pub fn deny(rule: String, because: String) -> Self {
        Self { because, ..Self::unwritten(Verdict::Deny, rule) }
    }

    /// Returns this decision with an allowed call turned into one that is asked about. Other verdicts
    /// stay as they are.
    pub fn ask_instead(self, rule: String) -> Self {
        match self.verdict {
            Verdict::Allow => Self { verdict: Verdict::Ask, rule, ..self },
            Verdict::Ask | Verdict::Deny => self,
        }
    }

    /// Returns what is to happen.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns whether the agent must confirm the call first.
    pub fn confirmation(&self) -> Confirmation {
        self.confirmation
    }

    /// Returns a decision that no written rule makes.
    fn unwritten(verdict: Verdict, rule: String) -> Self {
        Self {
            verdict,
            confirmation: Confirmation::NotNeeded,
            rule,
            because: String::new(),
            source: None,
            grant: None,
            reading: None,
            audited: Vec::new(),
            asking: Vec::new(),
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.verdict.as_str(), self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tier_and_mode_decide_as_the_notes_say() {
        use Verdict::{Allow, Ask, Deny};
        let table = [
            (Tier::Safe, [Allow, Allow, Allow]),
            (Tier::Standard, [Ask, Allow, Allow]),
            (Tier::Elevated, [Ask, Ask, Allow]),
            (Tier::Restricted, [Deny, Ask, Ask]),
            (Tier::Dangerous, [Deny, Deny, Ask]),
        ];
        for (tier, verdicts) in table {
            for (mode, verdict) in Mode::ALL.into_iter().zip(verdicts) {
                assert_eq!(by_tier(tier, mode).verdict, verdict, "{tier:?} {mode:?}");
            }
        }
    }

    #[test]
    fn a_decision_can_be_tightened_and_not_loosened() {
        let tightened = |decision: Decision| decision.ask_instead("tainted".to_owned()).verdict;
        assert_eq!(tightened(by_tier(Tier::Safe, Mode::Standard)), Verdict::Ask);
        assert_eq!(tightened(by_tier(Tier::Dangerous, Mode::Standard)), Verdict::Deny);
        assert_eq!(Decision::deny("limit".to_owned(), String::new()).verdict, Verdict::Deny);
    }
}
