//! The record: what was asked, decided and done, one JSON line each, and what files held before a
//! call changed them. Lives in the state folder, where no tool can reach it.

mod approvals;
mod aside;
mod fold;
mod grants;
mod head;
mod journal;
mod line;
mod lines;
mod link;
mod live;
mod log;
mod lost;
mod objects;
mod past;
mod quarantine;
mod record;
mod redact;
mod regression;
pub mod report;
mod segment;
mod shape;
mod sketch;
mod state;
mod stats;
mod story;
mod tally;
mod tidy;
mod verify;

pub use approvals::{Approvals, Decided, Pending, Standing, this_process};
pub use fold::{Amount, ErrorFigures, Failed, Hour, HourKey, ResourceFigures, ToolFigures};
pub use grants::GrantFile;
pub use journal::{Journal, Taken};
pub use lines::{Entry, Follower, Page, Record};
pub use lost::{LostCall, find_lost};
pub use objects::hash_of;
pub use past::{PastCall, past_calls};
pub use quarantine::{Barred, Quarantine};
pub use record::{Previews, RecordFile};
pub use redact::{Redactor, is_secret_name};
pub use regression::{Comparison, Severity, Window, compare};
pub use sketch::Sketch;
pub use state::{State, StateError};
pub use stats::{Stats, StatsError};
pub use story::{Fate, Story, Wanted, find_calls, tell_calls, tell_lines};
pub use tally::{TallyFile, UserBounds};
pub use tidy::Tidied;
pub use verify::{Problem, Verified, verify};

use std::sync::{Mutex, PoisonError};

use toolcrib_core::CallId;

/// Returns when a call was asked for, by its id; nothing if that is no id of ours.
pub fn call_time(id: &str) -> Option<jiff::Timestamp> {
    let made = id.parse::<ulid::Ulid>().ok()?.timestamp_ms();
    // The clock may have been set between the two.
    jiff::Timestamp::from_millisecond(i64::try_from(made).ok()?.checked_sub(3_600_000)?).ok()
}

/// Returns an id that no call has had, which sorts after those made before it.
pub fn new_call_id() -> CallId {
    id_at(jiff::Timestamp::now())
}

/// The same of a moment that is known.
pub(crate) fn id_at(at: jiff::Timestamp) -> CallId {
    // The random part is drawn once for a process and counted up from there: no other process has the
    // same, ids of one millisecond sort, and packed records stay small.
    static LAST: Mutex<Option<ulid::Ulid>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let id = match *last {
        Some(last) => {
            let at = at.as_millisecond().cast_unsigned();
            ulid::Ulid::from_parts(at, last.random().wrapping_add(1))
        }
        None => ulid::Ulid::generate(),
    };
    *last = Some(id);
    CallId(id.to_string())
}
