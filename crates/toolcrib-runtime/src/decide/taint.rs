//! Taint: whether a session has seen content that nobody vouches for, such as what the network answered.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolcrib_core::{Decision, Tier};

use super::sessions::Sessions;

/// What becomes of a session that has seen the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaintPolicy {
    /// Nothing.
    #[default]
    Ignore,
    /// Calls that would be allowed are asked about.
    Ask,
}

/// The sessions that have seen the network.
#[derive(Default)]
pub(crate) struct Taint {
    policy: TaintPolicy,
    tainted: Arc<Mutex<Sessions<bool>>>,
}

impl Taint {
    pub(crate) fn new(policy: TaintPolicy) -> Self {
        Self { policy, tainted: Arc::default() }
    }

    /// Returns this policy with the marks of another, whose place it takes.
    pub(crate) fn succeeding(&self, other: &Self) -> Self {
        Self { policy: self.policy, tainted: Arc::clone(&other.tainted) }
    }

    /// Marks a session as tainted. The mark counts once the policy asks, which can be later.
    pub(crate) fn mark(&self, session: &str, now: Duration) {
        let mut tainted = self.tainted.lock().unwrap_or_else(PoisonError::into_inner);
        *tainted.entry(session, now) = true;
    }

    /// Returns how many sessions are marked.
    pub(crate) fn marked(&self) -> usize {
        self.tainted.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether a session is marked and that counts. To ask is no use of the session.
    pub(crate) fn counts_for(&self, session: &str) -> bool {
        let tainted = self.tainted.lock().unwrap_or_else(PoisonError::into_inner);
        self.policy != TaintPolicy::Ignore && tainted.get(session).copied().unwrap_or_default()
    }

    pub(crate) fn is_marked(&self, session: &str, now: Duration) -> bool {
        if self.policy == TaintPolicy::Ignore {
            return false;
        }
        let mut tainted = self.tainted.lock().unwrap_or_else(PoisonError::into_inner);
        tainted.refresh(session, now).copied().unwrap_or_default()
    }

    /// Turns an allowed call of a tainted session into one that is asked about. Tools without side effects stay
    /// allowed.
    pub(crate) fn tighten(
        &self,
        session: &str,
        tier: Tier,
        now: Duration,
        decision: Decision,
    ) -> Decision {
        if tier == Tier::Safe || !self.is_marked(session, now) {
            return decision;
        }
        let rule = format!("this session could reach the network; without that: {}", decision.rule);
        decision.ask_instead(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::policy::by_tier;
    use toolcrib_core::{Mode, Verdict};

    #[test]
    fn a_tainted_session_is_asked() {
        let allow = || by_tier(Tier::Standard, Mode::Standard);
        let taint = Taint::new(TaintPolicy::Ask);
        let verdict = |session: &str, tier, decision| {
            taint.tighten(session, tier, Duration::ZERO, decision).verdict()
        };
        assert_eq!(verdict("a", Tier::Standard, allow()), Verdict::Allow);
        taint.mark("a", Duration::ZERO);
        assert_eq!(verdict("a", Tier::Standard, allow()), Verdict::Ask);
        assert_eq!(verdict("a", Tier::Safe, allow()), Verdict::Allow);
        assert_eq!(verdict("b", Tier::Standard, allow()), Verdict::Allow);
        let deny = Decision::deny("no".to_owned(), String::new());
        assert_eq!(verdict("a", Tier::Standard, deny), Verdict::Deny);
    }

    #[test]
    fn a_mark_counts_once_the_policy_asks() {
        let allow = || by_tier(Tier::Standard, Mode::Standard);
        let verdict =
            |taint: &Taint| taint.tighten("a", Tier::Standard, Duration::ZERO, allow()).verdict();
        let ignoring = Taint::new(TaintPolicy::Ignore);
        ignoring.mark("a", Duration::ZERO);
        assert_eq!(verdict(&ignoring), Verdict::Allow);
        let asking = Taint::new(TaintPolicy::Ask);
        assert_eq!(verdict(&asking), Verdict::Allow, "the control: another mark");
        assert_eq!(verdict(&asking.succeeding(&ignoring)), Verdict::Ask);
    }
}
