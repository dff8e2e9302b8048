//! What the binary must tell about all tools in a window of time, and about one.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::ToolName;
use toolcrib_ledger::{ActivityOverview, ComparedStats, ToolSeries, rounded};

/// All tools in a window of time.
pub struct RecordedOverview {
    /// How their calls ended.
    pub activity: ActivityOverview,
    /// The tools that got worse or are in quarantine.
    pub unwell: Vec<(ToolName, ToolHealth)>,
}

/// One tool in a window of time.
#[derive(Serialize, JsonSchema)]
pub struct RecordedSeries {
    /// Its calls.
    #[serde(flatten)]
    pub figures: ToolSeries,
    /// Its recent calls, compared with those before.
    pub compared: Option<ComparedStats>,
}

/// How a tool does.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToolHealth {
    /// Whether it got worse, or is not on offer because it got much worse or because somebody switched it off.
    pub state: HealthState,
    /// `low`, `medium` or `high` if it got worse.
    pub severity: Option<String>,
    /// What got worse most.
    pub regression: Option<WorseMeasure>,
    /// Since when: of quarantine, or of the version that is worse.
    pub since: Option<Timestamp>,
    /// What got worse, in words.
    pub because: Vec<String>,
}

/// How a tool does, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// As before.
    Ok,
    /// It got worse.
    Regression,
    /// It got much worse, and is kept out.
    Quarantined,
    /// Somebody switched it off.
    Disabled,
}

/// A measure that got worse.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorseMeasure {
    /// What was measured.
    pub measure: Measure,
    /// What it was: milliseconds, or failures of 100 calls.
    pub was: f64,
    /// What it is.
    pub is: f64,
    /// How many times as much it is. Nothing if it was 0.
    pub factor: Option<f64>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The mean duration.
    Mean,
    /// The duration that 95 of 100 calls did not exceed.
    P95,
    /// The share of calls that failed.
    ErrorRate,
}

impl ToolHealth {
    /// Returns the health of a tool of which nothing is wrong but, perhaps, that it is switched off.
    pub fn of_state(state: HealthState) -> Self {
        Self { state, severity: None, regression: None, since: None, because: Vec::new() }
    }

    /// Returns the health of a tool that got worse; nothing if it did not. `since` is when its version took over.
    pub fn worse(compared: &ComparedStats, since: Option<Timestamp>) -> Option<Self> {
        let severity = compared.severity()?;
        Some(Self {
            state: HealthState::Regression,
            severity: Some(severity.as_str().to_owned()),
            regression: worst_measure(compared),
            since,
            because: compared.because.clone(),
        })
    }
}

/// Returns the measure that grew by the largest factor.
fn worst_measure(compared: &ComparedStats) -> Option<WorseMeasure> {
    let (was, is) = (&compared.baseline, &compared.current);
    let measures = [
        (Measure::P95, "95th percentile", was.p95_ms, is.p95_ms),
        (Measure::Mean, "mean", was.mean_ms, is.mean_ms),
        (Measure::ErrorRate, "failures", was.error_rate * 100.0, is.error_rate * 100.0),
    ];
    let counts = |word: &str| compared.because.iter().any(|because| because.starts_with(word));
    let found = measures.into_iter().filter(|it| counts(it.1)).map(|(measure, _, was, is)| {
        let factor = (was > 0.0).then(|| is / was);
        WorseMeasure {
            measure,
            was: rounded(was, 3),
            is: rounded(is, 3),
            factor: factor.map(|it| rounded(it, 3)),
        }
    });
    // What was 0 before has grown most.
    let growth = |it: &WorseMeasure| it.factor.unwrap_or(f64::INFINITY);
    found.reduce(|worst, it| if growth(&it) > growth(&worst) { it } else { worst })
}

#[cfg(test)]
mod tests {
    use toolcrib_ledger::WindowStats;

    use super::*;

    fn compared(because: &[&str]) -> ComparedStats {
        let window =
            |mean_ms, p95_ms, error_rate| WindowStats { calls: 100, mean_ms, p95_ms, error_rate };
        ComparedStats {
            baseline: window(10.0, 38.0, 0.0),
            current: window(20.0, 81.0, 0.05),
            severity: Some("high".to_owned()),
            because: because.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn what_grew_most_stands_for_a_regression() {
        let worst = |because: &[&str]| {
            let health = ToolHealth::worse(&compared(because), None).unwrap();
            health.regression.map(|it| (it.measure, it.factor))
        };
        let (mean, p95) = ("mean 10.0 ms to 20.0 ms", "95th percentile 38.0 ms to 81.0 ms");
        assert_eq!(worst(&[mean, p95]), Some((Measure::P95, Some(2.132))));
        assert_eq!(worst(&[mean]), Some((Measure::Mean, Some(2.0))));
        assert_eq!(worst(&[mean, "failures 0.0 % to 5.0 %"]), Some((Measure::ErrorRate, None)));
        assert_eq!(worst(&["something new"]), None);
        let fine = ComparedStats { severity: None, ..compared(&[mean]) };
        assert!(ToolHealth::worse(&fine, None).is_none());
    }
}
