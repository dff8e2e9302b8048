//! Figures in the shapes of the forgekeeper contract.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::fold::{Amount, Failed, Hour, HourKey, ToolFigures};
use crate::regression::{Comparison, FEWEST, Severity, Window, compare, worst};

/// How long what is, and what was, are.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// The hours that are now.
    pub current_hours: i64,
    /// The days before them that they are compared with.
    pub baseline_days: i64,
}

impl Default for Spans {
    fn default() -> Self {
        Self { current_hours: 24, baseline_days: 30 }
    }
}

/// Figures of the errors of tools.
pub fn errors(tools: &[(String, ToolFigures)]) -> Value {
    let stats: Vec<Value> = tools
        .iter()
        .map(|(name, figures)| {
            let it = &figures.errors;
            json!({
                "toolName": name,
                "totalCalls": it.calls,
                "errors": it.errors,
                "errorRate": rate(it.errors, it.calls),
                "refused": it.refused,
                "lastError": it.last.as_ref().map(|last| failed(last, false)),
                "errorTypes": it.kinds,
            })
        })
        .collect();
    let total: u64 = tools.iter().map(|(_, it)| it.errors.errors).sum();
    let rates: f64 = tools.iter().map(|(_, it)| rate(it.errors.errors, it.errors.calls)).sum();
    json!({
        "ok": true,
        "stats": stats,
        "summary": {
            "totalTools": tools.len(),
            "toolsWithErrors": tools.iter().filter(|(_, it)| it.errors.errors > 0).count(),
            "totalErrors": total,
            "avgErrorRate": round(rates / tools.len().max(1) as f64, 4).abs(),
        },
    })
}

/// Figures of the errors of one tool.
pub fn errors_of(name: &str, figures: &ToolFigures) -> Value {
    let it = &figures.errors;
    let mut shapes: Vec<(&String, &(u64, String))> = it.shapes.iter().collect();
    shapes.sort_by_key(|(shape, (count, _))| (std::cmp::Reverse(*count), (*shape).clone()));
    let top = shapes.iter().take(10).map(|(shape, (count, first))| {
        let percentage = round(*count as f64 / it.errors.max(1) as f64 * 100.0, 1);
        json!({"message": first, "shape": shape, "count": count, "percentage": percentage})
    });
    json!({
        "ok": true,
        "tool": name,
        "stats": {
            "totalCalls": it.calls,
            "errors": it.errors,
            "errorRate": rate(it.errors, it.calls),
            "refused": it.refused,
            "firstError": it.first.as_ref().map(|first| stamp(first.at)),
            "firstErrorDetail": it.first.as_ref().map(|first| failed(first, true)),
            "lastError": it.last.as_ref().map(|last| failed(last, true)),
            "errorTypes": it.kinds,
            "topErrors": top.collect::<Vec<_>>(),
        },
    })
}

fn failed(failed: &Failed, with_args: bool) -> Value {
    let mut value =
        json!({"timestamp": stamp(failed.at), "message": failed.message, "code": failed.kind});
    if with_args {
        let args = failed.args.as_ref();
        let args = args.map(|args| serde_json::from_str(args).unwrap_or_else(|_| json!(args)));
        value["args"] = json!(args);
        value["call"] = json!(failed.call);
    }
    value
}

/// Puts what was and what is of every tool beside each other.
pub fn comparisons(
    tools: &[(String, ToolFigures)],
    hours: &[(HourKey, Hour)],
    now: Timestamp,
    spans: Spans,
) -> Vec<(String, Comparison)> {
    let mut by_tool: BTreeMap<&str, Vec<&(HourKey, Hour)>> = BTreeMap::new();
    for row in hours {
        by_tool.entry(&row.0.tool).or_default().push(row);
    }
    let now = now.as_second().div_euclid(3600);
    tools
        .iter()
        .filter_map(|(name, figures)| {
            let rows = by_tool.get(name.as_str())?;
            let found = Past::new(rows, figures, now, spans).compare_all()?;
            Some((name.clone(), found))
        })
        .collect()
}

/// A version of a tool that was called.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Version<'a> {
    /// Its first hour, and the last call of that: of those that came in the same hour, the one that went on in it is
    /// the later.
    began: (i64, i64),
    name: &'a str,
    /// Its last call, in milliseconds since 1970.
    last: i64,
}

/// The hours of one tool, and where they are divided into what was and what is.
struct Past<'a> {
    /// Those that ran calls, up to now: a clock that is ahead says nothing of what is.
    rows: Vec<&'a (HourKey, Hour)>,
    epoch: u64,
    /// The last hour that is past.
    recent: i64,
    /// The last hour that is too old to be compared with.
    oldest: i64,
    /// The hours, from after the first on, that were made the baseline; nothing if none were, or it is too long ago.
    frozen: Option<i64>,
    current_hours: i64,
    baseline_hours: i64,
}

impl<'a> Past<'a> {
    fn new(rows: &[&'a (HourKey, Hour)], figures: &ToolFigures, now: i64, spans: Spans) -> Self {
        let baseline_hours = spans.baseline_days * 24;
        let recent = now - spans.current_hours;
        let oldest = recent - baseline_hours;
        let is_frozen = figures.epoch > 0 && figures.reset_hour > oldest;
        Self {
            rows: rows.iter().copied().filter(|row| row.0.hour <= now && row.1.calls > 0).collect(),
            epoch: figures.epoch,
            recent,
            oldest,
            frozen: is_frozen.then_some(figures.reset_hour - spans.current_hours),
            current_hours: spans.current_hours,
            baseline_hours,
        }
    }

    /// Compares every version that is in use with the one before it, or with what was made the baseline, and with
    /// itself as it was; or all together, where there are too few calls of each. The worst of it counts, so that it is
    /// the same whichever version was called last.
    fn compare_all(&self) -> Option<Comparison> {
        let mut found = Vec::new();
        let versions = self.versions();
        let in_use = (0..versions.len()).rev().filter(|place| self.is_in_use(&versions, *place));
        for place in in_use {
            let name = versions[place].name;
            let current = self.take(|key| self.is_now(key) && key.version == name);
            let before = self.frozen_of(Some(name)).or_else(|| self.before(&versions, place));
            if let Some(before) = before.or_else(|| self.frozen_of(None)) {
                found.push(compare(before, current.clone()));
            }
            let same = self.take(|key| self.was(key) && key.version == name);
            found.push(compare(same, current));
        }
        found.retain(Comparison::has_enough);
        if found.is_empty() {
            let before = self.frozen_of(None).unwrap_or_else(|| self.take(|key| self.was(key)));
            found.push(compare(before, self.take(|key| self.is_now(key))));
        }
        worst(found)
    }

    fn take(&self, takes: impl Fn(&HourKey) -> bool) -> Window {
        let mut window = Window::default();
        for (key, hour) in self.rows.iter().filter(|row| takes(&row.0)) {
            window.merge(key, hour);
        }
        window
    }

    fn is_now(&self, key: &HourKey) -> bool {
        key.epoch == self.epoch && key.hour > self.recent
    }

    fn was(&self, key: &HourKey) -> bool {
        key.epoch == self.epoch && key.hour <= self.recent && key.hour > self.oldest
    }

    /// The versions since the baseline was last set, in the order they came in.
    fn versions(&self) -> Vec<Version<'a>> {
        let mut versions: Vec<Version<'_>> = Vec::new();
        for (key, hour) in self.rows.iter().filter(|row| row.0.epoch == self.epoch) {
            let new = Version { began: (key.hour, hour.last), name: &key.version, last: hour.last };
            match versions.iter_mut().find(|it| it.name == key.version) {
                Some(known) => {
                    known.began = known.began.min(new.began);
                    known.last = known.last.max(new.last);
                }
                None => versions.push(new),
            }
        }
        versions.sort_unstable();
        versions
    }

    /// Whether a version is one that is in use now: no later one took over from it, and it was called as others were.
    fn is_in_use(&self, versions: &[Version<'_>], place: usize) -> bool {
        let it = &versions[place];
        let newest = versions.iter().map(|it| it.last).max().unwrap_or_default();
        let silence = self.current_hours * 3_600_000 / 4;
        let is_replaced = versions[place + 1..].iter().any(|later| it.last <= later.began.1);
        !is_replaced && newest - it.last <= silence
    }

    /// The version before one, and those before that until there are enough calls. A change that is older than the
    /// baseline is none any more.
    fn before(&self, versions: &[Version<'_>], place: usize) -> Option<Window> {
        let began = versions[place].began.0;
        if began <= self.oldest {
            return None;
        }
        let oldest = began - self.baseline_hours;
        (0..place).rev().find_map(|first| {
            let is_before = |key: &HourKey| {
                let mut before = versions[first..place].iter();
                key.epoch == self.epoch
                    && key.hour >= oldest
                    && before.any(|version| version.name == key.version)
            };
            Some(self.take(is_before)).filter(|before| before.calls >= FEWEST)
        })
    }

    /// What was made the baseline, of one version or all, if that is enough.
    fn frozen_of(&self, version: Option<&str>) -> Option<Window> {
        let frozen = self.frozen?;
        let is_it = |key: &HourKey| version.is_none_or(|version| version == key.version);
        let last = self.take(|key| key.epoch + 1 == self.epoch && key.hour > frozen && is_it(key));
        // Set again before there was enough of it, the one before holds.
        let before = || {
            let epochs = (0..self.epoch.saturating_sub(1)).rev().take(16);
            let mut all = epochs.map(|epoch| {
                let of_it = |key: &HourKey| key.epoch == epoch && is_it(key);
                let end = self.rows.iter().filter(|row| of_it(&row.0)).map(|row| row.0.hour).max();
                let start = end.unwrap_or(0) - self.current_hours;
                self.take(|key| of_it(key) && key.hour > start)
            });
            all.find(|baseline| baseline.calls >= FEWEST)
        };
        Some(last).filter(|baseline| baseline.calls >= FEWEST).or_else(before)
    }
}

impl Window {
    fn merge(&mut self, key: &HourKey, hour: &Hour) {
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

/// Regressions of tools.
pub fn regressions(all: &[(String, Comparison)]) -> Value {
    let count = |severity| all.iter().filter(|(_, it)| it.severity == Some(severity)).count();
    json!({
        "ok": true,
        "regressions": all.iter().map(|(name, it)| regression(name, it)).collect::<Vec<_>>(),
        "summary": {
            "totalTools": all.len(),
            "toolsWithRegressions": all.iter().filter(|(_, it)| it.severity.is_some()).count(),
            "highSeverity": count(Severity::High),
            "mediumSeverity": count(Severity::Medium),
            "lowSeverity": count(Severity::Low),
        },
    })
}

/// What was and what is of one tool.
pub fn regression(name: &str, it: &Comparison) -> Value {
    let (was, is) = (&it.baseline, &it.current);
    let delta = is.average_ms() - was.average_ms();
    let share = if was.average_ms() > 0.0 { delta / was.average_ms() * 100.0 } else { 0.0 };
    json!({
        "toolName": name,
        "baseline": window(was),
        "current": window(is),
        "regression": {
            "avgExecutionDelta": round(delta, 3),
            "avgExecutionDeltaPct": round(share, 1),
            "p95ExecutionDelta": round(is.quantile_ms(0.95) - was.quantile_ms(0.95), 3),
            "errorRateDelta": round(is.error_rate() - was.error_rate(), 4),
            "severity": it.severity.map_or("none", Severity::as_str),
            "detected": it.severity.is_some(),
            "because": it.because,
        },
    })
}

fn window(window: &Window) -> Value {
    let hour = |hour: i64| Timestamp::from_second(hour * 3600).unwrap_or_default();
    let has_any = window.calls > 0;
    json!({
        "avgExecutionMs": round(window.average_ms(), 3),
        "p95ExecutionMs": round(window.quantile_ms(0.95), 3),
        "p99ExecutionMs": round(window.quantile_ms(0.99), 3),
        "errorRate": round(window.error_rate(), 4),
        "periodStart": has_any.then(|| hour(window.start)),
        "periodEnd": has_any.then(|| hour(window.end + 1)),
        "sampleSize": window.calls,
        "versions": window.versions,
    })
}

/// What tools use; with each, the limits that hold for it.
pub fn resources(tools: &[(String, ToolFigures)], limits: &dyn Fn(&str) -> Value) -> Value {
    let all: Vec<Value> =
        tools.iter().map(|(name, figures)| resources_of(name, figures, limits)).collect();
    let sum = |of: fn(&ToolFigures) -> u64| tools.iter().map(|(_, it)| of(it)).sum::<u64>();
    json!({
        "ok": true,
        "resources": all,
        "summary": {
            "totalCpuMs": round(sum(|it| it.resources.cpu.total) as f64 / 1000.0, 3),
            "totalMemoryBytes": sum(|it| it.resources.memory.total),
            "totalDiskReadBytes": sum(|it| it.resources.read.total),
            "totalDiskWriteBytes": sum(|it| it.resources.written.total),
        },
    })
}

/// What one tool uses.
pub fn resources_of(name: &str, figures: &ToolFigures, limits: &dyn Fn(&str) -> Value) -> Value {
    let it = &figures.resources;
    let exact = |amount: &Amount| amount.total as f64 / amount.sketch.count().max(1) as f64;
    let mean = |amount: &Amount| exact(amount).round() as i64;
    let mut violations: Map<String, Value> = Map::new();
    for kind in ["sizeExceeded", "timeoutExceeded"] {
        violations.insert(kind.to_owned(), json!(0));
    }
    violations.extend(it.violations.iter().map(|(kind, count)| (kind.clone(), json!(count))));
    json!({
        "toolName": name,
        "totalCalls": it.calls,
        "resources": {
            "cpu": {
                "totalMs": ms(it.cpu.total as f64),
                "avgMs": ms(exact(&it.cpu)),
                "maxMs": ms(it.cpu.most as f64),
                "p95Ms": ms(it.cpu.quantile(0.95)),
            },
            "memory": {
                "totalBytes": it.memory.total,
                "avgBytes": mean(&it.memory),
                "maxBytes": it.memory.most,
                "p95Bytes": it.memory.quantile(0.95).round() as i64,
            },
            "disk": {
                "totalReadBytes": it.read.total,
                "totalWriteBytes": it.written.total,
                "avgReadBytes": mean(&it.read),
                "avgWriteBytes": mean(&it.written),
                "maxReadBytes": it.read.most,
                "maxWriteBytes": it.written.most,
                "p95ReadBytes": it.read.quantile(0.95).round() as i64,
                "p95WriteBytes": it.written.quantile(0.95).round() as i64,
            },
        },
        "limits": limits(name),
        "violations": violations,
    })
}

fn rate(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { round(part as f64 / all as f64, 4) }
}

/// A moment as the record writes it, to the millisecond.
pub fn stamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Microseconds as milliseconds, to the microsecond.
pub fn ms(us: f64) -> f64 {
    round(us / 1e3, 3)
}

fn round(number: f64, places: i32) -> f64 {
    let factor = 10_f64.powi(places);
    (number * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hours of a tool that is called a hundred times an hour, like this.
    #[derive(Default)]
    struct Tool {
        figures: ToolFigures,
        hours: Vec<(HourKey, Hour)>,
    }

    const NOW: i64 = 500_000;

    impl Tool {
        /// Calls of a version that take about so many milliseconds, from some hours ago to others.
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
                let (tool, version) = ("a/b".to_owned(), version.to_owned());
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
            let tools = [("a/b".to_owned(), self.figures.clone())];
            comparisons(&tools, &hours, now, Spans::default()).remove(0).1
        }

        fn severity(&self) -> Option<Severity> {
            self.at(NOW).severity
        }
    }

    const HIGH: Option<Severity> = Some(Severity::High);
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
