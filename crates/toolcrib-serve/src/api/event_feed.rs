//! What happens, as it happens: the new lines of the record, for any number of readers.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use toolcrib_core::ToolName;
use toolcrib_ledger::{
    Act, EventKind, RecordEntry, RecordTail, StateFolder, TailLine, entries_after,
};

/// How often the record is looked at for new lines.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// How many events a reader can be behind. One that is further behind reads them from the record.
const MOST_BEHIND: usize = 1024;

/// The new lines of the record, for any number of readers. The record is followed while there is one.
pub struct EventFeed {
    state: StateFolder,
    events: broadcast::Sender<Arc<RecordedEvent>>,
    is_followed: AtomicBool,
    stopped: watch::Sender<bool>,
}

/// An event, as it is told to readers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct RecordedEvent {
    /// The number of its line in the record.
    pub(super) seq: u64,
    /// What happened, such as `call.ended`.
    pub(super) event: String,
    pub(super) at: String,
    /// The call it happened to.
    pub(super) call: Option<String>,
    pub(super) tool: Option<ToolName>,
    pub(super) session: Option<String>,
    pub(super) principal: Option<String>,
    pub(super) role: Option<String>,
    pub(super) decision: Option<String>,
    pub(super) rule: Option<String>,
    #[serde(flatten)]
    pub(super) end: EventEnd,
}

/// How a call ended, and anything else about an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct EventEnd {
    pub(super) status: Option<String>,
    pub(super) error: Option<String>,
    pub(super) elapsed_ms: Option<f64>,
    pub(super) detail: Option<Value>,
}

impl EventFeed {
    /// Makes the feed of a state folder.
    pub fn new(state: &StateFolder) -> Arc<Self> {
        Arc::new(Self {
            state: state.clone(),
            events: broadcast::Sender::new(MOST_BEHIND),
            is_followed: AtomicBool::new(false),
            stopped: watch::Sender::new(false),
        })
    }

    /// Ends all readers, because the server stops.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Waits until the server stops.
    pub(super) async fn wait_for_stop(&self) {
        let mut stopped = self.stopped.subscribe();
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    /// Returns the events from now on.
    pub(super) fn subscribe(
        self: &Arc<Self>,
    ) -> io::Result<broadcast::Receiver<Arc<RecordedEvent>>> {
        let receiver = self.events.subscribe();
        if !self.is_followed.swap(true, Ordering::AcqRel) {
            let tail = match RecordTail::at_end(&self.state) {
                Ok(tail) => tail,
                Err(err) => {
                    self.is_followed.store(false, Ordering::Release);
                    return Err(err);
                }
            };
            let feed = Arc::clone(self);
            thread::spawn(move || feed.follow(tail));
        }
        Ok(receiver)
    }

    /// Tells readers of new lines, for as long as there are readers.
    fn follow(&self, mut tail: RecordTail) {
        loop {
            while self.events.receiver_count() > 0 && !*self.stopped.borrow() {
                // A record that cannot be read now may be readable again.
                for line in tail.read_new().unwrap_or_default() {
                    if let Some(event) = event_of(&line) {
                        let _ = self.events.send(Arc::new(event));
                    }
                }
                thread::sleep(LOOK_INTERVAL);
            }
            self.is_followed.store(false, Ordering::Release);
            // Somebody may have come between the last look and the mark.
            let has_new = self.events.receiver_count() > 0 && !*self.stopped.borrow();
            if !has_new || self.is_followed.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }

    /// Gives `visit` each event after a line of the record, until it breaks.
    pub(super) fn replay(
        &self,
        after: u64,
        mut visit: impl FnMut(RecordedEvent) -> ControlFlow<()>,
    ) -> io::Result<()> {
        entries_after(&self.state, after, |entry| visit(RecordedEvent::of(entry)))
    }
}

fn event_of(line: &TailLine) -> Option<RecordedEvent> {
    let entry = RecordEntry::parse(&line.bytes).filter(|_| line.is_signed)?;
    Some(RecordedEvent::of(&entry))
}

impl RecordedEvent {
    fn of(entry: &RecordEntry<'_>) -> Self {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let tool = entry.tool();
        Self {
            seq: entry.seq,
            event: event_name(entry),
            at: format!("{:.3}", entry.at),
            call: text(&entry.call.id),
            tool: (!tool.is_empty()).then_some(tool),
            session: text(&entry.call.conversation),
            principal: entry.call.caller.principal.as_deref().map(str::to_owned),
            role: entry.call.caller.role.as_deref().map(str::to_owned),
            decision: entry.decision.verdict.as_deref().map(str::to_owned),
            rule: entry.decision.rule.as_deref().map(str::to_owned),
            end: EventEnd {
                status: entry.end.status.as_deref().map(str::to_owned),
                error: entry.end.error.as_deref().map(str::to_owned),
                elapsed_ms: entry.end.elapsed_ms(),
                detail: entry.detail.clone(),
            },
        }
    }
}

/// Returns what happened, as readers name it.
fn event_name(entry: &RecordEntry<'_>) -> String {
    let what = match &entry.event {
        EventKind::Settings => return "settings.changed".to_owned(),
        EventKind::Waits => "waiting",
        event => event.as_str(),
    };
    let subject = match &entry.act {
        Act::ToolCall => "call",
        act => act.as_str(),
    };
    format!("{subject}.{what}")
}
