//! What a process that stays does beside its calls: folds the record, packs and removes old files, keeps out
//! tools that got much worse.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::thread;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{Clock, Note, Recorder};
use toolcrib_ledger::report::{self, Spans};
use toolcrib_ledger::{Barred, Quarantine, Severity, State, Stats, StatsError};

use crate::settings::Settings;
use crate::settings::key::{self, QuarantineAt};

/// How often it is looked.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);

/// The tools that are kept out, and why.
pub(super) type Shut = Arc<RwLock<HashMap<String, String>>>;

/// What upkeep needs.
#[derive(Clone)]
pub struct Upkeep {
    state: State,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    spans: Spans,
    keep_days: u64,
    has_quarantine: bool,
    shut: Weak<RwLock<HashMap<String, String>>>,
}

impl Upkeep {
    pub(super) fn new(
        settings: &Settings,
        state: &State,
        recorder: &Arc<dyn Recorder>,
        clock: &Arc<dyn Clock>,
        shut: &Shut,
    ) -> Self {
        Self {
            state: state.clone(),
            recorder: Arc::clone(recorder),
            clock: Arc::clone(clock),
            spans: super::record::spans(settings),
            keep_days: settings.get(key::RECORD_KEEP_DAYS),
            has_quarantine: settings.get(key::STATS_QUARANTINE) == QuarantineAt::High,
            shut: Arc::downgrade(shut),
        }
    }

    /// Learns which tools are kept out.
    fn learn(&self) -> io::Result<()> {
        let Some(shut) = self.shut.upgrade().filter(|_| self.has_quarantine) else { return Ok(()) };
        let all = Quarantine::new(&self.state).all()?;
        let said = all.into_iter().map(|barred| {
            let Barred { tool, since, because } = barred;
            let why = format!(
                "kept out since {since:.0}, when it got much worse ({because}); `toolcrib stats clear \
                 regression {tool}` lets it in again"
            );
            (tool, why)
        });
        *shut.write().unwrap_or_else(PoisonError::into_inner) = said.collect();
        Ok(())
    }

    /// Goes on for as long as the tools are there.
    fn start(self) {
        let thread = thread::Builder::new().name("upkeep".to_owned());
        let _ = thread.spawn(move || {
            loop {
                thread::sleep(BETWEEN_LOOKS);
                if self.shut.strong_count() == 0 {
                    return;
                }
                // What fails now is tried again; whoever asks for the figures is told.
                let _ = Stats::open(&self.state).and_then(|mut stats| self.once(&mut stats));
            }
        });
    }

    /// Learns which tools are kept out. A process that stays looks again and again, another one once.
    pub(super) fn begin(&self, stays: bool) -> io::Result<()> {
        self.learn()?;
        if stays {
            self.clone().start();
        } else if self.has_quarantine {
            let _ = Stats::open(&self.state).and_then(|mut stats| self.once(&mut stats));
        }
        Ok(())
    }

    /// Does all of it once.
    pub fn once(&self, stats: &mut Stats) -> Result<(), StatsError> {
        stats.fold()?;
        let now = self.clock.now();
        // Where nothing can be written there is nothing to tidy.
        let _ = stats.tidy(&*self.recorder, now, self.keep_days);
        if self.has_quarantine {
            self.quarantine(stats)?;
            self.learn()?;
        }
        Ok(())
    }

    fn quarantine(&self, stats: &Stats) -> Result<(), StatsError> {
        let now = self.clock.now();
        let oldest = now.as_second().div_euclid(3600)
            - self.spans.current_hours
            - 2 * self.spans.baseline_days * 24;
        let (tools, hours) = (stats.tools()?, stats.hours(oldest)?);
        let quarantine = Quarantine::new(&self.state);
        for (tool, it) in report::comparisons(&tools, &hours, now, self.spans) {
            if it.severity != Some(Severity::High) {
                continue;
            }
            let because = it.because.join(", ");
            let barred = Barred { tool: tool.clone(), since: now, because: because.clone() };
            if quarantine.bar(barred)? {
                let note = Note {
                    at: now,
                    actor: "system",
                    act: "statistics",
                    event: "quarantined",
                    tool: &tool,
                    call: "",
                    detail: json!({"because": because}),
                };
                let _ = self.recorder.note(&note);
            }
        }
        Ok(())
    }
}
