//! The rate limit: how many calls of one tool a session may make in a minute.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolcrib_core::{Decision, ToolName};

/// The sliding window that calls are counted in.
const RATE_WINDOW: Duration = Duration::from_mins(1);

/// How many windows may be added before those without a recent call are looked for.
const SWEEP_EVERY: usize = 1024;

/// Counts calls by session and tool.
#[derive(Default)]
pub(crate) struct RateLimit {
    /// Calls a minute; no limit without.
    most: Option<u32>,
    windows: Arc<Mutex<Windows>>,
}

/// When each session called each tool, on the clock that never goes back.
#[derive(Default)]
struct Windows {
    times: HashMap<(String, ToolName), VecDeque<Duration>>,
    /// How many windows there were after the last sweep.
    swept: usize,
}

impl RateLimit {
    pub(crate) fn new(most: Option<u32>) -> Self {
        Self { most, windows: Arc::default() }
    }

    /// Returns this limit with the windows of another, whose place it takes.
    pub(crate) fn succeeding(&self, other: &Self) -> Self {
        Self { most: self.most, windows: Arc::clone(&other.windows) }
    }

    /// Returns how many windows are counted in.
    pub(crate) fn windows(&self) -> usize {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).times.len()
    }

    /// Returns how many calls a minute a session may make with one tool, and how many each tool has had in the last one.
    pub(crate) fn used(&self, session: &str, now: Duration) -> Option<(u32, Vec<(ToolName, u32)>)> {
        let most = self.most?;
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = windows.times.iter().filter(|((it, _), _)| it == session);
        let counts = mine.map(|((_, tool), times)| {
            let recent = times.iter().filter(|time| !is_past(**time, now)).count();
            (tool.clone(), recent as u32)
        });
        Some((most, counts.collect()))
    }

    /// Counts a call. Returns a refusal instead if there were too many; refused calls do not count.
    pub(crate) fn count(&self, session: &str, tool: &ToolName, now: Duration) -> Option<Decision> {
        let most = self.most?;
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.sweep(now);
        let times = windows.times.entry((session.to_owned(), tool.clone())).or_default();
        while times.front().is_some_and(|first| is_past(*first, now)) {
            times.pop_front();
        }
        if times.len() < most as usize {
            times.push_back(now);
            return None;
        }
        let age = times.front().map_or(Duration::ZERO, |first| now.saturating_sub(*first));
        let seconds = RATE_WINDOW.saturating_sub(age).as_secs() + 1;
        Some(Decision::deny(
            format!("limit of {most} calls a minute, free in {seconds} s"),
            format!("more than {most} calls a minute; try again in {seconds} s"),
        ))
    }
}

impl Windows {
    /// Forgets the windows whose last call is past, now and then.
    fn sweep(&mut self, now: Duration) {
        if self.times.len() < self.swept + SWEEP_EVERY {
            return;
        }
        self.times.retain(|_, times| times.back().is_some_and(|last| !is_past(*last, now)));
        self.swept = self.times.len();
    }
}

fn is_past(time: Duration, now: Duration) -> bool {
    now.saturating_sub(time) >= RATE_WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::Verdict;

    #[test]
    fn calls_are_counted_by_session_tool_and_minute() {
        let limit = RateLimit::new(Some(2));
        let at = Duration::from_secs;
        assert!(limit.count("a", &"t".into(), at(0)).is_none());
        assert!(limit.count("a", &"t".into(), at(1)).is_none());
        let refused = limit.count("a", &"t".into(), at(2)).unwrap();
        assert_eq!(refused.verdict(), Verdict::Deny);
        assert!(refused.rule.contains("2 calls a minute, free in 59 s"), "{}", refused.rule);
        assert!(limit.count("b", &"t".into(), at(2)).is_none(), "another session");
        assert!(limit.count("a", &"u".into(), at(2)).is_none(), "another tool");
        assert!(limit.count("a", &"t".into(), at(60)).is_none(), "the first is a minute ago");
        assert!(limit.count("a", &"t".into(), at(60)).is_some());
        let free = RateLimit::new(None);
        assert!((0..1000).all(|_| free.count("a", &"t".into(), at(0)).is_none()));
    }

    #[test]
    fn a_limit_that_takes_the_place_of_another_counts_on() {
        let (old, at) = (RateLimit::new(Some(2)), Duration::from_secs);
        assert!(old.count("a", &"t".into(), at(0)).is_none());
        let new = RateLimit::new(Some(1));
        assert!(new.succeeding(&old).count("a", &"t".into(), at(1)).is_some());
        assert!(new.count("a", &"t".into(), at(1)).is_none(), "the control");
    }

    #[test]
    fn sessions_without_a_recent_call_are_forgotten() {
        let limit = RateLimit::new(Some(1));
        let at = |number: usize| Duration::from_secs(number as u64);
        for number in 0..10 * SWEEP_EVERY {
            assert!(limit.count(&number.to_string(), &"t".into(), at(number)).is_none());
        }
        assert!(limit.windows.lock().unwrap().times.len() < 3 * SWEEP_EVERY);
        let last = 10 * SWEEP_EVERY - 1;
        assert!(
            limit.count(&last.to_string(), &"t".into(), at(last)).is_some(),
            "a recent call counts"
        );
    }
}
