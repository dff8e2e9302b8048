//! Folds the record into figures: line by line, in the order in which it was written, so that folding the record
//! again gives the same figures.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use jiff::Timestamp;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use toolcrib_core::command::{End, HostTraffic, Limit};
use toolcrib_core::{ToolName, Usage};

use crate::figures::fresh_activity::{EndedCall, FreshActivity, HistoryStore};
use crate::figures::histogram::{Histogram, bin_of, round_up};
use crate::figures::message_shape::{OTHER_SHAPES, message_shape};
use crate::figures::tool_history::CallerName;
use crate::record::entry::{RecordEntry, event_field};
use crate::record::event_kind::{Act, EventKind};
use crate::record::segment::hour_of;

/// The most message shapes that are told apart for one tool.
const MOST_MESSAGE_SHAPES: usize = 200;

/// The most calls that are remembered as asked for and not ended.
const MOST_OPEN_CALLS: usize = 10_000;

/// The bytes at the start of a line that contain its event.
const EVENT_WITHIN_BYTES: usize = 400;

/// What is added up for one hour of one version of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hour {
    /// The calls that ran.
    pub calls: u64,
    /// The calls that ran and failed by the tool's own fault.
    pub errors: u64,
    /// The calls that were refused.
    pub refused: u64,
    /// The sum of all durations, in microseconds.
    pub sum_us: u64,
    /// The sum of the squares of all durations.
    pub squares: u128,
    /// The durations.
    pub latency: Histogram,
    /// When the last call ended, in milliseconds since 1970.
    pub last: i64,
}

/// What is known about a tool beside its hours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFigures {
    /// How often the tool's baseline was reset.
    pub epoch: u64,
    /// When the baseline was last reset, in hours since 1970.
    pub reset_hour: i64,
    /// How the tool fails.
    pub errors: ErrorFigures,
    /// What the tool uses.
    pub resources: ResourceFigures,
}

/// How a tool fails, since its errors were last cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFigures {
    /// The calls that were not refused.
    pub calls: u64,
    /// The calls that failed.
    pub errors: u64,
    /// The calls that were refused.
    pub refused: u64,
    /// The calls that ran a command that failed. The tool worked.
    #[serde(default)]
    pub failed_commands: u64,
    /// The first failure.
    pub first: Option<FailedCall>,
    /// The last failure.
    pub last: Option<FailedCall>,
    /// How often each kind of error occurred.
    pub kinds: BTreeMap<String, u64>,
    /// How often each message shape occurred, with the first message of the shape.
    pub shapes: BTreeMap<String, (u64, String)>,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// When it failed.
    pub at: Timestamp,
    /// The kind of error.
    pub kind: String,
    /// The message of the error.
    pub message: String,
    /// The call id.
    pub call: String,
    /// The arguments, as the record has them.
    pub args: Option<String>,
}

/// What a tool uses, since its resources were last cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceFigures {
    /// The calls that were not refused.
    pub calls: u64,
    /// Processor time, in microseconds.
    pub cpu: Amount,
    /// Peak memory, in bytes.
    pub memory: Amount,
    /// Bytes read.
    pub read: Amount,
    /// Bytes written.
    pub written: Amount,
    /// The traffic with all hosts together.
    pub network: NetworkFigures,
    /// The calls that hit a limit, by the kind of limit.
    pub violations: BTreeMap<String, u64>,
}

/// What passed between the commands of a tool and all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkFigures {
    /// Connections that were made.
    pub connections: u64,
    /// Bytes sent.
    pub bytes_up: u64,
    /// Bytes received.
    pub bytes_down: u64,
    /// Requests that were refused or failed.
    pub refused: u64,
}

impl NetworkFigures {
    /// Returns the figures in words, or an empty text if there was no traffic.
    pub fn describe(&self) -> String {
        let Self { connections, bytes_up, bytes_down, refused } = *self;
        HostTraffic { host: String::new(), connections, bytes_up, bytes_down, refused }.describe()
    }

    fn add(&mut self, traffic: &HostTraffic) {
        self.connections = self.connections.saturating_add(traffic.connections);
        self.bytes_up = self.bytes_up.saturating_add(traffic.bytes_up);
        self.bytes_down = self.bytes_down.saturating_add(traffic.bytes_down);
        self.refused = self.refused.saturating_add(traffic.refused);
    }
}

/// How much of one resource many calls used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// All calls together.
    pub total: u64,
    /// The call that used most.
    pub most: u64,
    /// The distribution over the calls.
    pub histogram: Histogram,
}

impl Amount {
    /// Returns the quantile: the amount that this share of the calls did not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        self.histogram.quantile(share).min(self.most as f64)
    }

    fn add(&mut self, amount: u64) {
        self.total = self.total.saturating_add(amount);
        self.most = self.most.max(amount);
        self.histogram.add(amount);
    }
}

/// One hour of one version of a tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HourKey {
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// The tool's version.
    pub version: String,
    /// How often the baseline had been reset before.
    pub epoch: u64,
    /// The hour, counted since 1970.
    pub hour: i64,
}

/// Returns whether an error is the tool's own fault, and not about what it was asked for: a file that is not there
/// says nothing about the tool that was to read it.
fn is_own_fault(error: &str) -> bool {
    matches!(error, "timeout" | "unavailable" | "failed" | "io_error" | "internal_error")
}

/// Where figures are kept between folds.
pub(crate) trait FiguresStore: HistoryStore {
    fn tool(&self, tool: &ToolName) -> Option<ToolFigures>;
    fn hour(&self, key: &HourKey) -> Option<Hour>;
}

/// A call that was asked for and has not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenCall {
    /// The arguments, as the record has them.
    pub(crate) args: Option<String>,
    /// Who made the call.
    pub(crate) caller: Rc<CallerName>,
}

/// The figures that one fold changes.
pub(crate) struct Fold<'a> {
    store: &'a dyn FiguresStore,
    pub(crate) tools: HashMap<ToolName, ToolFigures>,
    pub(crate) hours: HashMap<HourKey, Hour>,
    /// The figures of tools by the minute, and what is remembered of them.
    pub(crate) activity: FreshActivity,
    /// The calls that were asked for and have not ended, by call id.
    pub(crate) open: HashMap<String, OpenCall>,
    /// Who made the last call. Most calls are made by the same few.
    last_caller: Rc<CallerName>,
    /// Finds the events that nothing is counted of, so that their lines are not parsed: most lines have one.
    uncounted: [Finder<'static>; 3],
}

impl<'a> Fold<'a> {
    pub(crate) fn new(store: &'a dyn FiguresStore, open: HashMap<String, OpenCall>) -> Self {
        let uncounted = [EventKind::Decided, EventKind::Started, EventKind::Waits]
            .map(|event| Finder::new(event_field(&event).as_bytes()).into_owned());
        Self {
            store,
            tools: HashMap::new(),
            hours: HashMap::new(),
            activity: FreshActivity::default(),
            open,
            last_caller: Rc::default(),
            uncounted,
        }
    }

    /// Folds one line. A line that cannot be parsed is skipped.
    pub(crate) fn add_line(&mut self, line: &[u8]) {
        let beginning = &line[..line.len().min(EVENT_WITHIN_BYTES)];
        if self.uncounted.iter().any(|event| event.find(beginning).is_some()) {
            return;
        }
        let Some(entry) = RecordEntry::parse(line) else { return };
        match (&entry.act, &entry.event) {
            (Act::ToolCall, EventKind::Asked) if self.open.len() < MOST_OPEN_CALLS => {
                let caller = self.caller_of(&entry);
                let args = entry.preview.args.map(Cow::into_owned);
                self.open.insert(entry.call.id.into_owned(), OpenCall { args, caller });
            }
            (Act::ToolCall, EventKind::Ended) => self.add_end(&entry),
            (Act::ToolCall, EventKind::TaskEnded) => {
                self.add_network(&entry);
                let failed = u64::from(entry.has_failed_command());
                self.figures_of(&entry.tool()).errors.failed_commands += failed;
                if let Some(used) = entry.end.used {
                    let is_late = entry.end.command_end == Some(End::TimedOut);
                    let error = is_late.then_some("timeout");
                    self.figures_of(&entry.tool()).resources.add(&used, error);
                }
            }
            (Act::ToolCall, EventKind::Lost) => {
                self.open.remove(&*entry.call.id);
            }
            // The agent of an open call is told in the line that ends the call.
            (Act::Approval, EventKind::Denied) if !self.open.contains_key(&*entry.call.id) => {
                self.activity.add_late_decline(&entry, self.store);
            }
            (Act::Statistics, EventKind::Cleared) => self.clear(&entry),
            _ => {}
        }
    }

    fn caller_of(&mut self, entry: &RecordEntry<'_>) -> Rc<CallerName> {
        if !self.last_caller.is_of(entry) {
            self.last_caller = Rc::new(CallerName::of(entry));
        }
        Rc::clone(&self.last_caller)
    }

    fn figures_of(&mut self, tool: &ToolName) -> &mut ToolFigures {
        let store = self.store;
        self.tools.entry(tool.clone()).or_insert_with(|| store.tool(tool).unwrap_or_default())
    }

    /// Adds the traffic of a call or task. A refused call has none, because its command did not run.
    fn add_network(&mut self, entry: &RecordEntry<'_>) {
        if let Some(network) = &entry.end.network {
            self.figures_of(&entry.tool()).resources.network.add(&network.total());
        }
    }

    fn add_end(&mut self, entry: &RecordEntry<'_>) {
        let open = self.open.remove(&*entry.call.id);
        // A call of a tool that does not exist has no version, and belongs to no tool's figures.
        let Some(version) = &entry.call.version else { return };
        self.add_network(entry);
        let tool = entry.tool();
        let error = entry.end.error.as_deref();
        let is_refused = entry.is_refusal();
        let elapsed = round_up((entry.end.elapsed_ms().unwrap_or_default() * 1e3).round());
        let bin = bin_of(elapsed);
        let caller = open.as_ref().map(|open| &*open.caller).filter(|it| !it.principal.is_empty());
        let ended = EndedCall { entry, version, caller, elapsed_us: elapsed, bin };
        self.activity.add_end(&tool, &ended, self.store);
        let figures = self.figures_of(&tool);
        let epoch = figures.epoch;
        if is_refused {
            figures.errors.refused += 1;
        } else {
            figures.errors.calls += 1;
            figures.errors.failed_commands += u64::from(entry.has_failed_command());
            figures.resources.calls += 1;
            figures.resources.add(&entry.end.used.unwrap_or_default(), error);
            if let Some(kind) = error {
                figures.errors.add(FailedCall {
                    at: entry.at,
                    kind: kind.to_owned(),
                    message: entry.end.message.as_deref().unwrap_or_default().to_owned(),
                    call: entry.call.id.to_string(),
                    args: open.and_then(|open| open.args),
                });
            }
        }
        let key = HourKey { tool, version: version.to_string(), epoch, hour: hour_of(entry.at) };
        let store = self.store;
        let hour =
            self.hours.entry(key).or_insert_with_key(|key| store.hour(key).unwrap_or_default());
        if is_refused {
            hour.refused += 1;
            return;
        }
        hour.last = hour.last.max(entry.at.as_millisecond());
        hour.calls += 1;
        hour.errors += u64::from(error.is_some_and(is_own_fault));
        hour.sum_us += elapsed;
        hour.squares += u128::from(elapsed) * u128::from(elapsed);
        hour.latency.add_to_bin(bin);
    }

    fn clear(&mut self, entry: &RecordEntry<'_>) {
        let what = entry.detail.as_ref().and_then(|detail| detail["what"].as_str()).unwrap_or("");
        if what == "errors" {
            self.activity.clear_errors(&entry.tool(), self.store);
        }
        let figures = self.figures_of(&entry.tool());
        match what {
            "errors" => figures.errors = ErrorFigures::default(),
            "resources" => figures.resources = ResourceFigures::default(),
            "regression" => {
                figures.epoch += 1;
                figures.reset_hour = hour_of(entry.at);
            }
            _ => {}
        }
    }
}

impl ErrorFigures {
    fn add(&mut self, failed: FailedCall) {
        self.errors += 1;
        *self.kinds.entry(failed.kind.clone()).or_default() += 1;
        let mut shape = message_shape(&failed.message);
        if !self.shapes.contains_key(&shape) && self.shapes.len() >= MOST_MESSAGE_SHAPES {
            OTHER_SHAPES.clone_into(&mut shape);
        }
        let known = self.shapes.entry(shape).or_insert_with(|| (0, failed.message.clone()));
        known.0 += 1;
        self.first.get_or_insert_with(|| failed.clone());
        self.last = Some(failed);
    }
}

/// Returns the name that reports give to a limit that a command hit.
fn violation_of(limit: Limit) -> &'static str {
    match limit {
        Limit::Memory => "memoryExceeded",
        Limit::Processes => "processesExceeded",
        Limit::Cpu => "cpuTimeExceeded",
        Limit::FileSize => "fileSizeExceeded",
        Limit::Growth => "growthExceeded",
        Limit::Files => "newFilesExceeded",
        Limit::OpenFiles => "openFilesExceeded",
        Limit::Output => "outputExceeded",
        Limit::Network => "networkExceeded",
    }
}

impl ResourceFigures {
    fn add(&mut self, used: &Usage, error: Option<&str>) {
        self.cpu.add(used.cpu_us);
        self.memory.add(used.peak_memory);
        self.read.add(used.read_bytes);
        self.written.add(used.written_bytes);
        let violation = match (error, used.struck) {
            (Some("timeout"), _) => "timeoutExceeded",
            (Some("output_too_large" | "too_large"), _) => "sizeExceeded",
            (_, Some(limit)) => violation_of(limit),
            _ => return,
        };
        *self.violations.entry(violation.to_owned()).or_default() += 1;
    }
}
