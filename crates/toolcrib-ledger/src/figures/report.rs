//! Reports: figures in the JSON shapes of the forgekeeper contract.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use toolcrib_core::ToolName;

use crate::figures::fold::{Amount, FailedCall, ToolFigures};
use crate::figures::regression::{Comparison, RegressionSeverity, Window};

/// How many message shapes a report shows.
const MOST_SHOWN_SHAPES: usize = 10;

/// Reports the errors of all tools.
pub fn errors(tools: &[(ToolName, ToolFigures)]) -> Value {
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
                "failedCommands": it.failed_commands,
                "lastError": it.last.as_ref().map(failure),
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

/// Reports the errors of one tool.
pub fn errors_of(name: &ToolName, figures: &ToolFigures) -> Value {
    let it = &figures.errors;
    let mut shapes: Vec<(&String, &(u64, String))> = it.shapes.iter().collect();
    shapes.sort_by_key(|(shape, (count, _))| (std::cmp::Reverse(*count), (*shape).clone()));
    let top = shapes.iter().take(MOST_SHOWN_SHAPES).map(|(shape, (count, first))| {
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
            "failedCommands": it.failed_commands,
            "firstError": it.first.as_ref().map(|first| stamp(first.at)),
            "firstErrorDetail": it.first.as_ref().map(failure_with_args),
            "lastError": it.last.as_ref().map(failure_with_args),
            "errorTypes": it.kinds,
            "topErrors": top.collect::<Vec<_>>(),
        },
    })
}

fn failure(failed: &FailedCall) -> Value {
    json!({"timestamp": stamp(failed.at), "message": failed.message, "code": failed.kind})
}

fn failure_with_args(failed: &FailedCall) -> Value {
    let mut value = failure(failed);
    let args = failed.args.as_ref();
    let args = args.map(|args| serde_json::from_str(args).unwrap_or_else(|_| json!(args)));
    value["args"] = json!(args);
    value["call"] = json!(failed.call);
    value
}

/// Reports the regressions of all tools.
pub fn regressions(all: &[(ToolName, Comparison)]) -> Value {
    let count = |severity| all.iter().filter(|(_, it)| it.severity == Some(severity)).count();
    json!({
        "ok": true,
        "regressions": all.iter().map(|(name, it)| regression(name, it)).collect::<Vec<_>>(),
        "summary": {
            "totalTools": all.len(),
            "toolsWithRegressions": all.iter().filter(|(_, it)| it.severity.is_some()).count(),
            "highSeverity": count(RegressionSeverity::High),
            "mediumSeverity": count(RegressionSeverity::Medium),
            "lowSeverity": count(RegressionSeverity::Low),
        },
    })
}

/// Reports the regression of one tool.
pub fn regression(name: &ToolName, it: &Comparison) -> Value {
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
            "severity": it.severity.map_or("none", RegressionSeverity::as_str),
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

/// Reports what all tools use. `limits` returns the limits of a tool.
pub fn resources(tools: &[(ToolName, ToolFigures)], limits: &dyn Fn(&ToolName) -> Value) -> Value {
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
            "totalNetworkUpBytes": sum(|it| it.resources.network.bytes_up),
            "totalNetworkDownBytes": sum(|it| it.resources.network.bytes_down),
            "totalNetworkConnections": sum(|it| it.resources.network.connections),
            "totalNetworkRefused": sum(|it| it.resources.network.refused),
        },
    })
}

/// Reports what one tool uses. `limits` returns the limits of a tool.
pub fn resources_of(
    name: &ToolName,
    figures: &ToolFigures,
    limits: &dyn Fn(&ToolName) -> Value,
) -> Value {
    let it = &figures.resources;
    let exact_mean = |amount: &Amount| amount.total as f64 / amount.histogram.count().max(1) as f64;
    let mean = |amount: &Amount| exact_mean(amount).round() as i64;
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
                "avgMs": ms(exact_mean(&it.cpu)),
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
            "network": {
                "totalUpBytes": it.network.bytes_up,
                "totalDownBytes": it.network.bytes_down,
                "connections": it.network.connections,
                "refused": it.network.refused,
            },
        },
        "limits": limits(name),
        "violations": violations,
    })
}

fn rate(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { round(part as f64 / all as f64, 4) }
}

/// Formats a time as the record does, to the millisecond.
pub fn stamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Converts microseconds to milliseconds, rounded to the microsecond.
pub fn ms(us: f64) -> f64 {
    round(us / 1e3, 3)
}

fn round(number: f64, places: i32) -> f64 {
    let factor = 10_f64.powi(places);
    (number * factor).round() / factor
}
