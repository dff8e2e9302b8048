//! How the calls of a tool ended in a window of time, and how long they took.

use schemars::JsonSchema;
use serde::Serialize;

use crate::figures::activity::CallCounts;
use crate::figures::duration_sum::DurationSum;
use crate::figures::rounding::percent;

/// How calls ended, and how long they took.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CallTotals {
    /// The calls that ran.
    pub calls: u64,
    /// The calls that ran and failed.
    pub failed: u64,
    /// How many of 100 failed. Nothing if none ran.
    pub failed_percent: Option<f64>,
    /// The calls that policy refused, or whose arguments did not fit.
    pub refused: u64,
    /// The calls that a person declined.
    pub declined: u64,
    /// The duration that half of them did not exceed.
    pub p50_ms: Option<f64>,
    /// The duration that 95 of 100 did not exceed.
    pub p95_ms: Option<f64>,
    /// The duration that 99 of 100 did not exceed.
    pub p99_ms: Option<f64>,
}

impl CallTotals {
    pub(crate) fn new(counts: &CallCounts, durations: &DurationSum) -> Self {
        let CallCounts { calls, failed, refused, declined, busy_us: _ } = *counts;
        Self {
            calls,
            failed,
            failed_percent: percent(failed, calls),
            refused,
            declined,
            p50_ms: durations.quantile_ms(0.5),
            p95_ms: durations.quantile_ms(0.95),
            p99_ms: durations.quantile_ms(0.99),
        }
    }
}
