//! The capabilities of a call that runs on another machine: here it has no files and no commands.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::capability::{EditFn, Resolved, WriteMode, Written};
use toolcrib_core::command::{
    CommandRequest, Excerpt, LastCommand, Lines, ProgramFile, Ran, Stream, Task, TaskSpent,
};
use toolcrib_core::host_access::HostGate;
use toolcrib_core::pin::FolderState;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Pattern, Scope};
use toolcrib_core::{
    Cancel, Change, Commands, Content, Ctx, ErrorKind, Files, Listing, Meta, Outside, Search,
    ToolError, Tree,
};

/// No files and no commands.
struct NothingHere {
    /// The workspace that the call was asked for in. Questions about the call are asked there.
    root: Option<String>,
}

/// Returns a context without what is here.
pub(crate) fn without_here(ctx: Ctx) -> Ctx {
    let nowhere = Arc::new(NothingHere { root: ctx.files.absolute(".").ok() });
    Ctx {
        files: Arc::clone(&nowhere) as _,
        search: Arc::clone(&nowhere) as _,
        commands: nowhere,
        outside: Outside::nothing(),
        ..ctx
    }
}

fn elsewhere<T>() -> Result<T, ToolError> {
    Err(ToolError::new(ErrorKind::Unavailable, "the files of the call are on another machine"))
}

impl Tree for NothingHere {
    fn stat(&self, _: &str) -> Result<Meta, ToolError> {
        elsewhere()
    }
    fn read(&self, _: &str, _: u64) -> Result<Content, ToolError> {
        elsewhere()
    }
    fn count_lines(&self, _: &str) -> Result<u64, ToolError> {
        elsewhere()
    }
    fn list(&self, _: &str, _: usize) -> Result<Listing, ToolError> {
        elsewhere()
    }
    fn deny(&self, _: DeniedPaths) {}
}

impl Files for NothingHere {
    fn absolute(&self, path: &str) -> Result<String, ToolError> {
        let root = self.root.clone().filter(|_| path == ".");
        root.map_or_else(elsewhere, Ok)
    }
    fn check_write(&self, _: &str) -> Result<(), ToolError> {
        elsewhere()
    }
    fn check_remove(&self, _: &str) -> Result<(), ToolError> {
        elsewhere()
    }
    fn write(&self, _: &str, _: &[u8], _: WriteMode) -> Result<Written, ToolError> {
        elsewhere()
    }
    fn copy(&self, _: &str, _: &str, _: u64) -> Result<Written, ToolError> {
        elsewhere()
    }
    fn update(&self, _: &str, _: u64, _: &mut EditFn<'_>) -> Result<(), ToolError> {
        elsewhere()
    }
    fn make_directory(&self, _: &str) -> Result<Vec<String>, ToolError> {
        elsewhere()
    }
    fn remove(&self, _: &str) -> Result<(), ToolError> {
        elsewhere()
    }
    fn pin(&self, _: &[String]) -> Result<(), ToolError> {
        Ok(())
    }
    fn folder_state(&self, _: &str, _: usize) -> Result<FolderState, ToolError> {
        elsewhere()
    }
    fn hold(&self, _: Vec<(String, String)>) {}
    fn changes(&self) -> Vec<Change> {
        Vec::new()
    }
    fn resolve(&self, path: &str) -> Resolved {
        Resolved { path: path.to_owned(), is_inside: false, has_links: false }
    }
    fn take_snapshots(&self, _: &[String], _: usize) -> u64 {
        0
    }
    fn resolve_snapshots(&self) {}
}

impl Search for NothingHere {
    fn check(&self, _: Option<&Pattern>, _: &Scope) -> Result<(), ToolError> {
        elsewhere()
    }
    fn grep(&self, _: &Grep, _: &Cancel) -> Result<Found, ToolError> {
        elsewhere()
    }
    fn glob(&self, _: &Glob, _: &Cancel) -> Result<FoundPaths, ToolError> {
        elsewhere()
    }
}

impl Commands for NothingHere {
    fn ask_about_hosts(&self, _: Arc<dyn HostGate>) {}
    fn check(&self, _: &CommandRequest) -> Result<(), ToolError> {
        elsewhere()
    }
    fn run(&self, _: &CommandRequest, _: &Cancel) -> Result<Ran, ToolError> {
        elsewhere()
    }
    fn reachable_hosts(&self) -> Vec<String> {
        Vec::new()
    }
    fn terms(&self) -> String {
        String::new()
    }
    fn deny(&self, _: DeniedPaths) {}
    fn tasks(&self) -> Vec<TaskSpent> {
        Vec::new()
    }
    fn is_under_way(&self, _: &str) -> bool {
        false
    }

    fn home(&self) -> Option<String> {
        None
    }
    fn find_program(&self, _: &str) -> Option<ProgramFile> {
        None
    }
    fn start(&self, _: &CommandRequest) -> Result<(), ToolError> {
        elsewhere()
    }
    fn task(&self, _: &str) -> Result<Task, ToolError> {
        elsewhere()
    }
    fn wait(&self, _: &str, _: Duration, _: &Cancel) -> Result<Task, ToolError> {
        elsewhere()
    }
    fn kill(&self, _: &str) -> Result<bool, ToolError> {
        elsewhere()
    }
    fn last(&self) -> Option<LastCommand> {
        None
    }
    fn save_reply(&self, _: &str, _: &str) -> bool {
        false
    }
    fn read(&self, _: &str, _: Stream, _: Lines) -> Result<Excerpt, ToolError> {
        elsewhere()
    }
}
