//! Watches calls on their way to the record, which every call takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolcrib_core::command::End;
use toolcrib_core::{
    Durability, ErrorKind, Event, HeldCounts, Moment, Note, RecordError, Recorder,
};
use toolcrib_ledger::{Act, CallOutcome, EventKind};

use super::observer::Observer;
use super::server_metrics::OTHER_VALUE;

/// How many calls are watched at once. A call that never ends must not cost memory for ever.
const MOST_OPEN_CALLS: usize = 10_000;

/// A recorder that shows an observer what it records.
pub struct ObservedRecorder {
    inner: Arc<dyn Recorder>,
    observer: Observer,
    open: Mutex<HashMap<String, OpenCall>>,
}

/// What is known of a call that has not ended.
#[derive(Default)]
struct OpenCall {
    effect: Option<PolicyEffect>,
}

/// What policy decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PolicyEffect {
    Allow,
    Ask,
    Deny,
}

impl PolicyEffect {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl ObservedRecorder {
    /// Returns a recorder that hands everything on to `inner`.
    pub fn new(inner: Arc<dyn Recorder>, observer: &Observer) -> Self {
        Self { inner, observer: observer.clone(), open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, OpenCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, event: &Event<'_>) {
        match &event.moment {
            Moment::Asked { .. } => {
                let mut open = self.open();
                if open.len() >= MOST_OPEN_CALLS {
                    open.clear();
                }
                open.insert(event.call.0.clone(), OpenCall::default());
            }
            // If somebody decided, policy had asked for it.
            Moment::Waits { .. } | Moment::Decided { by: Some(_), .. } => {
                self.decided(event, PolicyEffect::Ask);
            }
            Moment::Decided { verdict: "allow", .. } => self.decided(event, PolicyEffect::Allow),
            Moment::Decided { .. } => self.decided(event, PolicyEffect::Deny),
            Moment::Ended { error, elapsed_us, version, command_end, .. } => {
                self.open().remove(&event.call.0);
                let error = error.map(|(kind, _)| kind);
                let tool = version.map_or(OTHER_VALUE, |_| event.tool.as_str()).to_owned();
                let outcome = outcome(error, *command_end).as_str().into();
                let metrics = &self.observer.metrics;
                metrics.calls.add_one([tool.clone().into(), outcome]);
                let error = error.map_or("", ErrorKind::as_str).into();
                let elapsed = Duration::from_micros(*elapsed_us);
                metrics.tool_durations.observe([tool.into(), error], elapsed);
            }
            Moment::Started { .. } | Moment::TaskEnded { .. } => {}
        }
    }

    /// Counts what policy decided about a call. What comes after the first decision is a person's answer.
    fn decided(&self, event: &Event<'_>, effect: PolicyEffect) {
        let mut open = self.open();
        let Some(call) = open.get_mut(&event.call.0) else { return };
        if call.effect.is_none() {
            call.effect = Some(effect);
            self.observer.metrics.policy_decisions.add_one([effect.as_str().into()]);
        }
    }
}

/// Returns the outcome of a call that ended, as the record names it.
fn outcome(error: Option<ErrorKind>, command_end: Option<End>) -> CallOutcome {
    match error {
        None if command_end.is_some_and(End::is_failure) => CallOutcome::CommandFailed,
        None => CallOutcome::Ok,
        Some(kind) if kind.is_refusal() => CallOutcome::Refused,
        Some(_) => CallOutcome::Failed,
    }
}

impl Recorder for ObservedRecorder {
    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), RecordError> {
        self.watch(event);
        self.inner.record(event, durability)
    }

    fn flush(&self) {
        self.inner.flush();
    }

    fn note(&self, note: &Note<'_>) -> Result<(), RecordError> {
        let decisions = [EventKind::Approved, EventKind::Denied];
        let decision = decisions.iter().find(|it| it.as_str() == note.event);
        if let Some(decision) = decision
            && note.act == Act::Approval.as_str()
        {
            self.observer.metrics.approvals.add_one([decision.as_str().to_owned().into()]);
        }
        self.inner.note(note)
    }

    fn held_counts(&self) -> HeldCounts {
        let own = vec![("observed calls", self.open().len())];
        [self.inner.held_counts(), own].concat()
    }
}
