//! How fast a session may go, and whether it has seen what nobody vouches for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::command::TaskSpent;
use toolcrib_core::{Decision, Tier, Verdict};

use crate::confirm::Weight;

/// The window that calls are counted in.
const WINDOW: Duration = Duration::from_mins(1);

/// What the operator set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Calls a minute of one tool in one session; none without.
    pub calls_per_minute: Option<u32>,
    /// Bytes that one tool may write in one session; no bound without.
    pub tool_bytes: Option<u64>,
    /// How long the calls of one tool in one session may run, together; no bound without.
    pub tool_time: Option<Duration>,
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
    /// Counts a call of a tool. Returns why it may not run instead, if there were too many. `running` is how
    /// long tasks have run that are not over: what they took is counted at their end. `planned` is what it would
    /// write, as far as that is known.
    fn count(&self, tool: &str, now: Timestamp, running: Duration, planned: u64) -> Option<String>;

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
    /// What each session has written by each tool, and how long it has run.
    spent: Mutex<HashMap<String, HashMap<String, Spent>>>,
    /// What calls under way are going to write, by the call.
    planned: Mutex<HashMap<String, Planned>>,
}

/// What a call is going to write.
struct Planned {
    session: String,
    tool: String,
    bytes: u64,
}

/// A call that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'a> {
    pub(crate) call: &'a str,
    pub(crate) session: &'a str,
    pub(crate) tool: &'a str,
    /// What it would write, as far as that is known.
    pub(crate) planned: u64,
}

/// What was written, and how long it took.
#[derive(Clone, Copy, Default)]
struct Spent {
    bytes: u64,
    time: Duration,
}

impl Spent {
    fn and(self, bytes: u64, time: Duration) -> Self {
        Self { bytes: self.bytes.saturating_add(bytes), time: self.time.saturating_add(time) }
    }
}

impl Bounds {
    /// Whether it matters what calls write and how long they run.
    fn bounds_spending(&self) -> bool {
        let bytes = self.tool_bytes.is_some() || self.session_bytes.is_some();
        bytes || self.tool_time.is_some() || self.session_time.is_some()
    }
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
    /// count. `tasks` tells what tasks took, which no call that has ended counts.
    pub(crate) fn count(
        &self,
        counted: Counted<'_>,
        now: Duration,
        tasks: impl FnOnce() -> Vec<TaskSpent>,
    ) -> Option<Decision> {
        if self.bounds.bounds_spending()
            && let Some(said) = self.is_spent(counted, &tasks())
        {
            return Some(Decision {
                because: said.clone(),
                ..Decision::plain(Verdict::Deny, said)
            });
        }
        let refused = self.is_too_fast(counted, now);
        if refused.is_some() {
            // What it would have written is free for others.
            self.planned().remove(counted.call);
        }
        refused
    }

    fn planned(&self) -> MutexGuard<'_, HashMap<String, Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_too_fast(&self, counted: Counted<'_>, now: Duration) -> Option<Decision> {
        let most = self.bounds.calls_per_minute?;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (counted.session.to_owned(), counted.tool.to_owned());
        let times = calls.entry(key).or_default();
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

    /// Counts what a call wrote, in the place of what it was going to write, and how long it ran.
    pub(crate) fn spend(&self, counted: Counted<'_>, bytes: u64, time: Duration) {
        if !self.bounds.bounds_spending() {
            return;
        }
        let Counted { call, session, tool, .. } = counted;
        self.planned().remove(call);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = spent.entry(session.to_owned()).or_default();
        let of_tool = tools.entry(tool.to_owned()).or_default();
        *of_tool = of_tool.and(bytes, time);
    }

    /// Says which bound a session has reached, by this tool or by all of them. If none, the call is one of those
    /// that are going to write.
    fn is_spent(&self, counted: Counted<'_>, tasks: &[TaskSpent]) -> Option<String> {
        let Counted { call, session, tool, planned } = counted;
        let mut under_way = self.planned();
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut by_tool, mut by_all) = (Spent::default(), Spent::default());
        let calls = spent.get(session).into_iter().flatten();
        let calls = calls.map(|(name, spent)| (name, spent.bytes, spent.time));
        let tasks = tasks.iter().filter(|task| task.session == session);
        let tasks = tasks.map(|task| (&task.tool, task.bytes, task.time));
        let others = under_way.iter().filter(|(it, plan)| *it != call && plan.session == session);
        let others = others.map(|(_, plan)| (&plan.tool, plan.bytes, Duration::ZERO));
        for (name, bytes, time) in calls.chain(tasks).chain(others) {
            by_all = by_all.and(bytes, time);
            if name == tool {
                by_tool = by_tool.and(bytes, time);
            }
        }
        let bounds = &self.bounds;
        let is_over = |most: Option<u64>, used: u64| {
            most.filter(|most| used >= *most || used.saturating_add(planned) > *most)
        };
        let more =
            if planned == 0 { String::new() } else { format!(", and would write {planned} more") };
        let is_late = |most: Option<Duration>, ran: Duration| most.filter(|most| ran >= *most);
        if let Some(most) = is_over(bounds.tool_bytes, by_tool.bytes) {
            let written = by_tool.bytes;
            return Some(format!(
                "a session may write {most} bytes by one tool, and this one has written {written} by `{tool}`{more}"
            ));
        }
        if let Some(most) = is_over(bounds.session_bytes, by_all.bytes) {
            let written = by_all.bytes;
            return Some(format!(
                "a session may write {most} bytes, and this one has written {written}{more}"
            ));
        }
        if let Some(most) = is_late(bounds.tool_time, by_tool.time) {
            let (most, ran) = (most.as_secs(), by_tool.time.as_secs());
            return Some(format!(
                "a session may run one tool for {most} s, and this one has run `{tool}` for {ran} s"
            ));
        }
        if let Some(most) = is_late(bounds.session_time, by_all.time) {
            let (most, ran) = (most.as_secs(), by_all.time.as_secs());
            return Some(format!("a session may run {most} s, and this one has run {ran} s"));
        }
        let (session, tool) = (session.to_owned(), tool.to_owned());
        under_way.insert(call.to_owned(), Planned { session, tool, bytes: planned });
        None
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

    fn of<'a>(session: &'a str, tool: &'a str, planned: u64) -> Counted<'a> {
        Counted { call: "c", session, tool, planned }
    }

    #[test]
    fn calls_are_counted_by_session_tool_and_minute() {
        let pace = Pace::new(Bounds { calls_per_minute: Some(2), ..Bounds::default() });
        let at = Duration::from_secs;
        assert!(pace.count(of("a", "t", 0), at(0), Vec::new).is_none());
        assert!(pace.count(of("a", "t", 0), at(1), Vec::new).is_none());
        let refused = pace.count(of("a", "t", 0), at(2), Vec::new).unwrap();
        assert_eq!(refused.verdict, Verdict::Deny);
        assert!(refused.rule.contains("2 calls a minute, free in 59 s"), "{}", refused.rule);
        assert!(pace.count(of("b", "t", 0), at(2), Vec::new).is_none(), "another session");
        assert!(pace.count(of("a", "u", 0), at(2), Vec::new).is_none(), "another tool");
        assert!(
            pace.count(of("a", "t", 0), at(60), Vec::new).is_none(),
            "the first is a minute ago"
        );
        assert!(pace.count(of("a", "t", 0), at(60), Vec::new).is_some());
        let free = Pace::new(Bounds::default());
        assert!((0..1000).all(|_| free.count(of("a", "t", 0), at(0), Vec::new).is_none()));
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
            |session: &str| pace.count(of(session, "t", 0), Duration::ZERO, Vec::new).is_some();
        assert!(!is_refused("a"));
        pace.spend(of("a", "t", 0), 99, Duration::from_secs(1));
        assert!(!is_refused("a"));
        let more = |planned: u64| pace.count(of("a", "t", planned), Duration::ZERO, Vec::new);
        assert!(more(1).is_none() && more(2).unwrap().rule.contains("would write 2 more"));
        pace.spend(of("a", "u", 0), 1, Duration::ZERO);
        assert!(is_refused("a") && !is_refused("b"));
        pace.spend(of("b", "u", 0), 0, Duration::from_secs(10));
        assert!(is_refused("b"));
    }

    #[test]
    fn what_calls_under_way_will_write_counts_until_they_have() {
        let pace = Pace::new(Bounds { session_bytes: Some(100), ..Bounds::default() });
        let count = |call: &str, planned: u64| {
            let counted = Counted { call, ..of("a", "t", planned) };
            pace.count(counted, Duration::ZERO, Vec::new).is_none()
        };
        assert!(count("one", 60) && count("one", 60), "looked at twice, it counts once");
        assert!(!count("two", 60) && count("two", 40) && !count("three", 1));
        // The first failed, and wrote nothing.
        pace.spend(Counted { call: "one", ..of("a", "t", 0) }, 0, Duration::ZERO);
        assert!(count("three", 60) && !count("four", 1));
    }

    #[test]
    fn what_a_session_has_spent_by_one_tool_is_refused_for_that_tool() {
        let bounds = Bounds {
            tool_bytes: Some(100),
            tool_time: Some(Duration::from_secs(10)),
            ..Bounds::default()
        };
        let pace = Pace::new(bounds);
        let task = |tool: &str, seconds: u64, bytes: u64| TaskSpent {
            session: "a".to_owned(),
            tool: tool.to_owned(),
            time: Duration::from_secs(seconds),
            bytes,
            runs: false,
        };
        let refused = |session: &str, tool: &str, tasks: Vec<TaskSpent>| {
            let refused = pace.count(of(session, tool, 0), Duration::ZERO, || tasks);
            refused.map_or(String::new(), |decision| decision.rule)
        };
        pace.spend(of("a", "t", 0), 60, Duration::from_secs(6));
        pace.spend(of("a", "u", 0), 60, Duration::from_secs(6));
        assert_eq!(refused("a", "t", Vec::new()), "");
        assert_eq!(refused("a", "t", vec![task("u", 99, 99)]), "");
        assert!(refused("a", "t", vec![task("t", 0, 40)]).contains("written 100 by `t`"));
        assert!(refused("a", "t", vec![task("t", 4, 0)]).contains("run `t` for 10 s"));
        assert_eq!(refused("b", "t", vec![task("t", 99, 99)]), "");
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
