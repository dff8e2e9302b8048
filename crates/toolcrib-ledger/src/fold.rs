//! The record folded into figures: line by line, in the order it was written in, so that folding it again gives
//! the same.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::command::{End, Limit};
use toolcrib_core::{ErrorKind, Usage};

use crate::shape::shape;
use crate::sketch::{Sketch, whole};

/// The most shapes of messages that are told apart for one tool.
const MOST_SHAPES: usize = 200;

/// The most calls that are remembered as begun and not ended.
const MOST_OPEN: usize = 10_000;

/// What is added up for one hour of one version of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hour {
    /// Calls that ran.
    pub calls: u64,
    /// Of those, the ones that failed by the tool's own fault.
    pub errors: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// All times together, in microseconds.
    pub sum_us: u64,
    /// Their squares.
    pub squares: u128,
    /// The times.
    pub latency: Sketch,
    /// When the last of them ended, in milliseconds since 1970.
    pub last: i64,
}

/// What is known of a tool beside its hours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFigures {
    /// How often its baseline was set anew.
    pub epoch: u64,
    /// When that was last, in hours since 1970.
    pub reset_hour: i64,
    /// How it fails.
    pub errors: ErrorFigures,
    /// What it uses.
    pub resources: ResourceFigures,
}

/// How a tool fails, since that was last cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFigures {
    /// Calls that were not refused.
    pub calls: u64,
    /// Of those, the ones that failed.
    pub errors: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// The first failure.
    pub first: Option<Failed>,
    /// The last failure.
    pub last: Option<Failed>,
    /// How often each kind.
    pub kinds: BTreeMap<String, u64>,
    /// How often each shape of message, with the first of them.
    pub shapes: BTreeMap<String, (u64, String)>,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// When.
    pub at: Timestamp,
    /// The kind of error.
    pub kind: String,
    /// What was said.
    pub message: String,
    /// The call.
    pub call: String,
    /// Its arguments, as the record has them.
    pub args: Option<String>,
}

/// What a tool uses, since that was last cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceFigures {
    /// Calls that were not refused.
    pub calls: u64,
    /// Processor time, in microseconds.
    pub cpu: Amount,
    /// The most memory at once, in bytes.
    pub memory: Amount,
    /// Bytes read.
    pub read: Amount,
    /// Bytes written.
    pub written: Amount,
    /// Calls that ran into a limit, by its kind.
    pub violations: BTreeMap<String, u64>,
}

/// Many amounts of one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// All together.
    pub total: u64,
    /// The most at once.
    pub most: u64,
    /// How they lie.
    pub sketch: Sketch,
}

impl Amount {
    /// What this share of them are at most.
    pub fn quantile(&self, share: f64) -> f64 {
        self.sketch.quantile(share).min(self.most as f64)
    }

    fn add(&mut self, amount: u64) {
        self.total = self.total.saturating_add(amount);
        self.most = self.most.max(amount);
        self.sketch.add(amount);
    }
}

/// Which hour of which version of a tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HourKey {
    /// `catalogue/tool`.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// How often the baseline was set anew before.
    pub epoch: u64,
    /// Hours since 1970.
    pub hour: i64,
}

/// Whether a call ended before its tool was entered, so that it says nothing of the tool.
pub(crate) fn is_refusal(error: &str) -> bool {
    let known = ErrorKind::ALL.iter().find(|kind| kind.as_str() == error);
    known.is_some_and(|kind| kind.is_refusal())
}

/// Whether a failure is the tool's, and not about what it was asked for: a file that is not there says nothing of
/// the tool that was to read it.
fn is_own_fault(error: &str) -> bool {
    matches!(error, "timeout" | "unavailable" | "failed" | "io_error" | "internal_error")
}

/// Where figures are kept between folds.
pub(crate) trait Shelf {
    fn tool(&self, tool: &str) -> Option<ToolFigures>;
    fn hour(&self, key: &HourKey) -> Option<Hour>;
}

/// What one fold changes.
pub(crate) struct Fold<'a> {
    shelf: &'a dyn Shelf,
    pub(crate) tools: HashMap<String, ToolFigures>,
    pub(crate) hours: HashMap<HourKey, Hour>,
    /// Calls that were asked for and have not ended, with their arguments.
    pub(crate) open: HashMap<String, String>,
}

/// As much of a line as is folded.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    ts: &'a str,
    #[serde(default)]
    act: &'a str,
    #[serde(default)]
    trace_id: &'a str,
    event: &'a str,
    #[serde(default, borrow)]
    catalogue: Cow<'a, str>,
    #[serde(default, borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    version: Option<&'a str>,
    elapsed_ms: Option<f64>,
    used: Option<Usage>,
    end: Option<End>,
    #[serde(borrow)]
    args_preview: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    detail: Option<Value>,
}

impl<'a> Fold<'a> {
    pub(crate) fn new(shelf: &'a dyn Shelf, open: HashMap<String, String>) -> Self {
        Self { shelf, tools: HashMap::new(), hours: HashMap::new(), open }
    }

    /// Takes one line in. What cannot be read is passed over.
    pub(crate) fn take(&mut self, line: &[u8]) {
        // Most lines are about moments that nothing is counted of.
        const PASSED_OVER: [&[u8]; 3] =
            [b"\"event\":\"decided\"", b"\"event\":\"started\"", b"\"event\":\"waits\""];
        let near = &line[..line.len().min(400)];
        if PASSED_OVER.iter().any(|event| memchr::memmem::find(near, event).is_some()) {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
        match (line.act, line.event) {
            ("tool_call", "asked") => {
                if self.open.len() < MOST_OPEN
                    && let Some(args) = line.args_preview
                {
                    self.open.insert(line.trace_id.to_owned(), args.into_owned());
                }
            }
            ("tool_call", "ended") => self.ended(&line),
            ("tool_call", "task_ended") => {
                let tool = format!("{}/{}", line.catalogue, line.name);
                if let Some(used) = line.used {
                    let is_late = line.end == Some(End::TimedOut);
                    self.tool(&tool).resources.add(&used, is_late.then_some("timeout"));
                }
            }
            ("tool_call", "lost") => {
                self.open.remove(line.trace_id);
            }
            ("statistics", "cleared") => self.cleared(&line),
            _ => {}
        }
    }

    fn tool(&mut self, tool: &str) -> &mut ToolFigures {
        let shelf = self.shelf;
        self.tools.entry(tool.to_owned()).or_insert_with(|| shelf.tool(tool).unwrap_or_default())
    }

    fn ended(&mut self, line: &Line<'_>) {
        let args = self.open.remove(line.trace_id);
        // Names that no tool has are nobody's figures.
        let (Some(version), Ok(at)) = (line.version, line.ts.parse::<Timestamp>()) else { return };
        let tool = format!("{}/{}", line.catalogue, line.name);
        let error = line.error.as_deref();
        let is_refused = error.is_some_and(is_refusal);
        let elapsed = whole((line.elapsed_ms.unwrap_or_default() * 1e3).round());
        let figures = self.tool(&tool);
        let epoch = figures.epoch;
        if is_refused {
            figures.errors.refused += 1;
        } else {
            figures.errors.calls += 1;
            figures.resources.calls += 1;
            figures.resources.add(&line.used.unwrap_or_default(), error);
            if let Some(kind) = error {
                let message = line.message.as_deref().unwrap_or_default().to_owned();
                let (kind, call) = (kind.to_owned(), line.trace_id.to_owned());
                figures.errors.add(Failed { at, kind, message, call, args });
            }
        }
        let key = HourKey {
            tool,
            version: version.to_owned(),
            epoch,
            hour: at.as_second().div_euclid(3600),
        };
        let shelf = self.shelf;
        let hour =
            self.hours.entry(key).or_insert_with_key(|key| shelf.hour(key).unwrap_or_default());
        if is_refused {
            hour.refused += 1;
            return;
        }
        hour.last = hour.last.max(at.as_millisecond());
        hour.calls += 1;
        hour.errors += u64::from(error.is_some_and(is_own_fault));
        hour.sum_us += elapsed;
        hour.squares += u128::from(elapsed) * u128::from(elapsed);
        hour.latency.add(elapsed);
    }

    fn cleared(&mut self, line: &Line<'_>) {
        let tool = format!("{}/{}", line.catalogue, line.name);
        let what = line.detail.as_ref().and_then(|detail| detail["what"].as_str()).unwrap_or("");
        let hour = line.ts.parse::<Timestamp>().map_or(0, |at| at.as_second().div_euclid(3600));
        let figures = self.tool(&tool);
        match what {
            "errors" => figures.errors = ErrorFigures::default(),
            "resources" => figures.resources = ResourceFigures::default(),
            "regression" => {
                figures.epoch += 1;
                figures.reset_hour = hour;
            }
            _ => {}
        }
    }
}

impl ErrorFigures {
    fn add(&mut self, failed: Failed) {
        self.errors += 1;
        *self.kinds.entry(failed.kind.clone()).or_default() += 1;
        let mut shape = shape(&failed.message);
        if !self.shapes.contains_key(&shape) && self.shapes.len() >= MOST_SHAPES {
            "(others)".clone_into(&mut shape);
        }
        let known = self.shapes.entry(shape).or_insert_with(|| (0, failed.message.clone()));
        known.0 += 1;
        self.first.get_or_insert_with(|| failed.clone());
        self.last = Some(failed);
    }
}

/// What reports call it that a command ran into a limit.
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
