//! Takes what is observed to where it is shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::CallId;

use super::server_metrics::{GaugeHold, MetricReadings, ServerMetrics};
use super::span_exporter::{SpanExporter, SpanQueue};
use super::trace_context::TraceContext;

/// How many calls are watched at once. A call that never ends must not cost memory for ever.
pub(super) const MOST_OPEN_CALLS: usize = 10_000;

/// Takes what is observed to where it is shown. Clones share all of it.
#[derive(Clone, Default)]
pub struct Observer {
    pub(super) metrics: Arc<ServerMetrics>,
    /// Where spans go, if they are exported.
    pub(super) spans: Option<SpanQueue>,
    /// Where the calls that are about to be asked for are in traces.
    parents: Arc<Mutex<HashMap<String, TraceContext>>>,
}

impl Observer {
    /// Returns an observer that has seen nothing.
    pub fn new(exporter: Option<&SpanExporter>) -> Self {
        Self { spans: exporter.map(SpanExporter::queue), ..Self::default() }
    }

    /// Counts a connection as open until the returned value is dropped.
    pub(crate) fn connection(&self) -> GaugeHold {
        self.metrics.connections_open.hold()
    }

    /// Returns the metrics in the OpenMetrics format.
    pub(crate) fn metrics(&self, readings: &MetricReadings) -> String {
        self.metrics.text(readings, self.spans.as_ref().map(SpanQueue::counts))
    }

    /// Notes where in a trace a call is asked for.
    pub(crate) fn note_parent(&self, call: &CallId, parent: Option<TraceContext>) {
        if let (Some(_), Some(parent)) = (&self.spans, parent) {
            let mut parents = self.parents();
            if parents.len() >= MOST_OPEN_CALLS {
                parents.clear();
            }
            parents.insert(call.0.clone(), parent);
        }
    }

    /// Returns where in a trace a call is asked for, and forgets it.
    pub(super) fn take_parent(&self, call: &CallId) -> Option<TraceContext> {
        self.spans.as_ref()?;
        self.parents().remove(&call.0)
    }

    fn parents(&self) -> MutexGuard<'_, HashMap<String, TraceContext>> {
        self.parents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
