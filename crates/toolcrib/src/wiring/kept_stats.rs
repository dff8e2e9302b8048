//! The statistics that a server reads again and again: kept open, and compared with a baseline in the background, so
//! that a page that follows them costs little.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use toolcrib_core::{Clock, Recorder, ToolName};
use toolcrib_ledger::{
    ComparedStats, Comparison, Spans, StateFolder, Stats, StatsError, comparisons,
};

/// How old a comparison may be before another one is made.
const COMPARED_FOR: Duration = Duration::from_secs(10);

/// The statistics, kept open.
#[derive(Clone)]
pub(super) struct KeptStats {
    state: StateFolder,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    spans: Spans,
    stats: Arc<Mutex<Option<Stats>>>,
    compared: Arc<LastComparison>,
}

/// The last comparison of all tools.
#[derive(Default)]
struct LastComparison {
    /// The comparison, and when it was made.
    made: Mutex<Option<(Duration, Arc<Vec<ComparedTool>>)>>,
    is_being_made: AtomicBool,
}

/// The recent calls of a tool, compared with those before.
pub(super) struct ComparedTool {
    pub(super) tool: ToolName,
    pub(super) stats: ComparedStats,
    /// Whether the recent calls are of other versions than those before.
    pub(super) is_other_version: bool,
}

impl KeptStats {
    pub(super) fn new(
        state: &StateFolder,
        recorder: &Arc<dyn Recorder>,
        clock: &Arc<dyn Clock>,
        spans: Spans,
    ) -> Self {
        Self {
            state: state.clone(),
            recorder: Arc::clone(recorder),
            clock: Arc::clone(clock),
            spans,
            stats: Arc::default(),
            compared: Arc::default(),
        }
    }

    /// Reads figures of everything that is on the record.
    pub(super) fn read<T>(
        &self,
        read: impl Fn(&Stats) -> Result<T, StatsError>,
    ) -> Result<T, StatsError> {
        self.recorder.flush();
        let mut kept = lock(&self.stats);
        // Another process may have moved a broken file away, and made another one.
        if let Some(mut stats) = kept.take().filter(Stats::is_in_place)
            && let Ok(figures) = stats.fold().and_then(|_| read(&stats))
        {
            *kept = Some(stats);
            return Ok(figures);
        }
        let mut stats = Stats::open(&self.state)?;
        stats.fold()?;
        let figures = read(&stats)?;
        *kept = Some(stats);
        Ok(figures)
    }

    /// Returns every tool with enough calls, compared with its baseline. What is older than a moment is returned once
    /// more, and made anew meanwhile.
    pub(super) fn compared(&self) -> Result<Arc<Vec<ComparedTool>>, StatsError> {
        let last = lock(&self.compared.made).clone();
        let Some((at, compared)) = last else { return self.compare() };
        let is_old = self.clock.elapsed().saturating_sub(at) > COMPARED_FOR;
        if is_old && !self.compared.is_being_made.swap(true, Ordering::AcqRel) {
            let it = self.clone();
            let thread = thread::Builder::new().name("comparison".to_owned()).spawn(move || {
                // A failure is tried again; the request that follows says why if it lasts.
                let _ = it.compare();
                it.compared.is_being_made.store(false, Ordering::Release);
            });
            if thread.is_err() {
                self.compared.is_being_made.store(false, Ordering::Release);
            }
        }
        Ok(compared)
    }

    /// Forgets the last comparison, because a baseline was changed.
    pub(super) fn forget_comparison(&self) {
        *lock(&self.compared.made) = None;
    }

    fn compare(&self) -> Result<Arc<Vec<ComparedTool>>, StatsError> {
        // Opened anew, so that nobody waits meanwhile.
        let stats = Stats::open(&self.state)?;
        let now = self.clock.now();
        let (tools, hours) = (stats.tools()?, stats.hours(self.spans.oldest_hour(now))?);
        let compared = comparisons(&tools, &hours, now, self.spans);
        let compared: Vec<_> = compared.into_iter().map(ComparedTool::new).collect();
        let compared = Arc::new(compared);
        *lock(&self.compared.made) = Some((self.clock.elapsed(), Arc::clone(&compared)));
        Ok(compared)
    }
}

impl ComparedTool {
    fn new((tool, it): (ToolName, Comparison)) -> Self {
        let before = &it.baseline.versions;
        let is_other_version = it.current.versions.iter().all(|version| !before.contains(version));
        Self { tool, stats: ComparedStats::from(&it), is_other_version }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
