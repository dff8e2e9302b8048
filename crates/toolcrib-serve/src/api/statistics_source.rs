//! What the binary must tell about the health of tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::Principal;
use toolcrib_ledger::{TimeWindow, ToolStats};

use super::overview_source::{RecordedOverview, RecordedSeries};

/// The reports about tools. The binary has them, because they obey its settings.
pub trait Statistics: Send + Sync {
    /// Returns a report about all tools, or about one.
    fn report(&self, kind: ReportKind, tool: Option<&str>) -> Result<Value, ReportError>;

    /// Returns the figures of every tool that was called.
    fn all(&self) -> Result<Vec<ToolStats>, ReportError>;

    /// Returns how all tools do in a window of time.
    fn overview(&self, window: TimeWindow) -> Result<RecordedOverview, ReportError>;

    /// Returns how one tool does over a window of time.
    fn series(&self, tool: &str, window: TimeWindow) -> Result<RecordedSeries, ReportError>;

    /// Discards all figures, and computes them again from the record.
    fn rebuild(&self) -> Result<RebuiltStats, ReportError>;

    /// Clears the figures of a tool, and returns what the contract replies.
    fn clear(&self, kind: ReportKind, tool: &str, by: &Principal) -> Result<Value, ReportError>;
}

/// What came of figures that were computed again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RebuiltStats {
    /// How many lines of the record they come from.
    pub lines: u64,
    /// What was wrong with the old figures, and which files of the record could not be read.
    pub warnings: Vec<String>,
}

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// How often tools fail.
    Errors,
    /// Which tools got worse.
    Regression,
    /// What tools use.
    Resources,
}

/// Why there is no report.
#[derive(Debug)]
pub enum ReportError {
    /// There is no such tool.
    NotFound(String),
    /// The tool was never called.
    NeverCalled(String),
    /// Several tools have the name. The text names them.
    Ambiguous(String),
    /// The statistics cannot be read.
    Unreadable(String),
}

impl ReportError {
    /// Returns the stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) | Self::NeverCalled(_) => "tool_not_found",
            Self::Ambiguous(_) => "ambiguous_tool",
            Self::Unreadable(_) => "unavailable",
        }
    }

    /// Returns what a person or a program is told.
    pub fn message(&self) -> &str {
        match self {
            Self::NotFound(message)
            | Self::NeverCalled(message)
            | Self::Ambiguous(message)
            | Self::Unreadable(message) => message,
        }
    }
}

impl ReportKind {
    /// Returns the spelling in paths and in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Regression => "regression",
            Self::Resources => "resources",
        }
    }

    /// Reads the spelling.
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Self::Errors, Self::Regression, Self::Resources];
        all.into_iter().find(|kind| kind.as_str() == word)
    }
}
