//! What the server tells about itself to those who run it: its metrics, a line in the log for each request, and
//! spans for a collector.

mod call_watch;
mod metric;
mod observer;
mod otlp_client;
mod process_figures;
mod request_watch;
mod server_metrics;
mod span;
mod span_exporter;
mod trace_context;

pub use call_watch::ObservedRecorder;
pub use observer::Observer;
pub use otlp_client::{EndpointError, OtlpEndpoint};
pub(crate) use request_watch::{RequestFindings, RequestWatch};
pub(crate) use server_metrics::{GaugeHold, MetricReadings};
pub use span_exporter::SpanExporter;
pub(crate) use trace_context::TraceContext;
