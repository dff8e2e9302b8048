//! What the handlers of the server work with, and the MCP server too.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::{Clock, escape};
use toolcrib_ledger::{Approvals, IdempotencyKeys, this_process};
use toolcrib_runtime::{
    ApprovalAnswers, ApprovalQueue, Approver, ParkedQuestions, Prompt, SessionKind, Unattended,
};
use toolcrib_serve::{
    Api, ApiPorts, EventFeed, ObservedRecorder, Observer, RunningCalls, SharedFlush, ShownVersions,
};

use super::backend::ServerBackend;
use super::setup::open_options;
use crate::cli::Global;
use crate::error::CliError;
use crate::settings::{Settings, table};
use crate::wiring::{Crib, LiveParts, LiveSettings, OpenOptions};

/// What handlers work with, and the settings that can change while they do.
pub(super) struct OpenedApi {
    pub(super) api: Arc<Api>,
    pub(super) live: Arc<LiveSettings>,
    pub(super) queue: QuestionQueue,
}

/// The queue of questions about calls.
#[derive(Clone)]
pub(super) struct QuestionQueue {
    store: Arc<Approvals>,
    clock: Arc<dyn Clock>,
    pub(super) parked: ParkedQuestions,
}

impl QuestionQueue {
    /// Returns who is asked about a call: the prompt, or else the queue alone.
    pub(super) fn approver(
        &self,
        times: QuestionTimes,
        prompt: Option<Arc<dyn Prompt>>,
    ) -> Arc<dyn Approver> {
        Arc::new(ApprovalQueue {
            store: Arc::clone(&self.store) as _,
            prompt,
            unattended: Unattended::Park(times.park),
            session: SessionKind::ManyCalls,
            prompt_time: times.prompt,
            process: this_process(),
            clock: Arc::clone(&self.clock),
            parked: self.parked.clone(),
        })
    }
}

/// How long questions can be answered.
#[derive(Clone, Copy)]
pub(super) struct QuestionTimes {
    /// In the queue.
    park: Duration,
    /// At a prompt.
    prompt: Duration,
}

impl From<&Settings> for QuestionTimes {
    fn from(settings: &Settings) -> Self {
        let park = settings.get(table::POLICY_PARK_SECONDS);
        Self { park, prompt: settings.get(table::POLICY_APPROVAL_SECONDS) }
    }
}

/// Tells the operator something in the log, so that a log of JSON has nothing else in it.
pub(super) fn warn(text: &str) {
    tracing::warn!("{}", escape::line(text));
}

/// Opens what handlers work with. `start_errors` says what would keep the process from starting anew.
pub(super) fn open_api(
    global: &Global,
    crib: &Arc<Crib>,
    observer: &Observer,
    start_errors: fn(&Settings) -> Vec<String>,
) -> Result<OpenedApi, CliError> {
    let store = Arc::new(Approvals::new(&crib.state));
    let clock = Arc::clone(&crib.clock);
    let queue = QuestionQueue { store, clock, parked: ParkedQuestions::default() };
    let recorder = Arc::new(ObservedRecorder::new(Arc::clone(&crib.recorder), observer));
    let reports = crib.reports();
    let unattended = queue.clone();
    let parts = LiveParts {
        options: OpenOptions { is_long_lived: true, ..open_options(global) },
        approver: Box::new(move |settings: &Settings| unattended.approver(settings.into(), None)),
        recorder: Arc::clone(&recorder) as _,
        start_errors,
        tell: Box::new(warn),
    };
    let live = LiveSettings::start(Arc::clone(crib), reports.limits().clone(), parts)?;
    let live = Arc::new(live);
    let root = crib.workspace().root();
    let api = Api {
        runtime: Arc::clone(live.runtime()),
        answers: ApprovalAnswers {
            store: Arc::clone(&queue.store) as _,
            recorder: Arc::clone(&recorder) as _,
            clock: Arc::clone(&crib.clock),
        },
        state: crib.state.clone(),
        redactor: crib.redactor.clone(),
        workspace: root.map(|root| root.path().display().to_string()).unwrap_or_default(),
        keys: IdempotencyKeys::new(&crib.state),
        ports: ApiPorts {
            statistics: Box::new(reports),
            config: Arc::clone(&live) as _,
            plugins: Arc::clone(&live) as _,
            grants: Arc::clone(&crib.grants),
            backend: Arc::new(ServerBackend {
                crib: Arc::clone(crib),
                options: open_options(global),
                recorder,
                live: Arc::clone(&live),
            }),
        },
        events: EventFeed::new(&crib.state),
        running: RunningCalls::default(),
        flush: SharedFlush::default(),
        observer: observer.clone(),
        shown: ShownVersions::default(),
    };
    Ok(OpenedApi { api: Arc::new(api), live, queue })
}
