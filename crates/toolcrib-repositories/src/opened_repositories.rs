//! What is known of a repository that sessions open: which session reads which commit, whether it is being opened, and why it
//! could not be.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::child_output::POLL_INTERVAL;
use crate::open_repository::{OpenFunction, OpenRepository};

/// For how many sessions the commit that they read is known. Those that read longest ago are forgotten first.
pub(crate) const MOST_SESSIONS: usize = 256;

/// For how long a session that begins takes the commit that was found last.
pub(crate) const FRESH_TIME: Duration = Duration::from_secs(10);

/// For how long a failure is remembered: as long as it took to fail, within these bounds. So a repository that hangs does not hold
/// up each session for itself, and one that was mended is soon seen.
const LEAST_FAILURE_TIME: Duration = Duration::from_secs(1);
const MOST_FAILURE_TIME: Duration = Duration::from_secs(20);

/// The repository as sessions opened it.
#[derive(Default)]
pub(crate) struct OpenedRepositories {
    known: Mutex<KnownRepositories>,
    /// Notified when an opening has ended.
    ended: Condvar,
}

#[derive(Default)]
pub(crate) struct KnownRepositories {
    /// Which session reads which commit, those that read last behind.
    sessions: VecDeque<(String, Arc<dyn OpenRepository>)>,
    /// What was opened last, and when.
    pub(crate) last: Option<(Instant, Arc<dyn OpenRepository>)>,
    /// Until when it is not tried again, and why.
    pub(crate) failure: Option<(Instant, ToolError)>,
    /// Whether a call opens it now. All others wait for what comes of that.
    is_opening: bool,
}

impl KnownRepositories {
    /// Returns what a session reads, if it has read before.
    fn find(&mut self, session: &str) -> Option<Arc<dyn OpenRepository>> {
        let at = self.sessions.iter().position(|(known, _)| known == session)?;
        let known = self.sessions.remove(at)?;
        let repository = Arc::clone(&known.1);
        self.sessions.push_back(known);
        Some(repository)
    }

    fn keep(&mut self, session: &str, repository: &Arc<dyn OpenRepository>) {
        if self.sessions.len() >= MOST_SESSIONS {
            self.sessions.pop_front();
        }
        self.sessions.push_back((session.to_owned(), Arc::clone(repository)));
    }
}

/// The right to open the repository, which one call at a time has.
struct OpeningTurn<'a>(&'a OpenedRepositories);

impl Drop for OpeningTurn<'_> {
    fn drop(&mut self) {
        self.0.known().is_opening = false;
        self.0.ended.notify_all();
    }
}

impl OpenedRepositories {
    pub(crate) fn known(&self) -> MutexGuard<'_, KnownRepositories> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what a session reads. If that must be opened first, one call opens it for all sessions that wait.
    pub(crate) fn find_or_open(
        &self,
        session: &str,
        cancel: &Cancel,
        open: &OpenFunction,
    ) -> Result<Arc<dyn OpenRepository>, ToolError> {
        let mut known = self.known();
        loop {
            if let Some(found) = known.find(session) {
                return Ok(found);
            }
            let now = Instant::now();
            let last = known.last.clone();
            if let Some((_, last)) = last.filter(|(at, _)| now.duration_since(*at) < FRESH_TIME) {
                known.keep(session, &last);
                return Ok(last);
            }
            if let Some((_, err)) = known.failure.as_ref().filter(|(until, _)| now < *until) {
                return Err(err.clone());
            }
            cancel.check()?;
            if !known.is_opening {
                break;
            }
            // A cancelled call does not wake who waits here, so it is asked for now and then.
            let waited = self.ended.wait_timeout(known, POLL_INTERVAL);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        known.is_opening = true;
        drop(known);
        let turn = OpeningTurn(self);
        let begun = Instant::now();
        let opened = open(cancel);
        let mut known = self.known();
        let opened = match opened {
            Ok(now) => {
                // The same commit keeps its index.
                let last = known.last.take().map(|(_, last)| last);
                let now = last.filter(|last| last.commit() == now.commit()).unwrap_or(now);
                known.last = Some((Instant::now(), Arc::clone(&now)));
                known.failure = None;
                known.keep(session, &now);
                Ok(now)
            }
            Err(err) => {
                // That this call was cancelled says nothing about the repository.
                if err.kind != ErrorKind::Cancelled && !cancel.is_cancelled() {
                    let time = begun.elapsed().clamp(LEAST_FAILURE_TIME, MOST_FAILURE_TIME);
                    known.failure = Some((Instant::now() + time, err.clone()));
                }
                Err(err)
            }
        };
        drop(known);
        drop(turn);
        opened
    }
}
