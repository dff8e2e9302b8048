//! Messages that are dropped without a reply. The record has the first of each kind in a minute; the others are only
//! counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_core::{Clock, Note, Recorder};
use toolcrib_ledger::{Act, EventKind};

/// How long the same kind of message of the same sender is only counted.
const NOTE_INTERVAL: Duration = Duration::from_mins(1);

/// The most pairs of a sender and a reason that are told apart.
const MOST_SENDERS: usize = 1000;

/// Stands for all senders beyond that.
const OTHER_SENDERS: &str = "nats:(others)";

/// How many characters of a subject are noted.
const LONGEST_SUBJECT: usize = 256;

/// Puts refused messages on the record.
pub(crate) struct RefusedMessages {
    clock: Arc<dyn Clock>,
    /// By sender and reason.
    noted: Mutex<HashMap<(String, &'static str), LastNote>>,
}

/// The last note about a kind of message of a sender.
struct LastNote {
    at: Instant,
    /// How many came since.
    more: u64,
}

impl RefusedMessages {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, noted: Mutex::default() }
    }

    /// Notes a message that was dropped.
    pub(crate) fn add(
        &self,
        recorder: &dyn Recorder,
        sender: &str,
        reason: &'static str,
        subject: &str,
    ) {
        let now = Instant::now();
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = noted.contains_key(&(sender.to_owned(), reason));
        let sender = if is_known || noted.len() < MOST_SENDERS { sender } else { OTHER_SENDERS };
        let key = (sender.to_owned(), reason);
        let since = match noted.get_mut(&key) {
            Some(last) if now.saturating_duration_since(last.at) < NOTE_INTERVAL => {
                last.more += 1;
                return;
            }
            Some(last) => last.more,
            None => 0,
        };
        noted.insert(key, LastNote { at: now, more: 0 });
        drop(noted);
        let note = Note {
            at: self.clock.now(),
            actor: sender,
            act: Act::Bus.as_str(),
            event: EventKind::Refused.as_str(),
            tool: None,
            call: "",
            detail: json!({"because": reason, "subject": subject.chars().take(LONGEST_SUBJECT).collect::<String>(), "more_before": since}),
        };
        // If the record cannot be written, calls fail and say so.
        let _ = recorder.note(&note);
    }
}
