//! The forms of reports, to the letter of the forgekeeper contract. Fields that the contract does not show are
//! additions.

#![expect(clippy::struct_field_names, reason = "the names are the contract's")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::ToolName;

/// The errors of all tools.
#[derive(Serialize, JsonSchema)]
pub struct ErrorsReport {
    pub(crate) ok: bool,
    pub(crate) stats: Vec<ToolErrors>,
    pub(crate) summary: ErrorsSummary,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolErrors {
    pub(crate) tool_name: ToolName,
    #[serde(flatten)]
    pub(crate) counts: ErrorCounts,
    pub(crate) last_error: Option<ReportedFailure>,
    pub(crate) error_types: BTreeMap<String, u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorCounts {
    pub(crate) total_calls: u64,
    pub(crate) errors: u64,
    pub(crate) error_rate: f64,
    pub(crate) refused: u64,
    pub(crate) failed_commands: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorsSummary {
    pub(crate) total_tools: usize,
    pub(crate) tools_with_errors: usize,
    pub(crate) total_errors: u64,
    pub(crate) avg_error_rate: f64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ReportedFailure {
    pub(crate) timestamp: String,
    pub(crate) message: String,
    pub(crate) code: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FailureWithArgs {
    #[serde(flatten)]
    pub(crate) failure: ReportedFailure,
    pub(crate) args: Option<Value>,
    pub(crate) call: String,
}

/// The errors of one tool.
#[derive(Serialize, JsonSchema)]
pub struct ErrorsOfTool {
    pub(crate) ok: bool,
    pub(crate) tool: ToolName,
    pub(crate) stats: DetailedErrors,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DetailedErrors {
    #[serde(flatten)]
    pub(crate) counts: ErrorCounts,
    pub(crate) first_error: Option<String>,
    pub(crate) first_error_detail: Option<FailureWithArgs>,
    pub(crate) last_error: Option<FailureWithArgs>,
    pub(crate) error_types: BTreeMap<String, u64>,
    pub(crate) top_errors: Vec<CommonError>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CommonError {
    pub(crate) message: String,
    pub(crate) shape: String,
    pub(crate) count: u64,
    pub(crate) percentage: f64,
}

/// The regressions of all tools.
#[derive(Serialize, JsonSchema)]
pub struct RegressionsReport {
    pub(crate) ok: bool,
    pub(crate) regressions: Vec<ToolRegression>,
    pub(crate) summary: RegressionsSummary,
}

/// The regression of one tool. There is none before the tool has enough calls.
#[derive(Serialize, JsonSchema)]
pub struct RegressionOfTool {
    pub(crate) ok: bool,
    pub(crate) tool: ToolName,
    pub(crate) regression: Option<ToolRegression>,
}

/// How a tool stands against its past.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRegression {
    pub(crate) tool_name: ToolName,
    pub(crate) baseline: ReportedWindow,
    pub(crate) current: ReportedWindow,
    pub(crate) regression: RegressionFigures,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportedWindow {
    pub(crate) avg_execution_ms: f64,
    #[serde(rename = "p95ExecutionMs")]
    pub(crate) p95_ms: f64,
    #[serde(rename = "p99ExecutionMs")]
    pub(crate) p99_ms: f64,
    pub(crate) error_rate: f64,
    pub(crate) period_start: Option<Timestamp>,
    pub(crate) period_end: Option<Timestamp>,
    pub(crate) sample_size: u64,
    pub(crate) versions: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegressionFigures {
    pub(crate) avg_execution_delta: f64,
    pub(crate) avg_execution_delta_pct: f64,
    #[serde(rename = "p95ExecutionDelta")]
    pub(crate) p95_delta: f64,
    pub(crate) error_rate_delta: f64,
    /// `high`, `medium`, `low` or `none`.
    pub(crate) severity: &'static str,
    pub(crate) detected: bool,
    pub(crate) because: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegressionsSummary {
    pub(crate) total_tools: usize,
    pub(crate) tools_with_regressions: usize,
    pub(crate) high_severity: usize,
    pub(crate) medium_severity: usize,
    pub(crate) low_severity: usize,
}

/// What all tools use.
#[derive(Serialize, JsonSchema)]
pub struct ResourcesReport {
    pub(crate) ok: bool,
    pub(crate) resources: Vec<ToolResources>,
    pub(crate) summary: ResourcesSummary,
}

/// What one tool uses.
#[derive(Serialize, JsonSchema)]
pub struct ResourcesOfTool {
    pub(crate) ok: bool,
    pub(crate) tool: ToolName,
    pub(crate) resources: ToolResources,
}

/// What a tool uses, and within which limits.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResources {
    pub(crate) tool_name: ToolName,
    pub(crate) total_calls: u64,
    pub(crate) resources: ResourceGroups,
    /// The limits of the tool, by their names.
    pub(crate) limits: Value,
    /// How often each limit was met.
    pub(crate) violations: BTreeMap<String, u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ResourceGroups {
    pub(crate) cpu: CpuFigures,
    pub(crate) memory: MemoryFigures,
    pub(crate) disk: DiskFigures,
    pub(crate) network: ReportedNetwork,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CpuFigures {
    pub(crate) total_ms: f64,
    pub(crate) avg_ms: f64,
    pub(crate) max_ms: f64,
    #[serde(rename = "p95Ms")]
    pub(crate) p95_ms: f64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemoryFigures {
    pub(crate) total_bytes: u64,
    pub(crate) avg_bytes: i64,
    pub(crate) max_bytes: u64,
    #[serde(rename = "p95Bytes")]
    pub(crate) p95_bytes: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiskFigures {
    pub(crate) total_read_bytes: u64,
    pub(crate) total_write_bytes: u64,
    pub(crate) avg_read_bytes: i64,
    pub(crate) avg_write_bytes: i64,
    pub(crate) max_read_bytes: u64,
    pub(crate) max_write_bytes: u64,
    #[serde(rename = "p95ReadBytes")]
    pub(crate) p95_read_bytes: i64,
    #[serde(rename = "p95WriteBytes")]
    pub(crate) p95_write_bytes: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportedNetwork {
    pub(crate) total_up_bytes: u64,
    pub(crate) total_down_bytes: u64,
    pub(crate) connections: u64,
    pub(crate) refused: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourcesSummary {
    pub(crate) total_cpu_ms: f64,
    pub(crate) total_memory_bytes: u64,
    pub(crate) total_disk_read_bytes: u64,
    pub(crate) total_disk_write_bytes: u64,
    pub(crate) total_network_up_bytes: u64,
    pub(crate) total_network_down_bytes: u64,
    pub(crate) total_network_connections: u64,
    pub(crate) total_network_refused: u64,
}

/// What a clear did.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClearedFigures {
    /// Whether it was done.
    pub ok: bool,
    /// The tool.
    pub tool: ToolName,
    /// What was cleared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Cleared>,
    /// `baseline_reset`, if a new baseline was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// The new baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_baseline: Option<NewBaseline>,
}

/// What was cleared, and when.
#[derive(Serialize, JsonSchema)]
pub struct Cleared {
    /// How many errors there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// When it was cleared.
    pub timestamp: String,
}

/// The figures that a tool is compared with from now on.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewBaseline {
    pub(crate) avg_execution_ms: f64,
    #[serde(rename = "p95ExecutionMs")]
    pub(crate) p95_ms: f64,
    pub(crate) error_rate: f64,
    pub(crate) timestamp: String,
}
