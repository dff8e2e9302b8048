//! `/api/overview` and `/api/stats/series`: how all tools do in a window of time, and one of them.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{ToolKind, ToolName};
use toolcrib_ledger::{
    Axis, CallRates, ErrorRates, P95Figures, TimeWindow, ToolActivity, ToolSeries,
};
use toolcrib_plugins::lifecycle::PLUGINS_CATALOGUE;

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::QueryFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::overview_source::{HealthState, RecordedOverview, RecordedSeries, ToolHealth};
use super::plugin_replies::plugin_error;
use super::statistics::report_error;
use super::statistics_source::ReportError;
use super::waiting::WaitingCounts;
use crate::reply::ApiError;

/// How long a version is new.
const NEW_VERSION_SECONDS: i64 = 24 * 60 * 60;

/// The operations about windows of time.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/overview", "overview", overview)
            .about(
                AccessRight::Inspect,
                "Returns how all tools do in a window of time, and what waits for a person.",
            )
            .query::<OverviewQuery>()
            .replies::<OverviewReply>(),
        Operation::get("/api/stats/series", "tool_series", series)
            .about(AccessRight::Inspect, "Returns how one tool does over a window of time.")
            .query::<SeriesQuery>()
            .replies::<SeriesReply>()
            .fails(StatusCode::NOT_FOUND, "There is no such tool, or it was never called."),
    ]
}

/// Which window is meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OverviewQuery {
    /// An hour, unless another one is named.
    window: Option<TimeWindow>,
}

/// Which tool and window are meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SeriesQuery {
    /// The tool, by its full name or its own.
    tool: String,
    /// An hour, unless another one is named.
    window: Option<TimeWindow>,
}

/// One tool over time.
#[derive(Serialize, JsonSchema)]
struct SeriesReply {
    ok: bool,
    #[serde(flatten)]
    series: RecordedSeries,
}

/// All tools, and what waits for a person.
#[derive(Serialize, JsonSchema)]
struct OverviewReply {
    ok: bool,
    at: Timestamp,
    window: TimeWindow,
    /// What the series in `strip` are of.
    axis: Axis,
    /// What the series in `tools` are of.
    tool_axis: Axis,
    strip: Strip,
    /// The tools on offer and those that were called, by name.
    tools: Vec<ToolRow>,
}

/// All tools together.
#[derive(Serialize, JsonSchema)]
struct Strip {
    calls: CallRates,
    errors: ErrorRates,
    p95: P95Figures,
    in_flight: InFlight,
    #[serde(flatten)]
    waiting: WaitingCounts,
    regressions: RegressionCounts,
}

/// The calls that run.
#[derive(Serialize, JsonSchema)]
struct InFlight {
    /// Those of this server now.
    now: usize,
    /// How many ran at once, as a mean of each point.
    series: Vec<f64>,
}

/// The tools that got worse.
#[derive(Default, Serialize, JsonSchema)]
struct RegressionCounts {
    open: usize,
    high: usize,
    medium: usize,
    low: usize,
}

/// One tool.
#[derive(Serialize, JsonSchema)]
struct ToolRow {
    #[serde(flatten)]
    activity: ToolActivity,
    /// Where it comes from, if it is on offer.
    kind: Option<ToolKind>,
    /// How much harm it could do, from 0 to 4, if it is on offer.
    tier: Option<u8>,
    /// The version on offer, or else the one that was called last.
    version: Option<String>,
    /// Whether that version took over in the last 24 hours.
    is_new_version: bool,
    health: ToolHealth,
}

/// What is known of a tool beside its calls.
struct Offered {
    kind: ToolKind,
    tier: u8,
    version: String,
}

async fn overview(
    State(api): State<Arc<Api>>,
    QueryFields(query): QueryFields<OverviewQuery>,
) -> Reply {
    let window = query.window.unwrap_or_default();
    blocking(move || OverviewReply::of(&api, window)).await?.and_then(|reply| JsonReply::ok(&reply))
}

async fn series(
    State(api): State<Arc<Api>>,
    QueryFields(query): QueryFields<SeriesQuery>,
) -> Reply {
    let SeriesQuery { tool, window } = query;
    let window = window.unwrap_or_default();
    let series = blocking(move || match api.ports.statistics.series(&tool, window) {
        Err(ReportError::NotFound(_) | ReportError::NeverCalled(_)) if is_offered(&api, &tool) => {
            let now = api.answers.clock.now();
            let figures = ToolSeries::none(tool.as_str().into(), window, now);
            Ok(RecordedSeries { figures, compared: None })
        }
        series => series,
    });
    let series = series.await?.map_err(report_error)?;
    JsonReply::ok(&SeriesReply { ok: true, series })
}

/// Whether a tool of this full name is on offer.
fn is_offered(api: &Api, name: &str) -> bool {
    api.runtime.current().toolset.offers().iter().any(|offer| *offer.full_name() == *name)
}

impl OverviewReply {
    fn of(api: &Api, window: TimeWindow) -> Result<Self, ApiError> {
        let recorded = api.ports.statistics.overview(window).map_err(report_error)?;
        let RecordedOverview { activity, unwell } = recorded;
        let regressions = RegressionCounts::of(unwell.iter().map(|(_, health)| health));
        let tools = tool_rows(api, activity.tools, unwell, activity.at)?;
        Ok(Self {
            ok: true,
            at: activity.at,
            window,
            axis: activity.axis,
            tool_axis: activity.tool_axis,
            strip: Strip {
                calls: activity.calls,
                errors: activity.errors,
                p95: activity.p95,
                in_flight: InFlight { now: api.running.count(), series: activity.at_once },
                waiting: WaitingCounts::of(api)?,
                regressions,
            },
            tools,
        })
    }
}

/// Returns the tools on offer and those that were called, by name.
fn tool_rows(
    api: &Api,
    called: Vec<ToolActivity>,
    unwell: Vec<(ToolName, ToolHealth)>,
    now: Timestamp,
) -> Result<Vec<ToolRow>, ApiError> {
    let runtime = api.runtime.current();
    let mut offered: HashMap<ToolName, Offered> = HashMap::new();
    for offer in runtime.toolset.offers() {
        let (kind, tier) = (offer.tool.kind(), offer.tool.declaration().tier.number());
        let it = Offered { kind, tier, version: offer.version().to_owned() };
        offered.insert(offer.full_name().clone(), it);
    }
    let mut unwell: HashMap<ToolName, ToolHealth> = unwell.into_iter().collect();
    let is_gone_plugin = |it: &ToolActivity| is_plugin(&it.tool) && !offered.contains_key(&it.tool);
    let disabled =
        if called.iter().any(is_gone_plugin) { disabled_plugins(api)? } else { Vec::new() };
    let mut rows = Vec::new();
    for activity in called {
        let offer = offered.remove(&activity.tool);
        let is_disabled = offer.is_none() && disabled.contains(&activity.tool);
        let health = match unwell.remove(&activity.tool) {
            Some(health) => health,
            None if is_disabled => ToolHealth::of_state(HealthState::Disabled),
            None => ToolHealth::of_state(HealthState::Ok),
        };
        // A tool that is gone is shown for as long as the window has its calls, or something is wrong with it.
        if offer.is_some() || was_called(&activity) || health.state != HealthState::Ok {
            rows.push(ToolRow::new(activity, offer, health, now));
        }
    }
    for (name, offer) in offered {
        let health = unwell.remove(&name);
        let health = health.unwrap_or_else(|| ToolHealth::of_state(HealthState::Ok));
        rows.push(ToolRow::new(ToolActivity::none(name), Some(offer), health, now));
    }
    rows.sort_by(|a, b| a.activity.tool.cmp(&b.activity.tool));
    Ok(rows)
}

fn was_called(activity: &ToolActivity) -> bool {
    let totals = &activity.totals;
    totals.calls + totals.refused + totals.declined > 0
}

fn is_plugin(tool: &ToolName) -> bool {
    tool.catalogue() == Some(PLUGINS_CATALOGUE)
}

/// Returns the tools of other authors that somebody switched off. It reads files.
fn disabled_plugins(api: &Api) -> Result<Vec<ToolName>, ApiError> {
    let tools = api.ports.plugins.lifecycle().tools().map_err(|err| plugin_error(&err))?;
    let off = tools.iter().filter(|tool| !tool.state.is_enabled);
    Ok(off.map(|tool| ToolName::new(PLUGINS_CATALOGUE, &tool.name)).collect())
}

impl ToolRow {
    fn new(
        activity: ToolActivity,
        offer: Option<Offered>,
        health: ToolHealth,
        now: Timestamp,
    ) -> Self {
        let called = activity.called_version.clone();
        let is_offered_version =
            offer.as_ref().is_none_or(|offer| called.as_ref() == Some(&offer.version));
        let is_new_version = is_offered_version
            && activity
                .version_since
                .is_some_and(|since| now.as_second() - since.as_second() < NEW_VERSION_SECONDS);
        Self {
            kind: offer.as_ref().map(|offer| offer.kind),
            tier: offer.as_ref().map(|offer| offer.tier),
            version: offer.map(|offer| offer.version).or(called),
            is_new_version,
            activity,
            health,
        }
    }
}

impl RegressionCounts {
    fn of<'a>(unwell: impl Iterator<Item = &'a ToolHealth>) -> Self {
        let mut counts = Self::default();
        for severity in unwell.filter_map(|health| health.severity.as_deref()) {
            counts.open += 1;
            match severity {
                "high" => counts.high += 1,
                "medium" => counts.medium += 1,
                _ => counts.low += 1,
            }
        }
        counts
    }
}
