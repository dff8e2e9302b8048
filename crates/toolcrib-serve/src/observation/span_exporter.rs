//! Exports spans in batches, in the background. A queue that is full drops spans, so that no call ever waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::otlp_client::{OtlpEndpoint, send};
use super::span::{Span, export_body};

/// How many spans wait at most.
const MOST_WAITING_SPANS: usize = 4096;

/// How many spans are sent at once.
const MOST_BATCH_SPANS: usize = 512;

/// How long the exporter collects spans before it sends them.
const COLLECT_TIME: Duration = Duration::from_secs(1);

/// How long the exporter waits before it repeats a batch that was not taken. The batch is dropped after the last.
const PAUSES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// Where spans wait to be exported. Clones share one queue.
#[derive(Clone)]
pub(crate) struct SpanQueue {
    sender: mpsc::Sender<Span>,
    counts: Arc<SpanCounts>,
}

/// How many spans were exported, and how many were dropped.
#[derive(Default)]
struct SpanCounts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl SpanQueue {
    /// Adds a span, or drops it if too many wait.
    pub(super) fn push(&self, span: Span) {
        if self.sender.try_send(span).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how many spans were exported, and how many were dropped.
    pub(super) fn counts(&self) -> (u64, u64) {
        let SpanCounts { exported, dropped } = &*self.counts;
        (exported.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed))
    }
}

/// Exports spans until it is told to finish.
pub struct SpanExporter {
    queue: SpanQueue,
    finish: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl SpanExporter {
    /// Begins to export spans to a collector. Must be called within a runtime.
    pub fn start(endpoint: OtlpEndpoint) -> Self {
        let (sender, receiver) = mpsc::channel(MOST_WAITING_SPANS);
        let queue = SpanQueue { sender, counts: Arc::default() };
        let (finish, finishing) = watch::channel(false);
        let counts = Arc::clone(&queue.counts);
        let export = SpanExport { endpoint, receiver, finishing, counts, is_failing: false };
        Self { queue, finish, task: tokio::spawn(export.run()) }
    }

    pub(crate) fn queue(&self) -> SpanQueue {
        self.queue.clone()
    }

    /// Sends what waits, but takes no longer than `within`.
    pub async fn finish(self, within: Duration) {
        self.finish.send_replace(true);
        if timeout(within, self.task).await.is_err() {
            tracing::warn!("the last spans could not be exported in time");
        }
    }
}

/// The work of the exporter.
struct SpanExport {
    endpoint: OtlpEndpoint,
    receiver: mpsc::Receiver<Span>,
    finishing: watch::Receiver<bool>,
    counts: Arc<SpanCounts>,
    /// Whether the last batch was dropped, so that only the first of many failures is logged.
    is_failing: bool,
}

impl SpanExport {
    async fn run(mut self) {
        let mut batch = Vec::new();
        while !self.is_finishing() {
            let mut finishing = self.finishing.clone();
            tokio::select! {
                _ = self.receiver.recv_many(&mut batch, MOST_BATCH_SPANS) => {}
                _ = finishing.changed() => break,
            }
            tokio::select! {
                () = sleep(COLLECT_TIME) => {}
                _ = finishing.changed() => {}
            }
            self.fill(&mut batch);
            self.export(&mut batch).await;
        }
        loop {
            self.fill(&mut batch);
            if batch.is_empty() {
                return;
            }
            self.export(&mut batch).await;
        }
    }

    fn is_finishing(&self) -> bool {
        *self.finishing.borrow()
    }

    fn fill(&mut self, batch: &mut Vec<Span>) {
        while batch.len() < MOST_BATCH_SPANS
            && let Ok(span) = self.receiver.try_recv()
        {
            batch.push(span);
        }
    }

    /// Sends a batch, and repeats that if the collector does not take it.
    async fn export(&mut self, batch: &mut Vec<Span>) {
        let (body, count) = (export_body(batch), batch.len() as u64);
        batch.clear();
        let mut pauses = PAUSES.iter();
        loop {
            let Err(err) = send(&self.endpoint, &body).await else {
                self.counts.exported.fetch_add(count, Ordering::Relaxed);
                if self.is_failing {
                    tracing::info!("spans are exported again");
                }
                self.is_failing = false;
                return;
            };
            match pauses.next() {
                Some(pause) if err.is_passing() && !self.is_finishing() => {
                    let mut finishing = self.finishing.clone();
                    tokio::select! {
                        () = sleep(*pause) => {}
                        _ = finishing.changed() => {}
                    }
                }
                _ => {
                    self.counts.dropped.fetch_add(count, Ordering::Relaxed);
                    if !self.is_failing {
                        tracing::warn!(error = %err, "spans cannot be exported and are dropped");
                    }
                    self.is_failing = true;
                    return;
                }
            }
        }
    }
}
