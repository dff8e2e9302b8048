//! Reports about the health of tools, in the contract's form, for every door.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};
use toolcrib_core::{Clock, Note, Principal, Recorder, Role, Shelf, ToolName, Toolset, escape};
use toolcrib_ledger::{
    Act, ActivityOverview, Cleared, ClearedFigures, Comparison, EventKind, QuarantineList,
    QuarantinedTool, Spans, StateFolder, Stats, StatsError, TimeWindow, ToolStats, comparisons,
    report,
};
use toolcrib_serve::{
    HealthState, RebuiltStats, RecordedOverview, RecordedSeries, ReportError, ReportKind,
    Statistics, ToolHealth,
};
use toolcrib_tools::catalogues;

use super::contract_names::{in_contract, is_described, name_in_contract};
use super::kept_stats::{ComparedTool, KeptStats};
use super::maintenance::RecordMaintenance;
use super::plugin_shelf::saved_shelf;
use super::state_access::StateAccess;
use super::toolset::{limits_of, toolset};
use crate::settings::Settings;

/// Makes reports about tools.
pub struct ToolReports {
    state: StateFolder,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    spans: Spans,
    maintenance: RecordMaintenance,
    limits: LiveToolLimits,
    kept: KeptStats,
}

/// The limits of each tool on offer, as reports show them. A clone has the same ones.
#[derive(Clone)]
pub struct LiveToolLimits(Arc<RwLock<HashMap<ToolName, Value>>>);

impl LiveToolLimits {
    fn new(settings: &Settings, shelf: Shelf) -> Self {
        Self(Arc::new(RwLock::new(limits_under(settings, shelf))))
    }

    /// Takes the limits of other settings and tools.
    pub(super) fn replace(&self, settings: &Settings, shelf: Shelf) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = limits_under(settings, shelf);
    }

    fn of(&self, tool: &ToolName) -> Value {
        let limits = self.0.read().unwrap_or_else(PoisonError::into_inner);
        limits.get(tool).cloned().unwrap_or_else(|| json!({}))
    }
}

fn limits_under(settings: &Settings, shelf: Shelf) -> HashMap<ToolName, Value> {
    let toolset = toolset(settings, shelf).ok();
    let offers = toolset.iter().flat_map(Toolset::offers);
    let names = offers.map(|offer| offer.full_name().clone());
    names.map(|name| (name.clone(), limits_of(settings, toolset.as_ref(), &name))).collect()
}

impl StateAccess {
    /// Returns the reports about the tools of this state folder.
    pub fn reports(&self) -> ToolReports {
        ToolReports {
            state: self.state.clone(),
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
            spans: self.spans(),
            kept: KeptStats::new(&self.state, &self.recorder, &self.clock, self.spans()),
            maintenance: self.maintenance.clone(),
            limits: LiveToolLimits::new(
                &self.settings,
                saved_shelf(&self.settings, self.state.folder()),
            ),
        }
    }
}

impl Statistics for ToolReports {
    fn report(&self, kind: ReportKind, tool: Option<&str>) -> Result<Value, ReportError> {
        self.recorder.flush();
        let mut stats = Stats::open(&self.state).map_err(unreadable)?;
        self.maintenance.run(&mut stats).map_err(unreadable)?;
        let tools = stats.tools().map_err(unreadable)?;
        let mut report = match (kind, tool) {
            (ReportKind::Errors, None) => {
                let mut value = json!(report::errors(&tools));
                for one in value["stats"].as_array_mut().into_iter().flatten() {
                    let tool = one["toolName"].as_str().unwrap_or_default().into();
                    in_contract(&tool, one);
                }
                value
            }
            (ReportKind::Errors, Some(tool)) => {
                let (name, figures) = find_tool(&tools, tool)?;
                let mut value = json!(report::errors_of(name, figures));
                in_contract(name, &mut value["stats"]);
                value
            }
            (ReportKind::Regression, None) => json!(report::regressions(&self.compared(&stats)?)),
            (ReportKind::Regression, Some(tool)) => {
                let (name, _) = find_tool(&tools, tool)?;
                let compared = self.compared(&stats)?;
                let found = compared.iter().find(|it| it.0 == *name).map(|(_, it)| it);
                json!(report::regression_of(name, found))
            }
            (ReportKind::Resources, None) => {
                json!(report::resources(&tools, &|tool| self.limits.of(tool)))
            }
            (ReportKind::Resources, Some(tool)) => {
                let (name, figures) = find_tool(&tools, tool)?;
                json!(report::resources_of(name, figures, &|tool| self.limits.of(tool)))
            }
        };
        name_in_contract(&mut report);
        Ok(report)
    }

    fn all(&self) -> Result<Vec<ToolStats>, ReportError> {
        self.recorder.flush();
        let mut stats = Stats::open(&self.state).map_err(unreadable)?;
        self.maintenance.run(&mut stats).map_err(unreadable)?;
        let quarantined = QuarantineList::new(&self.state).all();
        let quarantined = quarantined.map_err(|err| ReportError::Unreadable(err.to_string()))?;
        stats.all(&quarantined, self.clock.now(), self.spans).map_err(unreadable)
    }

    fn overview(&self, window: TimeWindow) -> Result<RecordedOverview, ReportError> {
        let now = self.clock.now();
        let activity = self.kept.read(|stats| stats.overview(window, now)).map_err(unreadable)?;
        let compared = self.kept.compared().map_err(unreadable)?;
        let quarantined = QuarantineList::new(&self.state).all();
        let quarantined = quarantined.map_err(|err| ReportError::Unreadable(err.to_string()))?;
        let unwell = unwell(&compared, quarantined, &activity);
        Ok(RecordedOverview { activity, unwell })
    }

    fn series(&self, tool: &str, window: TimeWindow) -> Result<RecordedSeries, ReportError> {
        let called = self.kept.read(Stats::called_tools).map_err(unreadable)?;
        let called: Vec<_> = called.into_iter().map(|name| (name, ())).collect();
        let (name, ()) = find_tool(&called, tool)?;
        let now = self.clock.now();
        let figures = self.kept.read(|stats| stats.tool_series(name, window, now));
        let never = || ReportError::NeverCalled(format!("Tool '{name}' was never called"));
        let figures = figures.map_err(unreadable)?.ok_or_else(never)?;
        let compared = self.kept.compared().map_err(unreadable)?;
        let compared = compared.iter().find(|it| it.tool == *name).map(|it| it.stats.clone());
        Ok(RecordedSeries { figures, compared })
    }

    fn rebuild(&self) -> Result<RebuiltStats, ReportError> {
        self.recorder.flush();
        let mut stats = Stats::open(&self.state).map_err(unreadable)?;
        let lines = stats.rebuild().map_err(unreadable)?;
        self.kept.forget_comparison();
        let mut warnings = stats.warnings.clone();
        warnings.extend(self.state.skipped_files());
        Ok(RebuiltStats { lines, warnings })
    }

    fn clear(&self, kind: ReportKind, tool: &str, by: &Principal) -> Result<Value, ReportError> {
        self.recorder.flush();
        let mut stats = Stats::open(&self.state).map_err(unreadable)?;
        stats.fold().map_err(unreadable)?;
        let tools = stats.tools().map_err(unreadable)?;
        let (name, figures) = find_tool(&tools, tool)?;
        let now = self.clock.now();
        // The record is the truth: a line there clears the figures, and is folded like any other line.
        let note = Note {
            at: now,
            actor: if by.role == Role::User { "user" } else { by.role.as_str() },
            act: Act::Statistics.as_str(),
            event: EventKind::Cleared.as_str(),
            tool: Some(name),
            call: "",
            detail: json!({"what": kind.as_str(), "by": by.name}),
        };
        let noted = self.recorder.note(&note);
        noted.map_err(|err| ReportError::Unreadable(err.to_string()))?;
        if kind == ReportKind::Regression {
            let lifted = QuarantineList::new(&self.state).lift(name);
            lifted.map_err(|err| ReportError::Unreadable(err.to_string()))?;
        }
        stats.fold().map_err(unreadable)?;
        self.kept.forget_comparison();
        let timestamp = report::stamp(now);
        let baseline = self.compared(&stats)?.into_iter().find(|(tool, _)| tool == name);
        let cleared = ClearedFigures { ok: true, tool: name.clone(), ..ClearedFigures::default() };
        let cleared = match (kind, baseline.map(|(_, it)| it.baseline)) {
            (ReportKind::Regression, Some(window)) => ClearedFigures {
                action: Some("baseline_reset"),
                new_baseline: Some(report::new_baseline(&window, now)),
                ..cleared
            },
            (ReportKind::Errors, _) => {
                let errors = Some(figures.errors.errors);
                ClearedFigures { cleared: Some(Cleared { errors, timestamp }), ..cleared }
            }
            (ReportKind::Regression | ReportKind::Resources, _) => {
                ClearedFigures { cleared: Some(Cleared { errors: None, timestamp }), ..cleared }
            }
        };
        let mut reply = json!(cleared);
        name_in_contract(&mut reply);
        Ok(reply)
    }
}

impl ToolReports {
    /// Returns the limits that the reports show.
    pub fn limits(&self) -> &LiveToolLimits {
        &self.limits
    }

    fn compared(&self, stats: &Stats) -> Result<Vec<(ToolName, Comparison)>, ReportError> {
        let now = self.clock.now();
        let hours = stats.hours(self.spans.oldest_hour(now)).map_err(unreadable)?;
        let tools = stats.tools().map_err(unreadable)?;
        Ok(comparisons(&tools, &hours, now, self.spans))
    }
}

/// Returns the tools that got worse or are in quarantine.
fn unwell(
    compared: &[ComparedTool],
    quarantined: Vec<QuarantinedTool>,
    activity: &ActivityOverview,
) -> Vec<(ToolName, ToolHealth)> {
    let health_of = |it: &ComparedTool| {
        let called = activity.tools.iter().find(|called| called.tool == it.tool);
        let since = called.filter(|_| it.is_other_version).and_then(|it| it.version_since);
        Some((it.tool.clone(), ToolHealth::worse(&it.stats, since)?))
    };
    let mut unwell: Vec<_> = compared.iter().filter_map(health_of).collect();
    for QuarantinedTool { tool, since, because } in quarantined {
        let at = unwell.iter().position(|it| it.0 == tool).unwrap_or_else(|| {
            let mut health = ToolHealth::of_state(HealthState::Quarantined);
            health.because = vec![because];
            unwell.push((tool, health));
            unwell.len() - 1
        });
        let health = &mut unwell[at].1;
        (health.state, health.since) = (HealthState::Quarantined, Some(since));
    }
    unwell
}

/// Finds a tool by `catalogue/tool` or by `tool`.
pub(crate) fn find_tool<'t, T>(
    tools: &'t [(ToolName, T)],
    wanted: &str,
) -> Result<&'t (ToolName, T), ReportError> {
    let found: Vec<_> = match tools.iter().find(|it| it.0 == wanted) {
        Some(it) => vec![it],
        None => tools.iter().filter(|it| it.0.last_part() == wanted).collect(),
    };
    // A report has some tools by their bare names, so a bare name means one of those first.
    let described: Vec<_> = found.iter().copied().filter(|it| is_described(&it.0)).collect();
    match (&found[..], &described[..]) {
        ([it], _) | (_, [it]) => Ok(*it),
        ([], _) => {
            let shown = escape::line(wanted);
            Err(if exists(wanted) {
                ReportError::NeverCalled(format!("Tool '{shown}' was never called"))
            } else {
                ReportError::NotFound(format!("Tool '{shown}' not found"))
            })
        }
        _ => {
            let names: Vec<_> = found.iter().map(|it| it.0.as_str()).collect();
            let (shown, names) = (escape::line(wanted), names.join(", "));
            let message = format!("several tools are called `{shown}`; name one of them: {names}");
            Err(ReportError::Ambiguous(message))
        }
    }
}

/// Whether some catalogue has a tool of this name.
fn exists(wanted: &str) -> bool {
    catalogues().iter().any(|catalogue| {
        let name = |tool: &str| ToolName::new(catalogue.name, tool);
        let mut tools = catalogue.tools.iter().map(|tool| tool.declaration().name);
        tools.any(|tool| tool == wanted || name(tool) == wanted)
    })
}

fn unreadable(err: StatsError) -> ReportError {
    ReportError::Unreadable(err.to_string())
}
