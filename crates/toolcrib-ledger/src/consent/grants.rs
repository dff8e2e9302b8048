//! The grants that people gave. They are in one file, which is replaced as a whole and under a lock; the grants of a
//! session are in memory.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use toolcrib_core::policy::grant::{Grant, Grants, Scope};

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
    pub fn all(&self) -> io::Result<Vec<Grant>> {
        let mut all = self.read()?;
        all.extend(self.session().iter().cloned());
        Ok(all)
    }

    /// Revokes a grant. Returns whether there was one.
    pub fn revoke(&self, id: &str) -> io::Result<bool> {
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

    fn read(&self) -> io::Result<Vec<Grant>> {
        let others = |meta: fs::Metadata| {
            use std::os::unix::fs::MetadataExt;
            meta.mode() & 0o022 != 0 || meta.uid() != rustix::process::geteuid().as_raw()
        };
        if fs::metadata(self.path()).is_ok_and(others) {
            let shown = self.path().display().to_string();
            let why = format!(
                "other users can write `{shown}`, so no grant counts; run `chmod 600` on it"
            );
            return Err(io::Error::other(why));
        }
        match read_regular(&self.path()) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|err| {
                let shown = self.path().display().to_string();
                io::Error::other(format!("`{shown}` cannot be parsed, so no grant counts: {err}"))
            }),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(err),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Grant>)) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut all = self.read()?;
        change(&mut all);
        let fresh = self.folder.join(format!("grants.{}.fresh", std::process::id()));
        let mut file = open_append(&fresh)?;
        file.set_len(0)?;
        io::Write::write_all(&mut file, &serde_json::to_vec_pretty(&all)?)?;
        file.sync_all()?;
        fs::rename(fresh, self.path())
    }

    fn lock(&self) -> io::Result<File> {
        let file = open_append(&self.folder.join("grants.lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}

impl Grants for GrantFile {
    fn current(&self) -> Result<Vec<Grant>, String> {
        self.all().map_err(|err| err.to_string())
    }

    fn add(&self, grant: Grant) -> Result<(), String> {
        if matches!(grant.scope, Scope::Session(_)) {
            self.session().push(grant);
            return Ok(());
        }
        self.change(|all| all.push(grant)).map_err(|err| err.to_string())
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
