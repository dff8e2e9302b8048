//! What may run: tiers, modes, the decision about a call, and the permit that running needs.

mod book;
mod file;
pub mod grant;
mod pattern;
mod rule;

use std::fmt;

use crate::canonical::Digest;

pub use book::{Policy, Subject};
pub use file::{RulesError, Said, rules_in};
pub use grant::{Covers, Grant, Scope, Wish};
pub use pattern::{PathGlob, Pattern};
pub use rule::{Layer, Rule, Says, Source, When, without_detours};

/// How much harm a tool could do, from none to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// No side effects and nothing read.
    Safe = 0,
    /// Reads what the session may see.
    Standard = 1,
    /// Writes inside the workspace.
    Elevated = 2,
    /// Changes or runs things; a person looks first.
    Restricted = 3,
    /// Blocked unless the operator opens it.
    Dangerous = 4,
}

impl Tier {
    /// The number of this tier in contracts and settings.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The risk level that people are shown.
    pub fn risk(self) -> Risk {
        match self {
            Self::Safe | Self::Standard => Risk::ReadOnly,
            Self::Elevated => Risk::SafeWrite,
            Self::Restricted | Self::Dangerous => Risk::Dangerous,
        }
    }
}

/// A tier in words for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Tiers 0 and 1.
    ReadOnly,
    /// Tier 2.
    SafeWrite,
    /// Tiers 3 and 4.
    Dangerous,
}

impl Risk {
    /// The spelling in contracts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::SafeWrite => "safe_write",
            Self::Dangerous => "dangerous",
        }
    }
}

/// How strict a session is. The order is looseness: a project may only move to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Asks for everything but tier 0, refuses tiers 3 and 4.
    Strict,
    /// Reads freely, asks before it writes, refuses tier 4.
    Standard,
    /// Writes freely, asks from tier 3.
    Permissive,
}

impl Mode {
    /// Every mode, strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Standard, Self::Permissive];

    /// The spelling in settings and contracts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Permissive => "permissive",
        }
    }

    /// Reads the spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

/// What policy says. The order is severity: the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// A verdict and the rule it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is to happen.
    pub verdict: Verdict,
    /// The rule that says so, in words.
    pub rule: String,
    /// Why, in the words of whoever wrote the rule.
    pub because: String,
    /// Where the rule is written; nothing for tier and mode.
    pub source: Option<Source>,
    /// The grant that let it through, if one did.
    pub grant: Option<String>,
    /// Whether an agent is first to confirm that it means it.
    pub confirm: bool,
    /// Whether the agent's word is enough then, where the operator lets it be.
    pub is_word_enough: bool,
    /// What the command was read as, if there is one.
    pub reading: Option<String>,
    /// Rules that only take note of the call.
    pub audited: Vec<String>,
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
    Decision::plain(verdict, format!("tier {} in mode {}", tier.number(), mode.as_str()))
}

impl Decision {
    /// A decision that no written rule makes.
    pub fn plain(verdict: Verdict, rule: String) -> Self {
        Self {
            verdict,
            rule,
            because: String::new(),
            source: None,
            grant: None,
            confirm: false,
            is_word_enough: false,
            reading: None,
            audited: Vec::new(),
        }
    }
}

/// What a person answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Run it, this once. Who said so.
    Yes(String),
    /// Run it, and from now on what the wish covers. Who said so.
    Always(String, Wish),
    /// Do not run it. Who said so, and what they want the agent to know.
    No(String, String),
    /// There is nobody to ask.
    Nobody,
    /// There is nobody to ask now: it waits under this name, and can be answered later.
    Parked(String),
}

/// Proof that this very call was decided on and the answer was yes. Nothing outside this module can
/// make one, and a tool is not entered without one.
#[derive(Debug)]
pub struct Permit {
    digest: Digest,
}

impl Permit {
    /// Returns a permit for the call with this digest if policy alone allows it.
    pub fn by_policy(decision: &Decision, digest: Digest) -> Option<Self> {
        (decision.verdict == Verdict::Allow).then_some(Self { digest })
    }

    /// Returns a permit for the call with this digest if policy asks and a person said yes.
    pub fn by_answer(decision: &Decision, answer: &Answer, digest: Digest) -> Option<Self> {
        let yes = decision.verdict == Verdict::Ask
            && matches!(answer, Answer::Yes(_) | Answer::Always(..));
        yes.then_some(Self { digest })
    }

    /// Whether this permit is for the call with this digest.
    pub fn covers(&self, digest: Digest) -> bool {
        self.digest == digest
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
    use serde_json::json;

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
    fn permit_needs_the_right_answer_and_covers_one_call() {
        let digest = Digest::of("t", &json!({"a": 1}));
        let other = Digest::of("t", &json!({"a": 2}));
        let ask = by_tier(Tier::Elevated, Mode::Standard);
        let deny = by_tier(Tier::Dangerous, Mode::Standard);
        let allow = by_tier(Tier::Safe, Mode::Standard);
        let yes = Answer::Yes("someone".to_owned());

        assert!(Permit::by_policy(&allow, digest).unwrap().covers(digest));
        assert!(Permit::by_policy(&ask, digest).is_none());
        assert!(Permit::by_answer(&ask, &yes, digest).unwrap().covers(digest));
        assert!(!Permit::by_answer(&ask, &yes, digest).unwrap().covers(other));
        assert!(Permit::by_answer(&deny, &yes, digest).is_none());
        assert!(Permit::by_answer(&ask, &Answer::Nobody, digest).is_none());
        assert!(
            Permit::by_answer(&ask, &Answer::No("someone".to_owned(), String::new()), digest)
                .is_none()
        );
    }
}
