//! Quarantine: the tools that are kept out because they got much worse.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolcrib_core::ToolName;

use crate::state::{StateFolder, open_append, read_regular};

/// A tool in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantinedTool {
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// Since when it is in quarantine.
    pub since: Timestamp,
    /// What got worse.
    pub because: String,
}

/// The list of tools in quarantine.
pub struct QuarantineList {
    path: PathBuf,
}

impl QuarantineList {
    /// Opens the list in the state folder.
    pub fn new(state: &StateFolder) -> Self {
        Self { path: state.folder().join("quarantine.json") }
    }

    /// Returns all tools in quarantine.
    pub fn all(&self) -> io::Result<Vec<QuarantinedTool>> {
        match read_regular(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|err| {
                io::Error::other(format!("`{}` cannot be parsed: {err}", self.path.display()))
            }),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(err),
        }
    }

    /// Puts a tool into quarantine. Returns whether it was not there before.
    pub fn add(&self, tool: QuarantinedTool) -> io::Result<bool> {
        let mut is_new = false;
        self.change(|all| {
            is_new = !all.iter().any(|known| known.tool == tool.tool);
            if is_new {
                all.push(tool);
            }
        })?;
        Ok(is_new)
    }

    /// Takes a tool out of quarantine. Returns whether it was there.
    pub fn lift(&self, tool: &ToolName) -> io::Result<bool> {
        if !self.all()?.iter().any(|known| known.tool == *tool) {
            return Ok(false);
        }
        self.change(|all| all.retain(|known| known.tool != *tool))?;
        Ok(true)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<QuarantinedTool>)) -> io::Result<()> {
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
