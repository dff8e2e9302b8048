//! The grants that people gave. Those that outlive a session are in one file; the grants of a session are in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use toolcrib_core::policy::grant::{Grant, GrantError, GrantErrorKind, Grants, Scope};

use crate::list_file::{ListError, ListFile};
use crate::state::StateFolder;

/// The grants on disk and in memory.
pub struct GrantFile {
    file: ListFile,
    /// The grants that end with this process.
    session: Mutex<Vec<Grant>>,
}

impl GrantFile {
    /// Opens the grants in the state folder.
    pub fn new(state: &StateFolder) -> Self {
        Self { file: ListFile::new(state, "grants", "grant"), session: Mutex::default() }
    }

    /// Returns every grant, valid or expired.
    pub fn all(&self) -> Result<Vec<Grant>, GrantError> {
        let mut all = self.read()?;
        all.extend(self.session().iter().cloned());
        Ok(all)
    }

    /// Revokes a grant. Returns whether there was one.
    pub fn revoke(&self, id: &str) -> Result<bool, GrantError> {
        let take = |all: &mut Vec<Grant>| {
            let before = all.len();
            all.retain(|grant| grant.id != id);
            all.len() < before
        };
        if take(&mut self.session()) {
            return Ok(true);
        }
        self.change(take)
    }

    fn session(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Result<Vec<Grant>, GrantError> {
        Ok(self.file.read()?)
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<Grant>) -> R) -> Result<R, GrantError> {
        self.file.change(|all| Ok(change(all)))
    }
}

impl From<ListError> for GrantError {
    fn from(err: ListError) -> Self {
        match err {
            ListError::Untrusted(why) => Self::new(GrantErrorKind::Untrusted, why),
            ListError::Malformed(why) => Self::new(GrantErrorKind::Malformed, why),
            ListError::Io(err) => err.into(),
        }
    }
}

impl Grants for GrantFile {
    fn current(&self) -> Result<Vec<Grant>, GrantError> {
        self.all()
    }

    fn add(&self, grant: Grant) -> Result<(), GrantError> {
        if matches!(grant.scope, Scope::Session(_)) {
            self.session().push(grant);
            return Ok(());
        }
        self.change(|all| all.push(grant))
    }

    fn used(&self, id: &str, at: Timestamp) {
        let mark = |grants: &mut Vec<Grant>| {
            for grant in grants.iter_mut().filter(|grant| grant.id == id) {
                grant.use_count += 1;
                grant.last_used_at = Some(at);
            }
        };
        mark(&mut self.session());
        // A failure to count the use is no reason to refuse the call.
        if self.read().is_ok_and(|all| all.iter().any(|grant| grant.id == id)) {
            let _ = self.change(mark);
        }
    }
}
