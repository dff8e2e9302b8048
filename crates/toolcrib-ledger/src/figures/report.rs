//! Reports: figures in the forms of the forgekeeper contract.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use toolcrib_core::ToolName;

use crate::figures::fold::{Amount, ErrorFigures, FailedCall, ToolFigures};
use crate::figures::regression::{Comparison, RegressionSeverity, Window};
use crate::figures::report_form::{
    CommonError, CpuFigures, DetailedErrors, DiskFigures, ErrorCounts, ErrorsOfTool, ErrorsReport,
    ErrorsSummary, FailureWithArgs, MemoryFigures, NewBaseline, RegressionFigures,
    RegressionOfTool, RegressionsReport, RegressionsSummary, ReportedFailure, ReportedNetwork,
    ReportedWindow, ResourceGroups, ResourcesOfTool, ResourcesReport, ResourcesSummary, ToolErrors,
    ToolRegression, ToolResources,
};
use crate::figures::rounding::rounded;

/// How many message shapes a report shows.
const MOST_SHOWN_SHAPES: usize = 10;

/// Reports the errors of all tools.
pub fn errors(tools: &[(ToolName, ToolFigures)]) -> ErrorsReport {
    let stats = tools.iter().map(|(name, figures)| ToolErrors {
        tool_name: name.clone(),
        counts: counts(&figures.errors),
        last_error: figures.errors.last.as_ref().map(failure),
        error_types: figures.errors.kinds.clone(),
    });
    let rates: f64 = tools.iter().map(|(_, it)| rate(it.errors.errors, it.errors.calls)).sum();
    ErrorsReport {
        ok: true,
        stats: stats.collect(),
        summary: ErrorsSummary {
            total_tools: tools.len(),
            tools_with_errors: tools.iter().filter(|(_, it)| it.errors.errors > 0).count(),
            total_errors: tools.iter().map(|(_, it)| it.errors.errors).sum(),
            avg_error_rate: rounded(rates / tools.len().max(1) as f64, 4).abs(),
        },
    }
}

/// Reports the errors of one tool.
pub fn errors_of(name: &ToolName, figures: &ToolFigures) -> ErrorsOfTool {
    let it = &figures.errors;
    let mut shapes: Vec<(&String, &(u64, String))> = it.shapes.iter().collect();
    shapes.sort_by_key(|(shape, (count, _))| (std::cmp::Reverse(*count), (*shape).clone()));
    let top = shapes.iter().take(MOST_SHOWN_SHAPES).map(|(shape, (count, first))| CommonError {
        message: first.clone(),
        shape: (*shape).clone(),
        count: *count,
        percentage: rounded(*count as f64 / it.errors.max(1) as f64 * 100.0, 1),
    });
    ErrorsOfTool {
        ok: true,
        tool: name.clone(),
        stats: DetailedErrors {
            counts: counts(it),
            first_error: it.first.as_ref().map(|first| stamp(first.at)),
            first_error_detail: it.first.as_ref().map(failure_with_args),
            last_error: it.last.as_ref().map(failure_with_args),
            error_types: it.kinds.clone(),
            top_errors: top.collect(),
        },
    }
}

fn counts(it: &ErrorFigures) -> ErrorCounts {
    ErrorCounts {
        total_calls: it.calls,
        errors: it.errors,
        error_rate: rate(it.errors, it.calls),
        refused: it.refused,
        failed_commands: it.failed_commands,
    }
}

fn failure(failed: &FailedCall) -> ReportedFailure {
    ReportedFailure {
        timestamp: stamp(failed.at),
        message: failed.message.clone(),
        code: failed.kind.clone(),
    }
}

fn failure_with_args(failed: &FailedCall) -> FailureWithArgs {
    let args = failed.args.as_ref();
    let value = |args: &String| serde_json::from_str(args).unwrap_or_else(|_| args.clone().into());
    FailureWithArgs { failure: failure(failed), args: args.map(value), call: failed.call.clone() }
}

/// Reports the regressions of all tools.
pub fn regressions(all: &[(ToolName, Comparison)]) -> RegressionsReport {
    let count = |severity| all.iter().filter(|(_, it)| it.severity == Some(severity)).count();
    RegressionsReport {
        ok: true,
        regressions: all.iter().map(|(name, it)| regression(name, it)).collect(),
        summary: RegressionsSummary {
            total_tools: all.len(),
            tools_with_regressions: all.iter().filter(|(_, it)| it.severity.is_some()).count(),
            high_severity: count(RegressionSeverity::High),
            medium_severity: count(RegressionSeverity::Medium),
            low_severity: count(RegressionSeverity::Low),
        },
    }
}

/// Reports the regression of one tool, if it has enough calls to compare.
pub fn regression_of(name: &ToolName, found: Option<&Comparison>) -> RegressionOfTool {
    let regression = found.map(|it| regression(name, it));
    RegressionOfTool { ok: true, tool: name.clone(), regression }
}

/// Reports how a tool stands against its past.
pub fn regression(name: &ToolName, it: &Comparison) -> ToolRegression {
    let (was, is) = (&it.baseline, &it.current);
    let delta = is.average_ms() - was.average_ms();
    let share = if was.average_ms() > 0.0 { delta / was.average_ms() * 100.0 } else { 0.0 };
    ToolRegression {
        tool_name: name.clone(),
        baseline: window(was),
        current: window(is),
        regression: RegressionFigures {
            avg_execution_delta: rounded(delta, 3),
            avg_execution_delta_pct: rounded(share, 1),
            p95_delta: rounded(is.quantile_ms(0.95) - was.quantile_ms(0.95), 3),
            error_rate_delta: rounded(is.error_rate() - was.error_rate(), 4),
            severity: it.severity.map_or("none", RegressionSeverity::as_str),
            detected: it.severity.is_some(),
            because: it.because.clone(),
        },
    }
}

fn window(window: &Window) -> ReportedWindow {
    let hour = |hour: i64| Timestamp::from_second(hour * 3600).unwrap_or_default();
    let has_any = window.calls > 0;
    ReportedWindow {
        avg_execution_ms: rounded(window.average_ms(), 3),
        p95_ms: rounded(window.quantile_ms(0.95), 3),
        p99_ms: rounded(window.quantile_ms(0.99), 3),
        error_rate: rounded(window.error_rate(), 4),
        period_start: has_any.then(|| hour(window.start)),
        period_end: has_any.then(|| hour(window.end + 1)),
        sample_size: window.calls,
        versions: window.versions.clone(),
    }
}

/// Returns a baseline that was set now.
pub fn new_baseline(window: &Window, now: Timestamp) -> NewBaseline {
    NewBaseline {
        avg_execution_ms: ms(window.average_ms() * 1e3),
        p95_ms: ms(window.quantile_ms(0.95) * 1e3),
        error_rate: window.error_rate(),
        timestamp: stamp(now),
    }
}

/// Reports what all tools use. `limits` returns the limits of a tool.
pub fn resources(
    tools: &[(ToolName, ToolFigures)],
    limits: &dyn Fn(&ToolName) -> Value,
) -> ResourcesReport {
    let sum = |of: fn(&ToolFigures) -> u64| tools.iter().map(|(_, it)| of(it)).sum::<u64>();
    ResourcesReport {
        ok: true,
        resources: tools.iter().map(|(name, figures)| used(name, figures, limits)).collect(),
        summary: ResourcesSummary {
            total_cpu_ms: rounded(sum(|it| it.resources.cpu.total) as f64 / 1000.0, 3),
            total_memory_bytes: sum(|it| it.resources.memory.total),
            total_disk_read_bytes: sum(|it| it.resources.read.total),
            total_disk_write_bytes: sum(|it| it.resources.written.total),
            total_network_up_bytes: sum(|it| it.resources.network.bytes_up),
            total_network_down_bytes: sum(|it| it.resources.network.bytes_down),
            total_network_connections: sum(|it| it.resources.network.connections),
            total_network_refused: sum(|it| it.resources.network.refused),
        },
    }
}

/// Reports what one tool uses. `limits` returns the limits of a tool.
pub fn resources_of(
    name: &ToolName,
    figures: &ToolFigures,
    limits: &dyn Fn(&ToolName) -> Value,
) -> ResourcesOfTool {
    ResourcesOfTool { ok: true, tool: name.clone(), resources: used(name, figures, limits) }
}

/// Returns what a tool uses, and within which limits.
pub fn used(
    name: &ToolName,
    figures: &ToolFigures,
    limits: &dyn Fn(&ToolName) -> Value,
) -> ToolResources {
    let it = &figures.resources;
    let exact_mean = |amount: &Amount| amount.total as f64 / amount.histogram.count().max(1) as f64;
    let mean = |amount: &Amount| exact_mean(amount).round() as i64;
    let p95 = |amount: &Amount| amount.quantile(0.95).round() as i64;
    let mut violations: BTreeMap<String, u64> =
        ["sizeExceeded", "timeoutExceeded"].map(|kind| (kind.to_owned(), 0)).into();
    violations.extend(it.violations.iter().map(|(kind, count)| (kind.clone(), *count)));
    ToolResources {
        tool_name: name.clone(),
        total_calls: it.calls,
        resources: ResourceGroups {
            cpu: CpuFigures {
                total_ms: ms(it.cpu.total as f64),
                avg_ms: ms(exact_mean(&it.cpu)),
                max_ms: ms(it.cpu.most as f64),
                p95_ms: ms(it.cpu.quantile(0.95)),
            },
            memory: MemoryFigures {
                total_bytes: it.memory.total,
                avg_bytes: mean(&it.memory),
                max_bytes: it.memory.most,
                p95_bytes: p95(&it.memory),
            },
            disk: DiskFigures {
                total_read_bytes: it.read.total,
                total_write_bytes: it.written.total,
                avg_read_bytes: mean(&it.read),
                avg_write_bytes: mean(&it.written),
                max_read_bytes: it.read.most,
                max_write_bytes: it.written.most,
                p95_read_bytes: p95(&it.read),
                p95_write_bytes: p95(&it.written),
            },
            network: ReportedNetwork {
                total_up_bytes: it.network.bytes_up,
                total_down_bytes: it.network.bytes_down,
                connections: it.network.connections,
                refused: it.network.refused,
            },
        },
        limits: limits(name),
        violations,
    }
}

fn rate(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { rounded(part as f64 / all as f64, 4) }
}

/// Formats a time as the record does, to the millisecond.
pub fn stamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Converts microseconds to milliseconds, rounded to the microsecond.
pub fn ms(us: f64) -> f64 {
    rounded(us / 1e3, 3)
}
