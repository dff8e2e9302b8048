//! The permit that running a tool needs, and the answers that can give one.

use serde_json::Value;

use crate::call::CallId;
use crate::canonical::Digest;

use super::decision::{Confirmation, Decision, Verdict};
use super::grant::Wish;

/// Who answered, if nobody did in time. The answer is no.
pub const NOBODY: &str = "nobody";

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Run the call this once. The text names the person.
    Yes(String),
    /// Run the call, and from now on every call that the wish covers. The text names the person.
    Always(String, Wish),
    /// Do not run the call. The texts name the person and say what the agent should know.
    No(String, String),
    /// Do not run the call, but another one in its place: the same tool, with arguments that the person changed.
    Changed {
        /// Who changed it.
        by: String,
        /// The id of the changed call.
        call: CallId,
        /// Its arguments.
        args: Value,
    },
    /// Nobody can be asked.
    Nobody,
    /// The caller asked before, and a person approved that call. It ran, with this id, where they did so.
    RanElsewhere(String),
    /// Nobody can be asked now. The call waits under this id and can be answered later.
    Parked(String),
}

/// Proof that this very call was decided on and the answer was yes.
///
/// Running a tool consumes a permit, and only the functions below make one.
#[derive(Debug)]
pub struct Permit {
    digest: Digest,
    is_answered: bool,
}

impl Permit {
    /// Returns a permit for the call with this digest if policy alone allows it.
    pub fn by_policy(decision: &Decision, digest: Digest) -> Option<Self> {
        (decision.verdict == Verdict::Allow).then_some(Self { digest, is_answered: false })
    }

    /// Returns a permit for the call with this digest if policy asks and a person said yes.
    pub fn by_answer(decision: &Decision, answer: &Answer, digest: Digest) -> Option<Self> {
        let is_yes = matches!(answer, Answer::Yes(_) | Answer::Always(..));
        (decision.verdict == Verdict::Ask && is_yes).then_some(Self { digest, is_answered: true })
    }

    /// Returns a permit for the call with this digest if policy asks for the agent's confirmation and
    /// may take it as enough. The caller has checked that the agent confirmed, and that the operator
    /// trusts its word.
    pub fn by_confirmation(decision: &Decision, digest: Digest) -> Option<Self> {
        let suffices = decision.confirmation == Confirmation::MaySuffice;
        (decision.verdict == Verdict::Ask && suffices).then_some(Self { digest, is_answered: true })
    }

    /// Whether policy asked about the call, and the answer was yes.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// Returns whether this permit is for the call with this digest.
    pub fn covers(&self, digest: Digest) -> bool {
        self.digest == digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::decision::by_tier;
    use crate::policy::tier::{Mode, Tier};
    use serde_json::json;

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
        let (by, call) = ("someone".to_owned(), CallId("c".to_owned()));
        let changed = Answer::Changed { by, call, args: json!({"a": 1}) };
        assert!(Permit::by_answer(&ask, &changed, digest).is_none());
        assert!(
            Permit::by_answer(&ask, &Answer::No("someone".to_owned(), String::new()), digest)
                .is_none()
        );
    }

    #[test]
    fn an_agents_word_is_a_permit_only_where_the_rule_lets_it_suffice() {
        let digest = Digest::of("t", &json!({}));
        let ask = by_tier(Tier::Elevated, Mode::Standard);
        let with = |confirmation| Decision { confirmation, ..ask.clone() };
        assert!(Permit::by_confirmation(&with(Confirmation::MaySuffice), digest).is_some());
        assert!(Permit::by_confirmation(&with(Confirmation::ThenAsk), digest).is_none());
        assert!(Permit::by_confirmation(&ask, digest).is_none());
        let deny = by_tier(Tier::Dangerous, Mode::Standard);
        let deny = Decision { confirmation: Confirmation::MaySuffice, ..deny };
        assert!(Permit::by_confirmation(&deny, digest).is_none());
    }
}
