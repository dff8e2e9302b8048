//! What each open connection is doing, so that its timers and the accept loop know which connection may be closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use crate::config::ConnectionBounds;

/// What one connection is doing.
pub(crate) struct Activity {
    state: Mutex<ActivityState>,
    evicted: Notify,
    room: Arc<RoomWanted>,
}

/// Whether the accept loop waits for a connection that may be closed.
#[derive(Default)]
struct RoomWanted {
    /// Read at the end of every request, so that a server with room pays nothing.
    is_wanted: AtomicBool,
    found: Notify,
}

impl RoomWanted {
    fn tell(&self) {
        if self.is_wanted.load(Ordering::SeqCst) {
            self.found.notify_one();
        }
    }
}

struct ActivityState {
    stage: ConnectionStage,
    since: Instant,
    /// Since when the client has not taken what waits for it.
    stalled_since: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionStage {
    /// No byte of the next request has come.
    Idle,
    /// A part of the head of a request has come.
    Head,
    /// A request is being answered.
    Request,
    /// The server has sent its last byte.
    Closing,
}

/// Why a connection has waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    Idle,
    Head,
    Stalled,
}

impl Activity {
    fn new(now: Instant, room: Arc<RoomWanted>) -> Self {
        let state = ActivityState { stage: ConnectionStage::Idle, since: now, stalled_since: None };
        Self { state: Mutex::new(state), evicted: Notify::new(), room }
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, stage: ConnectionStage) {
        let mut state = self.state();
        (state.stage, state.since) = (stage, Instant::now());
        drop(state);
        if stage != ConnectionStage::Request {
            self.room.tell();
        }
    }

    /// Notes that a part of a head has come. While a request runs, it is the head of the next one, which nobody waits
    /// for yet.
    pub(crate) fn head_began(&self) {
        if self.state().stage == ConnectionStage::Idle {
            self.enter(ConnectionStage::Head);
        }
    }

    /// Notes that the server has sent its last byte.
    pub(crate) fn closing(&self) {
        self.enter(ConnectionStage::Closing);
    }

    /// Whether a request is being answered.
    pub(crate) fn is_in_request(&self) -> bool {
        self.state().stage == ConnectionStage::Request
    }

    /// Notes that the client does not take what waits for it.
    pub(crate) fn stalled(&self) {
        self.state().stalled_since.get_or_insert_with(Instant::now);
        self.room.tell();
    }

    /// Notes that the client takes its reply again.
    pub(crate) fn moved(&self) {
        let mut state = self.state();
        // hyper drops a reply once it has buffered the last of it, so the connection may seem idle already.
        (state.stalled_since, state.since) = (None, Instant::now());
    }

    /// Returns when the connection has waited long enough, and for what.
    pub(crate) fn due(&self, bounds: &ConnectionBounds) -> Option<(Instant, Overdue)> {
        let state = self.state();
        if let Some(since) = state.stalled_since {
            return Some((since + bounds.stalled_time, Overdue::Stalled));
        }
        match state.stage {
            ConnectionStage::Idle => Some((state.since + bounds.idle_time, Overdue::Idle)),
            ConnectionStage::Head => Some((state.since + bounds.head_time, Overdue::Head)),
            ConnectionStage::Request | ConnectionStage::Closing => None,
        }
    }

    /// Since when nobody would miss the connection. `None` while a request runs and its client reads.
    fn expendable_since(&self) -> Option<Instant> {
        let state = self.state();
        match (state.stalled_since, state.stage) {
            (Some(since), _) => Some(since),
            (None, ConnectionStage::Request) => None,
            (None, ConnectionStage::Idle | ConnectionStage::Head | ConnectionStage::Closing) => {
                Some(state.since)
            }
        }
    }

    /// Whether a reply is being made or taken.
    fn is_busy(&self) -> bool {
        let state = self.state();
        state.stage == ConnectionStage::Request || state.stalled_since.is_some()
    }

    /// Waits until the connection must make room for another.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

/// Marks a connection as answering a request until this is dropped.
pub(crate) struct RequestMark(Arc<Activity>);

impl RequestMark {
    pub(crate) fn new(activity: Arc<Activity>) -> Self {
        activity.enter(ConnectionStage::Request);
        Self(activity)
    }
}

impl Drop for RequestMark {
    fn drop(&mut self) {
        self.0.enter(ConnectionStage::Idle);
    }
}

/// Every open connection.
#[derive(Default)]
pub(crate) struct OpenConnections {
    table: Mutex<ConnectionTable>,
    room: Arc<RoomWanted>,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    by_number: HashMap<u64, Arc<Activity>>,
}

/// A connection in the table. It leaves the table when this is dropped.
pub(crate) struct OpenConnection {
    table: Arc<OpenConnections>,
    number: u64,
    pub(crate) activity: Arc<Activity>,
}

impl OpenConnections {
    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection.
    pub(crate) fn add(self: &Arc<Self>) -> OpenConnection {
        let activity = Arc::new(Activity::new(Instant::now(), Arc::clone(&self.room)));
        let mut table = self.table();
        let number = table.next;
        table.next += 1;
        table.by_number.insert(number, Arc::clone(&activity));
        OpenConnection { table: Arc::clone(self), number, activity }
    }

    /// Returns how many requests are being answered, those included whose client still takes the reply.
    pub(crate) fn running_requests(&self) -> usize {
        self.table().by_number.values().filter(|it| it.is_busy()).count()
    }

    /// Closes the connection that has been of no use for the longest time. Returns whether there is one.
    pub(crate) fn evict_longest_idle(&self) -> bool {
        let table = self.table();
        let expendable =
            table.by_number.values().filter_map(|it| Some((it.expendable_since()?, it)));
        let longest = expendable.min_by_key(|(since, _)| *since);
        longest.inspect(|(_, activity)| activity.evicted.notify_one()).is_some()
    }

    /// Closes the connection that has been of no use for the longest time. Waits until there is one.
    pub(crate) async fn make_room(&self) {
        // Before the look, so that no connection becomes of no use unnoticed in between.
        let _wanted = WantedUntilDropped::new(&self.room.is_wanted);
        while !self.evict_longest_idle() {
            self.room.found.notified().await;
        }
    }
}

/// Says that room is wanted until this is dropped.
struct WantedUntilDropped<'a>(&'a AtomicBool);

impl<'a> WantedUntilDropped<'a> {
    fn new(is_wanted: &'a AtomicBool) -> Self {
        is_wanted.store(true, Ordering::SeqCst);
        Self(is_wanted)
    }
}

impl Drop for WantedUntilDropped<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.table.table().by_number.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    fn overdue(activity: &Activity) -> Option<Overdue> {
        activity.due(&ConnectionBounds::default()).map(|(_, overdue)| overdue)
    }

    #[test]
    fn a_connection_waits_for_its_next_request_but_not_during_one() {
        let open = Arc::new(OpenConnections::default());
        let connection = open.add();
        let activity = Arc::clone(&connection.activity);
        assert_eq!(overdue(&activity), Some(Overdue::Idle));
        activity.head_began();
        assert_eq!(overdue(&activity), Some(Overdue::Head));
        let mark = RequestMark::new(Arc::clone(&activity));
        assert_eq!((overdue(&activity), open.running_requests()), (None, 1));
        activity.head_began();
        assert!(activity.expendable_since().is_none());
        activity.stalled();
        assert_eq!(overdue(&activity), Some(Overdue::Stalled));
        assert!(activity.expendable_since().is_some());
        drop(mark);
        // The reply is made, and the client has not taken it.
        assert_eq!((overdue(&activity), open.running_requests()), (Some(Overdue::Stalled), 1));
        activity.moved();
        assert_eq!((overdue(&activity), open.running_requests()), (Some(Overdue::Idle), 0));
        drop(connection);
        assert!(open.table().by_number.is_empty());
    }
    #[tokio::test]
    async fn room_is_made_when_a_request_ends_and_not_before() {
        let open = Arc::new(OpenConnections::default());
        let busy = open.add();
        let mark = RequestMark::new(Arc::clone(&busy.activity));
        let mut room = std::pin::pin!(open.make_room());
        let is_made = std::future::poll_fn(|cx| Poll::Ready(room.as_mut().poll(cx).is_ready()));
        assert!(!is_made.await, "the only connection answers a request");
        drop(mark);
        // Nothing but the end of the request wakes this.
        room.await;
        busy.activity.evicted().await;
        drop(busy);
        let _idle = open.add();
        open.make_room().await;
        assert!(!open.room.is_wanted.load(Ordering::SeqCst));
    }
}
