//! Call ids: ULIDs, which sort by the time they were made.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use toolcrib_core::CallId;

/// How far back [`call_time`] goes from the time in an id, because the clock may be set between two readings.
const CLOCK_SLACK_MS: i64 = 3_600_000;

/// Returns the earliest time at which a call whose id is, or begins with, this text can have been asked for; `None`
/// if no id of ours begins so.
pub fn call_time(id: &str) -> Option<Timestamp> {
    let made = format!("{id:0<26}").parse::<ulid::Ulid>().ok()?.timestamp_ms();
    Timestamp::from_millisecond(i64::try_from(made).ok()?.checked_sub(CLOCK_SLACK_MS)?).ok()
}

/// Returns a new call id, which no call has had and which sorts after the ids made before it.
pub fn new_call_id() -> CallId {
    id_at(Timestamp::now())
}

/// Returns a new call id that carries the time `at`.
pub(crate) fn id_at(at: Timestamp) -> CallId {
    // The random part is drawn once per process and counted up from there: no other process has the same one,
    // ids of one millisecond sort, and packed records stay small.
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
