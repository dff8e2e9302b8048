//! Figures in the shapes of the forgekeeper contract.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::fold::{Amount, Failed, Hour, HourKey, ToolFigures};
use crate::regression::{Comparison, FEWEST, Severity, Window, compare};

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
            "avgErrorRate": round(rates / tools.len().max(1) as f64, 4),
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
            "firstError": it.first.as_ref().map(|first| first.at),
            "lastError": it.last.as_ref().map(|last| failed(last, true)),
            "errorTypes": it.kinds,
            "topErrors": top.collect::<Vec<_>>(),
        },
    })
}

fn failed(failed: &Failed, with_args: bool) -> Value {
    let mut value = json!({"timestamp": failed.at, "message": failed.message, "code": failed.kind});
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
            let (baseline, current) = windows(rows, figures, now, spans);
            Some((name.clone(), compare(baseline, current)))
        })
        .collect()
}

/// What was and what is of one tool. The border is a day ago; or where its version changed, if it did; or where its
/// figures were made the baseline, if they were.
fn windows(
    rows: &[&(HourKey, Hour)],
    figures: &ToolFigures,
    now: i64,
    spans: Spans,
) -> (Window, Window) {
    let take = |takes: &dyn Fn(&HourKey) -> bool| {
        let mut window = Window::default();
        for (key, hour) in rows.iter().filter(|row| takes(&row.0)) {
            window.merge(key, hour);
        }
        window
    };
    let recent = now - spans.current_hours;
    let oldest = recent - spans.baseline_days * 24;
    let epoch = figures.epoch;
    let in_epoch = rows.iter().filter(|row| row.0.epoch == epoch && row.1.calls > 0);
    let newest = in_epoch.clone().max_by_key(|row| row.1.last).map(|row| row.0.version.as_str());
    let has_changed = in_epoch.clone().any(|row| Some(row.0.version.as_str()) != newest);
    if let (true, Some(newest)) = (has_changed, newest) {
        let is_new = |key: &HourKey| key.epoch == epoch && key.version == newest;
        let began = in_epoch.filter(|row| row.0.version == newest).map(|row| row.0.hour).min();
        let began = began.unwrap_or(now);
        let oldest = began - spans.baseline_days * 24;
        let baseline =
            take(&|key| key.epoch == epoch && key.version != newest && key.hour >= oldest);
        // A change that is older than the baseline is none any more.
        if baseline.calls >= FEWEST && began > recent - spans.baseline_days * 24 {
            return (baseline, take(&|key| is_new(key) && key.hour > recent));
        }
    }
    if epoch > 0 {
        let until = figures.reset_hour;
        let frozen = until - spans.current_hours;
        let baseline = take(&|key| key.epoch + 1 == epoch && key.hour > frozen);
        return (baseline, take(&|key| key.epoch == epoch && key.hour > recent));
    }
    let baseline = take(&|key| key.hour <= recent && key.hour > oldest);
    (baseline, take(&|key| key.hour > recent))
}

impl Window {
    fn merge(&mut self, key: &HourKey, hour: &Hour) {
        if hour.calls == 0 {
            return;
        }
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
            "totalCpuMs": sum(|it| it.resources.cpu.total) / 1000,
            "totalMemoryBytes": sum(|it| it.resources.memory.total),
            "totalDiskReadBytes": sum(|it| it.resources.read.total),
            "totalDiskWriteBytes": sum(|it| it.resources.written.total),
        },
    })
}

/// What one tool uses.
pub fn resources_of(name: &str, figures: &ToolFigures, limits: &dyn Fn(&str) -> Value) -> Value {
    let it = &figures.resources;
    let mean = |amount: &Amount| amount.total / amount.sketch.count().max(1);
    let mut violations: Map<String, Value> = Map::new();
    for kind in ["sizeExceeded", "timeoutExceeded"] {
        violations.insert(kind.to_owned(), json!(it.violations.get(kind).unwrap_or(&0)));
    }
    let ms = |us: f64| round(us / 1e3, 3);
    json!({
        "toolName": name,
        "totalCalls": it.calls,
        "resources": {
            "cpu": {
                "totalMs": ms(it.cpu.total as f64),
                "avgMs": ms(mean(&it.cpu) as f64),
                "maxMs": ms(it.cpu.most as f64),
                "p95Ms": ms(it.cpu.quantile(0.95)),
            },
            "memory": {
                "totalBytes": it.memory.total,
                "avgBytes": mean(&it.memory),
                "maxBytes": it.memory.most,
                "p95Bytes": it.memory.quantile(0.95).round(),
            },
            "disk": {
                "totalReadBytes": it.read.total,
                "totalWriteBytes": it.written.total,
                "avgReadBytes": mean(&it.read),
                "avgWriteBytes": mean(&it.written),
                "maxReadBytes": it.read.most,
                "maxWriteBytes": it.written.most,
                "p95ReadBytes": it.read.quantile(0.95).round(),
                "p95WriteBytes": it.written.quantile(0.95).round(),
            },
        },
        "limits": limits(name),
        "violations": violations,
    })
}

fn rate(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { round(part as f64 / all as f64, 4) }
}

fn round(number: f64, places: i32) -> f64 {
    let factor = 10_f64.powi(places);
    (number * factor).round() / factor
}
