//! What one fold adds to the activity of tools: how calls ended, minute by minute, and what is remembered of each tool.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use toolcrib_core::{ErrorKind, ToolName};

use crate::figures::activity::ActivityHour;
use crate::figures::tool_history::{CallerName, ToolHistory};
use crate::record::entry::RecordEntry;

/// For how many hours with calls the minutes are kept. Hours are counted and not subtracted, so a clock that was ahead
/// for a moment takes nothing away.
pub(crate) const DETAILED_HOURS: usize = 50;

/// A call cannot have run for longer than this before it ended, for the count of calls that run at once.
const LONGEST_RUN_MINUTES: i64 = 60;

const MINUTE_US: i64 = 60_000_000;

/// Where what is remembered of tools is kept between folds.
pub(crate) trait HistoryStore {
    fn history(&self, tool: &ToolName) -> Option<ToolHistory>;
}

/// The activity that one fold adds.
#[derive(Default)]
pub(crate) struct FreshActivity {
    /// By tool.
    pub(crate) tools: HashMap<ToolName, FreshTool>,
    /// The hours that this fold has seen whose minutes are kept.
    detailed: BTreeSet<i64>,
}

/// What one fold adds to one tool.
#[derive(Default)]
pub(crate) struct FreshTool {
    /// What is remembered, with what was remembered before.
    pub(crate) history: ToolHistory,
    /// The hours, without what was counted before.
    pub(crate) hours: BTreeMap<i64, ActivityHour>,
}

/// A call that ended.
pub(crate) struct EndedCall<'a> {
    pub(crate) entry: &'a RecordEntry<'a>,
    pub(crate) version: &'a str,
    pub(crate) caller: Option<&'a CallerName>,
    pub(crate) elapsed_us: u64,
    /// The bin of the duration.
    pub(crate) bin: u16,
}

impl FreshActivity {
    /// Adds a call that ended.
    pub(crate) fn add_end(
        &mut self,
        tool: &ToolName,
        ended: &EndedCall<'_>,
        store: &dyn HistoryStore,
    ) {
        let entry = ended.entry;
        let error = entry.end.error.as_deref();
        if error.is_some_and(waits_for_an_answer) {
            return;
        }
        let minute = minute_of(entry.at);
        self.note_hour(minute.div_euclid(60));
        let fresh = self.tool(tool, store);
        if let Some(caller) = ended.caller {
            fresh.history.add_caller(caller, entry.at);
        }
        if entry.is_refusal() {
            let counts = fresh.minute(minute);
            if error == Some(ErrorKind::Declined.as_str()) {
                counts.declined += 1;
            } else {
                counts.refused += 1;
            }
            return;
        }
        fresh.history.add_run(entry, ended.version);
        let counts = fresh.minute(minute);
        counts.calls += 1;
        counts.failed += u64::from(error.is_some());
        let hour = fresh.hours.entry(minute.div_euclid(60)).or_default();
        hour.add_duration(minute.rem_euclid(60) as u8, ended.bin);
        fresh.add_run(entry.at, ended.elapsed_us);
    }

    /// Adds a call that a person declined after its agent had been told to wait.
    pub(crate) fn add_late_decline(&mut self, entry: &RecordEntry<'_>, store: &dyn HistoryStore) {
        let minute = minute_of(entry.at);
        self.note_hour(minute.div_euclid(60));
        self.tool(&entry.tool(), store).minute(minute).declined += 1;
    }

    /// Forgets how a tool failed.
    pub(crate) fn clear_errors(&mut self, tool: &ToolName, store: &dyn HistoryStore) {
        self.tool(tool, store).history.clear_errors();
    }

    fn tool(&mut self, tool: &ToolName, store: &dyn HistoryStore) -> &mut FreshTool {
        // Looked up twice, because most calls are of a tool that is there, and its name need not be cloned.
        if !self.tools.contains_key(tool) {
            let history = store.history(tool).unwrap_or_default();
            let fresh = FreshTool { history, ..FreshTool::default() };
            self.tools.insert(tool.clone(), fresh);
        }
        self.tools.entry(tool.clone()).or_default()
    }

    /// Keeps the minutes of the newest hours only, so that a long record is folded in little memory.
    fn note_hour(&mut self, hour: i64) {
        if !self.detailed.insert(hour) || self.detailed.len() <= DETAILED_HOURS {
            return;
        }
        let Some(oldest) = self.detailed.pop_first() else { return };
        for fresh in self.tools.values_mut() {
            if let Some(hour) = fresh.hours.get_mut(&oldest) {
                hour.forget_minutes();
            }
        }
    }
}

impl FreshTool {
    fn minute(&mut self, minute: i64) -> &mut crate::figures::activity::CallCounts {
        let hour = self.hours.entry(minute.div_euclid(60)).or_default();
        hour.minute(minute.rem_euclid(60) as u8)
    }

    /// Adds the time for which a call ran to the minutes in which it ran.
    fn add_run(&mut self, ended: Timestamp, elapsed_us: u64) {
        let mut end = ended.as_microsecond();
        let oldest = end.saturating_sub(LONGEST_RUN_MINUTES * MINUTE_US);
        let elapsed = i64::try_from(elapsed_us).unwrap_or(i64::MAX);
        let start = end.saturating_sub(elapsed).max(oldest);
        while end > start {
            // The last minute of a call that ends on the minute is the one before.
            let minute = (end - 1).div_euclid(MINUTE_US);
            let from = start.max(minute * MINUTE_US);
            self.minute(minute).busy_us += (end - from).unsigned_abs();
            end = from;
        }
    }
}

/// Whether a call did not end, although its caller was answered: it is asked again when there is an answer.
fn waits_for_an_answer(error: &str) -> bool {
    let kinds = [ErrorKind::ApprovalNeeded, ErrorKind::ConfirmationNeeded, ErrorKind::InputNeeded];
    kinds.iter().any(|kind| kind.as_str() == error)
}

fn minute_of(at: Timestamp) -> i64 {
    at.as_second().div_euclid(60)
}
