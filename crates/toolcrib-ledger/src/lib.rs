//! The ledger: the record of what was asked, decided and done, the figures folded from it, the journal that
//! undo reads, and what people allow. Everything lives in the state folder, where no tool can reach it.

mod consent;
mod detached_calls;
mod figures;
mod id;
mod idempotency;
mod list_file;
mod once_file;
mod process_name;
mod record;
mod server_lock;
mod state;
mod undo;

pub use consent::approval_store::Approvals;
pub use consent::grants::GrantFile;
pub use consent::tokens::{StoredToken, TokenError, TokenErrorKind, TokenFile, TokenHash};
pub use consent::user_quota::{UserLimits, UserQuotaFile};
pub use detached_calls::{DetachedCall, DetachedCalls, DetachedEnd, DetachedResult, DetachedState};
pub use figures::baseline::{Spans, comparisons};
pub use figures::call_totals::CallTotals;
pub use figures::fold::{
    Amount, ErrorFigures, FailedCall, Hour, HourKey, NetworkFigures, ResourceFigures, ToolFigures,
};
pub use figures::histogram::Histogram;
pub use figures::overview::{
    ActivityOverview, CallRates, ErrorRates, P95Figures, ToolActivity, ToolBars,
};
pub use figures::quarantine::{QuarantineList, QuarantinedTool};
pub use figures::regression::{
    Comparison, FEWEST_COMPARED_CALLS, RegressionSeverity, Window, compare,
};
pub use figures::report;
pub use figures::report_form::{
    Cleared, ClearedFigures, ErrorsOfTool, ErrorsReport, NewBaseline, RegressionOfTool,
    RegressionsReport, ResourcesOfTool, ResourcesReport, ToolRegression, ToolResources,
};
pub use figures::rounding::rounded;
pub use figures::stats::Stats;
pub use figures::stats_error::{StatsError, StatsErrorKind};
pub use figures::time_window::{Axis, TimeWindow};
pub use figures::tool_history::{
    ErrorGroup, KnownCaller, KnownVersion, LastError, VersionChange, VersionHistory,
};
pub use figures::tool_series::{
    CallerShare, ErrorShare, SeriesFigures, ToolSeries, VersionFigures, VersionsOfTool,
};
pub use figures::tool_stats::{ComparedStats, ResourceStats, ToolStats, WindowStats};
pub use id::{call_time, new_call_id};
pub use idempotency::{IdempotencyKeys, KeptReply, KeyState};
pub use process_name::this_process;
pub use record::call_filter::{CallFilter, CallerFilter, RecordedDecision};
pub use record::call_search::{export_calls, export_lines, find_calls};
pub use record::call_story::CallStory;
pub use record::call_summary::{
    CallSummary, CallerSummary, DecisionSummary, EndSummary, EntrySummary, call_summary,
};
pub use record::csv::export_csv;
pub use record::entry::{
    CallFields, CallerFields, DecisionFields, EndFields, PreviewFields, RecordEntry, StartFields,
};
pub use record::event_kind::{Act, EventKind};
pub use record::head::record_length;
pub use record::history::{CallHistory, CallOutcome};
pub use record::reader::{LoadedSegment, RecordReader};
pub use record::recent_use::{RecentCaller, RecentUse, RuleUse, recent_use};
pub use record::recorded_settings::RecordedSettings;
pub use record::recovery::{LostCall, recover_lost_calls};
pub use record::redact::{Redactor, is_secret_name};
pub use record::replay::{newest_recorded_calls, recorded_calls};
pub use record::replayed_entries::entries_around;
pub use record::retention::RetentionReport;
pub use record::tail::{RecordTail, TailLine, newest_lines};
pub use record::verify::{Problem, VerifyReport, verify};
pub use record::writer::{Previews, RecordWriter};
pub use server_lock::{LostState, ServerLock, ServerLockError};
pub use state::{StateError, StateErrorKind, StateFolder};
pub use undo::journal::Journal;
pub use undo::objects::hash_of;
pub use undo::snapshot_store::SnapshotStore;
