//! The API: what each path does. A handler translates a request into an operation of the runtime or the ledger, and
//! decides nothing.

mod access;
mod approvals;
mod audit;
mod backend;
mod blocking;
mod call_headers;
mod calls;
mod config;
mod config_source;
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
mod plugin_replies;
mod plugin_source;
mod plugins;
mod proposals;
mod rules;
mod running_calls;
mod sessions;
mod shared_flush;
mod shown_versions;
mod statistics;
mod statistics_source;
mod stream_body;
mod tasks;
mod tools;
mod undo;
mod version;

use std::sync::Arc;

use axum::Router;

pub(crate) use access::AccessRight;
pub use backend::{
    Backend, ChangedCall, ChangedCallList, ChangesScope, RestoredFile, RulesChanged, TaskState,
    TaskSummary, UndoReport, WantedChanges,
};
pub(crate) use calls::visible_story;
pub use config_source::{
    ChangedValue, ConfigChanged, ConfigError, ConfigErrorKind, LiveConfig, SettingsReport,
    SettingsState, ToolConfig, ToolConfigChange, Wanted,
};
pub use context::{Api, ApiPorts};
pub use event_feed::EventFeed;
pub use full_outcome::{
    CommandPlace, DifferenceLine, FileDifference, FullError, FullOutcome, LineKind, PlannedCall,
    PlannedEdit, ShownChange, TextDifference,
};
use operation::Operation;
pub(crate) use outliving::{Outliving, Panicked};
pub use plugin_source::LivePlugins;
pub(crate) use running_calls::RunningCall;
pub use running_calls::RunningCalls;
pub use shared_flush::SharedFlush;
pub use shown_versions::ShownVersions;
pub use statistics_source::{RebuiltStats, ReportError, ReportKind, Statistics};
pub use tools::{CONTRACT_CATALOGUE, has_bare_names};

/// Every operation of the API except the one that serves the specification of all.
fn described_operations() -> Vec<Operation> {
    let groups = [
        tools::operations,
        config::operations,
        execute::operations,
        statistics::operations,
        calls::operations,
        approvals::operations,
        audit::operations,
        export::operations,
        events::operations,
        grants::operations,
        proposals::operations,
        plugins::operations,
        rules::operations,
        undo::operations,
        tasks::operations,
        sessions::operations,
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
