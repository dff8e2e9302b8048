//! Takes what is observed to where it is shown.

use std::sync::Arc;

use super::server_metrics::{GaugeHold, MetricReadings, ServerMetrics};

/// Takes what is observed to where it is shown. Clones share all of it.
#[derive(Clone)]
pub struct Observer {
    pub(super) metrics: Arc<ServerMetrics>,
}

impl Observer {
    /// Returns an observer that has seen nothing.
    pub fn new() -> Self {
        Self { metrics: Arc::new(ServerMetrics::new()) }
    }

    /// Counts a connection as open until the returned value is dropped.
    pub(crate) fn connection(&self) -> GaugeHold {
        self.metrics.connections_open.hold()
    }

    /// Returns the metrics in the OpenMetrics format.
    pub(crate) fn metrics(&self, readings: &MetricReadings) -> String {
        self.metrics.text(readings)
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new()
    }
}
