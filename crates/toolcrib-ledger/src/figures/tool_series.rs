//! One tool over time: its calls and durations, its versions, who calls it, and how it fails.

use jiff::Timestamp;
use rusqlite::params;
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::ToolName;

use crate::figures::activity_reading::{ActivityOf, read_counts, read_quantiles};
use crate::figures::activity_rows::load_history;
use crate::figures::call_totals::CallTotals;
use crate::figures::column::unreadable;
use crate::figures::duration_sum::DurationSum;
use crate::figures::histogram::Histogram;
use crate::figures::overview::sum;
use crate::figures::rounding::percent;
use crate::figures::stats::Stats;
use crate::figures::stats_error::StatsError;
use crate::figures::time_window::{Axis, TimeWindow};
use crate::figures::tool_history::{
    ErrorGroup, KnownCaller, KnownVersion, ToolHistory, VersionChange, VersionHistory,
};

/// The hours of a version whose durations are compared.
const VERSION_HOURS: i64 = 200;

/// One tool over a window of time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToolSeries {
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// The window.
    pub window: TimeWindow,
    /// What the series are of.
    pub axis: Axis,
    /// Its calls and their durations at each point.
    pub series: SeriesFigures,
    /// Its calls in the whole window.
    pub total: CallTotals,
    /// The versions that were called, in the window and before.
    pub versions: VersionsOfTool,
    /// Who called it, in the window and before, those with the most calls first.
    pub callers: Vec<CallerShare>,
    /// How it failed since its errors were last cleared, the most frequent first.
    pub errors: Vec<ErrorShare>,
}

/// Calls and durations at each point.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SeriesFigures {
    /// The calls that ran.
    pub calls: Vec<u64>,
    /// The calls that ran and failed.
    pub failed: Vec<u64>,
    /// The calls that policy refused, or whose arguments did not fit.
    pub refused: Vec<u64>,
    /// The calls that a person declined.
    pub declined: Vec<u64>,
    /// The duration that half of them did not exceed.
    pub p50_ms: Vec<Option<f64>>,
    /// The duration that 95 of 100 did not exceed.
    pub p95_ms: Vec<Option<f64>>,
}

/// The versions of a tool that were called.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VersionsOfTool {
    /// The version that took over last.
    pub current: Option<String>,
    /// Each version, in the order of their first calls.
    pub called: Vec<VersionFigures>,
    /// When another version took over.
    pub changes: Vec<VersionChange>,
}

/// A version of a tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VersionFigures {
    /// When it was called.
    #[serde(flatten)]
    pub known: KnownVersion,
    /// The duration that 95 of 100 of its latest calls did not exceed.
    pub p95_ms: Option<f64>,
}

/// Someone who called a tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallerShare {
    /// Who it is.
    #[serde(flatten)]
    pub caller: KnownCaller,
    /// How many of 100 calls are theirs.
    pub percent: Option<f64>,
}

/// Calls that failed in the same way.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorShare {
    /// How they failed.
    #[serde(flatten)]
    pub group: ErrorGroup,
    /// How many of 100 failures they are.
    pub percent: Option<f64>,
    /// Whether the tool did not fail so before its present version took over.
    pub is_new: bool,
}

impl ToolSeries {
    /// Returns a tool that was never called.
    pub fn none(tool: ToolName, window: TimeWindow, now: Timestamp) -> Self {
        let axis = window.axis(now);
        let (none, nothing) = (vec![0; axis.points], vec![None; axis.points]);
        Self {
            tool,
            window,
            axis: axis.shown(),
            series: SeriesFigures {
                calls: none.clone(),
                failed: none.clone(),
                refused: none.clone(),
                declined: none,
                p50_ms: nothing.clone(),
                p95_ms: nothing,
            },
            total: CallTotals::default(),
            versions: VersionsOfTool { current: None, called: Vec::new(), changes: Vec::new() },
            callers: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl Stats {
    /// Returns one tool over a window that ends now. Nothing if it was never called.
    pub fn tool_series(
        &self,
        tool: &ToolName,
        window: TimeWindow,
        now: Timestamp,
    ) -> Result<Option<ToolSeries>, StatsError> {
        let Some(history) = load_history(&self.database, tool)? else { return Ok(None) };
        let (axis, of) = (window.axis(now), ActivityOf::Tool(tool));
        let mut durations = DurationSum::default();
        let points = read_counts(&self.database, of, axis, &mut durations)?;
        let quantiles = read_quantiles(&self.database, of, axis, [0.5, 0.95])?;
        let ToolHistory { versions, callers, errors, last_error: _ } = history;
        let errors = error_shares(errors, &versions);
        Ok(Some(ToolSeries {
            tool: tool.clone(),
            window,
            axis: axis.shown(),
            series: SeriesFigures {
                calls: points.iter().map(|it| it.calls).collect(),
                failed: points.iter().map(|it| it.failed).collect(),
                refused: points.iter().map(|it| it.refused).collect(),
                declined: points.iter().map(|it| it.declined).collect(),
                p50_ms: quantiles.iter().map(|it| it[0]).collect(),
                p95_ms: quantiles.iter().map(|it| it[1]).collect(),
            },
            total: CallTotals::new(&sum(&points), &durations),
            versions: self.versions_of(tool, versions)?,
            callers: caller_shares(callers),
            errors,
        }))
    }

    fn versions_of(
        &self,
        tool: &ToolName,
        versions: VersionHistory,
    ) -> Result<VersionsOfTool, StatsError> {
        let current = versions.newest().map(|it| it.version.clone());
        let called = versions.called.into_iter().map(|known| {
            let p95_ms = self.version_p95_ms(tool, &known.version)?;
            Ok(VersionFigures { known, p95_ms })
        });
        let called = called.collect::<Result<_, StatsError>>()?;
        Ok(VersionsOfTool { current, called, changes: versions.changes })
    }

    fn version_p95_ms(&self, tool: &ToolName, version: &str) -> Result<Option<f64>, StatsError> {
        let mut statement = self.database.prepare_cached(
            "SELECT latency FROM hours WHERE tool = ? AND version = ?
             ORDER BY epoch DESC, hour DESC LIMIT ?",
        )?;
        let mut rows = statement.query(params![tool.as_str(), version, VERSION_HOURS])?;
        let mut durations = Histogram::default();
        while let Some(row) = rows.next()? {
            let hour = Histogram::from_bytes(row.get_ref(0)?.as_blob().unwrap_or_default());
            durations.merge(&hour.ok_or_else(|| unreadable("latency"))?);
        }
        Ok((durations.count() > 0).then(|| durations.quantile(0.95).round() / 1e3))
    }
}

fn error_shares(errors: Vec<ErrorGroup>, versions: &VersionHistory) -> Vec<ErrorShare> {
    let all = errors.iter().map(|it| it.count).sum();
    let since = versions.replaced_at();
    let mut shares: Vec<_> = errors
        .into_iter()
        .map(|group| ErrorShare {
            percent: percent(group.count, all),
            is_new: since.is_some_and(|since| group.first_at >= since),
            group,
        })
        .collect();
    shares.sort_by_key(|it| std::cmp::Reverse((it.group.count, it.group.last_at)));
    shares
}

fn caller_shares(callers: Vec<KnownCaller>) -> Vec<CallerShare> {
    let all = callers.iter().map(|it| it.calls).sum();
    let share = |caller: KnownCaller| CallerShare { percent: percent(caller.calls, all), caller };
    let mut shares: Vec<_> = callers.into_iter().map(share).collect();
    shares.sort_by_key(|it| std::cmp::Reverse((it.caller.calls, it.caller.last_at)));
    shares
}
