//! What handlers work with.

use std::sync::Arc;

use toolcrib_core::{Principal, SessionId};
use toolcrib_ledger::{GrantFile, IdempotencyKeys, Redactor, StateFolder};
use toolcrib_runtime::{ApprovalAnswers, LiveRuntime};

use super::backend::Backend;
use super::config_source::LiveConfig;
use super::event_feed::EventFeed;
use super::plugin_source::LivePlugins;
use super::running_calls::RunningCalls;
use super::shared_flush::SharedFlush;
use super::shown_versions::ShownVersions;
use super::statistics_source::Statistics;
use crate::observation::Observer;

/// What handlers work with.
pub struct Api {
    /// Makes calls. It parks those that a person must approve.
    pub runtime: Arc<LiveRuntime>,
    /// Answers questions about parked calls.
    pub answers: ApprovalAnswers,
    /// The state folder, for the record.
    pub state: StateFolder,
    /// Removes secrets from what is shown.
    pub redactor: Redactor,
    /// The workspace of the calls.
    pub workspace: String,
    /// The idempotency keys that callers have used.
    pub keys: IdempotencyKeys,
    /// What the binary does for the API.
    pub ports: ApiPorts,
    /// What happens, for those who follow it.
    pub events: Arc<EventFeed>,
    /// The calls that run.
    pub running: RunningCalls,
    /// Writes the ends of calls to the record.
    pub flush: SharedFlush,
    /// Has the metrics.
    pub observer: Observer,
    /// Which proposed tools were shown to whom.
    pub shown: ShownVersions,
}

/// What the binary does for the API, because it depends on its settings, its workspace and its sandbox.
pub struct ApiPorts {
    /// The reports about tools.
    pub statistics: Box<dyn Statistics>,
    /// The settings in force.
    pub config: Arc<dyn LiveConfig>,
    /// The tools from other authors.
    pub plugins: Arc<dyn LivePlugins>,
    /// What people allowed with "always". Calls have the same ones, so that grants for a session are seen here.
    pub grants: Arc<GrantFile>,
    /// Everything else.
    pub backend: Arc<dyn Backend>,
}

/// Returns the session of a principal's calls. Limits count by session, so that nothing a caller sends escapes them.
pub fn session_of(principal: &Principal) -> SessionId {
    SessionId(format!("http-{}", principal.name))
}
