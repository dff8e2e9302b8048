//! Watches calls on their way to the record, which every call takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::command::End;
use toolcrib_core::{
    Durability, ErrorKind, Event, HeldCounts, Moment, Note, RecordError, Recorder, Role,
};
use toolcrib_ledger::{Act, CallOutcome, EventKind};
use toolcrib_runtime::undo::UNDO_TOOL;

use super::observer::{MOST_OPEN_CALLS, Observer};
use super::server_metrics::OTHER_VALUE;
use super::span::{Span, SpanKind};
use super::trace_context::{SpanId, TraceContext, TraceId};

/// A recorder that shows an observer what it records.
pub struct ObservedRecorder {
    inner: Arc<dyn Recorder>,
    observer: Observer,
    open: Mutex<HashMap<String, ObservedCall>>,
}

/// What is known of a call that has not ended.
struct ObservedCall {
    asked_at: Timestamp,
    role: Role,
    /// Where the call is in a trace, if a request asked for it.
    parent: Option<TraceContext>,
    effect: Option<PolicyEffect>,
    /// Whether a person is asked, or was.
    is_question: bool,
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

    fn open(&self) -> MutexGuard<'_, HashMap<String, ObservedCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, event: &Event<'_>) {
        match &event.moment {
            Moment::Asked { caller, .. } => {
                let mut open = self.open();
                if open.len() >= MOST_OPEN_CALLS {
                    open.clear();
                }
                let call = ObservedCall {
                    asked_at: event.at,
                    role: caller.principal.role,
                    parent: self.observer.take_parent(event.call),
                    effect: None,
                    is_question: false,
                };
                open.insert(event.call.0.clone(), call);
            }
            Moment::Waits { .. } => {
                self.decided(event, PolicyEffect::Ask);
                if let Some(call) = self.open().get_mut(&event.call.0) {
                    call.is_question = true;
                }
            }
            // An undo is a person's own command, and policy is not asked about it.
            Moment::Decided { .. } if *event.tool == *UNDO_TOOL => {}
            // If somebody decided, policy had asked for it.
            Moment::Decided { by: Some(_), .. } => self.decided(event, PolicyEffect::Ask),
            Moment::Decided { verdict: "allow", .. } => self.decided(event, PolicyEffect::Allow),
            Moment::Decided { .. } => self.decided(event, PolicyEffect::Deny),
            Moment::Ended { error, elapsed_us, version, command_end, .. } => {
                let call = self.open().remove(&event.call.0);
                let error = error.map(|(kind, _)| kind);
                // What callers make up must not become a name in the metrics.
                let is_known = version.is_some() || *event.tool == *UNDO_TOOL;
                let tool = if is_known { event.tool.as_str() } else { OTHER_VALUE }.to_owned();
                if let Some(call) = call {
                    self.export(event, call, &tool, error);
                }
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

    /// Exports the span of a call that ended, if its trace is recorded.
    fn export(&self, event: &Event<'_>, call: ObservedCall, tool: &str, error: Option<ErrorKind>) {
        let Some(spans) = &self.observer.spans else { return };
        let ObservedCall { asked_at, role, parent, effect, is_question } = call;
        if parent.as_ref().is_some_and(|parent| !parent.is_sampled()) {
            return;
        }
        // A parked call runs after its request is over, in a trace of its own.
        let trace = parent.as_ref().map_or_else(TraceId::generate, |parent| parent.trace);
        let mut attributes = vec![
            ("gen_ai.operation.name", "execute_tool".into()),
            ("gen_ai.tool.name", tool.to_owned().into()),
            ("gen_ai.tool.call.id", event.call.0.clone().into()),
            ("gen_ai.tool.type", "function".into()),
            ("toolcrib.principal.role", role.as_str().into()),
        ];
        if let Some(effect) = effect {
            attributes.push(("toolcrib.policy.decision", effect.as_str().into()));
        }
        if is_question {
            // A question has the id of its call.
            attributes.push(("toolcrib.approval.id", event.call.0.clone().into()));
        }
        spans.push(Span {
            trace,
            id: SpanId::generate(),
            parent: parent.as_ref().map(|parent| parent.span),
            state: parent.and_then(|parent| parent.state),
            name: format!("execute_tool {tool}"),
            kind: SpanKind::Internal,
            start: asked_at.as_nanosecond(),
            end: event.at.as_nanosecond().max(asked_at.as_nanosecond()),
            error: error.map(|kind| kind.as_str().into()),
            attributes,
        });
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
