//! The metrics of a server. The names are those of OpenTelemetry where it has some. No label has a value that callers
//! can make up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::metric::{CounterFamily, DurationFamily, FamilyHead, LabelValue, MetricText};
use super::process_figures::{open_files, resident_bytes};

/// Stands for values that are not known, as OpenTelemetry writes it.
pub(super) const OTHER_VALUE: &str = "_OTHER";

/// The buckets that OpenTelemetry names for `gen_ai.execute_tool.duration`.
const TOOL_BOUNDS: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The buckets that OpenTelemetry names for `http.server.request.duration`.
const REQUEST_BOUNDS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// The metrics of a server.
pub(crate) struct ServerMetrics {
    pub(super) tool_durations: DurationFamily<2>,
    pub(super) request_durations: DurationFamily<4>,
    pub(super) calls: CounterFamily<2>,
    pub(super) approvals: CounterFamily<1>,
    pub(super) policy_decisions: CounterFamily<1>,
    pub(super) requests_in_flight: GaugeCount,
    pub(super) connections_open: GaugeCount,
    started: Duration,
}

/// What is read anew each time somebody asks for the metrics. `None` is left out.
pub(crate) struct MetricReadings {
    /// How many calls wait for a person's approval.
    pub(crate) approvals_waiting: Option<u64>,
    /// How many lines the record has, those included that retention removed.
    pub(crate) record_lines: Option<u64>,
}

impl Default for ServerMetrics {
    fn default() -> Self {
        Self {
            tool_durations: DurationFamily::new(
                FamilyHead {
                    name: "gen_ai_execute_tool_duration_seconds",
                    help: "How long calls took, without the time a person took to answer.",
                    labels: ["gen_ai_tool_name", "error_type"],
                },
                TOOL_BOUNDS,
            ),
            request_durations: DurationFamily::new(
                FamilyHead {
                    name: "http_server_request_duration_seconds",
                    help: "How long requests took until their reply began.",
                    labels: [
                        "http_request_method",
                        "http_route",
                        "http_response_status_code",
                        "error_type",
                    ],
                },
                REQUEST_BOUNDS,
            ),
            calls: CounterFamily::new(FamilyHead {
                name: "toolcrib_calls",
                help: "Calls that ended, with the outcomes that `toolcrib audit` names.",
                labels: ["tool", "outcome"],
            }),
            approvals: CounterFamily::new(FamilyHead {
                name: "toolcrib_approvals",
                help: "Questions about calls that were answered through this server.",
                labels: ["decision"],
            }),
            policy_decisions: CounterFamily::new(FamilyHead {
                name: "toolcrib_policy_decisions",
                help: "What policy decided about calls: allow, ask or deny.",
                labels: ["effect"],
            }),
            requests_in_flight: GaugeCount::default(),
            connections_open: GaugeCount::default(),
            started: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }
}

impl ServerMetrics {
    /// Returns the text of all metrics. `spans` are those that were exported and dropped, if any are exported.
    pub(super) fn text(&self, readings: &MetricReadings, spans: Option<(u64, u64)>) -> String {
        let mut text = MetricText::default();
        self.tool_durations.write(&mut text);
        self.request_durations.write(&mut text);
        self.calls.write(&mut text);
        self.approvals.write(&mut text);
        self.policy_decisions.write(&mut text);
        if let Some((exported, dropped)) = spans {
            text.counter("toolcrib_spans_exported", "Spans that the collector took.", exported);
            let help = "Spans that were lost, because the collector took none or too many waited.";
            text.counter("toolcrib_spans_dropped", help, dropped);
        }
        for (name, help, value) in [
            (
                "toolcrib_approvals_waiting",
                "Calls that wait for a person's approval.",
                readings.approvals_waiting,
            ),
            (
                "toolcrib_requests_in_flight",
                "Requests that are being answered.",
                Some(self.requests_in_flight.get()),
            ),
            (
                "toolcrib_connections_open",
                "Connections that are open.",
                Some(self.connections_open.get()),
            ),
            (
                "toolcrib_audit_chain_length",
                "Lines of the record, those included that retention removed.",
                readings.record_lines,
            ),
            (
                "process_resident_memory_bytes",
                "Memory that the process has in use.",
                resident_bytes(),
            ),
            ("process_open_fds", "Files that the process has open.", open_files()),
        ] {
            text.gauge(name, help, value);
        }
        let started = self.started.as_secs_f64();
        text.gauge(
            "process_start_time_seconds",
            "When the server started, in seconds since 1970.",
            Some(started),
        );
        text.info("toolcrib_build", "The version.", "version", env!("CARGO_PKG_VERSION"));
        text.finish()
    }
}

/// A count of things that are there now.
#[derive(Clone, Default)]
pub(crate) struct GaugeCount(Arc<AtomicU64>);

impl GaugeCount {
    /// Counts one more, until the returned value is dropped.
    pub(crate) fn hold(&self) -> GaugeHold {
        self.0.fetch_add(1, Ordering::Relaxed);
        GaugeHold(Arc::clone(&self.0))
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Something that counts in a gauge until this is dropped.
pub(crate) struct GaugeHold(Arc<AtomicU64>);

impl Drop for GaugeHold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the label of a method. Callers can make up methods, so unknown ones share one value.
pub(super) fn method_label(method: &axum::http::Method) -> LabelValue {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"];
    let found = known.into_iter().find(|known| *known == method.as_str());
    found.unwrap_or(OTHER_VALUE).into()
}
