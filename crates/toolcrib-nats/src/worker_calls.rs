//! The calls of a worker: those that run, and what came of the last ones, so that a reply that was lost can be had again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::Cancel;

use crate::worker_messages::WorkerReply;

/// How many outcomes are remembered.
const MOST_ENDED: usize = 64;

/// The calls of a worker, by id.
#[derive(Default)]
pub(crate) struct WorkerCalls(Mutex<KnownCalls>);

#[derive(Default)]
struct KnownCalls {
    running: HashMap<String, Cancel>,
    ended: VecDeque<(String, WorkerReply)>,
}

impl WorkerCalls {
    fn known(&self) -> MutexGuard<'_, KnownCalls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call that begins. Returns nothing if as many run as may, or if this one runs already.
    pub(crate) fn begin(&self, call: &str, most: usize) -> Option<Cancel> {
        let mut known = self.known();
        if known.running.len() >= most || known.running.contains_key(call) {
            return None;
        }
        let cancel = Cancel::default();
        known.running.insert(call.to_owned(), cancel.clone());
        Some(cancel)
    }

    /// Adds what came of a call.
    pub(crate) fn end(&self, call: &str, reply: WorkerReply) {
        let mut known = self.known();
        known.running.remove(call);
        if known.ended.len() == MOST_ENDED {
            known.ended.pop_front();
        }
        known.ended.push_back((call.to_owned(), reply));
    }

    /// Forgets a call that did not begin after all.
    pub(crate) fn forget(&self, call: &str) {
        self.known().running.remove(call);
    }

    /// Returns what is known about a call.
    pub(crate) fn status(&self, call: &str) -> WorkerReply {
        let known = self.known();
        if known.running.contains_key(call) {
            return WorkerReply::Running;
        }
        let ended = known.ended.iter().rev().find(|(id, _)| id == call);
        ended.map_or(WorkerReply::Unknown, |(_, reply)| reply.clone())
    }

    /// Cancels a call, if it runs.
    pub(crate) fn cancel(&self, call: &str) {
        if let Some(cancel) = self.known().running.get(call) {
            cancel.cancel();
        }
    }

    /// Cancels all calls. Returns how many run.
    pub(crate) fn cancel_all(&self) -> usize {
        let known = self.known();
        known.running.values().for_each(Cancel::cancel);
        known.running.len()
    }

    pub(crate) fn running(&self) -> usize {
        self.known().running.len()
    }
}
