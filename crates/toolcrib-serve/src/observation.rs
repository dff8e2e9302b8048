//! What the server tells about itself to those who run it: its metrics, and a line in the log for each request.

mod call_watch;
mod metric;
mod observer;
mod process_figures;
mod request_watch;
mod server_metrics;

pub use call_watch::ObservedRecorder;
pub use observer::Observer;
pub(crate) use request_watch::{RequestWatch, note_route};
pub(crate) use server_metrics::{GaugeHold, MetricReadings};
