//! The overview: how all tools do in a window of time, and each of them.

use jiff::Timestamp;
use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::ToolName;

use crate::figures::activity::CallCounts;
use crate::figures::activity_reading::{ActivityOf, read_counts, read_quantiles};
use crate::figures::call_totals::CallTotals;
use crate::figures::column::json_of;
use crate::figures::duration_sum::DurationSum;
use crate::figures::rounding::{percent, rounded};
use crate::figures::stats::Stats;
use crate::figures::stats_error::StatsError;
use crate::figures::time_window::{Axis, TimeAxis, TimeWindow};
use crate::figures::tool_history::{LastError, VersionHistory};

/// The calls of all tools in a window of time, and those of each tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActivityOverview {
    /// The end of the window.
    pub at: Timestamp,
    /// The window.
    pub window: TimeWindow,
    /// What the series of all tools are of.
    pub axis: Axis,
    /// What the series of each tool are of.
    pub tool_axis: Axis,
    /// How many calls ran.
    pub calls: CallRates,
    /// How many failed or were not run.
    pub errors: ErrorRates,
    /// How long they took.
    pub p95: P95Figures,
    /// How many ran at once, as a mean.
    pub at_once: Vec<f64>,
    /// Every tool that was ever called, by name.
    pub tools: Vec<ToolActivity>,
}

/// How many calls ran.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallRates {
    /// Calls a second in this minute and the one before.
    pub per_second_now: f64,
    /// Calls a second in the window.
    pub per_second: f64,
    /// The calls in the window.
    pub total: u64,
    /// The calls in the window before that.
    pub total_before: u64,
    /// Calls a second.
    pub series: Vec<f64>,
}

/// How many calls failed or were not run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorRates {
    /// How many of 100 calls that ran failed. Nothing if none ran.
    pub percent: Option<f64>,
    /// The same in the window before that.
    pub percent_before: Option<f64>,
    /// The calls that ran and failed.
    pub failed: u64,
    /// The calls that policy refused, or whose arguments did not fit.
    pub refused: u64,
    /// The calls that a person declined.
    pub declined: u64,
    /// How many of 100 calls failed.
    pub series: Vec<Option<f64>>,
}

/// The duration that 95 of 100 calls did not exceed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct P95Figures {
    /// In the window, in milliseconds. Nothing if no call ran.
    pub ms: Option<f64>,
    /// In the window before that.
    pub ms_before: Option<f64>,
    /// At each point.
    pub series_ms: Vec<Option<f64>>,
}

/// The calls of one tool in a window of time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToolActivity {
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// The version that was called last.
    pub called_version: Option<String>,
    /// When that version took over from another one.
    pub version_since: Option<Timestamp>,
    /// How its calls ended.
    #[serde(flatten)]
    pub totals: CallTotals,
    /// How they were spread over the window.
    pub series: ToolBars,
    /// Its last failure, in the window or before.
    pub last_error: Option<LastError>,
}

/// The calls at each point.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ToolBars {
    /// The calls that ran.
    pub calls: Vec<u64>,
    /// The calls that failed.
    pub failed: Vec<u64>,
}

impl ToolActivity {
    /// Returns the figures of a tool that was never called.
    pub fn none(tool: ToolName) -> Self {
        Self {
            tool,
            called_version: None,
            version_since: None,
            totals: CallTotals::default(),
            series: ToolBars::default(),
            last_error: None,
        }
    }
}

impl Stats {
    /// Returns the calls of all tools in a window that ends now, and those of each tool.
    pub fn overview(
        &self,
        window: TimeWindow,
        now: Timestamp,
    ) -> Result<ActivityOverview, StatsError> {
        let (axis, tool_axis) = (window.axis(now), window.small_axis(now));
        let (database, of) = (&self.database, ActivityOf::AllTools);
        let mut durations = DurationSum::default();
        let points = read_counts(database, of, axis, &mut durations)?;
        let total = sum(&points);
        let ms = durations.quantile_ms(0.95);
        durations.clear();
        let before = sum(&read_counts(database, of, axis.before(), &mut durations)?);
        let ms_before = durations.quantile_ms(0.95);
        durations.clear();
        let series_ms = read_quantiles(database, of, axis, [0.95])?;
        let seconds = seconds_of(axis, now);
        let each = |rate: fn(&CallCounts, f64) -> f64| {
            points.iter().zip(&seconds).map(|(point, seconds)| rate(point, *seconds)).collect()
        };
        Ok(ActivityOverview {
            at: now,
            window,
            axis: axis.shown(),
            tool_axis: tool_axis.shown(),
            calls: CallRates {
                per_second_now: per_second_now(database, now)?,
                per_second: rounded(total.calls as f64 / seconds.iter().sum::<f64>(), 3),
                total: total.calls,
                total_before: before.calls,
                series: each(|point, seconds| rounded(point.calls as f64 / seconds, 3)),
            },
            errors: ErrorRates {
                percent: percent(total.failed, total.calls),
                percent_before: percent(before.failed, before.calls),
                failed: total.failed,
                refused: total.refused,
                declined: total.declined,
                series: points.iter().map(|it| percent(it.failed, it.calls)).collect(),
            },
            p95: P95Figures {
                ms,
                ms_before,
                series_ms: series_ms.into_iter().map(|[p95]| p95).collect(),
            },
            at_once: each(|point, seconds| rounded(point.busy_us as f64 / 1e6 / seconds, 3)),
            tools: tools(database, tool_axis, &mut durations)?,
        })
    }
}

fn tools(
    database: &Connection,
    axis: TimeAxis,
    durations: &mut DurationSum,
) -> Result<Vec<ToolActivity>, StatsError> {
    let mut statement = database
        .prepare_cached("SELECT tool, last_error, versions FROM histories ORDER BY tool")?;
    let mut rows = statement.query([])?;
    let mut tools = Vec::new();
    while let Some(row) = rows.next()? {
        let tool = ToolName::from(row.get::<_, String>(0)?);
        let versions: VersionHistory = json_of(row, 2, "versions")?;
        let points = read_counts(database, ActivityOf::Tool(&tool), axis, durations)?;
        tools.push(ToolActivity {
            tool,
            called_version: versions.newest().map(|it| it.version.clone()),
            version_since: versions.replaced_at(),
            totals: CallTotals::new(&sum(&points), durations),
            series: ToolBars {
                calls: points.iter().map(|it| it.calls).collect(),
                failed: points.iter().map(|it| it.failed).collect(),
            },
            last_error: json_of(row, 1, "last_error")?,
        });
        durations.clear();
    }
    Ok(tools)
}

/// Returns calls a second in this minute and the one before.
fn per_second_now(database: &Connection, now: Timestamp) -> Result<f64, StatsError> {
    let minute = now.as_second().div_euclid(60);
    let axis = TimeAxis { from: minute - 1, step: 1, points: 2 };
    let points = read_counts(database, ActivityOf::AllTools, axis, &mut DurationSum::default())?;
    let seconds = seconds_of(axis, now).iter().sum::<f64>();
    Ok(rounded(sum(&points).calls as f64 / seconds, 3))
}

/// Returns how many seconds of each point are over. The last one has just begun.
fn seconds_of(axis: TimeAxis, now: Timestamp) -> Vec<f64> {
    let now = now.as_millisecond() as f64 / 1e3;
    let step = axis.step as f64 * 60.0;
    let start = |point: usize| axis.from as f64 * 60.0 + point as f64 * step;
    (0..axis.points).map(|point| (now - start(point)).clamp(1.0, step)).collect()
}

pub(crate) fn sum(points: &[CallCounts]) -> CallCounts {
    let mut total = CallCounts::default();
    for point in points {
        total.add(point);
    }
    total
}
