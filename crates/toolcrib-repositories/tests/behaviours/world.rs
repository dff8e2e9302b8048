//! What a call needs beside its connection: a workspace, and a place where no command runs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::change::{ConcurrentChanges, Snapshot};
use toolcrib_core::command::{self, CommandRequest};
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::{
    CallId, CallTerms, Cancel, Change, ChangeJournal, Commands, Connection, Ctx, Limits, Meter,
    NoClient, Outside, Snapshots, ToolError, ToolSettings,
};
use toolcrib_host::{FileRules, Hardlinks, Root, SystemClock, UndoStore, Workspace};
use toolcrib_search::Engine;

use crate::repository::other_files;

/// Keeps nothing, because nothing is changed.
struct NoUndo;

impl ChangeJournal for NoUndo {
    fn store(&self, content: &mut dyn io::Read) -> io::Result<(String, u64)> {
        let size = io::copy(content, &mut io::sink())?;
        Ok(("0".repeat(64), size))
    }
    fn append(&self, _: &Change) -> io::Result<()> {
        Ok(())
    }
    fn append_all(&self, _: &[Change]) -> io::Result<()> {
        Ok(())
    }
    fn retract(&self, _: &Change) -> io::Result<()> {
        Ok(())
    }
    fn position(&self) -> u64 {
        0
    }
}

impl Snapshots for NoUndo {
    fn take(&self, _: &CallId, _: &[Snapshot], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn load(&self, _: &CallId) -> io::Result<Vec<Snapshot>> {
        Ok(Vec::new())
    }
    fn replace(&self, _: &CallId, _: &[Snapshot]) -> io::Result<()> {
        Ok(())
    }
    fn discard(&self, _: &CallId) -> io::Result<()> {
        Ok(())
    }
    fn release(&self, _: &CallId) {}
    fn orphaned(&self) -> Vec<CallId> {
        Vec::new()
    }
    fn concurrent(&self, _: &CallId) -> io::Result<ConcurrentChanges> {
        Ok(ConcurrentChanges::default())
    }
}

/// Opens a folder as a workspace.
pub(crate) fn workspace(root: &Path) -> Arc<Workspace> {
    let rules =
        FileRules { hardlinks: Hardlinks::Allow, protected: Vec::new(), undo_bytes: 1 << 30 };
    let undo = UndoStore { journal: Arc::new(NoUndo), snapshots: Arc::new(NoUndo) };
    let clock = Arc::new(SystemClock::default());
    Arc::new(Workspace::new(vec![Root::open(root).unwrap()], rules, &[], undo, clock))
}

/// Returns the context of a call with a connection.
pub(crate) fn context(root: &Path, connection: Option<Connection>) -> Ctx {
    let workspace = workspace(root);
    Ctx {
        call: CallId("01".to_owned()),
        files: other_files(&workspace),
        search: Arc::new(Engine::new(Vec::new())),
        commands: Arc::new(NoCommands),
        outside: Outside { connection, ..Outside::nothing() },
        client: Arc::new(NoClient),
        clock: Arc::new(SystemClock::default()),
        cancel: Cancel::default(),
        settings: Arc::new(ToolSettings::default()),
        terms: CallTerms { limits: Limits::DEFAULT, is_read_only: false },
        meter: Meter::default(),
        calls: None,
    }
}

/// No tool of these tests runs commands.
struct NoCommands;

impl Commands for NoCommands {
    fn ask_about_hosts(&self, _: Arc<dyn toolcrib_core::host_access::HostGate>) {}
    fn check(&self, _: &CommandRequest) -> Result<(), ToolError> {
        unreachable!()
    }
    fn run(&self, _: &CommandRequest, _: &Cancel) -> Result<command::Ran, ToolError> {
        unreachable!()
    }
    fn reachable_hosts(&self) -> Vec<String> {
        Vec::new()
    }
    fn terms(&self) -> String {
        String::new()
    }
    fn deny(&self, _: DeniedPaths) {}
    fn tasks(&self) -> Vec<command::TaskSpent> {
        Vec::new()
    }
    fn is_under_way(&self, _: &str) -> bool {
        false
    }
    fn home(&self) -> Option<String> {
        None
    }
    fn find_program(&self, _: &str) -> Option<command::ProgramFile> {
        None
    }
    fn start(&self, _: &CommandRequest) -> Result<(), ToolError> {
        unreachable!()
    }
    fn task(&self, _: &str) -> Result<command::Task, ToolError> {
        unreachable!()
    }
    fn wait(&self, _: &str, _: Duration, _: &Cancel) -> Result<command::Task, ToolError> {
        unreachable!()
    }
    fn kill(&self, _: &str) -> Result<bool, ToolError> {
        unreachable!()
    }
    fn last(&self) -> Option<command::LastCommand> {
        unreachable!()
    }
    fn save_reply(&self, _: &str, _: &str) -> bool {
        false
    }
    fn read(
        &self,
        _: &str,
        _: command::Stream,
        _: command::Lines,
    ) -> Result<command::Excerpt, ToolError> {
        unreachable!()
    }
}
