//! Tools that are kept out because they got much worse.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state::{State, open_append, read_plain};

/// A tool that is kept out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barred {
    /// `catalogue/tool`.
    pub tool: String,
    /// Since when.
    pub since: Timestamp,
    /// What got worse.
    pub because: String,
}

/// The tools that are kept out.
pub struct Quarantine {
    path: PathBuf,
}

impl Quarantine {
    /// Keeps them in the state folder.
    pub fn new(state: &State) -> Self {
        Self { path: state.folder().join("quarantine.json") }
    }

    /// All of them.
    pub fn all(&self) -> io::Result<Vec<Barred>> {
        match read_plain(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|err| {
                io::Error::other(format!("`{}` cannot be read: {err}", self.path.display()))
            }),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(err),
        }
    }

    /// Keeps a tool out. Returns whether it was not kept out before.
    pub fn bar(&self, barred: Barred) -> io::Result<bool> {
        let mut is_new = false;
        self.change(|all| {
            is_new = !all.iter().any(|known| known.tool == barred.tool);
            if is_new {
                all.push(barred);
            }
        })?;
        Ok(is_new)
    }

    /// Lets a tool in again. Returns whether it was kept out.
    pub fn lift(&self, tool: &str) -> io::Result<bool> {
        if !self.all()?.iter().any(|barred| barred.tool == tool) {
            return Ok(false);
        }
        self.change(|all| all.retain(|barred| barred.tool != tool))?;
        Ok(true)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Barred>)) -> io::Result<()> {
        let lock = open_append(&self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut all = self.all()?;
        change(&mut all);
        let fresh = self.path.with_extension("fresh");
        let mut file = open_append(&fresh)?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec_pretty(&all)?)?;
        file.sync_all()?;
        fs::rename(fresh, &self.path)
    }
}
