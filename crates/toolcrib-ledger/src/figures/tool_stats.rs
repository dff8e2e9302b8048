//! The figures of every tool, as every front end shows them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::ToolName;

use crate::figures::baseline::{Spans, comparisons};
use crate::figures::fold::{ErrorFigures, Hour, HourKey, NetworkFigures, ResourceFigures};
use crate::figures::histogram::Histogram;
use crate::figures::quarantine::QuarantinedTool;
use crate::figures::regression::{Comparison, RegressionSeverity, Window};
use crate::figures::stats::Stats;
use crate::figures::stats_error::StatsError;

/// How many hours the calls of a tool are counted for, one by one.
const COUNTED_HOURS: i64 = 24;

/// The figures of one tool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ToolStats {
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// The calls whose durations are known.
    pub timed_calls: u64,
    /// The duration that half of them did not exceed, in microseconds.
    pub p50_us: f64,
    /// The duration that 95 of 100 did not exceed, in microseconds.
    pub p95_us: f64,
    /// The calls in each of the last 24 hours.
    pub hours: Vec<u64>,
    /// Since when it is in quarantine.
    pub quarantined_since: Option<Timestamp>,
    /// How it fails.
    #[schemars(with = "serde_json::Value")]
    pub errors: ErrorFigures,
    /// What it uses.
    pub resources: ResourceStats,
    /// Its recent calls, compared with those before.
    pub compared: Option<ComparedStats>,
}

/// What a tool uses.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResourceStats {
    /// The calls that were not refused.
    pub calls: u64,
    /// Processor time of all calls, in microseconds.
    pub cpu_us: u64,
    /// The processor time that 95 of 100 did not exceed, in microseconds.
    pub cpu_p95_us: f64,
    /// The most peak memory of a call, in bytes.
    pub memory: u64,
    /// The peak memory that 95 of 100 did not exceed, in bytes.
    pub memory_p95: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// The calls that hit a limit, by the kind of limit.
    pub violations: BTreeMap<String, u64>,
    /// The traffic with all hosts together.
    #[schemars(with = "serde_json::Value")]
    pub network: NetworkFigures,
}

/// The recent calls of a tool, compared with those before.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ComparedStats {
    /// The calls before.
    pub baseline: WindowStats,
    /// The calls now.
    pub current: WindowStats,
    /// `low`, `medium` or `high` if it got worse.
    pub severity: Option<String>,
    /// What got worse, in words.
    pub because: Vec<String>,
}

/// The calls of a span of time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WindowStats {
    /// How many calls ran.
    pub calls: u64,
    /// Their mean duration.
    pub mean_ms: f64,
    /// The duration that 95 of 100 did not exceed.
    pub p95_ms: f64,
    /// The share that failed.
    pub error_rate: f64,
}

impl ComparedStats {
    /// Returns how bad it is; nothing if it did not get worse, or if only another version knows.
    pub fn severity(&self) -> Option<RegressionSeverity> {
        let all = [RegressionSeverity::Low, RegressionSeverity::Medium, RegressionSeverity::High];
        all.into_iter().find(|known| Some(known.as_str()) == self.severity.as_deref())
    }
}

impl From<&Comparison> for ComparedStats {
    fn from(it: &Comparison) -> Self {
        Self {
            baseline: WindowStats::from(&it.baseline),
            current: WindowStats::from(&it.current),
            severity: it.severity.map(|severity| severity.as_str().to_owned()),
            because: it.because.clone(),
        }
    }
}

impl From<&Window> for WindowStats {
    fn from(it: &Window) -> Self {
        Self {
            calls: it.calls,
            mean_ms: it.average_ms(),
            p95_ms: it.quantile_ms(0.95),
            error_rate: it.error_rate(),
        }
    }
}

impl From<&ResourceFigures> for ResourceStats {
    fn from(it: &ResourceFigures) -> Self {
        Self {
            calls: it.calls,
            cpu_us: it.cpu.total,
            cpu_p95_us: it.cpu.quantile(0.95),
            memory: it.memory.most,
            memory_p95: it.memory.histogram.whole_quantile(0.95).min(it.memory.most),
            read: it.read.total,
            written: it.written.total,
            violations: it.violations.clone(),
            network: it.network,
        }
    }
}

impl Stats {
    /// Returns the figures of every tool.
    pub fn all(
        &self,
        quarantined: &[QuarantinedTool],
        now: Timestamp,
        spans: Spans,
    ) -> Result<Vec<ToolStats>, StatsError> {
        let tools = self.tools()?;
        let hours = self.hours(spans.oldest_hour(now))?;
        let compared = comparisons(&tools, &hours, now, spans);
        let stats = tools.iter().map(|(name, figures)| {
            let rows: Vec<_> = hours.iter().filter(|it| it.0.tool == *name).collect();
            let durations = durations_of(&rows);
            let compared = compared.iter().find(|(tool, _)| tool == name);
            ToolStats {
                tool: name.clone(),
                timed_calls: durations.count(),
                p50_us: durations.quantile(0.5),
                p95_us: durations.quantile(0.95),
                hours: calls_by_hour(&rows, now),
                quarantined_since: quarantined
                    .iter()
                    .find(|it| it.tool == *name)
                    .map(|it| it.since),
                errors: figures.errors.clone(),
                resources: ResourceStats::from(&figures.resources),
                compared: compared.map(|(_, it)| ComparedStats::from(it)),
            }
        });
        Ok(stats.collect())
    }
}

/// Returns the durations of all these hours together.
fn durations_of(rows: &[&(HourKey, Hour)]) -> Histogram {
    let mut all = Histogram::default();
    for (_, hour) in rows {
        all.merge(&hour.latency);
    }
    all
}

/// Returns the calls of each of the last hours.
fn calls_by_hour(rows: &[&(HourKey, Hour)], now: Timestamp) -> Vec<u64> {
    let now = now.as_second().div_euclid(3600);
    (now - COUNTED_HOURS + 1..=now)
        .map(|hour| rows.iter().filter(|it| it.0.hour == hour).map(|it| it.1.calls).sum())
        .collect()
}
