//! The quotas of a session: how many bytes its calls may write and how long they may run, by tool and together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::command::TaskSpent;
use toolcrib_core::{Decision, ToolName};

use super::sessions::Sessions;

/// The quotas that the operator set. There is no quota where a field is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuotaLimits {
    /// Bytes that one tool may write in one session.
    pub tool_bytes: Option<u64>,
    /// How long the calls of one tool in one session may run, together.
    pub tool_time: Option<Duration>,
    /// Bytes that one session may write.
    pub session_bytes: Option<u64>,
    /// How long the calls of one session may run, together.
    pub session_time: Option<Duration>,
}

impl QuotaLimits {
    fn is_unlimited(&self) -> bool {
        self.tool_bytes.is_none()
            && self.session_bytes.is_none()
            && self.tool_time.is_none()
            && self.session_time.is_none()
    }
}

/// The quota of a user across all sessions and processes.
pub trait UserQuota: Send + Sync {
    /// Counts a call of a tool, or returns why it may not run. `running` is how long unfinished tasks have run:
    /// what they took is counted at their end. `planned` is how many bytes the call would write, as far as known.
    fn count(
        &self,
        tool: &ToolName,
        now: Timestamp,
        running: Duration,
        planned: u64,
    ) -> Option<String>;

    /// Counts what a call wrote and how long it ran.
    fn spend(&self, bytes: u64, time: Duration, now: Timestamp);
}

/// What each session has spent.
#[derive(Default)]
pub(crate) struct Quota {
    limits: QuotaLimits,
    /// By session and tool.
    spent: Arc<Mutex<Sessions<HashMap<ToolName, Spent>>>>,
    /// What calls under way are going to write, by call.
    reserved: Arc<Mutex<HashMap<String, Reservation>>>,
}

/// What a call is going to write.
struct Reservation {
    session: String,
    tool: ToolName,
    bytes: u64,
}

/// A call that counts against a quota.
#[derive(Clone, Copy)]
pub(crate) struct Charge<'a> {
    pub(crate) call: &'a str,
    pub(crate) session: &'a str,
    pub(crate) tool: &'a ToolName,
    /// How many bytes it would write, as far as known.
    pub(crate) planned: u64,
}

/// Bytes written, and the time it took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) bytes: u64,
    pub(crate) time: Duration,
}

impl Spent {
    fn and(self, bytes: u64, time: Duration) -> Self {
        Self { bytes: self.bytes.saturating_add(bytes), time: self.time.saturating_add(time) }
    }
}

impl Quota {
    pub(crate) fn new(limits: QuotaLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Returns these limits with the counts of another quota, whose place it takes.
    pub(crate) fn succeeding(&self, other: &Self) -> Self {
        let (spent, reserved) = (Arc::clone(&other.spent), Arc::clone(&other.reserved));
        Self { limits: self.limits, spent, reserved }
    }

    /// Returns how many sessions and how many calls under way are counted.
    pub(crate) fn counted(&self) -> (usize, usize) {
        let sessions = self.spent.lock().unwrap_or_else(PoisonError::into_inner).len();
        (sessions, self.reserved().len())
    }

    /// Reserves what a call would write. Returns a refusal instead if a quota is used up. `tasks` tells what
    /// background tasks took, which no ended call counts.
    pub(crate) fn reserve(
        &self,
        charge: Charge<'_>,
        tasks: impl FnOnce() -> Vec<TaskSpent>,
    ) -> Option<Decision> {
        if self.limits.is_unlimited() {
            return None;
        }
        let mut reserved = self.reserved();
        let (by_tool, by_all) = self.used(charge, &reserved, &tasks());
        if let Some(why) = self.exceeded(charge, by_tool, by_all) {
            return Some(Decision::deny(why.clone(), why));
        }
        let Charge { call, session, tool, planned } = charge;
        let (session, tool) = (session.to_owned(), tool.clone());
        reserved.insert(call.to_owned(), Reservation { session, tool, bytes: planned });
        None
    }

    /// Returns the limits, and what a session has used of them: by all tools, and by each. What calls under way are going
    /// to write is among it, as it is when the next call is decided.
    pub(crate) fn used_by_session(
        &self,
        session: &str,
        tasks: &[TaskSpent],
    ) -> (QuotaLimits, Spent, Vec<(ToolName, Spent)>) {
        if self.limits.is_unlimited() {
            return (self.limits, Spent::default(), Vec::new());
        }
        let reserved = self.reserved();
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tools: Vec<ToolName> =
            spent.get(session).into_iter().flatten().map(|it| it.0.clone()).collect();
        drop(spent);
        tools.extend(tasks.iter().filter(|it| it.session == session).map(|it| it.tool.clone()));
        tools.sort_unstable();
        tools.dedup();
        let used = |tool: &ToolName| {
            let charge = Charge { call: "", session, tool, planned: 0 };
            self.used(charge, &reserved, tasks)
        };
        let all = used(&ToolName::default()).1;
        (self.limits, all, tools.into_iter().map(|tool| (tool.clone(), used(&tool).0)).collect())
    }

    /// Gives back what a call reserved, because it does not run.
    pub(crate) fn release(&self, call: &str) {
        if !self.limits.is_unlimited() {
            self.reserved().remove(call);
        }
    }

    /// Counts what a call wrote and how long it ran, in the place of what it reserved.
    pub(crate) fn spend(&self, charge: Charge<'_>, bytes: u64, time: Duration, now: Duration) {
        if self.limits.is_unlimited() {
            return;
        }
        self.release(charge.call);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let by_tool = spent.entry(charge.session, now).entry(charge.tool.clone()).or_default();
        *by_tool = by_tool.and(bytes, time);
    }

    fn reserved(&self) -> MutexGuard<'_, HashMap<String, Reservation>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds up what the session used by this tool, and by all tools.
    fn used(
        &self,
        charge: Charge<'_>,
        reserved: &HashMap<String, Reservation>,
        tasks: &[TaskSpent],
    ) -> (Spent, Spent) {
        let Charge { call, session, tool, .. } = charge;
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = spent.get(session).into_iter().flatten();
        let calls = calls.map(|(name, spent)| (name, spent.bytes, spent.time));
        let tasks = tasks.iter().filter(|task| task.session == session);
        let tasks = tasks.map(|task| (&task.tool, task.bytes, task.time));
        let others = reserved.iter().filter(|(it, plan)| *it != call && plan.session == session);
        let others = others.map(|(_, plan)| (&plan.tool, plan.bytes, Duration::ZERO));
        let (mut by_tool, mut by_all) = (Spent::default(), Spent::default());
        for (name, bytes, time) in calls.chain(tasks).chain(others) {
            by_all = by_all.and(bytes, time);
            if name == tool {
                by_tool = by_tool.and(bytes, time);
            }
        }
        (by_tool, by_all)
    }

    /// Returns which quota is used up, in a sentence.
    fn exceeded(&self, charge: Charge<'_>, by_tool: Spent, by_all: Spent) -> Option<String> {
        let Charge { tool, planned, .. } = charge;
        let limits = &self.limits;
        let is_over = |most: Option<u64>, used: u64| {
            most.filter(|most| used >= *most || used.saturating_add(planned) > *most)
        };
        let is_late = |most: Option<Duration>, ran: Duration| most.filter(|most| ran >= *most);
        let more =
            if planned == 0 { String::new() } else { format!(", and would write {planned} more") };
        if let Some(most) = is_over(limits.tool_bytes, by_tool.bytes) {
            let written = by_tool.bytes;
            return Some(format!(
                "a session may write {most} bytes with one tool, and this one has written {written} with `{tool}`{more}"
            ));
        }
        if let Some(most) = is_over(limits.session_bytes, by_all.bytes) {
            let written = by_all.bytes;
            return Some(format!(
                "a session may write {most} bytes, and this one has written {written}{more}"
            ));
        }
        if let Some(most) = is_late(limits.tool_time, by_tool.time) {
            let (most, ran) = (most.as_secs(), by_tool.time.as_secs());
            return Some(format!(
                "a session may run one tool for {most} s, and this one has run `{tool}` for {ran} s"
            ));
        }
        let most = is_late(limits.session_time, by_all.time)?;
        let (most, ran) = (most.as_secs(), by_all.time.as_secs());
        Some(format!("a session may run {most} s, and this one has run {ran} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(session: &'a str, tool: &'a ToolName, planned: u64) -> Charge<'a> {
        Charge { call: "c", session, tool, planned }
    }

    #[test]
    fn what_a_session_has_spent_is_refused() {
        let limits = QuotaLimits {
            session_bytes: Some(100),
            session_time: Some(Duration::from_secs(10)),
            ..QuotaLimits::default()
        };
        let quota = Quota::new(limits);
        let is_refused =
            |session: &str| quota.reserve(of(session, &"t".into(), 0), Vec::new).is_some();
        assert!(!is_refused("a"));
        quota.spend(of("a", &"t".into(), 0), 99, Duration::from_secs(1), Duration::ZERO);
        assert!(!is_refused("a"));
        let more = |planned: u64| quota.reserve(of("a", &"t".into(), planned), Vec::new);
        assert!(more(1).is_none() && more(2).unwrap().rule.contains("would write 2 more"));
        quota.spend(of("a", &"u".into(), 0), 1, Duration::ZERO, Duration::ZERO);
        assert!(is_refused("a") && !is_refused("b"));
        quota.spend(of("b", &"u".into(), 0), 0, Duration::from_secs(10), Duration::ZERO);
        assert!(is_refused("b"));
    }

    #[test]
    fn what_calls_under_way_will_write_counts_until_they_have() {
        let quota = Quota::new(QuotaLimits { session_bytes: Some(100), ..QuotaLimits::default() });
        let count = |call: &str, planned: u64| {
            quota.reserve(Charge { call, ..of("a", &"t".into(), planned) }, Vec::new).is_none()
        };
        assert!(count("one", 60) && count("one", 60), "looked at twice, it counts once");
        assert!(!count("two", 60) && count("two", 40) && !count("three", 1));
        // The first failed, and wrote nothing.
        quota.spend(
            Charge { call: "one", ..of("a", &"t".into(), 0) },
            0,
            Duration::ZERO,
            Duration::ZERO,
        );
        assert!(count("three", 60) && !count("four", 1));
    }

    #[test]
    fn what_a_session_has_spent_by_one_tool_is_refused_for_that_tool() {
        let limits = QuotaLimits {
            tool_bytes: Some(100),
            tool_time: Some(Duration::from_secs(10)),
            ..QuotaLimits::default()
        };
        let quota = Quota::new(limits);
        let task = |tool: &str, seconds: u64, bytes: u64| TaskSpent {
            session: "a".to_owned(),
            tool: tool.into(),
            time: Duration::from_secs(seconds),
            bytes,
            runs: false,
        };
        let refused = |session: &str, tool: &str, tasks: Vec<TaskSpent>| {
            let refused = quota.reserve(of(session, &tool.into(), 0), || tasks);
            refused.map_or(String::new(), |decision| decision.rule)
        };
        quota.spend(of("a", &"t".into(), 0), 60, Duration::from_secs(6), Duration::ZERO);
        quota.spend(of("a", &"u".into(), 0), 60, Duration::from_secs(6), Duration::ZERO);
        assert_eq!(refused("a", "t", Vec::new()), "");
        assert_eq!(refused("a", "t", vec![task("u", 99, 99)]), "");
        assert!(refused("a", "t", vec![task("t", 0, 40)]).contains("written 100 with `t`"));
        assert!(refused("a", "t", vec![task("t", 4, 0)]).contains("run `t` for 10 s"));
        assert_eq!(refused("b", "t", vec![task("t", 99, 99)]), "");
    }
}
