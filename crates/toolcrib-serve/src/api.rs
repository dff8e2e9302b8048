//! The API: what each path does. A handler translates a request into an operation of the runtime or the ledger, and
//! decides nothing.

mod access;
mod approvals;
mod audit;
mod backend;
mod blocking;
mod brief;
mod call_headers;
mod calls;
mod client_snippet;
mod config;
mod config_source;
mod connect;
mod context;
mod doctor;
mod dry_run;
mod event_feed;
mod event_name;
mod events;
mod execute;
mod export;
mod fields;
mod full_outcome;
mod grants;
mod json_reply;
mod metrics;
mod openapi;
mod operation;
mod outcome;
mod outliving;
mod overview;
mod overview_source;
mod plugin_replies;
mod plugin_source;
mod plugins;
mod proposals;
mod recorded_event;
mod rule_trials;
mod rule_uses;
mod rule_view;
mod rules;
mod rules_replay;
mod running_calls;
mod servers;
mod session_budget;
mod session_story;
mod sessions;
mod shared_flush;
mod shown_versions;
mod statistics;
mod statistics_source;
mod stream_body;
mod tasks;
mod tokens;
mod tools;
mod undo;
mod undo_preview;
mod version;
mod waiting;
mod workers;

use std::sync::Arc;

use axum::Router;

pub(crate) use access::AccessRight;
pub use backend::{
    Backend, ChangedCall, ChangedCallList, ChangesScope, RestoredFile, RulesChanged, TaskState,
    TaskSummary, UndoReport, WantedChanges,
};
pub(crate) use calls::visible_story;
pub use client_snippet::ClientSnippet;
pub use config_source::{
    ChangeWay, ChangedValue, ConfigChanged, ConfigError, ConfigErrorKind, EditedSettings,
    LiveConfig, SettingsReport, SettingsState, ShownSetting, ToolConfig, ToolConfigChange, Wanted,
};
pub use context::{Api, ApiPorts, session_of};
pub use event_feed::EventFeed;
pub use full_outcome::{
    CommandPlace, DifferenceLength, DifferenceLine, FileDifference, FullError, FullOutcome,
    LineKind, PlannedCall, PlannedEdit, ShownChange, TextDifference,
};
use operation::Operation;
pub(crate) use outliving::{Outliving, Panicked};
pub use overview_source::{
    HealthState, Measure, RecordedOverview, RecordedSeries, ToolHealth, WorseMeasure,
};
pub use plugin_source::{LivePlugins, WorkerGroup, WorkerKind};
pub use rules_replay::{ReplayedCall, RulesReplay, WantedReplay};
pub(crate) use running_calls::RunningCall;
pub use running_calls::RunningCalls;
pub use shared_flush::SharedFlush;
pub use shown_versions::ShownVersions;
pub use statistics_source::{RebuiltStats, ReportError, ReportKind, Statistics};
pub use tools::{CONTRACT_CATALOGUE, has_bare_names};
pub use undo_preview::{PreviewedFile, UndoPreview};

/// Every operation of the API except the one that serves the specification of all.
fn described_operations() -> Vec<Operation> {
    let groups = [
        tools::operations,
        config::operations,
        execute::operations,
        statistics::operations,
        overview::operations,
        waiting::operations,
        workers::operations,
        calls::operations,
        approvals::operations,
        audit::operations,
        export::operations,
        events::operations,
        grants::operations,
        proposals::operations,
        plugins::operations,
        servers::operations,
        rules::operations,
        rule_trials::operations,
        rule_uses::operations,
        connect::operations,
        tokens::operations,
        undo::operations,
        tasks::operations,
        sessions::operations,
        session_story::operations,
        doctor::operations,
        metrics::operations,
        version::operations,
    ];
    groups.into_iter().flat_map(|operations| operations()).collect()
}

/// The paths of the API, each with its handler.
pub fn routes(api: Arc<Api>) -> Router {
    let routes = Router::new();
    described_operations()
        .into_iter()
        .chain([openapi::operation(described_operations)])
        .fold(routes, |routes, operation| operation.mount(routes))
        .with_state(api)
}
