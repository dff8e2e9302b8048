//! Chooses what the recent calls of a tool are compared with: its baseline.

use std::collections::BTreeMap;

use jiff::Timestamp;
use toolcrib_core::ToolName;

use crate::figures::fold::{Hour, HourKey, ToolFigures};
use crate::figures::regression::{Comparison, FEWEST_COMPARED_CALLS, Window, compare, worst};
use crate::record::segment::hour_of;

/// The most resets of a baseline that are looked back over for one with enough calls.
const MOST_EPOCHS_BACK: usize = 16;

/// The lengths of the two spans that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// The hours that count as now.
    pub current_hours: i64,
    /// The days before them that count as the baseline.
    pub baseline_days: i64,
}

impl Default for Spans {
    fn default() -> Self {
        Self { current_hours: 24, baseline_days: 30 }
    }
}

impl Spans {
    /// Returns the first hour that a comparison at `now` can need.
    pub fn oldest_hour(self, now: Timestamp) -> i64 {
        hour_of(now) - self.current_hours - 2 * self.baseline_days * 24
    }
}

/// Compares the recent calls of every tool with its baseline.
pub fn comparisons(
    tools: &[(ToolName, ToolFigures)],
    hours: &[(HourKey, Hour)],
    now: Timestamp,
    spans: Spans,
) -> Vec<(ToolName, Comparison)> {
    let mut by_tool: BTreeMap<&ToolName, Vec<&(HourKey, Hour)>> = BTreeMap::new();
    for row in hours {
        by_tool.entry(&row.0.tool).or_default().push(row);
    }
    let now = hour_of(now);
    tools
        .iter()
        .filter_map(|(name, figures)| {
            let rows = by_tool.get(name)?;
            let found = ToolHours::new(rows, figures, now, spans).compare_all()?;
            Some((name.clone(), found))
        })
        .collect()
}

/// A version of a tool that was called.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CalledVersion<'a> {
    /// The first hour of the version, and the last call in that hour. Of versions that began in the same hour, the
    /// one that was called last in it is the later one.
    began: (i64, i64),
    name: &'a str,
    /// The last call of the version, in milliseconds since 1970.
    last: i64,
}

/// The hours of one tool, and where the baseline ends and now begins.
struct ToolHours<'a> {
    /// The hours with calls, up to now. Hours from a clock that was ahead say nothing about now.
    rows: Vec<&'a (HourKey, Hour)>,
    epoch: u64,
    /// The last hour before now begins.
    last_baseline_hour: i64,
    /// The last hour that is too old for the baseline.
    last_old_hour: i64,
    /// The baseline that a person set begins after this hour; `None` if none was set, or it is too old.
    set_baseline_after: Option<i64>,
    current_hours: i64,
    baseline_hours: i64,
}

impl<'a> ToolHours<'a> {
    fn new(rows: &[&'a (HourKey, Hour)], figures: &ToolFigures, now: i64, spans: Spans) -> Self {
        let baseline_hours = spans.baseline_days * 24;
        let last_baseline_hour = now - spans.current_hours;
        let last_old_hour = last_baseline_hour - baseline_hours;
        let is_set = figures.epoch > 0 && figures.reset_hour > last_old_hour;
        Self {
            rows: rows.iter().copied().filter(|row| row.0.hour <= now && row.1.calls > 0).collect(),
            epoch: figures.epoch,
            last_baseline_hour,
            last_old_hour,
            set_baseline_after: is_set.then_some(figures.reset_hour - spans.current_hours),
            current_hours: spans.current_hours,
            baseline_hours,
        }
    }

    /// Compares every version in use with the version before it, or with the baseline that was set, and with its own
    /// past. If there are too few calls of each version, compares all calls together. Returns the worst comparison,
    /// so that the result does not depend on which version was called last.
    fn compare_all(&self) -> Option<Comparison> {
        let mut found = Vec::new();
        let versions = self.versions();
        let in_use = (0..versions.len()).rev().filter(|index| self.is_in_use(&versions, *index));
        for index in in_use {
            let name = versions[index].name;
            let current = self.window(|key| self.is_now(key) && key.version == name);
            let set = self.set_baseline(Some(name));
            let before = set.or_else(|| self.versions_before(&versions, index));
            if let Some(before) = before.or_else(|| self.set_baseline(None)) {
                found.push(compare(before, current.clone()));
            }
            let own_past = self.window(|key| self.is_baseline(key) && key.version == name);
            found.push(compare(own_past, current));
        }
        found.retain(Comparison::has_enough);
        if found.is_empty() {
            let set = self.set_baseline(None);
            let before = set.unwrap_or_else(|| self.window(|key| self.is_baseline(key)));
            found.push(compare(before, self.window(|key| self.is_now(key))));
        }
        worst(found)
    }

    /// Adds up the hours that `takes` takes.
    fn window(&self, takes: impl Fn(&HourKey) -> bool) -> Window {
        let mut window = Window::default();
        for (key, hour) in self.rows.iter().filter(|row| takes(&row.0)) {
            window.add_hour(key, hour);
        }
        window
    }

    fn is_now(&self, key: &HourKey) -> bool {
        key.epoch == self.epoch && key.hour > self.last_baseline_hour
    }

    fn is_baseline(&self, key: &HourKey) -> bool {
        key.epoch == self.epoch
            && key.hour <= self.last_baseline_hour
            && key.hour > self.last_old_hour
    }

    /// Returns the versions since the baseline was last set, in the order in which they began.
    fn versions(&self) -> Vec<CalledVersion<'a>> {
        let mut versions: Vec<CalledVersion<'_>> = Vec::new();
        for (key, hour) in self.rows.iter().filter(|row| row.0.epoch == self.epoch) {
            let (began, name, last) = ((key.hour, hour.last), &key.version, hour.last);
            match versions.iter_mut().find(|it| it.name == name) {
                Some(known) => {
                    known.began = known.began.min(began);
                    known.last = known.last.max(last);
                }
                None => versions.push(CalledVersion { began, name, last }),
            }
        }
        versions.sort_unstable();
        versions
    }

    /// Returns whether a version is in use: no later version took over from it, and it was called about as recently
    /// as the others.
    fn is_in_use(&self, versions: &[CalledVersion<'_>], index: usize) -> bool {
        let it = &versions[index];
        let newest = versions.iter().map(|it| it.last).max().unwrap_or_default();
        let longest_silence = self.current_hours * 3_600_000 / 4;
        let is_replaced = versions[index + 1..].iter().any(|later| it.last <= later.began.1);
        !is_replaced && newest - it.last <= longest_silence
    }

    /// Returns the calls of the version before one, and of those before that until there are enough calls. A version
    /// that began before the baseline has no version before it that counts.
    fn versions_before(&self, versions: &[CalledVersion<'_>], index: usize) -> Option<Window> {
        let began = versions[index].began.0;
        if began <= self.last_old_hour {
            return None;
        }
        let oldest = began - self.baseline_hours;
        (0..index).rev().find_map(|first| {
            let is_before = |key: &HourKey| {
                let mut before = versions[first..index].iter();
                key.epoch == self.epoch
                    && key.hour >= oldest
                    && before.any(|version| version.name == key.version)
            };
            Some(self.window(is_before)).filter(has_enough_calls)
        })
    }

    /// Returns the baseline that a person set, of one version or of all, if it has enough calls.
    fn set_baseline(&self, version: Option<&str>) -> Option<Window> {
        let after = self.set_baseline_after?;
        let is_it = |key: &HourKey| version.is_none_or(|version| version == key.version);
        let last = self.window(|key| key.epoch + 1 == self.epoch && key.hour > after && is_it(key));
        // If the baseline was set again before it had enough calls, the baseline before that one holds.
        let before = || {
            let epochs = (0..self.epoch.saturating_sub(1)).rev().take(MOST_EPOCHS_BACK);
            let mut all = epochs.map(|epoch| {
                let of_epoch = |key: &HourKey| key.epoch == epoch && is_it(key);
                let rows = self.rows.iter().filter(|row| of_epoch(&row.0));
                let end = rows.map(|row| row.0.hour).max();
                let start = end.unwrap_or(0) - self.current_hours;
                self.window(|key| of_epoch(key) && key.hour > start)
            });
            all.find(has_enough_calls)
        };
        Some(last).filter(has_enough_calls).or_else(before)
    }
}

fn has_enough_calls(window: &Window) -> bool {
    window.calls >= FEWEST_COMPARED_CALLS
}

impl Window {
    fn add_hour(&mut self, key: &HourKey, hour: &Hour) {
        if self.calls == 0 {
            self.start = key.hour;
        }
        self.start = self.start.min(key.hour);
        self.end = self.end.max(key.hour);
        self.calls += hour.calls;
        self.errors += hour.errors;
        self.sum_us += hour.sum_us;
        self.squares += hour.squares;
        self.latency.merge(&hour.latency);
        if !self.versions.contains(&key.version) {
            self.versions.push(key.version.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::regression::RegressionSeverity;

    /// The hours of a tool that is called a hundred times an hour.
    #[derive(Default)]
    struct Tool {
        figures: ToolFigures,
        hours: Vec<(HourKey, Hour)>,
    }

    const NOW: i64 = 500_000;

    impl Tool {
        /// Adds calls of a version that take about `ms` milliseconds, from `from` hours ago to `to` hours ago.
        fn calls(mut self, version: &str, from: i64, to: i64, ms: u64) -> Self {
            for ago in (to..=from).rev() {
                let mut hour = Hour { last: (NOW - ago) * 3_600_000 + 1000, ..Hour::default() };
                for number in 0..100 {
                    let elapsed = ms * (950 + number);
                    hour.calls += 1;
                    hour.sum_us += elapsed;
                    hour.squares += u128::from(elapsed) * u128::from(elapsed);
                    hour.latency.add(elapsed);
                }
                let (tool, version) = ("a/b".into(), version.to_owned());
                let epoch = self.figures.epoch;
                self.hours.push((HourKey { tool, version, epoch, hour: NOW - ago }, hour));
            }
            self
        }

        fn cleared(mut self, ago: i64) -> Self {
            self.figures.epoch += 1;
            self.figures.reset_hour = NOW - ago;
            self
        }

        fn at(&self, now: i64) -> Comparison {
            // No more is asked of the database.
            let oldest = now - 61 * DAY;
            let hours: Vec<_> =
                self.hours.iter().filter(|row| row.0.hour >= oldest).cloned().collect();
            let now = Timestamp::from_second(now * 3600 + 1800).unwrap();
            let tools = [("a/b".into(), self.figures.clone())];
            comparisons(&tools, &hours, now, Spans::default()).remove(0).1
        }

        fn severity(&self) -> Option<RegressionSeverity> {
            self.at(NOW).severity
        }
    }

    const HIGH: Option<RegressionSeverity> = Some(RegressionSeverity::High);
    const DAY: i64 = 24;

    #[test]
    fn a_day_is_compared_with_the_days_before_it() {
        let steady = || Tool::default().calls("a", 20 * DAY, 24, 10);
        assert_eq!(steady().calls("a", 23, 0, 20).severity(), HIGH);
        assert_eq!(steady().calls("a", 23, 0, 10).severity(), None);
    }

    #[test]
    fn a_baseline_that_was_set_holds_until_it_is_too_old_or_too_small() {
        // Slow was taken for what it is: it stays fine, and slower is not.
        let set = || Tool::default().calls("a", 9 * DAY, 7 * DAY, 20).cleared(7 * DAY);
        assert_eq!(set().calls("a", 20, 0, 20).severity(), None);
        assert_eq!(set().calls("a", 20, 0, 40).severity(), HIGH);
        // Set when there were no calls, set twice, or set long ago: what came since is the baseline.
        let idle = || Tool::default().calls("a", 29 * DAY, 28 * DAY, 10).cleared(20 * DAY);
        let twice = || {
            Tool::default().calls("a", 21 * DAY, 20 * DAY, 10).cleared(20 * DAY).cleared(20 * DAY)
        };
        let old = || Tool::default().calls("a", 62 * DAY, 61 * DAY, 10).cleared(61 * DAY);
        for make in [&idle as &dyn Fn() -> Tool, &twice, &old] {
            let since = || make().calls("a", 10 * DAY, 24, 10);
            assert_eq!(since().calls("a", 23, 0, 20).severity(), HIGH);
            let fine = since().calls("a", 23, 0, 10).at(NOW);
            assert_eq!(fine.severity, None);
            assert!(fine.has_enough(), "{fine:?}");
        }
    }

    #[test]
    fn a_clear_is_for_the_version_that_is_slow_now() {
        let tool = || Tool::default().calls("a", 9 * DAY, 12, 10).calls("b", 11, 6, 30);
        assert_eq!(tool().severity(), HIGH);
        assert_eq!(tool().cleared(6).calls("b", 5, 0, 30).severity(), None);
        assert_eq!(tool().cleared(6).calls("b", 5, 0, 60).severity(), HIGH);
    }

    #[test]
    fn a_version_that_got_faster_is_held_to_that() {
        let faster =
            || Tool::default().calls("a", 20 * DAY, 9 * DAY, 100).calls("b", 8 * DAY, 24, 10);
        assert_eq!(faster().calls("b", 23, 0, 10).severity(), None);
        let slower = faster().calls("b", 23, 0, 20).at(NOW);
        assert_eq!((slower.severity, slower.baseline.versions), (HIGH, vec!["b".to_owned()]));
        // The one before it counts, and not all that ever were.
        assert_eq!(faster().calls("c", 23, 0, 30).severity(), HIGH);
        assert_eq!(faster().calls("c", 23, 0, 10).severity(), None);
    }

    #[test]
    fn versions_that_are_in_use_at_once_give_one_result() {
        for last in ["a", "b"] {
            let slow = Tool::default().calls("a", 9 * DAY, 1, 10).calls("b", 12, 1, 30);
            let found = slow.calls(last, 0, 0, if last == "a" { 10 } else { 30 }).at(NOW);
            assert_eq!(found.severity, HIGH, "{last}");
            assert_eq!(found.current.versions, ["b"], "{last}");
            let fine = Tool::default().calls("a", 9 * DAY, 1, 10).calls("b", 12, 1, 10);
            assert_eq!(fine.calls(last, 0, 0, 10).severity(), None, "{last}");
        }
    }

    #[test]
    fn a_version_that_was_replaced_is_past() {
        let slow = || Tool::default().calls("a", 9 * DAY, 13, 10).calls("b", 12, 8, 30);
        assert_eq!(slow().severity(), HIGH);
        assert_eq!(slow().calls("c", 7, 7, 10).severity(), None, "mended");
        assert_eq!(slow().calls("a", 7, 0, 10).severity(), None, "taken back");
    }

    #[test]
    fn a_clock_that_is_ahead_says_nothing_of_now() {
        let ahead = || Tool::default().calls("a", 9 * DAY, 0, 10).calls("a", -1, -5, 90);
        assert_eq!(ahead().severity(), None);
        assert_eq!(ahead().at(NOW + 5).severity, HIGH, "until then");
        let other = Tool::default().calls("a", 9 * DAY, 0, 10).calls("b", -1, -5, 90);
        assert_eq!(other.at(NOW).current.versions, ["a"]);
    }
}
