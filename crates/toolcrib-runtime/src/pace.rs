//! How fast a session may go, and whether it has seen what nobody vouches for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::{Decision, Tier, Verdict};

use crate::confirm::Weight;

/// The window that calls are counted in.
const WINDOW: Duration = Duration::from_mins(1);

/// What the operator set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Calls a minute of one tool in one session; none without.
    pub calls_per_minute: Option<u32>,
    /// Bytes that one session may write; no bound without.
    pub session_bytes: Option<u64>,
    /// How long the calls of one session may run, together; no bound without.
    pub session_time: Option<Duration>,
    /// What an agent's confirmation is worth.
    pub confirm: Weight,
    /// Whether a session that has seen the network is asked where it would be allowed.
    pub asks_when_tainted: bool,
}

/// What a user does in all sessions and processes.
pub trait Tally: Send + Sync {
    /// Counts a call of a tool. Returns why it may not run instead, if there were too many.
    fn count(&self, tool: &str, now: Timestamp) -> Option<String>;

    /// Counts what a call wrote and how long it ran.
    fn spend(&self, bytes: u64, time: Duration, now: Timestamp);
}

/// What is kept of each session.
#[derive(Default)]
pub(crate) struct Pace {
    bounds: Bounds,
    /// When each session called each tool, on the clock that never goes back.
    calls: Mutex<HashMap<(String, String), VecDeque<Duration>>>,
    tainted: Mutex<HashSet<String>>,
    /// What each session has written, and how long it has run.
    spent: Mutex<HashMap<String, (u64, Duration)>>,
}

impl Pace {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// What an agent's confirmation is worth in a session: of one that has seen what nobody vouches for,
    /// nothing.
    pub(crate) fn confirm(&self, session: &str) -> Weight {
        if self.tainted.lock().unwrap_or_else(PoisonError::into_inner).contains(session) {
            return Weight::Person;
        }
        self.bounds.confirm
    }

    /// Counts a call that would run. Returns a refusal instead if there were too many; refused ones do not
    /// count. `tasks` tells how long tasks took, which no call that has ended counts.
    pub(crate) fn count(
        &self,
        session: &str,
        tool: &str,
        now: Duration,
        tasks: impl FnOnce() -> Duration,
    ) -> Option<Decision> {
        let tasks = if self.bounds.session_time.is_some() { tasks() } else { Duration::ZERO };
        if let Some(refused) = self.is_spent(session, tasks) {
            return Some(refused);
        }
        let most = self.bounds.calls_per_minute?;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let times = calls.entry((session.to_owned(), tool.to_owned())).or_default();
        while times.front().is_some_and(|first| now.saturating_sub(*first) >= WINDOW) {
            times.pop_front();
        }
        if times.len() < most as usize {
            times.push_back(now);
            return None;
        }
        let wait =
            times.front().map_or(WINDOW, |first| WINDOW.saturating_sub(now.saturating_sub(*first)));
        let seconds = wait.as_secs() + 1;
        Some(Decision {
            because: format!("more than {most} calls a minute; try again in {seconds} s"),
            ..Decision::plain(
                Verdict::Deny,
                format!("limit of {most} calls a minute, free in {seconds} s"),
            )
        })
    }

    /// Counts what a call wrote and how long it ran.
    pub(crate) fn spend(&self, session: &str, bytes: u64, time: Duration) {
        if self.bounds.session_bytes.is_none() && self.bounds.session_time.is_none() {
            return;
        }
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let all = spent.entry(session.to_owned()).or_default();
        all.0 += bytes;
        all.1 += time;
    }

    fn is_spent(&self, session: &str, tasks: Duration) -> Option<Decision> {
        let (bytes, time) = (self.bounds.session_bytes, self.bounds.session_time);
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let (written, ran) = spent.get(session).copied().unwrap_or_default();
        let ran = ran + tasks;
        let said = match (bytes, time) {
            (Some(most), _) if written >= most => {
                format!("a session may write {most} bytes, and this one has written {written}")
            }
            (_, Some(most)) if ran >= most => {
                let (most, ran) = (most.as_secs(), ran.as_secs());
                format!("a session may run {most} s, and this one has run {ran} s")
            }
            _ => return None,
        };
        Some(Decision { because: said.clone(), ..Decision::plain(Verdict::Deny, said) })
    }

    /// Notes that a session has seen what nobody vouches for.
    pub(crate) fn taint(&self, session: &str) {
        if self.bounds.asks_when_tainted {
            self.tainted.lock().unwrap_or_else(PoisonError::into_inner).insert(session.to_owned());
        }
    }

    /// Asks where a session that has seen such would be allowed.
    pub(crate) fn doubt(&self, session: &str, tier: Tier, decision: Decision) -> Decision {
        let is_harmless = tier == Tier::Safe || decision.verdict != Verdict::Allow;
        if is_harmless
            || !self.tainted.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
        {
            return decision;
        }
        let rule = format!("this session has seen the network; otherwise: {}", decision.rule);
        Decision { verdict: Verdict::Ask, rule, ..decision }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_session_tool_and_minute() {
        let pace = Pace::new(Bounds { calls_per_minute: Some(2), ..Bounds::default() });
        let at = Duration::from_secs;
        assert!(pace.count("a", "t", at(0), || Duration::ZERO).is_none());
        assert!(pace.count("a", "t", at(1), || Duration::ZERO).is_none());
        let refused = pace.count("a", "t", at(2), || Duration::ZERO).unwrap();
        assert_eq!(refused.verdict, Verdict::Deny);
        assert!(refused.rule.contains("2 calls a minute, free in 59 s"), "{}", refused.rule);
        assert!(pace.count("b", "t", at(2), || Duration::ZERO).is_none(), "another session");
        assert!(pace.count("a", "u", at(2), || Duration::ZERO).is_none(), "another tool");
        assert!(
            pace.count("a", "t", at(60), || Duration::ZERO).is_none(),
            "the first is a minute ago"
        );
        assert!(pace.count("a", "t", at(60), || Duration::ZERO).is_some());
        let free = Pace::new(Bounds::default());
        assert!((0..1000).all(|_| free.count("a", "t", at(0), || Duration::ZERO).is_none()));
    }

    #[test]
    fn what_a_session_has_spent_is_refused() {
        let bounds = Bounds {
            session_bytes: Some(100),
            session_time: Some(Duration::from_secs(10)),
            ..Bounds::default()
        };
        let pace = Pace::new(bounds);
        let is_refused =
            |session: &str| pace.count(session, "t", Duration::ZERO, || Duration::ZERO).is_some();
        assert!(!is_refused("a"));
        pace.spend("a", 99, Duration::from_secs(1));
        assert!(!is_refused("a"));
        pace.spend("a", 1, Duration::ZERO);
        assert!(is_refused("a") && !is_refused("b"));
        pace.spend("b", 0, Duration::from_secs(10));
        assert!(is_refused("b"));
    }

    #[test]
    fn a_tainted_session_is_asked() {
        let allow = || Decision::plain(Verdict::Allow, "it".to_owned());
        let pace = Pace::new(Bounds { asks_when_tainted: true, ..Bounds::default() });
        assert_eq!(pace.doubt("a", Tier::Standard, allow()).verdict, Verdict::Allow);
        pace.taint("a");
        assert_eq!(pace.doubt("a", Tier::Standard, allow()).verdict, Verdict::Ask);
        assert_eq!(pace.doubt("a", Tier::Safe, allow()).verdict, Verdict::Allow);
        assert_eq!(pace.doubt("b", Tier::Standard, allow()).verdict, Verdict::Allow);
        let deny = Decision::plain(Verdict::Deny, "no".to_owned());
        assert_eq!(pace.doubt("a", Tier::Standard, deny).verdict, Verdict::Deny);
    }
}
