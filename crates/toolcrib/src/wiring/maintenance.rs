//! Maintenance of the record beside calls: folds it into figures, applies the retention, and quarantines
//! tools that got much worse.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::thread;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{Clock, Note, Recorder, ToolName};
use toolcrib_ledger::{
    Act, EventKind, QuarantineList, QuarantinedTool, RegressionSeverity, Spans, StateFolder, Stats,
    StatsError, comparisons,
};
use toolcrib_plugins::lifecycle::PLUGINS_CATALOGUE;

use super::record::spans;
use crate::settings::Settings;
use crate::settings::{QuarantineAt, table};

/// How long a long-lived process waits between two rounds of maintenance.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(10);

/// The quarantined tools, each with the reason that a refused call is told.
pub(super) type Quarantined = Arc<RwLock<HashMap<ToolName, String>>>;

/// What maintenance works with.
#[derive(Clone)]
pub struct RecordMaintenance {
    state: StateFolder,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    spans: Spans,
    keep_days: u64,
    quarantine: QuarantineAt,
    /// Weak, so that the thread ends when nothing uses the tools any more.
    quarantined: Weak<RwLock<HashMap<ToolName, String>>>,
}

impl RecordMaintenance {
    pub(super) fn new(
        settings: &Settings,
        state: &StateFolder,
        recorder: &Arc<dyn Recorder>,
        clock: &Arc<dyn Clock>,
        quarantined: &Quarantined,
    ) -> Self {
        Self {
            state: state.clone(),
            recorder: Arc::clone(recorder),
            clock: Arc::clone(clock),
            spans: spans(settings),
            keep_days: settings.get(table::RECORD_KEEP_DAYS),
            quarantine: settings.get(table::STATS_QUARANTINE),
            quarantined: Arc::downgrade(quarantined),
        }
    }

    /// Starts maintenance for a process that answers many calls: a thread repeats it.
    pub(super) fn start(&self) -> io::Result<()> {
        self.load_quarantine()?;
        self.clone().spawn();
        Ok(())
    }

    /// Does maintenance for a process that answers one call: only what the call needs to know.
    pub(super) fn start_once(&self) -> io::Result<()> {
        self.load_quarantine()?;
        if self.quarantine == QuarantineAt::High {
            let _ = Stats::open(&self.state).and_then(|mut stats| self.run(&mut stats));
        }
        Ok(())
    }

    /// Repeats maintenance on a thread of its own for as long as the tools are in use.
    fn spawn(self) {
        let thread = thread::Builder::new().name("maintenance".to_owned());
        let _ = thread.spawn(move || {
            loop {
                thread::sleep(MAINTENANCE_INTERVAL);
                if self.quarantined.strong_count() == 0 {
                    return;
                }
                // A failure is retried in the next round; `toolcrib stats` reports one that lasts.
                let _ = Stats::open(&self.state).and_then(|mut stats| self.run(&mut stats));
            }
        });
    }

    /// Does one round of maintenance.
    pub fn run(&self, stats: &mut Stats) -> Result<(), StatsError> {
        stats.fold()?;
        let now = self.clock.now();
        // A state folder that cannot be written has nothing to remove either.
        let _ = stats.apply_retention(&*self.recorder, now, self.keep_days);
        if self.quarantine == QuarantineAt::High {
            self.quarantine(stats)?;
            self.load_quarantine()?;
        }
        Ok(())
    }

    /// Loads which tools are quarantined, and why.
    fn load_quarantine(&self) -> io::Result<()> {
        let quarantined = self.quarantined.upgrade();
        let Some(quarantined) = quarantined.filter(|_| self.quarantine == QuarantineAt::High)
        else {
            return Ok(());
        };
        let all = QuarantineList::new(&self.state).all()?;
        let reasons = all.into_iter().map(|QuarantinedTool { tool, since, because }| {
            let back = match tool.parts() {
                (Some(PLUGINS_CATALOGUE), name) => {
                    format!("`toolcrib plugins rollback {name}` goes back to the version before, and ")
                }
                _ => String::new(),
            };
            let why = format!(
                "quarantined since {since:.0} because it got much worse ({because}); {back}`toolcrib \
                 stats clear regression {tool}` releases it"
            );
            (tool, why)
        });
        *quarantined.write().unwrap_or_else(PoisonError::into_inner) = reasons.collect();
        Ok(())
    }

    /// Quarantines every tool with a regression of high severity, and puts each on the record.
    fn quarantine(&self, stats: &Stats) -> Result<(), StatsError> {
        let now = self.clock.now();
        let hours = stats.hours(self.spans.oldest_hour(now))?;
        let tools = stats.tools()?;
        let quarantine = QuarantineList::new(&self.state);
        for (tool, it) in comparisons(&tools, &hours, now, self.spans) {
            if it.severity != Some(RegressionSeverity::High) {
                continue;
            }
            let because = it.because.join(", ");
            let entry =
                QuarantinedTool { tool: tool.clone(), since: now, because: because.clone() };
            if quarantine.add(entry)? {
                let note = Note {
                    at: now,
                    actor: "system",
                    act: Act::Statistics.as_str(),
                    event: EventKind::Quarantined.as_str(),
                    tool: Some(&tool),
                    call: "",
                    detail: json!({"because": because}),
                };
                let _ = self.recorder.note(&note);
            }
        }
        Ok(())
    }
}
