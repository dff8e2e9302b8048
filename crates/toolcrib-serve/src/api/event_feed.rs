//! What happens, as it happens: the new lines of the record, for any number of readers.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, broadcast, watch};
use toolcrib_core::Principal;
use toolcrib_ledger::{RecordEntry, RecordTail, StateFolder, entries_around, record_length};

use super::event_name;
use super::recorded_event::RecordedEvent;

/// How often the record is looked at for new lines.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// How many events a reader can be behind. One that is further behind reads them from the record.
const MOST_BEHIND: usize = 1024;

/// How many readers read the record again at once.
const MOST_REPLAYS: usize = 2;

/// How many events one step of reading it again finds at most, and how many lines it reads.
const MOST_EVENTS_OF_STEP: usize = 1024;
const MOST_LINES_OF_STEP: usize = 20_000;

/// How many callers are remembered. Then all are forgotten, and the ends of older calls are told without a principal, so
/// agents miss them.
const MOST_KNOWN_CALLERS: usize = 50_000;

/// The new lines of the record, for any number of readers. The record is followed while there is one.
pub struct EventFeed {
    state: StateFolder,
    events: broadcast::Sender<Arc<RecordedEvent>>,
    is_followed: AtomicBool,
    stopped: watch::Sender<bool>,
    /// The turns of readers that read the record again.
    replays: Semaphore,
}

/// The ends of calls and of their commands, as they happen.
pub(crate) struct CallEnds {
    events: broadcast::Receiver<Arc<RecordedEvent>>,
}

impl CallEnds {
    /// Waits for the next one, and returns the id of its call and whose call it is. Returns nothing if there will be none.
    /// A reader that is far behind misses some.
    pub(crate) async fn next(&mut self) -> Option<(String, Option<Principal>)> {
        loop {
            match self.events.recv().await {
                Ok(event) if event_name::is_end(&event.event) => {
                    if let Some(call) = &event.call {
                        return Some((call.clone(), event.owner.clone()));
                    }
                }
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl EventFeed {
    /// Makes the feed of a state folder.
    pub fn new(state: &StateFolder) -> Arc<Self> {
        Arc::new(Self {
            state: state.clone(),
            events: broadcast::Sender::new(MOST_BEHIND),
            is_followed: AtomicBool::new(false),
            stopped: watch::Sender::new(false),
            replays: Semaphore::new(MOST_REPLAYS),
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

    /// Returns the events from now on, and the number of the last line before them.
    pub(super) fn subscribe(
        self: &Arc<Self>,
    ) -> io::Result<(broadcast::Receiver<Arc<RecordedEvent>>, u64)> {
        let receiver = self.events.subscribe();
        let last = record_length(&self.state)?;
        if !self.is_followed.swap(true, Ordering::AcqRel) {
            let tail = match RecordTail::at_end(&self.state) {
                Ok(tail) => tail,
                Err(err) => {
                    self.is_followed.store(false, Ordering::Release);
                    return Err(err);
                }
            };
            let feed = Arc::clone(self);
            let follower = thread::Builder::new().name("events".to_owned());
            if let Err(err) = follower.spawn(move || feed.follow(tail)) {
                self.is_followed.store(false, Ordering::Release);
                return Err(err);
            }
        }
        Ok((receiver, last))
    }

    /// Returns the ends of calls and of their commands, from now on.
    pub(crate) fn ends(self: &Arc<Self>) -> io::Result<CallEnds> {
        Ok(CallEnds { events: self.subscribe()?.0 })
    }

    /// Tells readers of new lines, for as long as there are readers.
    fn follow(&self, mut tail: RecordTail) {
        let mut callers = KnownCallers::default();
        // A call that began before may end now. Without the record, it ends as nobody's.
        let _ = entries_around(&self.state, u64::MAX, |entry, _| {
            callers.learn(entry);
            ControlFlow::Continue(())
        });
        loop {
            while self.events.receiver_count() > 0 && !*self.stopped.borrow() {
                // A record that cannot be read now may be readable again.
                for line in tail.read_new().unwrap_or_default() {
                    let entry = RecordEntry::parse(&line.bytes).filter(|_| line.is_signed);
                    if let Some(entry) = entry {
                        let event = callers.event(&entry, &line.bytes);
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

    /// Reads on in the record: some more of the events that `wants` takes. Few readers do so at once, and each waits for its
    /// turn at every step, because the lines of an hour are in memory meanwhile. What a slow reader waits with is small.
    pub(super) async fn replay(
        self: &Arc<Self>,
        mut replay: EventReplay,
        wants: impl Fn(&RecordedEvent) -> bool + Send + 'static,
    ) -> io::Result<(EventReplay, Vec<RecordedEvent>)> {
        let _turn = self.replays.acquire().await.map_err(io::Error::other)?;
        let feed = Arc::clone(self);
        let step = tokio::task::spawn_blocking(move || {
            let mut events = Vec::new();
            let mut lines = 0;
            replay.is_whole = true;
            entries_around(&feed.state, replay.last_seq, |entry, line| {
                if entry.seq <= replay.last_seq {
                    replay.callers.learn(entry);
                    return ControlFlow::Continue(());
                }
                if events.len() >= MOST_EVENTS_OF_STEP || lines >= MOST_LINES_OF_STEP {
                    replay.is_whole = false;
                    return ControlFlow::Break(());
                }
                lines += 1;
                replay.last_seq = entry.seq;
                let event = replay.callers.event(entry, line);
                events.extend(wants(&event).then_some(event));
                ControlFlow::Continue(())
            })?;
            Ok((replay, events))
        });
        step.await.map_err(io::Error::other)?
    }
}

/// How far somebody has read on in the record.
pub(super) struct EventReplay {
    /// The number of the last line that was read.
    pub(super) last_seq: u64,
    /// Whether that was the last line there is.
    pub(super) is_whole: bool,
    callers: KnownCallers,
}

impl EventReplay {
    /// Begins after a line.
    pub(super) fn after(last_seq: u64) -> Self {
        Self { last_seq, is_whole: false, callers: KnownCallers::default() }
    }
}

/// Who made the calls of late. Only the first line of a call says so.
#[derive(Default)]
struct KnownCallers(HashMap<String, Principal>);

impl KnownCallers {
    fn learn(&mut self, entry: &RecordEntry<'_>) {
        let Some(caller) = entry.call.caller.to_caller() else { return };
        if self.0.len() >= MOST_KNOWN_CALLERS {
            self.0.clear();
        }
        self.0.insert(entry.call.id.clone().into_owned(), caller.principal);
    }

    fn event(&mut self, entry: &RecordEntry<'_>, line: &[u8]) -> RecordedEvent {
        self.learn(entry);
        RecordedEvent::of(entry, line, self.0.get(&*entry.call.id))
    }
}
