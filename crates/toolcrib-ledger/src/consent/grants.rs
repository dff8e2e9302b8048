//! The grants that people gave. They are in one file, which is replaced as a whole and under a lock; the grants of a
//! session are in memory.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use toolcrib_core::policy::grant::{Grant, GrantError, GrantErrorKind, Grants, Scope};

use crate::state::{StateFolder, open_append, read_regular};

/// The grants on disk and in memory.
pub struct GrantFile {
    folder: PathBuf,
    /// The grants that end with this process.
    session: Mutex<Vec<Grant>>,
}

impl GrantFile {
    /// Opens the grants in the state folder.
    pub fn new(state: &StateFolder) -> Self {
        Self { folder: state.folder().to_owned(), session: Mutex::default() }
    }

    /// Returns every grant, valid or expired.
    pub fn all(&self) -> Result<Vec<Grant>, GrantError> {
        let mut all = self.read()?;
        all.extend(self.session().iter().cloned());
        Ok(all)
    }

    /// Revokes a grant. Returns whether there was one.
    pub fn revoke(&self, id: &str) -> Result<bool, GrantError> {
        let mut was_there = false;
        self.change(|all| {
            let before = all.len();
            all.retain(|grant| grant.id != id);
            was_there = all.len() < before;
        })?;
        Ok(was_there)
    }

    fn session(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("grants.json")
    }

    fn read(&self) -> Result<Vec<Grant>, GrantError> {
        let others = |meta: fs::Metadata| {
            use std::os::unix::fs::MetadataExt;
            meta.mode() & 0o022 != 0 || meta.uid() != rustix::process::geteuid().as_raw()
        };
        if fs::metadata(self.path()).is_ok_and(others) {
            let shown = self.path().display().to_string();
            let why = format!(
                "other users can write `{shown}`, so no grant counts; run `chmod 600` on it"
            );
            return Err(GrantError::new(GrantErrorKind::Untrusted, why));
        }
        match read_regular(&self.path()) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|err| {
                let shown = self.path().display().to_string();
                let why = format!("`{shown}` cannot be parsed, so no grant counts: {err}");
                GrantError::new(GrantErrorKind::Malformed, why)
            }),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(err.into()),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Grant>)) -> Result<(), GrantError> {
        let _lock = self.lock()?;
        let mut all = self.read()?;
        change(&mut all);
        let fresh = self.folder.join(format!("grants.{}.fresh", std::process::id()));
        let mut file = open_append(&fresh)?;
        file.set_len(0)?;
        let text = serde_json::to_vec_pretty(&all).map_err(io::Error::from)?;
        io::Write::write_all(&mut file, &text)?;
        file.sync_all()?;
        Ok(fs::rename(fresh, self.path())?)
    }

    fn lock(&self) -> io::Result<File> {
        let file = open_append(&self.folder.join("grants.lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
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
